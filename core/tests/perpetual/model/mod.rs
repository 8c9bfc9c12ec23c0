//! The reference model of the perpetual side: what the exchange must do, written as plainly as possible from `risk.md`,
//! `perpetual.md` 7 and the docs of commands and events. It shares the record types with the real engine and nothing
//! else; the spot side is the reference engine of `reference/`.
//!
//! Nothing is cached but what the specification fixes at a moment (an order's reservation, samples, extremes). Order
//! margin buckets, margins, equities and rankings are sums and sorts over all orders and positions whenever they are
//! asked for. Every balance moves by a posting whose legs must sum to zero. It knows no state hash, no snapshots and no
//! speed.
#![allow(dead_code, unreachable_pub)]

mod admin;
mod arithmetic;
mod conditional;
mod configure;
mod fees;
mod funding;
mod invariants;
mod ledger;
mod liquidation;
mod margin;
mod matching;
mod modify;
mod orders;
mod output;
mod placement;
mod prices;
mod requests;
mod settlement;
pub mod stream;
mod tick;
mod treasury;
pub mod view;

use crate::naive::Reference;
use crate::support::table::{Grid, Table};
use arithmetic::E6;
use output::Output;
use ringside_core::command::{
    self, Command, Kind, MarginMode, PerpetualOrderType, PerpetualState, PerpetualTimeInForce, PriceMatch,
    SelfTradePrevention, Side, WorkingType,
};
use ringside_core::event::{self, Event, IndexState};
use ringside_core::ids::{AccountId, AssetId, AssetName, MarketId, OrderId, Symbol};
use ringside_core::reject::Reject;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The insurance fund is account 0.
pub const FUND: AccountId = 0;

/// Whether an order rests, waits, or is trading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// In the book.
    Resting,
    /// Waits for its trigger.
    Waiting,
    /// The order of the running match.
    Arriving,
}

/// An open order.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub id: OrderId,
    pub account: AccountId,
    pub market: MarketId,
    pub side: Side,
    pub kind: PerpetualOrderType,
    pub original_kind: PerpetualOrderType,
    pub time_in_force: PerpetualTimeInForce,
    pub self_trade: SelfTradePrevention,
    pub working: WorkingType,
    pub price_match: PriceMatch,
    pub flags: u16,
    pub callback: i128,
    pub price: i128,
    pub quantity: i128,
    pub filled: i128,
    pub open: i128,
    /// Value of what was executed.
    pub value: i128,
    pub stop_price: i128,
    pub good_till: i64,
    pub parent: OrderId,
    pub client: [u8; 36],
    pub stage: Stage,
    /// Position in time priority.
    pub arrival: u64,
    /// What was reserved at acceptance, for `reserved_for`.
    pub reserved_for: i128,
    pub reference: i128,
    pub open_loss: i128,
    pub fee_reserve: i128,
    pub modifications: u32,
    /// Of a trailing order: reached its activation price.
    pub active: bool,
    /// Of an active trailing order: peak or trough.
    pub extreme: i128,
    /// Price protection holds it back.
    pub deferred: bool,
    /// The shrink rule took lots away.
    pub shortened: bool,
    /// Of a trailing order: the price turned far enough.
    pub turned: bool,
    /// How many of the prices that the next evaluation judges are from before it began to watch.
    pub watches_from: usize,
}

/// Where an account stands in a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub quantity: i128,
    pub cost: i128,
    pub isolated_wallet: i128,
    pub open_fees: i128,
    pub realised: i128,
    /// As set, 0 for the default.
    pub leverage: u32,
    pub mode: MarginMode,
}

/// An hour whose funding is not paid to the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Hour {
    pub mark: i128,
    pub positions: usize,
    /// What each position is still to receive, below 0 to pay.
    pub unpaid: BTreeMap<AccountId, i128>,
    /// By those who have paid.
    pub received: i128,
}

/// A market that closes.
#[derive(Clone, Debug, PartialEq)]
pub struct Closing {
    pub price: i128,
    /// By those that are settled: what they brought, less what they cost.
    pub paid: i128,
    pub positions: i128,
    pub lacked: i128,
    /// Profits, by whom they were paid to.
    pub brought: Vec<(AccountId, i128)>,
    /// Its loss, once all are settled.
    pub sharing: Option<Sharing>,
}

/// A loss that is given back by and by: everybody is weighed first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    pub loss: i128,
    /// Who is asked, and what all this brought it.
    pub asked: Vec<(AccountId, i128)>,
    /// What they can give, of those who are weighed.
    pub weights: Vec<i128>,
    /// Who gave.
    pub given: usize,
}

impl Sharing {
    /// What an account may still have to give.
    pub fn withheld(&self, account: AccountId) -> i128 {
        let of = |place: usize| self.weights.get(place).copied().unwrap_or(self.asked[place].1.max(0));
        (self.given..self.asked.len()).filter(|&place| self.asked[place].0 == account).map(of).sum()
    }
}

/// A lower fee tier to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub from: u8,
    pub to: u8,
    pub effective_ms: i64,
}

/// A timer that cancels orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Countdown {
    pub deadline_ms: i64,
    pub keep_reduce_only: bool,
}

/// Terms and wallet of an account.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    pub wallet: i128,
    pub default_mode: MarginMode,
    pub trade_group: i64,
    pub trading_enabled: bool,
    pub fee_burn: bool,
    pub referral_total: i128,
    pub referral_share: i128,
    pub promo: i128,
    pub promo_until: i64,
    pub tier: u8,
    pub pending: Option<Pending>,
    /// Traded value by UTC hour, as far as it counts for 14 and for 30 days.
    pub volumes: [BTreeMap<i64, i128>; 2],
    /// By market, or ALL_MARKETS.
    pub countdowns: BTreeMap<MarketId, Countdown>,
    /// When each scope was warned last, ms: by market of an isolated position, or ALL_MARKETS.
    pub calls: BTreeMap<MarketId, i64>,
}

impl Account {
    fn new() -> Account {
        Account {
            wallet: 0,
            default_mode: MarginMode::Cross,
            trade_group: -1,
            trading_enabled: true,
            fee_burn: false,
            referral_total: 0,
            referral_share: 0,
            promo: 0,
            promo_until: 0,
            tier: 0,
            pending: None,
            volumes: Default::default(),
            countdowns: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }
}

/// A notional bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket {
    pub cap: i128,
    pub leverage: u32,
    pub rate: i128,
    pub cumulated: i128,
}

/// A source of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    pub weight: i128,
    /// Age after which it is not fresh, 0 for the market's.
    pub stale_ms: i64,
    /// Last price and its time.
    pub last: Option<(i128, i64)>,
}

/// A perpetual market.
#[derive(Clone, Debug)]
pub struct Market {
    pub id: MarketId,
    pub symbol: Symbol,
    pub base: AssetId,
    pub quote: AssetId,
    /// By number of the parameter.
    pub parameters: BTreeMap<u32, i128>,
    /// Every tick it ever had.
    pub ticks: Vec<i128>,
    /// Every lot it ever had.
    pub lots: Vec<i128>,
    pub brackets: Vec<Bracket>,
    pub set_state: PerpetualState,
    /// The state in force as last told.
    pub told_state: PerpetualState,
    pub update: u64,
    pub trades: u64,
    pub prevented: u64,
    pub last_price: Option<i128>,
    pub sources: BTreeMap<u32, Source>,
    pub manual: Option<i128>,
    pub index_state: Option<IndexState>,
    pub index: i128,
    /// The first tick that found nothing to make an index of.
    pub index_lost_ms: Option<i64>,
    /// The index was stale for so long that the market halts.
    pub index_halts: bool,
    pub mark: i128,
    pub basis: i128,
    pub clamped: bool,
    pub impact_bid: Option<i128>,
    pub impact_ask: Option<i128>,
    /// The last samples of the basis, newest last.
    pub basis_samples: Vec<i128>,
    /// How often the last sample was repeated because a side was undefined.
    pub basis_repeats: u32,
    /// The UTC second of the last tick.
    pub second: Option<i64>,
    pub premiums: Vec<i128>,
    pub premium_slot: Option<i64>,
    pub next_funding_ms: i64,
    pub hour: Option<Hour>,
    pub closing: Option<Closing>,
    /// The account to be looked at next, since the lot changed.
    pub looked_at: Option<AccountId>,
    /// Index by second, of the last 1,800 seconds.
    pub index_samples: BTreeMap<i64, i128>,
    /// Mark by second, for the dynamic band.
    pub mark_samples: BTreeMap<i64, i128>,
    /// Prices watched since the last evaluation of triggers, in sequence.
    pub contract_path: Vec<i128>,
    pub mark_path: Vec<i128>,
    /// Since when the dynamic band stops buys, sells.
    pub band_since_ms: [Option<i64>; 2],
    pub pause_until_ms: Option<i64>,
    pub told_price: Option<event::PerpetualPrice>,
}

/// Limits of an account's own in a market, or over all; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLimits {
    pub open_orders: i128,
    pub rate_10s: u32,
    pub rate_1m: u32,
    pub position: i128,
    pub order: i128,
}

/// What a market is to become.
#[derive(Clone, Debug)]
pub struct Draft {
    pub source: u32,
    /// `None`: a new one of these names.
    pub market: Option<MarketId>,
    pub names: (Symbol, AssetName, AssetName),
    pub changes: u32,
    pub parameters: BTreeMap<u32, i128>,
    pub brackets: Option<Vec<(i128, u32, i128)>>,
    /// Id, weight, age.
    pub sources: Option<Vec<(u32, u32, u32)>>,
}

/// A fee tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    pub volume: i128,
    pub maker: i128,
    pub taker: i128,
}

/// The whole state.
#[derive(Clone)]
pub struct Model {
    /// Spot, accounts, assets, sources of commands, time.
    pub spot: Reference,
    pub margin_asset: Option<AssetId>,
    pub accounts: Vec<Account>,
    pub markets: Vec<Market>,
    pub positions: Grid<Position>,
    pub orders: Table<OrderId, Order>,
    pub arrivals: u64,
    pub fees: i128,
    pub affiliates: i128,
    pub deposits: i128,
    pub tiers: Vec<Tier>,
    /// The schedule to come, and when.
    pub scheduled: Option<(Vec<Tier>, i64)>,
    /// Tiers of one that is not complete, and how many it will have.
    pub collected: (Vec<Tier>, u32),
    /// By account and market, or ALL_MARKETS.
    pub limits: BTreeMap<(AccountId, MarketId), OwnLimits>,
    pub draft: Option<Draft>,
    pub fee_burn_bps: i128,
    /// Lengths of the windows after a recovery.
    pub windows: [i128; 2],
    /// The last rule change that is on.
    pub rules: u32,
    /// Highest equity of the fund by UTC minute.
    pub fund_equities: BTreeMap<i64, i128>,
    pub deficit: bool,
    /// The running hour, as of the last roll.
    pub hour: Option<i64>,
    /// Who traded first in an hour, and next, as long as that counts for 14 and for 30 days.
    pub traders: [VecDeque<(i64, AccountId)>; 2],
    /// The first account that a new table of tiers has not judged.
    pub unjudged: Option<AccountId>,
    /// Hours or judgements that had no unit.
    pub roll_waits: bool,
    /// Accounts that the running command must test.
    pub suspects: BTreeSet<AccountId>,
    /// How many units a command has, and the running one has left.
    pub units_max: u32,
    pub units: u32,
    /// Orders that are due and wait to be run.
    pub queue: VecDeque<OrderId>,
    /// Accounts that an order met.
    pub met: Vec<AccountId>,
    /// Markets whose orders are not all trimmed.
    pub untrimmed: BTreeSet<MarketId>,
    /// A liquidation that goes on.
    pub paused: Option<(AccountId, Option<MarketId>)>,
    /// The last scan had no unit for a liquidation or a warning.
    pub scan_waits: bool,
    /// Nor for the fund's test.
    pub fund_waits: bool,
    /// Markets whose watched prices moved since a scan left nobody over.
    pub stirred: BTreeSet<MarketId>,
    /// Until when dates and countdowns expire that had no unit.
    pub dates_until: Option<i64>,
    /// What liquidations lacked, while it is shared.
    pub sharing: Option<Sharing>,
    /// What the fund paid for bankrupt scopes, and what deleveraging brought whom, in the order of their first fills.
    pub shortfall: i128,
    pub brought: Vec<(AccountId, i128)>,
    /// Positions that became zero or turned since the last trim.
    pub turned: BTreeSet<(AccountId, MarketId)>,
    /// Who may trade with the order that arrives, with position and wallet before.
    parties: Vec<(AccountId, Position, i128)>,
    /// An order trades, and the level that it is at, once that has changed.
    is_matching: bool,
    level: Option<event::Depth>,
    pub output: Output,
    /// Scopes in liquidation now.
    pub liquidating: Vec<(AccountId, Option<MarketId>)>,
    /// Whose spot balances the running command changed, in order.
    pub transferred: Vec<(AccountId, AssetId)>,
    /// What it moved of the venue's own money.
    pub treasury: Option<event::TreasuryMoved>,
    /// The running command is refused but changed something.
    pub refused_with_change: bool,
    /// What trades said, to be compared with the orders.
    pub audit: invariants::Audit,
}

/// What a command that was taken tells [`ringside_core::event::Done`].
#[derive(Clone, Copy, Default)]
pub struct Outcome {
    pub order: OrderId,
    pub account: Option<AccountId>,
    pub market: Option<MarketId>,
}

impl Model {
    /// Genesis.
    pub fn new() -> Model {
        let mut model = Model {
            spot: Reference::new(),
            margin_asset: None,
            accounts: Vec::new(),
            markets: Vec::new(),
            positions: Grid::default(),
            orders: Table::default(),
            arrivals: 0,
            fees: 0,
            affiliates: 0,
            deposits: 0,
            tiers: admin::shipped_tiers(),
            scheduled: None,
            collected: (Vec::new(), 0),
            limits: BTreeMap::new(),
            draft: None,
            fee_burn_bps: 0,
            windows: [0; 2],
            rules: 0,
            fund_equities: BTreeMap::new(),
            deficit: false,
            hour: None,
            traders: Default::default(),
            unjudged: None,
            roll_waits: false,
            suspects: BTreeSet::new(),
            units_max: 256,
            units: 0,
            queue: VecDeque::new(),
            met: Vec::new(),
            untrimmed: BTreeSet::new(),
            paused: None,
            scan_waits: false,
            fund_waits: false,
            stirred: BTreeSet::new(),
            dates_until: None,
            shortfall: 0,
            brought: Vec::new(),
            sharing: None,
            turned: BTreeSet::new(),
            parties: Vec::new(),
            is_matching: false,
            level: None,
            output: Output::default(),
            liquidating: Vec::new(),
            transferred: Vec::new(),
            treasury: None,
            refused_with_change: false,
            audit: invariants::Audit::default(),
        };
        model.meet_accounts();
        model
    }

    /// Accounts that the spot side knows exist here too.
    fn meet_accounts(&mut self) {
        while self.accounts.len() < self.spot.accounts.len() {
            self.accounts.push(Account::new());
        }
    }

    /// Passes over a command.
    pub fn skip(&mut self, command: &Command) {
        self.spot.skip(command);
    }

    /// The events of a command.
    pub fn apply(&mut self, command: &Command) -> Vec<Event> {
        let kind = Kind::from_code(command.kind);
        let is_perpetual = kind != Some(Kind::SetDisconnect)
            && (command.kind >= Kind::ListPerpetual as u16 || kind == Some(Kind::AdvanceTime));
        if !is_perpetual || kind.is_none() {
            self.spot.perpetuals = self.markets.iter().map(|market| market.id).collect();
            let events = self.spot.apply(command);
            self.meet_accounts();
            let done = events.last().and_then(Event::get::<event::Done>).expect("the last one");
            if kind == Some(Kind::OpenEpoch) && done.reject == 0 {
                // What a source of the epoch before began is not ended any more.
                self.draft = None;
                self.collected = (Vec::new(), 0);
            }
            return events;
        }
        self.spot.skip(command);
        let kind = kind.expect("judged above");
        let mut done = event::Done {
            source_seq: command.source_seq,
            source: command.source,
            command: command.kind,
            reject: 0,
            order: 0,
            account: 0,
            market: 0,
            idempotency_key: 0,
            replayed: 0,
            update: 0,
        };
        self.output = Output::new(self.spot.sequence, self.spot.time_ns);
        if self.spot.is_duplicate(command) {
            done.reject = Reject::Duplicate.code();
            return std::mem::take(&mut self.output).finish(Vec::new(), done);
        }
        done.account = named_account(kind, command);
        if kind == Kind::PlacePerpetual {
            let place: &command::PlacePerpetual = command.body();
            done.idempotency_key = place.idempotency_key;
            let (key, body) = (place.idempotency_key, place.idempotency_body);
            if let Some((reject, replayed)) = self.spot.remember(place.account, key, body) {
                done.reject = reject.code();
                done.replayed = replayed;
                return std::mem::take(&mut self.output).finish(Vec::new(), done);
            }
        }
        self.transferred.clear();
        self.treasury = None;
        self.refused_with_change = false;
        if self.untrimmed.is_empty() {
            self.turned.clear();
        }
        if !self.scan_waits {
            self.stirred.clear();
        }
        let (fund, pools) = self.sums();
        // One unit is for what the command asks for itself; a tick asks for nothing.
        self.units = self.units_max - u32::from(kind != Kind::AdvanceTime);
        if self.hour.is_none() {
            self.hour = Some(self.running_hour());
        }
        let works_off =
            !matches!(kind, Kind::AdvanceTime | Kind::ProveLedger | Kind::MoveTreasury) && self.backlog();
        if works_off {
            self.run_dates();
            self.look_for_remainders();
            self.settle_down();
            if self.roll_waits {
                self.roll_hours();
            }
            if done.account != FUND {
                self.settle_first(done.account);
            }
        }
        let result = self.dispatch(kind, command);
        let changed = result.is_ok() || self.refused_with_change || works_off;
        // A tick settles down by itself; a proof only looks; what moves between spot balances is none of this ledger's business.
        let is_of_spot = kind == Kind::MoveTreasury && self.output.facts().is_empty();
        if changed && !is_of_spot && !matches!(kind, Kind::AdvanceTime | Kind::ProveLedger) {
            self.settle_down();
        }
        match result {
            Err(reject) => done.reject = reject.code(),
            Ok(outcome) => {
                done.order = outcome.order;
                done.account = outcome.account.unwrap_or(done.account);
                if let Some(market) = outcome.market {
                    done.market = market;
                    done.update = self.market(market).update;
                }
            }
        }
        if !changed {
            assert!(self.output.facts().is_empty(), "a refusal tells nothing");
            return std::mem::take(&mut self.output).finish(Vec::new(), done);
        }
        let mut changes = Vec::new();
        let after = self.sums();
        if after.0 != fund {
            changes.push(Event::new(0, 0, 0, after.0));
        }
        if after.1 != pools {
            changes.push(Event::new(0, 0, 0, after.1));
        }
        for &(account, asset) in &self.transferred {
            let (available, frozen) = self.spot.balance(account, asset);
            let balances = event::Balances {
                account,
                base: asset,
                quote: asset,
                changed: 1,
                base_available: available.into(),
                base_frozen: frozen.into(),
                quote_available: 0.into(),
                quote_frozen: 0.into(),
            };
            changes.push(Event::new(0, 0, 0, balances));
        }
        if kind == Kind::AdvanceTime {
            changes.extend(self.spot.delisted_on(self.units as usize));
        }
        changes.extend(self.treasury.map(|moved| Event::new(0, 0, 0, moved)));
        let events = std::mem::take(&mut self.output).finish(changes, done);
        if let Err(text) = self.audit(&events) {
            panic!("{text}");
        }
        events
    }

    /// Triggers, then the liquidation scan, whose fills may move prices that triggers watch.
    fn settle_down(&mut self) {
        loop {
            self.run_triggers();
            self.pay_hours();
            self.close_markets();
            self.scan();
            let moved = self.markets.iter().any(|market| {
                let is_stale = market.index_state == Some(IndexState::Stale);
                self.may_match(market.id)
                    && (!market.contract_path.is_empty() || (!is_stale && !market.mark_path.is_empty()))
            });
            if !moved {
                return;
            }
        }
    }

    /// Takes a unit of work, if one is left.
    fn take_unit(&mut self) -> bool {
        let is_left = self.units > 0;
        self.units -= u32::from(is_left);
        is_left
    }

    /// Whether a trigger is due that may run.
    fn is_due(&self, id: OrderId) -> bool {
        self.orders
            .get(&id)
            .is_some_and(|order| order.stage == Stage::Waiting && self.may_match(order.market))
    }

    /// Whether something before the fund's test waits.
    fn has_left_over(&self) -> bool {
        self.scan_waits
            || self.markets.iter().any(|market| market.hour.is_some() || market.closing.is_some())
            || self.paused.is_some()
            || !self.untrimmed.is_empty()
            || self.queue.iter().any(|&id| self.is_due(id))
    }

    /// Whether anything waits.
    pub fn backlog(&self) -> bool {
        let looks = self.markets.iter().any(|market| market.looked_at.is_some());
        self.has_left_over() || self.fund_waits || self.dates_until.is_some() || looks || self.roll_waits
    }

    /// The same on the spot side as well.
    pub fn leaves_over(&self) -> bool {
        self.backlog() || self.spot.markets.iter().any(|market| market.delists)
    }

    /// Whether orders that could match in a market are refused.
    fn is_busy(&self, market: MarketId) -> bool {
        let is_of = |id: &OrderId| self.orders.get(id).is_some_and(|order| order.market == market);
        let goes_on = |(account, scope): (AccountId, Option<MarketId>)| {
            self.scope_markets(account, scope).any(|of| of == market) || scope == Some(market)
        };
        (self.scan_waits && self.stirred.contains(&market))
            || self.untrimmed.contains(&market)
            || self.queue.iter().any(is_of)
            || self.paused.is_some_and(goes_on)
    }

    fn dispatch(&mut self, kind: Kind, command: &Command) -> Result<Outcome, Reject> {
        match kind {
            Kind::AdvanceTime => {
                let lost = self.spot.take_lost();
                self.units -= lost.len() as u32;
                let ended = self.spot.end_lost(&lost);
                self.output.begin(ended);
                self.end_lost(&lost);
                self.tick();
                Ok(Outcome::default())
            }
            Kind::ListPerpetual => self.list(command.body()),
            Kind::SetPerpetualParameter => self.set_parameter(command.body(), command.source),
            Kind::SetBrackets => self.set_brackets(command.body(), command.source),
            Kind::DraftPerpetual => self.begin_draft(command.body(), command.source),
            Kind::ApplyDraft => self.apply_draft(command.body(), command.source),
            Kind::ScheduleVipTier => self.schedule_tier(command.body()),
            Kind::SetAccountLimits => self.limit_account(command.body()),
            Kind::SetPerpetualState => self.set_state(command.body()),
            Kind::ActivateRule => self.activate(command.body()),
            Kind::ProveLedger => {
                self.prove();
                Ok(Outcome::default())
            }
            Kind::SetVipTier => self.set_tier(command.body()),
            Kind::SetPerpetualAccount => self.set_account(command.body()),
            Kind::SetSource => self.set_source(command.body(), command.source),
            Kind::FeedPrice => self.feed(command.body()),
            Kind::SetManualPrice => self.set_manual(command.body()),
            Kind::CreditPerpetual => self.credit(command.body()),
            Kind::MoveTreasury => self.move_treasury(command.body()),
            Kind::PlacePerpetual => self.place(command.body()),
            Kind::ModifyPerpetual => self.modify(command.body()),
            Kind::CancelPerpetual => self.cancel(command.body()),
            Kind::CancelAllPerpetual => self.cancel_all(command.body()),
            Kind::SetCountdown => self.set_countdown(command.body()),
            Kind::SetLeverage => self.set_leverage(command.body()),
            Kind::SetMarginMode => self.set_margin_mode(command.body()),
            Kind::AdjustIsolatedMargin => self.adjust_isolated(command.body()),
            Kind::TransferPerpetual => self.transfer(command.body()),
            _ => unreachable!("a spot command"),
        }
    }
}

/// The account that a command names, as named.
fn named_account(kind: Kind, command: &Command) -> AccountId {
    match kind {
        Kind::PlacePerpetual => command.body::<command::PlacePerpetual>().account,
        Kind::ModifyPerpetual => command.body::<command::ModifyPerpetual>().account,
        Kind::CancelPerpetual => command.body::<command::CancelPerpetual>().account,
        Kind::CancelAllPerpetual => command.body::<command::CancelAllPerpetual>().account,
        Kind::SetCountdown => command.body::<command::SetCountdown>().account,
        Kind::SetLeverage => command.body::<command::SetLeverage>().account,
        Kind::SetMarginMode => command.body::<command::SetMarginMode>().account,
        Kind::AdjustIsolatedMargin => command.body::<command::AdjustIsolatedMargin>().account,
        Kind::TransferPerpetual => command.body::<command::TransferPerpetual>().account,
        Kind::SetPerpetualAccount => command.body::<command::SetPerpetualAccount>().account,
        Kind::SetAccountLimits => command.body::<command::SetAccountLimits>().account,
        _ => 0,
    }
}
