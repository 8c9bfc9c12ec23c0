//! Commands of the perpetual side. `risk.md` says what they compute; this file says what they carry, in which order
//! they are judged, and what the specification leaves to the engine. Events and their order: `event/perpetual.rs`.
//!
//! **Units.** Prices, quantities, ticks and lots are in steps of 10^-8, as everywhere; a quantity in a command need not
//! be whole lots, the engine floors it. Money is i64 micro-quote, rates are i64 in 10^-8 (1.0 = 100 000 000), times of
//! day are milliseconds of the UNIX epoch (engine time / 10^6, floor).
//!
//! **Markets.** Perpetual markets have ids of their own, from [`crate::ids::FIRST_PERPETUAL`] up in order of listing; a
//! spot command never sees them, and a perpetual command answers MarketNotFound for any other id. There is one margin
//! asset: the quote of the first listing. Order ids are of one counter over spot and perpetual.
//!
//! **Accounts.** Those of the spot side. Account 0 ([`crate::ids::FEE_ACCOUNT`]) is the insurance fund here: its wallet
//! is F; no user command may name it (AccountNotFound).
//!
//! **Prices move at ticks alone.** FeedPrice, SetSource and SetManualPrice only store; index, basis and mark follow at
//! the next AdvanceTime (`risk.md` 19, step 3). A basis sample is taken at the first tick of each UTC second, a premium
//! sample at the first tick of each five UTC seconds; seconds without a tick have none.
//!
//! **Left to the engine, and decided here.**
//! - Leverage: cross, free equity at the new leverage must not be below 0, whether it rises or falls, and also without position and
//!   orders in the market (`risk.md` 8 as it stands).
//! - Fills of liquidations count for nobody's volume, and the maker's rebate in them is 0. The fund's unwinding is as anybody's
//!   order: it pays the taker's fee of its tier, and counts (`risk.md` 9 names what pays none and what does not count).
//! - A fill between two orders of one account (mode NONE) is judged once, as its taker's: by where both legs together leave it, and by
//!   what the fund would pay for both; also by the cross scope, where they move its money to an isolated position.
//! - The fund pays for no fill of an isolated position more than the position had lost beyond its margin before it
//!   (`perpetual.md` 12 refuses what would leave equity below maintenance): what the fill opens, or what the rest of the position has
//!   won, does not count for it.
//! - A maker's leg is judged before the taker's. An isolated leg that opens also needs the cross scope to stay at or above
//!   its maintenance margin.
//! - Triggers wait while nothing matches (POST_ONLY, CANCEL_ONLY, HALTED). Fired in REDUCE_ONLY, an order that does not reduce
//!   is refused (StateRefuses).
//! - A close-position order marked GTE ends when the position became zero or turned, and is now on its other side.
//! - Of a fee that pays the other side's rebate, the affiliate's reward is at most the rest.
//! - An attached order that fired neither grows nor ends with its parent.
//! - What a liquidation trades moves the watched price: triggers and scan take turns until nothing changes.
//! - Contract-price triggers watch the mark until the first trade. One window of lowest and highest price serves all orders
//!   of the market, those attached in the same command included.
//! - A liquidation of the cross scope expires all orders of the account, in every market; its bankruptcy price of 0 or below
//!   is, for a sell, one tick. Self-trade modes do not bind liquidation and unwinding, the dynamic band not liquidation.
//! - A fill that only closes is refused where its owner's scope is below maintenance margin after it and further below than
//!   before, or has lost more beyond all it had: a stop that comes to run in the tick that would liquidate its scope may still close
//!   it, at prices that cost the fund no more than the mark would (`perpetual.md` 12, `risk.md` 6, 14).
//! - What funding takes from an isolated wallet beyond 0 comes out of the profit of its position, whose cost rises by it, and what that
//!   does not have either the fund pays (INSURANCE_CLEAR), as where a close does (`risk.md` 8).
//! - At the settlement of a market that closes an isolated position ends with its wallet and its result together in the cross wallet,
//!   also where that is a loss (`risk.md` 18).
//! - The dynamic band binds from the order it stopped on, as long as every tick finds the best price of that side beyond it. After
//!   its pause the reference is the mark of the tick that ends it (`risk.md` 16).
//! - The fund, below its maintenance margin, gives up whole positions, the largest margin first, until it is not.
//! - A wallet below 0 without cross position is paid to 0 by the fund (INSURANCE_CLEAR), whatever brought it there.
//! - The liquidation scan goes through accounts ascending; one that a test brings into question (by a fill, a takeover) has
//!   its turn in the same pass if its id is still to come, else in the next. MARGIN_CALL is judged at the same tests, cross
//!   scope first, isolated ones ascending: the ratio is rounded up to 10^-8, and an account without equity is above it.
//! - A settlement without index samples is at the last index.
//! - The windows after a recovery begin at the time of OpenEpoch, the first of a venue excepted that has no market yet. A
//!   change of their lengths holds from the next recovery on.
//! - Hours and days roll at ticks; a fill between the hour and its tick counts for the hour before.
//!
//! **Flow of a command** (`risk.md` 19): checks, match, trim of reduce-only orders, triggers, liquidation scan. A tick does
//! the ten steps of `risk.md` 19, of which the tenth is the views'.

use super::*;

body! {
    /// See [`Kind::ListPerpetual`]. The market starts HALTED, with the parameters, brackets and bounds of BTCUSDT
    /// (`risk.md` 2, `perpetual.md` 5) whatever its name, no source and no price. A margin asset (or base) named for the
    /// first time is created. Rejects: MarketExists (of that symbol, among perpetual markets), Malformed (names as in
    /// ListMarket, tick or lot outside 1..=[`crate::money::MAX_ENTRY`]), MarginAssetDiffers, StepsDoNotFit (tick x lot is
    /// no multiple of 10^10).
    pub struct ListPerpetual {
        /// Name of the market.
        pub symbol: Symbol,
        /// What is traded.
        pub base: AssetName,
        /// The margin asset.
        pub quote: AssetName,
        /// Price step.
        pub tick: Price,
        /// Quantity step.
        pub lot: Quantity,
    }

    /// See [`Kind::SetPerpetualParameter`]. Rejects: Malformed (no such parameter), MarketNotFound, StepsDoNotFit (of a
    /// tick or lot: some product of a tick and a lot that the market ever had is no multiple of 10^10),
    /// ParameterOutOfRange (see each [`PerpetualParameter`]). Of [`crate::ids::DRAFT_MARKET`]: DraftNotFound; bounds are judged
    /// when the draft is applied.
    pub struct SetPerpetualParameter {
        /// Which market; [`crate::ids::ALL_MARKETS`] for a parameter of the whole venue.
        pub market: MarketId,
        /// A [`PerpetualParameter`].
        pub parameter: u32,
        /// Its new value.
        pub value: i64,
    }

    /// See [`Kind::SetBrackets`]. The whole table at once. Rejects: MarketNotFound, Malformed (count not 1..=8),
    /// ParameterOutOfRange: caps not ascending from above 0 to 10^15, leverages not strictly falling within 1..=125,
    /// maintenance rates not strictly rising within 1..10^8, more maintenance than initial margin at a cap, a `cum` that is no
    /// integer, or a bound of `risk.md` 2 that the market's own parameters would break (mark clamp, liquidation fee, funding
    /// cap). Of [`crate::ids::DRAFT_MARKET`]: as [`SetPerpetualParameter`].
    pub struct SetBrackets {
        /// Which market.
        pub market: MarketId,
        /// How many count, 1 to 8. Of [`crate::ids::DRAFT_MARKET`], plus 2^16 where they follow on eight that came before.
        pub count: u32,
        /// Largest notional of each, micro-quote.
        pub caps: [i64; 8],
        /// Greatest leverage of each.
        pub leverages: [u32; 8],
        /// Maintenance rate of each, 10^-8.
        pub rates: [u32; 8],
    }

    /// See [`Kind::SetPerpetualState`]. CLOSED settles the market (`risk.md` 18), for good. The other states can be set at
    /// any time, whatever the state before; the engine's own changes (stale index, dynamic band) come on top: see
    /// [`PerpetualState`]. Rejects: MarketNotFound, MarketDelisted (it is CLOSED), Malformed, NoMarkPrice (any state but
    /// HALTED and CANCEL_ONLY while the market never had a mark).
    pub struct SetPerpetualState {
        /// Which market.
        pub market: MarketId,
        /// A [`PerpetualState`].
        pub state: u8,
        pub reserved: [u8; 3],
    }

    /// See [`Kind::SetVipTier`]. Every account is judged by the new table: a higher tier with its next fill, a lower one as at an
    /// hour roll. Rejects: Malformed (tier not below count, count not 1..=16), ParameterOutOfRange (rates outside
    /// -10^6..=10^6, taker below 0, a taker rate plus maker rate below 0, a tier 0 from another volume than 0, volumes of
    /// the tiers below `count` not ascending).
    pub struct SetVipTier {
        /// Which tier, from 0.
        pub tier: u32,
        /// How many tiers there are from now on.
        pub count: u32,
        /// Traded value from which it holds, micro-quote.
        pub volume: i64,
        /// Base rate of the resting side, 10^-8; below 0 a rebate.
        pub maker_rate: i64,
        /// Base rate of the arriving side, 10^-8.
        pub taker_rate: i64,
    }

    /// See [`Kind::SetPerpetualAccount`]. Rejects: AccountNotFound, Malformed (an unknown bit in the mask, a trade group below -1, or
    /// more than 10 000 basis points).
    pub struct SetPerpetualAccount {
        pub account: AccountId,
        /// Which of the fields count: bits of [`account_mask`].
        pub mask: u32,
        /// Accounts of one group, 0 or above, are one party in self-trade prevention; -1 for none.
        pub trade_group: i64,
        /// 1: placements are taken; 0: answered TradingDisabled.
        pub trading_enabled: u32,
        /// 1: the fee_burn entry of the discount stack is active.
        pub fee_burn: u32,
        /// Referral terms, basis points: total rebate; 0 without a referrer.
        pub referral_total_bps: u32,
        /// The trader's share of it, basis points of the total.
        pub referral_share_bps: u32,
        /// Promotion, basis points.
        pub promo_bps: u32,
        pub reserved: u32,
        /// Active while engine time is before it, milliseconds.
        pub promo_until_ms: i64,
    }

    /// See [`Kind::SetSource`]. Weight 0 takes the source away. Rejects: MarketNotFound, ParameterOutOfRange (weight above
    /// 10^6, an age above 600 000, or more than 16 sources). Of [`crate::ids::DRAFT_MARKET`], where the sources named are all that
    /// the market will have, and weight 0 names none: as [`SetPerpetualParameter`].
    pub struct SetSource {
        /// Which market.
        pub market: MarketId,
        /// Which source; ids are the operator's.
        pub source: u32,
        /// Its weight.
        pub weight: u32,
        /// Age after which it is not fresh, milliseconds; 0: as the market's parameter says.
        pub stale_ms: u32,
    }

    /// See [`Kind::FeedPrice`]. Rejects: MarketNotFound, InvalidPrice (not 1..=10^17), SourceNotFound.
    pub struct FeedPrice {
        /// Which market.
        pub market: MarketId,
        /// Which source.
        pub source: u32,
        /// Its price, P8.
        pub price: Price,
    }

    /// See [`Kind::SetManualPrice`]. While set, the index is that price, in state MANUAL. Rejects: MarketNotFound,
    /// InvalidPrice (not 0..=10^17, or one at which what is open cannot be valued).
    pub struct SetManualPrice {
        /// Which market.
        pub market: MarketId,
        /// 1: the dynamic band (`risk.md` 16) begins anew at the mark that follows. For test deployments, where a price may be
        /// put anywhere; elsewhere 0.
        pub moves_band: u32,
        /// The index, P8; 0 frees it.
        pub price: Price,
    }

    /// See [`Kind::CreditPerpetual`]. An operator's deposit (or, below 0, withdrawal) of the margin asset that no transfer
    /// stands behind; DEP changes by it. The zero address is the insurance fund. Makes the account where it does not
    /// exist. Rejects: MarketNotFound (no margin asset yet), InvalidAmount (0, outside +-10^18, below 0 for the fund, or
    /// more than would keep DEP and the wallet within range), CrossInsufficient (below 0: more than is withdrawable).
    pub struct CreditPerpetual {
        /// The wallet.
        pub address: Address,
        pub reserved: u32,
        /// How much, micro-quote.
        pub amount: i64,
        /// Audit note, padded with zeros.
        pub reason: [u8; 64],
    }

    /// See [`Kind::ProveLedger`]. Tells [`crate::event::SpotLedger`] per asset, [`crate::event::PerpetualLedger`] where there
    /// is a perpetual side, and the state hash (`risk.md` 20). Walks the whole state; changes nothing. Never refused.
    pub struct ProveLedger {}

    /// See [`Kind::ActivateRule`]. `risk.md` 19. Rules are switched on one after the other, for good; what they are: [`rule`]. One
    /// that has a value stands apart from that order, and holds until it is given another.
    /// Rejects: Malformed (no such rule, or not the next one), ParameterOutOfRange (what is configured breaks it, or its value is out
    /// of range).
    pub struct ActivateRule {
        /// Its number.
        pub rule: u32,
        /// Of [`rule::WORK_MAX`].
        pub value: u32,
    }

    /// See [`Kind::DraftPerpetual`]. A draft is what a market's configuration is to become, collected and seen by nobody: the
    /// commands that follow, of the same source, name [`crate::ids::DRAFT_MARKET`] as their market, and [`ApplyDraft`] makes all of
    /// it so in one command or nothing. There is one draft at a time: this one takes the place of the one before, whoever's it
    /// was, and an epoch ends it. What is not named stays as it is, or, of a new market, as it ships. Rejects: MarketNotFound.
    pub struct DraftPerpetual {
        /// Name of the market to list; not looked at where `market` is set.
        pub symbol: Symbol,
        /// What is traded; likewise.
        pub base: AssetName,
        /// The margin asset; likewise.
        pub quote: AssetName,
        /// The market to change; 0 to list one.
        pub market: MarketId,
        pub reserved: u32,
    }

    /// See [`Kind::ApplyDraft`]. Rejects, in order: DraftNotFound (none of this source, or of another count of changes), Malformed
    /// (a state that there is not, or CLOSED), and of a new market MarketExists, Malformed (names as in [`ListPerpetual`]),
    /// MarginAssetDiffers; of a market that is there MarketDelisted; then StepsDoNotFit, ParameterOutOfRange
    /// ([`crate::risk::perpetual::bounds::check_all`] of the configuration as it would be, its first breach; or a source that
    /// [`SetSource`] would refuse), NoMarkPrice (as [`SetPerpetualState`]). A draft that is refused stays.
    pub struct ApplyDraft {
        /// How many commands it consists of, [`DraftPerpetual`] not counted.
        pub changes: u32,
        /// A [`PerpetualState`]; 255 leaves it, or, of a new market, is HALTED.
        pub state: u8,
        pub reserved: [u8; 3],
    }

    /// See [`Kind::ScheduleVipTier`]. Tiers come one after the other from 0 to `count` - 1; with the last the whole schedule waits for
    /// the next UTC midnight, in place of one that waits already. It then holds as one set by [`SetVipTier`]s. Rejects: Malformed
    /// (tier not below count, count not 1..=16, or a tier that does not follow the one before), ParameterOutOfRange (rates as in
    /// [`SetVipTier`]; of the last, volumes that do not ascend from 0).
    pub struct ScheduleVipTier {
        /// Which tier, from 0.
        pub tier: u32,
        /// How many tiers there are.
        pub count: u32,
        /// Traded value from which it holds, micro-quote.
        pub volume: i64,
        /// Base rate of the resting side, 10^-8; below 0 a rebate.
        pub maker_rate: i64,
        /// Base rate of the arriving side, 10^-8.
        pub taker_rate: i64,
    }

    /// See [`Kind::SetAccountLimits`]. A limit of the account in a market counts before its limit over all markets, and that
    /// before what the market says; 0 takes a limit away. Orders that rest are not judged again. Rejects: AccountNotFound,
    /// MarketNotFound (no spot or perpetual market, nor [`crate::ids::ALL_MARKETS`]), Malformed (no bit or an unknown one in the
    /// mask; a rate of one market, a notional of a spot market), ParameterOutOfRange (outside 0 to [`OWN_OPEN_ORDERS_MAX`],
    /// [`OWN_RATE_MAX`], 10^15).
    pub struct SetAccountLimits {
        pub account: AccountId,
        /// Where, or [`crate::ids::ALL_MARKETS`]: every market of both sides.
        pub market: MarketId,
        /// Which of the fields count: bits of [`limit_mask`].
        pub mask: u32,
        /// Most open orders in one market, untriggered ones included.
        pub open_orders: u32,
        /// Most orders in ten seconds. The engine keeps it; who lets orders in applies it.
        pub order_rate_10s: u32,
        /// Most orders in a minute, likewise.
        pub order_rate_1m: u32,
        /// Largest notional of position and open orders of one side in a perpetual market, micro-quote, where an order opens more;
        /// beside what brackets allow.
        pub max_position_notional: i64,
        /// Largest notional of an order in a perpetual market, micro-quote.
        pub max_order_notional: i64,
    }

    /// See [`Kind::PlacePerpetual`]. Checks in order, the first that fails answers (`perpetual.md` 7.10): IdempotencyReplay /
    /// Conflict, Malformed, AccountNotFound, MarketNotFound, MarketDelisted (CLOSED), StateRefuses (HALTED, CANCEL_ONLY;
    /// POST_ONLY and not GTX; REDUCE_ONLY and neither reduce-only nor close-position), EngineBusy (LIMIT and MARKET that could
    /// match, while triggers, trims or liquidations of the market wait), InvalidClientOrder,
    /// DuplicateClientOrder, price (InvalidPrice, InvalidTick, PriceBelowMinimum, PriceAboveMaximum), stop price
    /// (InvalidStopPrice, InvalidTick, PriceBelowMinimum, StopPriceAboveMaximum), activation price (InvalidActivationPrice,
    /// InvalidTick, PriceBelowMinimum, StopPriceAboveMaximum), InvalidCallback, quantity (InvalidQuantity: not above 0;
    /// QuantityOutOfRange: after flooring to lots), ReduceOnlyRefused (LIMIT and MARKET; then clamped to |q|, and only then
    /// judged for too much, and again for too little), BelowMinNotional, AboveMaxNotional, PriceAboveBand / PriceBelowBand / CounterpartyOutsideBand
    /// (limit prices; MARKET: best opposite price), InvalidGoodTill, TooManyOpenOrders, TooManyConditional,
    /// ClosePositionExists, TradingDisabled, InLiquidation, leverage (InvalidLeverage, LeverageReduction, ExceedsBracket,
    /// InsufficientMarginForLeverage: as SetLeverage), ExceedsBracket, InsufficientMargin, ImmediateTrigger,
    /// PostOnlyWouldCross, FillOrKill, NoPriceMatch. Refused, nothing is stored and no order id is used.
    ///
    /// - *Malformed*: a byte outside its enumeration, an unknown flag, self-trade mode RejectTaker, a combination that
    ///   `perpetual.md` 7.2 to 7.4 does not allow (price match on a type without a limit price, or together with a price;
    ///   close-position with a quantity, with reduce-only, or on another type than STOP_MARKET and TAKE_PROFIT_MARKET; GTE
    ///   without close-position; a stop price, callback or good-till date where the type or time in force has none; a time in
    ///   force other than GTC on a market type; attached prices on another type than LIMIT and MARKET).
    /// - *Price match*: resolved first, as the market stands. Without such a level every check that needs the price is
    ///   passed over, and the answer is NoPriceMatch where nothing else fails.
    /// - *Conditional types*: notional is judged at the limit price of STOP and TAKE_PROFIT, at the stop price of the
    ///   market types, at the mark of a trailing order; close-position and
    ///   price-matched ones are not judged. They pass over the checks of band (market types), reduce-only, bracket, margin.
    /// - *Leverage*: 0 leaves it; otherwise as SetLeverage in the same command: both happen or neither.
    /// - *Attached orders*: `take_profit` and `stop_loss` (0: none) make a TAKE_PROFIT_MARKET and a STOP_MARKET of the other
    ///   side, reduce-only, with the next order ids in this order; their prices pass the filter of stop prices right after the
    ///   order's own prices, and their place on the right side of the parent's price (mark for MARKET and an unresolved price
    ///   match) is judged with ImmediateTrigger. They are open from the start, so what is asked of a name and of the count of open and
    ///   of conditional orders is asked of the order and of those attached to it together. Their names begin with the parent's, cut
    ///   after 33 characters, so that one may be the parent's own: DuplicateClientOrder.
    /// - MARKET reference and limit: `floor(mark x (10^8 + takeBound) / 10^8)` for a buy, `ceil(mark x (10^8 - takeBound) /
    ///   10^8)` for a sell, rounded to ticks the same way.
    /// - FOK is judged by a walk that knows self-trade modes and what reduce-only orders of each owner can still fill, not
    ///   margin: should a maker then be refused for margin, the remainder expires (reason 2).
    pub struct PlacePerpetual {
        /// Account id.
        pub account: AccountId,
        pub market: MarketId,
        /// A [`Side`].
        pub side: u8,
        /// A [`PerpetualOrderType`], not Liquidation.
        pub order_type: u8,
        /// A [`PerpetualTimeInForce`].
        pub time_in_force: u8,
        /// A [`SelfTradePrevention`], not RejectTaker.
        pub self_trade: u8,
        /// A [`WorkingType`].
        pub working_type: u8,
        /// A [`PriceMatch`].
        pub price_match: u8,
        /// Bits of [`order_flag`].
        pub flags: u16,
        /// Limit price; 0 with a price match and on market types.
        pub price: Price,
        /// Base quantity; 0 for close-position.
        pub quantity: Quantity,
        /// Stop price; of a trailing order its activation price, 0 for the watched price.
        pub stop_price: Price,
        /// Of a trailing order: 100 000 to 10 000 000 in steps of 100 000 (10^-8); else 0.
        pub callback_rate: u32,
        /// New leverage, 0 for none.
        pub leverage: u32,
        /// Of GTD, milliseconds, whole seconds; else 0.
        pub good_till_ms: i64,
        /// Trigger of the attached take-profit, 0 for none.
        pub take_profit: Price,
        /// Trigger of the attached stop-loss, 0 for none.
        pub stop_loss: Price,
        /// 1 to 36 of `[.A-Z:/a-z0-9_-]`, padded with zeros.
        pub client_order: ClientOrder,
        /// A [`WorkingType`]: that of the attached orders.
        pub attached_working_type: u8,
        pub reserved: [u8; 3],
        /// Hash of the idempotency key, 0 for none; see [`PlaceOrder::idempotency_key`].
        pub idempotency_key: u64,
        /// Hash of the request's body.
        pub idempotency_body: u64,
    }

    /// See [`Kind::ModifyPerpetual`]. Rejects, in order: Malformed (side not 0, 1 or 255, a flag other than KEEP_PRIORITY,
    /// price and price match both or neither), AccountNotFound, MarketNotFound, OrderNotFound (none such of the account in
    /// the market), NotModifiable (untriggered, or of a market type), SideDiffers, NotTrading (the state is not TRADING),
    /// EngineBusy (as there; not of GTX, nor where only the quantity falls), TooManyModifications (10 000), the checks of price, quantity, notional and band of PlacePerpetual (reduce-only orders
    /// are clamped to |q|, not refused; the quantity judged is the whole one), NothingToModify (after flooring),
    /// PriorityNotKept (KEEP_PRIORITY and another price, or a
    /// quantity that does not lower what is open), TradingDisabled, InLiquidation, ExceedsBracket,
    /// InsufficientMargin (on the new open quantity, with the old order out of the buckets), PostOnlyWouldCross,
    /// NoPriceMatch. Refused, the order stays as it was, but: a GTX order that would cross is canceled (and the answer is
    /// PostOnlyWouldCross), and a quantity not above what is executed cancels the order, accepted (judged right after
    /// NothingToModify).
    pub struct ModifyPerpetual {
        /// Who asks.
        pub account: AccountId,
        pub market: MarketId,
        /// Which; 0: by `client_order`.
        pub order: OrderId,
        /// The new limit price, 0 with a price match.
        pub price: Price,
        /// The new quantity, executed part included.
        pub quantity: Quantity,
        /// A [`Side`] that must be the order's, or 255.
        pub side: u8,
        /// A [`PriceMatch`].
        pub price_match: u8,
        /// 0 or [`order_flag::KEEP_PRIORITY`].
        pub flags: u16,
        /// Which, where `order` is 0.
        pub client_order: ClientOrder,
    }

    /// See [`Kind::CancelPerpetual`]. Attached orders of it go first. Rejects: AccountNotFound, MarketNotFound,
    /// OrderNotFound (none such of the account in the market; of several with one client id the oldest counts).
    pub struct CancelPerpetual {
        /// Who asks.
        pub account: AccountId,
        pub market: MarketId,
        /// Which; 0: by `client_order`.
        pub order: OrderId,
        /// Which, where `order` is 0.
        pub client_order: ClientOrder,
        /// Bits of [`order_class`]: the order must be of one of them.
        pub classes: u32,
    }

    /// See [`Kind::CancelAllPerpetual`]. Ascending order ids, market by market, each preceded by its attached orders.
    /// Rejects: AccountNotFound, MarketNotFound.
    pub struct CancelAllPerpetual {
        /// Whose orders.
        pub account: AccountId,
        /// Where, or [`crate::ids::ALL_MARKETS`].
        pub market: MarketId,
        /// Bits of [`order_class`]: which orders.
        pub classes: u32,
        pub reserved: u32,
    }

    /// See [`Kind::SetCountdown`]. One timer per market and one over all, independent of each other. Rejects:
    /// AccountNotFound, MarketNotFound, Malformed (below 0 or above 10^12).
    pub struct SetCountdown {
        pub account: AccountId,
        /// Where, or [`crate::ids::ALL_MARKETS`].
        pub market: MarketId,
        /// Milliseconds from now; 0 stops the timer.
        pub countdown_ms: i64,
        /// 1: reduce-only and close-position orders stay.
        pub keep_reduce_only: u32,
        pub reserved: u32,
    }

    /// See [`Kind::SetLeverage`]. `risk.md` 8. Rejects: AccountNotFound, MarketNotFound, MarketDelisted, InvalidLeverage
    /// (not 1 to the first bracket's), LeverageReduction (isolated, with a position, lower), ExceedsBracket,
    /// InsufficientMarginForLeverage (cross). The same value is accepted.
    pub struct SetLeverage {
        pub account: AccountId,
        pub market: MarketId,
        /// The new one.
        pub leverage: u32,
        pub reserved: u32,
    }

    /// See [`Kind::SetMarginMode`]. Over all markets it is also the mode of markets the account has not touched, later
    /// ones included. Rejects: AccountNotFound, MarketNotFound, Malformed, OpenOrdersExist, PositionExists (judged on
    /// every affected market whose mode would change, orders of all before positions of all). The same mode is accepted.
    pub struct SetMarginMode {
        pub account: AccountId,
        /// Where, or [`crate::ids::ALL_MARKETS`].
        pub market: MarketId,
        /// A [`MarginMode`].
        pub mode: u32,
        pub reserved: u32,
    }

    /// See [`Kind::AdjustIsolatedMargin`]. Rejects: AccountNotFound, MarketNotFound, NotIsolated, NoPosition, InvalidAmount
    /// (0), CrossInsufficient (adding more than is withdrawable), IsolatedInsufficient (taking more than `risk.md` 8 lets).
    pub struct AdjustIsolatedMargin {
        pub account: AccountId,
        pub market: MarketId,
        /// Micro-quote: above 0 from the cross wallet to the position, below 0 back.
        pub amount: i64,
    }

    /// See [`Kind::TransferPerpetual`]. Between the account's spot balance of the margin asset and its cross wallet.
    /// Rejects: AccountNotFound, MarketNotFound (no margin asset yet), InvalidAmount (0 or outside +-10^18),
    /// InsufficientBalance (spot has less available), CrossInsufficient (more than is withdrawable), WithdrawalsPaused (to
    /// spot, while the pool is in DEFICIT).
    pub struct TransferPerpetual {
        pub account: AccountId,
        pub reserved: u32,
        /// Micro-quote: above 0 from spot to perpetual, below 0 back.
        pub amount: i64,
    }

    /// See [`Kind::TransferOnce`]. Rejects: IdempotencyReplay, IdempotencyConflict, then as [`TransferPerpetual`], with whose
    /// fields it begins.
    pub struct TransferOnce {
        pub account: AccountId,
        pub reserved: u32,
        /// Micro-quote: above 0 from spot to perpetual, below 0 back.
        pub amount: i64,
        /// Hash of the idempotency key; see [`PlaceOrder::idempotency_key`].
        pub idempotency_key: u64,
        /// Hash of the request's body.
        pub idempotency_body: u64,
    }
}

/// Rule changes, by number: what an engine of this version decides otherwise once [`ActivateRule`] named them.
pub mod rule {
    /// Every market's mark clamp is within the bound of `risk.md` 2 that holds for shorts and for every bracket. Since engine
    /// version 11 no command can leave that bound, whatever the rule; what an earlier version configured beyond it stays until it
    /// is changed, and this is refused while there is any.
    pub const STRICT_MARK_CLAMP: u32 = 1;
    /// The last that this version knows, of those that are switched on in order.
    pub const LAST: u32 = 1;
    /// How many units of work one command does at most (`risk.md` 19); its value is between 8 and 65,536, and 256 while nobody said.
    pub const WORK_MAX: u32 = 256;
}

/// A client's name of an order, padded with zeros.
pub type ClientOrder = [u8; 36];

/// Bits of [`PlacePerpetual::flags`] and of the event `PerpetualOrder`.
pub mod order_flag {
    /// Only shrinks the position.
    pub const REDUCE_ONLY: u16 = 1;
    /// Closes the whole position when it fires.
    pub const CLOSE_POSITION: u16 = 2;
    /// Fires only while mark and last price are near each other.
    pub const PRICE_PROTECT: u16 = 4;
    /// A close-position order that ends with the position (GTE_GTC).
    pub const GTE: u16 = 8;
    /// Placed on the conditional-order service: fired, it goes on under a new order id.
    pub const CONDITIONAL_SERVICE: u16 = 16;
    /// Every check, up to and with the margin check; nothing is stored, no event but Done.
    pub const TEST: u16 = 32;
    /// Of a modification: the queue place is kept.
    pub const KEEP_PRIORITY: u16 = 64;
}

/// Bits that choose among an account's open orders.
pub mod order_class {
    /// All but those below.
    pub const ORDINARY: u32 = 1;
    /// Untriggered orders placed on the conditional-order service.
    pub const CONDITIONAL_SERVICE: u32 = 2;
}

/// Bits of [`SetAccountLimits::mask`].
pub mod limit_mask {
    /// `open_orders` counts.
    pub const OPEN_ORDERS: u32 = 1;
    /// `order_rate_10s` counts.
    pub const RATE_10S: u32 = 2;
    /// `order_rate_1m` counts.
    pub const RATE_1M: u32 = 4;
    /// `max_position_notional` counts.
    pub const POSITION: u32 = 8;
    /// `max_order_notional` counts.
    pub const ORDER: u32 = 16;
    /// All of them.
    pub const ALL: u32 = OPEN_ORDERS | RATE_10S | RATE_1M | POSITION | ORDER;
}

/// Most open orders in one market that an account may be given.
pub const OWN_OPEN_ORDERS_MAX: u32 = 20_000;
/// Most orders in a window that an account may be given.
pub const OWN_RATE_MAX: u32 = 1_000_000;

/// Bits of [`SetPerpetualAccount::mask`].
pub mod account_mask {
    /// `trade_group` counts.
    pub const TRADE_GROUP: u32 = 1;
    /// `trading_enabled` counts.
    pub const TRADING: u32 = 2;
    /// `fee_burn` counts.
    pub const FEE_BURN: u32 = 4;
    /// Both referral fields count.
    pub const REFERRAL: u32 = 8;
    /// Both promotion fields count.
    pub const PROMO: u32 = 16;
    /// All of them.
    pub const ALL: u32 = TRADE_GROUP | TRADING | FEE_BURN | REFERRAL | PROMO;
}

byte_enum! {
    /// How a perpetual order is priced and when it enters the book.
    pub enum PerpetualOrderType {
        /// At its price or better.
        Limit = 0,
        /// At what the book offers near the mark.
        Market = 1,
        /// A limit order once the price went through the stop.
        Stop = 2,
        /// A limit order once the price came back to the stop.
        TakeProfit = 3,
        /// A market order once the price went through the stop.
        StopMarket = 4,
        /// A market order once the price came back to the stop.
        TakeProfitMarket = 5,
        /// A market order once the price turned by the callback rate.
        TrailingStopMarket = 6,
        /// The engine's own: closes a position in liquidation, unwinds the fund's.
        Liquidation = 7,
    }

    /// What becomes of what does not trade at once.
    pub enum PerpetualTimeInForce {
        /// It rests.
        GoodTillCancel = 0,
        /// It expires.
        ImmediateOrCancel = 1,
        /// GTX: the order must not trade at once at all, else it is refused.
        PostOnly = 2,
        /// The order must trade whole at once, else it is refused.
        FillOrKill = 3,
        /// It rests until a date.
        GoodTillDate = 4,
    }

    /// Which price a conditional order watches.
    pub enum WorkingType {
        /// The last trade; the mark until the first.
        ContractPrice = 0,
        /// The mark.
        MarkPrice = 1,
    }

    /// A price taken from the book.
    pub enum PriceMatch {
        /// None.
        None = 0,
        /// The other side's level 1.
        Opponent = 1,
        /// The other side's level 5.
        Opponent5 = 2,
        /// The other side's level 10.
        Opponent10 = 3,
        /// The other side's level 20.
        Opponent20 = 4,
        /// The own side's level 1.
        Queue = 5,
        /// The own side's level 5.
        Queue5 = 6,
        /// The own side's level 10.
        Queue10 = 7,
        /// The own side's level 20.
        Queue20 = 8,
    }

    /// Where a perpetual order stands.
    pub enum PerpetualStatus {
        /// Rests or waits, nothing traded.
        New = 0,
        /// Part traded, the rest in the book.
        PartiallyFilled = 1,
        /// Traded whole.
        Filled = 2,
        /// Ended on request.
        Canceled = 3,
        /// Ended by a rule.
        Expired = 4,
        /// Ended by self-trade prevention.
        ExpiredInMatch = 5,
    }

    /// What backs a position.
    pub enum MarginMode {
        /// The account's wallet.
        Cross = 0,
        /// A wallet of its own.
        Isolated = 1,
    }

    /// `risk.md` 16. The state in force is the strictest of four: what an administrator set, what the index state asks
    /// (REDUCE_ONLY while STALE, HALTED after 600 s), the pause of the dynamic band (POST_ONLY), and the windows after a
    /// recovery (CANCEL_ONLY, then POST_ONLY), which OpenEpoch starts and ticks end. Strictness grows in the order below; where one
    /// asks POST_ONLY and another REDUCE_ONLY, nothing may match and nothing open, which is CANCEL_ONLY.
    pub enum PerpetualState {
        /// Everything.
        Trading = 0,
        /// Only orders that cannot trade; nothing matches.
        PostOnly = 1,
        /// Only orders that shrink positions.
        ReduceOnly = 2,
        /// Cancels only; nothing matches.
        CancelOnly = 3,
        /// Cancels only; no funding, no liquidation.
        Halted = 4,
        /// Settled, for good.
        Closed = 5,
    }

    /// What one may set; the value's unit, its shipped default, and what ParameterOutOfRange guards.
    pub enum PerpetualParameter {
        /// Price step, 10^-8. Orders that rest are not judged again.
        Tick = 1,
        /// Quantity step, 10^-8. Orders that rest stay, but those that traded and have less than a lot left: they end Filled, as
        /// does every order that a fill leaves so little (`risk.md` 17).
        Lot = 2,
        /// Least price, P8, 0 for none: 10 000 000. 0..=10^17.
        MinPrice = 3,
        /// Greatest price, P8: 10^15. 1..=10^17.
        MaxPrice = 4,
        /// Least quantity, 10^-8: 100 000. 1..=10^18.
        MinQuantity = 5,
        /// Greatest quantity of types with a limit price: 10^11. 1..=10^18.
        MaxQuantity = 6,
        /// Greatest quantity of market types: 12 000 000 000. 1..=10^18.
        MaxMarketQuantity = 7,
        /// Least notional, micro: 5 000 000. 0..=10^15.
        MinNotional = 8,
        /// Greatest notional, micro: 5 000 000 000 000. 1..=10^15.
        MaxNotional = 9,
        /// Most open orders of an account, untriggered ones included: 200. 1..=10 000.
        MaxOpenOrders = 10,
        /// Most untriggered orders of an account: 100. 1..=10 000.
        MaxConditionalOrders = 11,
        /// Greatest price of a buy over mark: 105 000 000. 10^8..=10^9.
        BandUp = 12,
        /// Least price of a sell over mark: 95 000 000. 0..=10^8.
        BandDown = 13,
        /// Greatest distance from mark at which a market order trades: 5 000 000. 1..10^8.
        TakeBound = 14,
        /// Greatest |mark - last| / mark for a protected trigger: 5 000 000. 0..=10^8.
        TriggerProtect = 15,
        /// Liquidation fee: 250 000. From 0, below the first maintenance rate.
        LiquidationFee = 16,
        /// Largest basis in the mark: 398 009. 0..=[`crate::risk::perpetual::bracket::widest_clamp`] of the brackets.
        MarkClamp = 17,
        /// Clamp of a source around the median: 500 000. 0..=10^8.
        SourceClamp = 18,
        /// Age after which a source is not fresh, milliseconds: 10 000. 1..=600 000.
        SourceStaleMs = 19,
        /// Fresh sources for LIVE: 2. 1..=16.
        MinSources = 20,
        /// Impact notional, micro: 25 000 000 000. 1..=10^15.
        ImpactNotional = 21,
        /// Hours between settlements: 1. 1, 2, 4 or 8. `nextFundingTime` becomes the next multiple from now.
        FundingIntervalHours = 22,
        /// Interest per 8 hours: 10 000. +-10^8.
        Interest = 23,
        /// Damp per 8 hours: 50 000. 0..=10^8.
        Damp = 24,
        /// Cap per settlement: 300 000. 0..=3/4 of the first maintenance rate.
        FundingCap = 25,
        /// Dynamic band: 10 000 000. 1..=10^8 (10^8: a buy up to twice the reference, no floor for sells).
        DynamicBand = 26,
        /// Age of the dynamic band's reference, seconds: 300. 1..=600.
        DynamicReferenceSeconds = 27,
        /// The own spot market that the index may fall back to, -1 for none: -1. A spot market that exists.
        SpotMarket = 28,
        /// Of the whole venue: the fee_burn discount, basis points: 0. 0..=5 000.
        FeeBurnBps = 40,
        /// Of the whole venue: how long every market takes cancels only after a recovery, milliseconds: 0. 0..=3 600 000.
        RecoveryCancelOnlyMs = 41,
        /// Of the whole venue: how long after that it takes only orders that cannot trade: 0. 0..=3 600 000.
        RecoveryPostOnlyMs = 42,
    }
}

impl PerpetualOrderType {
    /// Whether it has a limit price.
    #[inline]
    pub const fn has_price(self) -> bool {
        matches!(self, Self::Limit | Self::Stop | Self::TakeProfit)
    }

    /// Of a type that can be placed: whether it enters the market only once a price has come.
    #[inline]
    pub const fn is_conditional(self) -> bool {
        !matches!(self, Self::Limit | Self::Market)
    }

    /// What it is once it runs.
    #[inline]
    pub const fn fired(self) -> PerpetualOrderType {
        if self.has_price() { Self::Limit } else { Self::Market }
    }
}
