//! One perpetual market beside its book: rules, brackets, sources, prices, funding samples, and what it takes now.

use super::account::HotHolding;
use super::account_set::AccountSet;
use super::order::Details;
use super::shortfall::Shortfall;
use crate::book::grid::Step;
use crate::command::{PerpetualParameter, PerpetualState, Side};
use crate::event::PerpetualPrice;
use crate::ids::{AccountId, AssetId, Symbol as Name, TradeId};
use crate::money::{Money, Price, Quantity, Rate};
use crate::risk::perpetual::band::{Band, bound, market_limit};
use crate::risk::perpetual::bounds::{self, QUANTITY_MAX, SHIPPED_BRACKETS};
use crate::risk::perpetual::bracket::Brackets;
use crate::risk::perpetual::funding::{FundingRules, Premiums};
use crate::risk::perpetual::index::{Index, IndexState};
use crate::risk::perpetual::mark::Basis;
use crate::risk::perpetual::order_margin::mark_on_tick;
use crate::risk::perpetual::settlement::IndexSamples;
use crate::risk::perpetual::units::{OPEN_VALUE_MAX, PRODUCTS_PER_MICRO};
use crate::risk::perpetual::window::Window;
use std::collections::BTreeSet;

/// Most that may be open where an order opens more, in steps of 10^-8. The fund may have to take all of it over.
const OPEN_INTEREST_MAX: i128 = 8_000_000_000_000_000_000;
const _: () = assert!(OPEN_INTEREST_MAX + QUANTITY_MAX as i128 <= i64::MAX as i128);
/// Leverage of whoever never set one.
pub(crate) const LEVERAGE_DEFAULT: u32 = 20;
/// How long the dynamic band may bind before the market pauses, ms.
pub(crate) const BAND_BINDS_MS: i64 = 15_000;
/// How long that pause is, ms.
pub(crate) const BAND_PAUSE_MS: i64 = 30_000;
/// Seconds of marks that are kept for the dynamic band.
pub(crate) const MARKS_S: usize = 601;
/// Length of the parameter table.
pub(crate) const PARAMETERS: usize = 29;

/// A source of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) id: u32,
    pub(crate) weight: u32,
    /// 0 before the first.
    pub(crate) price: Price,
    pub(crate) at_ms: i64,
    /// Age after which it is not fresh, ms; 0: as the market's parameter says.
    pub(crate) stale_ms: u32,
}

/// Prices in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prices {
    pub(crate) mark: Price,
    pub(crate) basis: Price,
    pub(crate) clamped: bool,
    /// Impact prices of the last basis sample.
    pub(crate) bid: Price,
    pub(crate) ask: Price,
}

/// Lowest and highest watched price since triggers were last judged; empty while `low` > `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) low: Price,
    pub(crate) high: Price,
}

impl Range {
    pub(crate) const EMPTY: Range = Range { low: Price::MAX, high: Price::MIN };

    /// Of one price.
    pub(crate) const fn of(price: Price) -> Range {
        Range { low: price, high: price }
    }

    pub(crate) fn add(&mut self, price: Price) {
        self.low = self.low.min(price);
        self.high = self.high.max(price);
    }

    /// The largest key of a stop that these prices reach: of one that waits for a rise, of one that waits for a fall.
    pub(crate) const fn keys(self) -> [i64; 2] {
        [self.high, -self.low]
    }

    /// Nobody judged these prices, and nobody will: the one in force is the first that counts, if one came at all.
    pub(crate) fn restart(&mut self, price: Price) {
        if *self != Range::EMPTY {
            *self = Range::of(price);
        }
    }
}

/// Bounds of prices that follow from marks and parameters, by side: computed when those change, not with every order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    entry: [Option<Price>; 2],
    take: [Option<Price>; 2],
    /// The mark up to a tick; no price where it leaves the range.
    sell_reference: Price,
    /// As of the second.
    band: Option<Band>,
    second: i64,
}

/// What an hour's funding was fixed at, and how far it is paid (`risk.md` 11). Accounts are paid in their order; who is touched before
/// is paid then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unpaid {
    pub(crate) rate: Rate,
    /// Of the hour, which isolated positions are valued at that lack what they pay.
    pub(crate) mark: Price,
    /// Who is below it has paid.
    pub(crate) next: AccountId,
    /// What positions received so far, less what they paid.
    pub(crate) received: Money,
    /// Who was touched of those from `next` on, and has paid, or held nothing.
    pub(crate) ahead: BTreeSet<AccountId>,
}

/// A market that is settled for good (`risk.md` 18): its price is fixed, and its positions are closed at it by and by.
pub(crate) struct Closing {
    pub(crate) price: Price,
    /// What rounding left so far of the values of those that are closed.
    pub(crate) residue: Money,
    /// Of this settlement alone.
    pub(crate) shortfall: Shortfall,
}

/// See the module.
pub(crate) struct Symbol {
    pub(crate) name: Name,
    pub(crate) base: AssetId,
    pub(crate) tick: Step,
    pub(crate) lot: Step,
    /// Greatest common divisors of every tick and lot it ever had.
    pub(crate) steps: (Price, Quantity),
    /// Accounts below it have no remainders (see [`Symbol::is_remainder`]) in the book; all, unless the lot has just changed.
    pub(crate) looked_at: AccountId,
    /// By number of the parameter.
    pub(crate) parameters: [i64; PARAMETERS],
    pub(crate) brackets: Brackets,
    /// The administrator's state.
    pub(crate) set: PerpetualState,
    /// State that was told last.
    pub(crate) told: PerpetualState,
    /// Ends of the windows after a recovery, cancels only and post-only, ms; 0 for none.
    pub(crate) recovery_ms: [i64; 2],
    /// What they ask now.
    pub(crate) recovery: PerpetualState,
    /// End of the pause of the dynamic band, ms; 0 for none.
    pub(crate) pause_ms: i64,
    /// Since when the dynamic band stops buys, sells; 0 while it does not.
    pub(crate) binds_ms: [i64; 2],
    pub(crate) index: Index,
    /// The index stale for so long that the market halts.
    pub(crate) index_halts: bool,
    pub(crate) sources: Vec<Source>,
    /// 0 for none.
    pub(crate) manual: Price,
    pub(crate) prices: Prices,
    bounds: Bounds,
    pub(crate) price_told: Option<PerpetualPrice>,
    pub(crate) basis: Basis,
    pub(crate) premiums: Premiums,
    /// UTC seconds and five-seconds of the last samples.
    pub(crate) sampled: (i64, i64),
    pub(crate) next_funding_ms: i64,
    /// A settlement of funding that goes on.
    pub(crate) unpaid: Option<Box<Unpaid>>,
    /// While it closes, which it is said to have done when the last position is.
    pub(crate) closing: Option<Box<Closing>>,
    /// Marks by second, oldest first: for the dynamic band.
    pub(crate) marks: Window<MARKS_S>,
    /// Index by second, oldest first: for a settlement.
    pub(crate) indexes: IndexSamples,
    pub(crate) trades: TradeId,
    /// Price of the last trade, 0 before the first.
    pub(crate) last_price: Price,
    pub(crate) contract_range: Range,
    pub(crate) mark_range: Range,
    /// Prevented matches so far.
    pub(crate) prevented: u64,
    /// Accounts with a position.
    pub(crate) holders: AccountSet,
    /// Accounts with an order that waits for its trigger, or for its parent.
    pub(crate) waiters: AccountSet,
    /// Sum of the long positions, which is that of the short ones.
    pub(crate) open_interest: i128,
    /// Resting reduce-only orders, by side.
    pub(crate) reducing: [u32; 2],
}

impl Symbol {
    /// A market as it is listed.
    pub(crate) fn new(name: Name, base: AssetId, tick: Price, lot: Quantity, now_ms: i64) -> Symbol {
        let Ok(brackets) = bounds::table(&SHIPPED_BRACKETS) else {
            unreachable!("shipped brackets are sound")
        };
        let mut parameters = [0; PARAMETERS];
        for &parameter in PerpetualParameter::ALL.iter().filter(|parameter| bounds::is_of_market(**parameter))
        {
            parameters[parameter as usize] = bounds::shipped(parameter);
        }
        parameters[PerpetualParameter::Tick as usize] = tick;
        parameters[PerpetualParameter::Lot as usize] = lot;
        let mut symbol = Symbol {
            name,
            base,
            tick: Step::new(tick),
            lot: Step::new(lot),
            steps: (tick, lot),
            looked_at: AccountId::MAX,
            parameters,
            brackets,
            set: PerpetualState::Halted,
            told: PerpetualState::Halted,
            recovery_ms: [0; 2],
            recovery: PerpetualState::Trading,
            pause_ms: 0,
            binds_ms: [0; 2],
            index: Index::new(now_ms as u64),
            index_halts: false,
            sources: Vec::new(),
            manual: 0,
            prices: Prices::default(),
            bounds: Bounds {
                entry: [None; 2],
                take: [None; 2],
                sell_reference: Price::MAX,
                band: None,
                second: i64::MIN,
            },
            price_told: None,
            basis: Basis::default(),
            premiums: Premiums::default(),
            sampled: (-1, -1),
            next_funding_ms: 0,
            unpaid: None,
            closing: None,
            marks: Window::new(),
            indexes: IndexSamples::new(),
            trades: 0,
            last_price: 0,
            contract_range: Range::EMPTY,
            mark_range: Range::EMPTY,
            prevented: 0,
            holders: AccountSet::default(),
            waiters: AccountSet::default(),
            open_interest: 0,
            reducing: [0; 2],
        };
        symbol.next_funding_ms = symbol.funding_after(now_ms);
        symbol.refresh_bounds();
        symbol
    }

    #[inline]
    pub(crate) fn get(&self, parameter: PerpetualParameter) -> i64 {
        self.parameters[parameter as usize]
    }

    /// The next multiple of the funding interval after a time.
    pub(crate) fn funding_after(&self, now_ms: i64) -> i64 {
        let interval = self.get(PerpetualParameter::FundingIntervalHours) * 3_600_000;
        (now_ms.div_euclid(interval) + 1) * interval
    }

    pub(crate) fn funding_rules(&self) -> FundingRules {
        FundingRules {
            interval_hours: self.get(PerpetualParameter::FundingIntervalHours) as u32,
            interest: self.get(PerpetualParameter::Interest),
            damping: self.get(PerpetualParameter::Damp),
            cap: self.get(PerpetualParameter::FundingCap),
        }
    }

    /// The rate estimated from the samples so far.
    pub(crate) fn estimated_rate(&self) -> i64 {
        self.premiums.average().and_then(|average| self.funding_rules().rate(average)).unwrap_or(0)
    }

    /// The state in force.
    pub(crate) fn state(&self) -> PerpetualState {
        let of_index = match self.index.state {
            _ if self.index_halts => PerpetualState::Halted,
            IndexState::Stale if self.index.price != 0 => PerpetualState::ReduceOnly,
            _ => PerpetualState::Trading,
        };
        let of_band = if self.pause_ms != 0 { PerpetualState::PostOnly } else { PerpetualState::Trading };
        let others = [of_index, of_band, self.recovery];
        let strictest = others
            .into_iter()
            .fold(self.set, |strictest, state| if state as u8 > strictest as u8 { state } else { strictest });
        let matches_nothing =
            self.set == PerpetualState::PostOnly || others.contains(&PerpetualState::PostOnly);
        match strictest {
            PerpetualState::ReduceOnly if matches_nothing => PerpetualState::CancelOnly,
            strictest => strictest,
        }
    }

    /// Whether that is the one in which everything goes on.
    #[inline]
    pub(crate) fn is_trading(&self) -> bool {
        let lacks_index =
            self.index_halts | ((self.index.state == IndexState::Stale) & (self.index.price != 0));
        let has_window = self.recovery != PerpetualState::Trading;
        (self.set == PerpetualState::Trading) & !lacks_index & (self.pause_ms == 0) & !has_window
    }

    /// What the windows after a recovery ask at a time; they end here.
    pub(crate) fn recover(&mut self, now_ms: i64) {
        let [cancel_only, post_only] = self.recovery_ms;
        self.recovery = match now_ms {
            now_ms if now_ms < cancel_only => PerpetualState::CancelOnly,
            now_ms if now_ms < post_only => PerpetualState::PostOnly,
            _ => PerpetualState::Trading,
        };
        if self.recovery == PerpetualState::Trading {
            self.recovery_ms = [0; 2];
        }
    }

    /// Whether orders may trade.
    pub(crate) fn matches(&self) -> bool {
        matches!(self.state(), PerpetualState::Trading | PerpetualState::ReduceOnly)
    }

    /// Whether no scope with a position here may be liquidated.
    pub(crate) fn is_suspended(&self) -> bool {
        // Nothing but the administrator and a lost index halts a market.
        self.index.state == IndexState::Stale
            || self.index_halts
            || matches!(self.set, PerpetualState::Halted | PerpetualState::Closed)
    }

    /// Keeps the set of holders, and what is open, in step with a position that was `before` and is `now`.
    #[inline(always)]
    pub(crate) fn enlist(&mut self, account: AccountId, before: Quantity, now: Quantity) {
        self.open_interest += i128::from(now.max(0)) - i128::from(before.max(0));
        if before == 0 && now != 0 {
            self.holders.insert(account);
        } else if before != 0 && now == 0 {
            self.holders.remove(account);
        }
    }

    /// Whether so much is open here that nothing may open more: with one order more than this, the largest there is, the
    /// positions of all that are long still fit one account.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.open_interest > OPEN_INTEREST_MAX
    }

    /// Whether what is open here may be valued at `price`: worth no more than this market's share, one of `markets`, of
    /// [`OPEN_VALUE_MAX`].
    pub(crate) fn may_be_valued_at(&self, price: Price, markets: usize) -> bool {
        let most = i128::from(OPEN_VALUE_MAX) * PRODUCTS_PER_MICRO / markets as i128;
        self.open_interest.checked_mul(price.into()).is_some_and(|value| value <= most)
    }

    /// Whether quantities may be no multiple of the lot, as they are of an earlier one.
    #[inline]
    pub(crate) fn has_odd_lots(&self) -> bool {
        self.steps.1 != self.lot.value()
    }

    /// Whether `open` of an order is what its trades left of it, and below a lot: it ends filled (`risk.md` 17). What the shrink
    /// rule left stays, as it is what a position that is no multiple of the lot needs to be closed.
    #[inline]
    pub(crate) fn is_remainder(&self, order: &Details, open: Quantity) -> bool {
        order.filled > 0 && !order.is_shortened && open < self.lot.value()
    }

    /// Leverage of a holding.
    #[inline]
    pub(crate) fn leverage(&self, holding: &HotHolding) -> u32 {
        if holding.leverage == 0 {
            LEVERAGE_DEFAULT.min(self.brackets.first().leverage_max)
        } else {
            holding.leverage.into()
        }
    }

    /// The price that a working type watches; the mark until the first trade.
    pub(crate) fn contract_price(&self) -> Price {
        if self.last_price == 0 { self.prices.mark } else { self.last_price }
    }

    /// Where an aggressor may trade. Computed once a second.
    #[inline]
    pub(crate) fn dynamic_band(&mut self, now_ms: i64) -> Option<Band> {
        let second = now_ms / 1_000;
        if self.bounds.second != second {
            let oldest = second - self.get(PerpetualParameter::DynamicReferenceSeconds);
            let reference = self.marks.at(oldest.max(0) as u64).unwrap_or(self.prices.mark);
            self.bounds.band = Band::new(reference, self.get(PerpetualParameter::DynamicBand));
            self.bounds.second = second;
        }
        self.bounds.band
    }

    /// Lets the dynamic band begin anew with the next mark, and a pause of it end then.
    pub(crate) fn forget_marks(&mut self, now_ms: i64) {
        self.marks = Window::new();
        self.binds_ms = [0; 2];
        self.pause_ms = self.pause_ms.min(now_ms);
        self.refresh_bounds();
    }

    /// The limit of a market order of a side.
    #[inline]
    pub(crate) fn take_bound(&self, side: Side) -> Option<Price> {
        self.bounds.take[side as usize & 1]
    }

    /// The last price of entry of a side.
    #[inline]
    pub(crate) fn entry_bound(&self, side: Side) -> Option<Price> {
        self.bounds.entry[side as usize & 1]
    }

    /// Has the bounds follow the marks and the parameters: to be called after either changed.
    pub(crate) fn refresh_bounds(&mut self) {
        let (mark, tick) = (self.prices.mark, self.tick.value());
        let take = self.get(PerpetualParameter::TakeBound);
        let shares = [PerpetualParameter::BandUp, PerpetualParameter::BandDown].map(|share| self.get(share));
        let entry = [bound(Side::Buy, mark, shares[0], tick), bound(Side::Sell, mark, shares[1], tick)];
        self.bounds = Bounds {
            entry,
            take: [Side::Buy, Side::Sell].map(|side| market_limit(side, mark, take, tick)),
            sell_reference: mark_on_tick(mark, tick).unwrap_or(Price::MAX),
            band: None,
            second: i64::MIN,
        };
    }

    /// The least price that the margin of a sell is judged at (`risk.md` 5).
    #[inline]
    pub(crate) fn sell_reference(&self) -> Price {
        self.bounds.sell_reference
    }
}
