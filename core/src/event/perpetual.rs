//! Events of the perpetual side. Units as in `command/perpetual.rs`; all values are final values after the step told.
//!
//! **Order within a command.** Each is told as soon as it is so, and what it changed behind it:
//!
//! 1. Facts: [`AccountCreated`], [`AssetCreated`], [`PerpetualListed`], [`PerpetualSetting`], [`PerpetualBracket`],
//!    [`VipTier`], [`VipTierScheduled`], [`AccountTerms`], [`AccountLimits`], [`PerpetualSource`], [`PerpetualSourceAge`], [`PerpetualPrice`], [`FundingSettled`], [`PerpetualStateChanged`],
//!    [`PerpetualPlaced`], [`PerpetualOrder`], [`PerpetualTrade`], [`PreventedMatch`], [`PerpetualAmended`],
//!    [`TriggerDeferred`], [`TriggerRefused`], [`Liquidation`], [`MarginCall`], [`Posting`], [`VipChanged`],
//!    [`PoolDeficit`] at the end of a liquidation scan, [`RuleActivated`].
//! 2. Behind the fact of an order that enters, changes or leaves the book: [`super::Depth`] of its level, then [`PerpetualExposure`] if
//!    it counts in its account's order margin. Of a maker's fill the exposure follows the trade; the level follows when the arriving
//!    order is done with it.
//! 3. [`PerpetualPosition`], then [`PerpetualWallet`], of whom it changed: behind the last fill of an order that arrived, its own
//!    account first, then those of makers in the order in which they were met to trade, each only if it differs; behind a trade outside the book,
//!    of who gives up, then of who takes; behind a Posting that is of no fill, what its wallet is in; behind leverage or a margin mode that is set,
//!    before anything else.
//! 4. At the end: [`PerpetualWallet`] of the insurance fund, then [`PerpetualPools`], where they differ from before the command.
//! 5. A transfer: [`super::Balances`] of the spot side, in the `base_` fields.
//! 6. [`super::Done`]. A refusal gives it alone.
//!
//! **As they happen, in detail.**
//! - *An order that is accepted*: (PerpetualOrder Triggered instead, where it fired), else PerpetualPlaced, then
//!   PerpetualOrder New with nothing filled and all open; then PerpetualPlaced and PerpetualOrder of attached orders,
//!   take-profit first; then the match. `open` is then what is to trade, whether or not it will rest.
//! - *Each meeting*: a fill is one PerpetualTrade, followed by the VipChanged of the maker, of the taker; by the Postings
//!   AFFILIATE of the maker, of the taker, where not 0; by the growth of attached orders (PerpetualOrder Amended) of the maker,
//!   of the taker; by PerpetualOrder Expired (reason 4) of a maker that reduce-only left with nothing to reduce, unless
//!   that fills the taker: the trim then tells it. A meeting that
//!   self-trade prevention ends is PreventedMatch, then PerpetualOrder of the maker if it ended. A maker refused for margin
//!   is PerpetualOrder Expired (reason 10). What a fill does to a maker's and a taker's order follows from the trade; no
//!   PerpetualOrder tells it.
//! - *After the match*: PerpetualOrder Filled (execution Expired) of a maker of which less than a lot is left, which an earlier lot
//!   may do, and likewise of the taker; else PerpetualOrder of the taker if it ended unfilled. An order that ends takes its attached orders
//!   first, ascending ids, unless it was filled.
//! - *Trim*, by account ascending, over the market of the match: per order ascending by id, PerpetualOrder (Expired reason
//!   4, or Amended with a lower quantity). Untriggered orders marked GTE end (reason 6) here too, in the same pass.
//! - *Triggers*: as an order that is accepted, one after the other; refused: TriggerRefused, then PerpetualOrder Expired.
//!   Then the sibling of a fired attached order: PerpetualOrder Canceled.
//! - *Liquidations and warnings*: a command carries out only so many (`engine/perpetual/liquidation_scan.rs`); what is left over comes
//!   with the next commands that are not refused, `AdvanceTime` among them, as theirs.
//! - *Liquidation of a scope*: Liquidation Begin; PerpetualOrder Expired (reason 5) of its orders, market and id ascending;
//!   then per step: PerpetualOrder New of the liquidation order, also where the book is passed over, which stays open to the end of the step;
//!   its trades in the book (the fee is in them), Liquidation Book after each with what the fund gained, and then the trim; per takeover
//!   PerpetualOrder New of the fund's order, the trade, Liquidation Fund; per counterparty PerpetualOrder Expired (reason 12) of its
//!   resting orders, PerpetualOrder New of its order, the trade, Liquidation Adl; and then the trim. Last PerpetualOrder Expired
//!   (reason 2) of the liquidation order, unless it was filled. Posting
//!   INSURANCE_CLEAR and Liquidation Clear where the fund pays; Liquidation End. Where the fund is below its own margin, as a step that passes
//!   the book over, by counterparties alone; where it unwinds, as an order that is accepted, with Liquidation Unwind after each
//!   trade. The order of whoever takes over is filled by its trade.
//! - *Funding*: FundingSettled, which fixes it; in that command and those that follow a Posting FUNDING_FEE per position with a payment
//!   other than 0, account ascending, but before anything else of an account that is touched; each followed by a Posting
//!   REALISED_PROFIT of what an isolated wallet lacks for it and the profit of its position has, and a Posting INSURANCE_CLEAR of what
//!   is still lacking; with the last Posting FUNDING_RESIDUE to the fund if not 0.
//! - *Settlement*: in the command that begins it and those that follow, PerpetualOrder Expired (reason 7) of the buys in the book by
//!   priority, of the sells, of what waits, account and id ascending; per position, account ascending, but before anything else of an
//!   account that is touched, PerpetualOrder New of its order, Posting INSURANCE_CLEAR of what its isolated wallet lacks, its trade, Posting INSURANCE_CLEAR of what its cross scope lacks;
//!   Posting SETTLEMENT of the residue to the fund if not 0; a Posting INSURANCE_CLEAR of what each gives back; PerpetualStateChanged.

use super::*;
use crate::command::ClientOrder;

payload! {
    /// See [`Kind::PerpetualOrder`].
    pub struct PerpetualOrder {
        pub order: OrderId,
        pub account: AccountId,
        pub market: MarketId,
        /// A [`crate::command::Side`].
        pub side: u8,
        /// A [`crate::command::PerpetualOrderType`]: the present one.
        pub order_type: u8,
        /// The type at placement.
        pub original_type: u8,
        /// A [`crate::command::PerpetualTimeInForce`].
        pub time_in_force: u8,
        /// A [`crate::command::PerpetualStatus`] after this.
        pub status: u8,
        /// An [`Execution`]: what happened.
        pub execution: u8,
        /// The number of `perpetual-stream.md` 4.1, 0 to 12.
        pub expiry_reason: u8,
        /// A [`crate::command::SelfTradePrevention`].
        pub self_trade: u8,
        /// A [`crate::command::WorkingType`].
        pub working_type: u8,
        /// A [`crate::command::PriceMatch`].
        pub price_match: u8,
        /// Bits of [`crate::command::order_flag`].
        pub flags: u16,
        /// Of a trailing order, 10^-8.
        pub callback_rate: u32,
        /// Limit price, resolved; 0 of market types.
        pub price: Price,
        /// Original quantity; 0 of a close-position order before it fires, and of an attached one before its parent fills.
        pub quantity: Quantity,
        /// Executed so far.
        pub filled: Quantity,
        /// In the book, waiting, or about to trade; 0 once ended.
        pub open: Quantity,
        /// Value of what was executed, micro-quote.
        pub value: i64,
        /// Stop price; activation price of a trailing order, as resolved.
        pub stop_price: Price,
        /// Of GTD.
        pub good_till_ms: i64,
        /// The order it is attached to, 0 for none.
        pub parent: OrderId,
    }

    /// See [`Kind::PerpetualPlaced`].
    pub struct PerpetualPlaced {
        pub order: OrderId,
        pub account: AccountId,
        pub market: MarketId,
        /// The order of the conditional-order service that fired and goes on as this one, else 0.
        pub fired: OrderId,
        /// Client's name; of attached orders the parent's, cut to 33, and `_tp` or `_sl`; of liquidations and of the fund
        /// `autoclose-<ms><sequence>`; of counterparties `adl_autoclose`; of a settlement `settlement_autoclose`.
        pub client_order: ClientOrder,
        pub reserved: u32,
        /// Its reference value (`risk.md` 6) while all of it is open; 0 of one that waits, only reduces or may not rest.
        pub reference: i64,
    }

    /// See [`Kind::PerpetualTrade`]. Every change of a position is one. In the book the price is the maker's, and price x quantity /
    /// 10^10 is the value; elsewhere the value is what both sides book, and the price is value / quantity, halves to even, or of a
    /// settlement its price. Only trades in the book are public and move the last price.
    pub struct PerpetualTrade {
        /// Ascending per market, from 1, whatever the cause.
        pub trade: TradeId,
        /// The resting order, or that of who takes over; 0 of a settlement, whose other side is nobody.
        pub maker_order: OrderId,
        /// The arriving order, or that of who gives up.
        pub taker_order: OrderId,
        /// See above.
        pub price: Price,
        /// How much base.
        pub quantity: Quantity,
        /// Owner of the maker's order.
        pub maker_account: AccountId,
        /// Owner of the taker's order.
        pub taker_account: AccountId,
        pub market: MarketId,
        /// A [`crate::command::Side`]: the taker's.
        pub taker_side: u8,
        /// Bit 0: the maker is filled by this; 1: the taker is.
        pub flags: u8,
        /// A [`TradeCause`].
        pub cause: u8,
        pub reserved: u8,
        /// Fee of the maker, below 0 a rebate.
        pub maker_fee: i64,
        /// Fee of the taker, never below 0; of a liquidation the liquidation fee, which goes to the fund.
        pub taker_fee: i64,
        /// Profit of the maker's closed part, before the fee; of a counterparty also what the rest of its position paid for what
        /// its isolated wallet lacked.
        pub maker_realised: i64,
        /// Profit of the taker's closed part, before the fee.
        pub taker_realised: i64,
        /// Micro-quote.
        pub value: i64,
    }

    /// See [`Kind::PreventedMatch`].
    pub struct PreventedMatch {
        /// From 1 per market.
        pub prevented: u64,
        /// The arriving order.
        pub taker_order: OrderId,
        /// The resting order.
        pub maker_order: OrderId,
        /// The maker's price.
        pub price: Price,
        /// What expired of the maker, 0 if it stays.
        pub maker_quantity: Quantity,
        /// What expired of the taker, 0 if it goes on.
        pub taker_quantity: Quantity,
        /// Trade group that both are of; -1 for one account.
        pub trade_group: i64,
        /// Owner of the arriving order.
        pub taker_account: AccountId,
        /// Owner of the resting order.
        pub maker_account: AccountId,
        pub market: MarketId,
        /// A [`crate::command::SelfTradePrevention`].
        pub mode: u8,
        pub reserved: [u8; 3],
    }

    /// See [`Kind::PerpetualAmended`]. Comes before the order's PerpetualOrder Amended.
    pub struct PerpetualAmended {
        pub order: OrderId,
        pub account: AccountId,
        pub market: MarketId,
        /// Limit price before.
        pub price_before: Price,
        /// Limit price after.
        pub price_after: Price,
        /// Original quantity before.
        pub quantity_before: Quantity,
        /// Original quantity after.
        pub quantity_after: Quantity,
        /// How often it was modified, this time included.
        pub count: u32,
        pub reserved: u32,
        /// As of [`PerpetualPlaced`], of what is open after it.
        pub reference: i64,
    }

    /// See [`Kind::TriggerDeferred`]. Once per episode: again only after the price was not at the trigger.
    pub struct TriggerDeferred {
        /// Which order.
        pub order: OrderId,
        pub account: AccountId,
        pub market: MarketId,
        /// Mark price, P8.
        pub mark: Price,
        /// Last price.
        pub last: Price,
    }

    /// See [`Kind::TriggerRefused`].
    pub struct TriggerRefused {
        /// Which order.
        pub order: OrderId,
        pub account: AccountId,
        pub market: MarketId,
        /// A [`crate::reject::Reject`].
        pub reject: u16,
        pub reserved: [u8; 6],
    }

    /// See [`Kind::PerpetualPosition`].
    pub struct PerpetualPosition {
        pub account: AccountId,
        pub market: MarketId,
        /// Signed, 10^-8 base.
        pub quantity: Quantity,
        /// Signed cost, micro-quote.
        pub cost: i64,
        /// Wallet of an isolated position.
        pub isolated_wallet: i64,
        /// Fees of the opening fills still in it.
        pub open_fees: i64,
        /// Realised profit since ever, before fees.
        pub realised: i64,
        /// Its leverage.
        pub leverage: u32,
        /// A [`crate::command::MarginMode`].
        pub mode: u32,
    }

    /// See [`Kind::PerpetualExposure`]. The buckets of `risk.md` 6; quantities in 10^-8 base.
    pub struct PerpetualExposure {
        pub account: AccountId,
        pub market: MarketId,
        /// Open quantity of buys.
        pub buy_quantity: Quantity,
        /// Their reference value.
        pub buy_reference: i64,
        /// Their open loss.
        pub buy_open_loss: i64,
        /// Their fee reserve.
        pub buy_fee_reserve: i64,
        /// Open quantity of sells.
        pub sell_quantity: Quantity,
        /// Their reference value.
        pub sell_reference: i64,
        /// Their open loss.
        pub sell_open_loss: i64,
        /// Their fee reserve.
        pub sell_fee_reserve: i64,
    }

    /// See [`Kind::PerpetualWallet`].
    pub struct PerpetualWallet {
        /// Whose; 0 is the insurance fund.
        pub account: AccountId,
        pub reserved: u32,
        /// Cross wallet.
        pub wallet: i64,
    }

    /// See [`Kind::PerpetualPools`].
    pub struct PerpetualPools {
        /// FEE.
        pub fees: i64,
        /// REF.
        pub affiliates: i64,
        /// DEP.
        pub deposits: i64,
        /// 1: the pool is flagged DEFICIT.
        pub deficit: u64,
    }

    /// See [`Kind::Posting`]. Trades carry their own legs and have none.
    pub struct Posting {
        pub account: AccountId,
        /// Where, or [`crate::ids::ALL_MARKETS`] for none.
        pub market: MarketId,
        /// Micro-quote, to the account.
        pub amount: i64,
        /// A [`PostingReason`].
        pub reason: u8,
        /// A [`crate::command::MarginMode`]: which of its wallets.
        pub wallet: u8,
        pub reserved: [u8; 6],
        /// The trade it belongs to, 0 for none.
        pub trade: TradeId,
    }

    /// See [`Kind::Liquidation`].
    pub struct Liquidation {
        /// Whose scope.
        pub account: AccountId,
        /// The market of the step, or of an isolated scope; [`crate::ids::ALL_MARKETS`] for the cross scope as a whole.
        pub market: MarketId,
        /// A [`LiquidationStep`].
        pub step: u8,
        /// A [`crate::command::Side`] of the closing.
        pub side: u8,
        /// 1: the scope is an isolated position.
        pub isolated: u8,
        pub reserved: u8,
        /// The counterparty of an ADL step.
        pub counterparty: AccountId,
        /// The liquidation order, 0 for none.
        pub order: OrderId,
        /// 10^-8 base.
        pub quantity: Quantity,
        /// Micro-quote.
        pub value: i64,
        /// What the fund's wallet gained.
        pub fund_change: i64,
        /// Begin, End: equity of the scope.
        pub equity: i64,
        /// Begin, End: its maintenance margin.
        pub maintenance: i64,
    }

    /// See [`Kind::MarginCall`].
    pub struct MarginCall {
        pub account: AccountId,
        /// Of an isolated position its market, else [`crate::ids::ALL_MARKETS`].
        pub market: MarketId,
        /// Equity of the scope.
        pub equity: i64,
        /// Maintenance margin of the scope.
        pub maintenance: i64,
    }

    /// See [`Kind::AccountTerms`].
    pub struct AccountTerms {
        pub account: AccountId,
        /// 0: placements are refused.
        pub trading_enabled: u32,
        /// -1 for none.
        pub trade_group: i64,
        /// Active while engine time is before it.
        pub promo_until_ms: i64,
        /// 1: on.
        pub fee_burn: u32,
        /// Of the referral record.
        pub referral_total_bps: u32,
        /// Of the referral record.
        pub referral_share_bps: u32,
        /// Promotion.
        pub promo_bps: u32,
        /// A [`crate::command::MarginMode`]: that of markets not touched yet.
        pub default_mode: u32,
        pub reserved: u32,
    }

    /// See [`Kind::VipChanged`].
    pub struct VipChanged {
        pub account: AccountId,
        /// A [`VipChange`].
        pub change: u8,
        /// Tier before.
        pub from: u8,
        /// Tier after, now or at `effective_ms`.
        pub to: u8,
        pub reserved: u8,
        /// V14, micro-quote.
        pub volume: i64,
        /// V30, micro-quote.
        pub volume_30: i64,
        /// When it holds.
        pub effective_ms: i64,
    }

    /// See [`Kind::PerpetualListed`].
    pub struct PerpetualListed {
        pub market: MarketId,
        /// What is traded.
        pub base: AssetId,
        /// The margin asset.
        pub quote: AssetId,
        /// Name.
        pub symbol: Symbol,
        pub reserved: u32,
    }

    /// See [`Kind::PerpetualSetting`]. A listing tells every parameter, in order of its number, brackets after.
    pub struct PerpetualSetting {
        /// Which market, or [`crate::ids::ALL_MARKETS`].
        pub market: MarketId,
        /// A [`crate::command::PerpetualParameter`].
        pub parameter: u32,
        /// Its value.
        pub value: i64,
    }

    /// See [`Kind::PerpetualBracket`]. All of a table, ascending.
    pub struct PerpetualBracket {
        /// Which market.
        pub market: MarketId,
        /// From 1.
        pub bracket: u16,
        /// How many there are.
        pub count: u16,
        /// Largest notional.
        pub cap: i64,
        /// Maintenance rate, 10^-8.
        pub rate: i64,
        /// `cum` of `risk.md` 7.
        pub cumulated: i64,
        /// Greatest leverage.
        pub leverage: u32,
        pub reserved: u32,
    }

    /// See [`Kind::PerpetualStateChanged`]. Comes whenever the state in force changes, and for every command that sets one.
    pub struct PerpetualStateChanged {
        /// Which market.
        pub market: MarketId,
        /// A [`crate::command::PerpetualState`]: in force.
        pub state: u8,
        /// The administrator's.
        pub set: u8,
        pub reserved: u16,
        /// Of a settlement the price S, P8; else 0.
        pub settlement_price: Price,
    }

    /// See [`Kind::PerpetualPrice`]. Once per tick and market whose values differ from the last one told.
    pub struct PerpetualPrice {
        /// Which market.
        pub market: MarketId,
        /// An [`IndexState`].
        pub index_state: u8,
        /// 1: the clamp bounds the basis.
        pub clamped: u8,
        pub reserved: u16,
        /// Index, P8.
        pub index: Price,
        /// Mark, P8.
        pub mark: Price,
        /// MA, before the clamp.
        pub basis: i64,
        /// Impact bid of the last basis sample, P8, 0 undefined.
        pub impact_bid: Price,
        /// Impact ask.
        pub impact_ask: Price,
        /// F estimated from the premium samples so far.
        pub funding_rate: i64,
        /// When it is settled next.
        pub next_funding_ms: i64,
    }

    /// See [`Kind::PerpetualSource`].
    pub struct PerpetualSource {
        /// Which market.
        pub market: MarketId,
        /// Which source.
        pub source: u32,
        /// Its weight, 0 once taken away.
        pub weight: u32,
        /// 1: the manual price; source and weight mean nothing.
        pub manual: u32,
        /// Its last price, P8, 0 for none.
        pub price: Price,
    }

    /// See [`Kind::FundingSettled`].
    pub struct FundingSettled {
        /// Which market.
        pub market: MarketId,
        /// 1: more than half of the samples were missing, so the rate is 0.
        pub sparse: u32,
        /// F.
        pub rate: i64,
        /// Mark of that tick.
        pub mark: Price,
        /// The time it is for.
        pub funding_ms: i64,
        /// 0: what the fund gets is told by a Posting, with the last that pays.
        pub residue: i64,
        /// Positions that pay or receive, in this command or in those that follow.
        pub positions: u64,
    }

    /// See [`Kind::PerpetualLedger`]. I-1 of `risk.md` 20: wallets + isolated + fund + fees + affiliates - costs = deposits.
    pub struct PerpetualLedger {
        /// Cross wallets of all accounts but the fund.
        pub wallets: RawAmount,
        /// Isolated wallets.
        pub isolated: RawAmount,
        /// Costs of all positions, signed.
        pub costs: RawAmount,
        /// Wallet of the insurance fund, with what funding that is not paid to the end collected and has not paid out.
        pub fund: i64,
        /// FEE.
        pub fees: i64,
        /// REF.
        pub affiliates: i64,
        /// DEP.
        pub deposits: i64,
        /// The margin asset.
        pub asset: AssetId,
        pub reserved: [u8; 6],
    }

    /// See [`Kind::PoolDeficit`]. An alarm; withdrawals to spot are refused meanwhile (`risk.md` 12.5).
    pub struct PoolDeficit {
        /// 1: it begins; 0: it ends.
        pub deficit: u64,
        /// Wallet of the fund.
        pub wallet: i64,
        /// Its equity.
        pub equity: i64,
    }

    /// See [`Kind::RuleActivated`].
    pub struct RuleActivated {
        /// A number of [`crate::command::rule`].
        pub rule: u32,
        /// Its value, 0 where it has none.
        pub value: u32,
    }

    /// See [`Kind::VipTierScheduled`]. All of a schedule, ascending, with the command that completes it; when it holds, each is told
    /// as [`VipTier`].
    pub struct VipTierScheduled {
        /// From 0.
        pub tier: u32,
        /// How many there will be.
        pub count: u32,
        /// Traded value from which it holds.
        pub volume: i64,
        /// Base rate of the resting side.
        pub maker_rate: i64,
        /// Base rate of the arriving side.
        pub taker_rate: i64,
        /// From when on, milliseconds.
        pub effective_ms: i64,
    }

    /// See [`Kind::AccountLimits`]. 0: none of that kind.
    pub struct AccountLimits {
        pub account: AccountId,
        /// Where, or [`crate::ids::ALL_MARKETS`].
        pub market: MarketId,
        /// Most open orders in one market.
        pub open_orders: u32,
        /// Most orders in ten seconds.
        pub order_rate_10s: u32,
        /// Most orders in a minute.
        pub order_rate_1m: u32,
        pub reserved: u32,
        /// Largest notional of position and open orders of a side, micro-quote.
        pub max_position_notional: i64,
        /// Largest notional of an order, micro-quote.
        pub max_order_notional: i64,
    }

    /// See [`Kind::PerpetualSourceAge`]. Comes behind the source's [`PerpetualSource`] where it changed; a source that is added has
    /// none of its own, and one that is taken away leaves none.
    pub struct PerpetualSourceAge {
        /// Which market.
        pub market: MarketId,
        /// Which source.
        pub source: u32,
        /// Milliseconds; 0: as the market's parameter says.
        pub stale_ms: u32,
        pub reserved: u32,
    }

    /// See [`Kind::VipTier`].
    pub struct VipTier {
        /// From 0.
        pub tier: u32,
        /// How many there are.
        pub count: u32,
        /// Traded value from which it holds.
        pub volume: i64,
        /// Base rate of the resting side.
        pub maker_rate: i64,
        /// Base rate of the arriving side.
        pub taker_rate: i64,
    }
}

byte_enum! {
    /// What a PerpetualOrder tells.
    pub enum Execution {
        /// Accepted.
        New = 0,
        /// Changed price or quantity: a modification, a trim, growth of an attached order.
        Amended = 1,
        /// Ended on request, by a countdown, with its parent or sibling.
        Canceled = 2,
        /// Ended by a rule; see the reason.
        Expired = 3,
        /// Fired: the type is the new one.
        Triggered = 4,
    }

    /// What a trade came of.
    pub enum TradeCause {
        /// Orders met in the book.
        Book = 0,
        /// One of them closes for a scope in liquidation.
        Liquidation = 1,
        /// The fund takes over from a scope in liquidation.
        Takeover = 2,
        /// A counterparty takes over from one, or from the fund.
        Deleveraging = 3,
        /// The market was settled; the account is the taker, and there is no maker.
        Settlement = 4,
    }

    /// Why money moved outside a trade.
    pub enum PostingReason {
        /// Between spot and perpetual ledger.
        Transfer = 0,
        /// Funding of a position.
        FundingFee = 1,
        /// What rounding left of a funding settlement.
        FundingResidue = 2,
        /// The fund pays what a wallet lacks.
        InsuranceClear = 3,
        /// Reward of the trader's affiliate, to REF; the account is the trader's.
        Affiliate = 4,
        /// What rounding left of a market's settlement, to the fund.
        Settlement = 5,
        /// An operator's.
        Adjustment = 6,
        /// Between cross and isolated wallet, by request: to the wallet named.
        IsolatedMargin = 7,
        /// Out of the profit of an isolated position, which its cost rises by, into its wallet: what that lacked of a payment, told
        /// before.
        RealisedProfit = 8,
        /// An operator's, between the fund and what is outside the wallets of this ledger.
        Treasury = 9,
        /// The same of the fees, which are no wallet: the account is the fund's.
        TreasuryFees = 10,
    }

    /// A step of a liquidation.
    pub enum LiquidationStep {
        /// The scope is in liquidation.
        Begin = 0,
        /// A fill in the book.
        Book = 1,
        /// The fund takes over.
        Fund = 2,
        /// A counterparty takes over.
        Adl = 3,
        /// The fund pays a wallet to 0.
        Clear = 4,
        /// The scope is out of liquidation.
        End = 5,
        /// A fill in the book by which the fund unwinds.
        Unwind = 6,
    }

    /// Where the index comes from, `risk.md` 10.
    pub enum IndexState {
        /// Enough fresh sources.
        Live = 0,
        /// Some.
        Single = 1,
        /// The own spot market.
        Spot = 2,
        /// An administrator.
        Manual = 3,
        /// The last one, for 60 s.
        Held = 4,
        /// The last one, for longer.
        Stale = 5,
    }

    /// What happened to a VIP tier.
    pub enum VipChange {
        /// Higher, at once.
        UpgradeImmediate = 0,
        /// Lower, at the next UTC midnight.
        DowngradeScheduled = 1,
        /// Lower, now.
        DowngradeApplied = 2,
    }
}
