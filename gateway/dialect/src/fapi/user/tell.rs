//! From the events of one command to what one account's streams say, in the order of `perpetual-stream.md` 4.5.
//!
//! The engine's order is kept, but for fills: the fills of one order that matched (a pass) are first told as TRADE_LITE each,
//! then the account as they left it, then each as an event of its order. Of a trade within one account the maker comes first.

use super::UserEvent;
use super::encode::{self, Fill};
use super::exposure::Exposures;
use super::ledger::{Ledger, isolated_wallet};
use crate::fapi::encode::USDT;
use crate::fapi::margin::{AccountSummary, figures, leverage_in_force};
use crate::fapi::refusal::Refusal;
use crate::fapi::reject;
use crate::fapi::words::{MarginType, PositionMargin};
use ringside_core::command::{MarginMode, PerpetualStatus, order_flag};
use ringside_core::event::{
    self, Event, Execution as EngineExecution, Kind, PerpetualExposure, PerpetualPosition, PerpetualTrade,
    PostingReason, TradeCause, VipChange,
};
use ringside_core::ids::{ALL_MARKETS, AccountId, MarketId, OrderId, Symbol};
use ringside_core::money::Money;
use ringside_core::reject::Reject;
use ringside_core::risk::perpetual::position::Position;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::order::OrderRecord;
use ringside_wire::futures::user::{
    AccountUpdate, AlgoUpdate, BalanceUpdate, CalledPosition, ConfigUpdate, DeferredOrder, DeferredUpdate,
    Execution, LeverageChange, MarginCall, OrderUpdate, Reason, RefusedOrder, TierUpdate, TriggerRefusal,
    UpdatedAccount, UpdatedBalance, UpdatedPosition,
};
use ringside_wire::futures::words::PositionSide::Both;
use ringside_wire::number::{Exact, Money as Shown, MoneyOrZero, Name, Units};

/// The accounts that an event is about; two for what passes between accounts. `None` of both: none that is told of it.
pub fn accounts_of(event: &Event) -> [Option<AccountId>; 2] {
    match Kind::from_code(event.kind) {
        Some(Kind::PerpetualOrder) => one(event, |order: &event::PerpetualOrder| order.account),
        Some(Kind::PerpetualPlaced) => one(event, |placed: &event::PerpetualPlaced| placed.account),
        Some(Kind::TriggerDeferred) => one(event, |deferred: &event::TriggerDeferred| deferred.account),
        Some(Kind::TriggerRefused) => one(event, |refused: &event::TriggerRefused| refused.account),
        Some(Kind::PerpetualExposure) => one(event, |told: &PerpetualExposure| told.account),
        Some(Kind::PerpetualAmended) => one(event, |amended: &event::PerpetualAmended| amended.account),
        Some(Kind::PerpetualPosition) => one(event, |position: &PerpetualPosition| position.account),
        Some(Kind::PerpetualWallet) => one(event, |wallet: &event::PerpetualWallet| wallet.account),
        Some(Kind::Posting) => one(event, |posting: &event::Posting| posting.account),
        Some(Kind::MarginCall) => one(event, |call: &event::MarginCall| call.account),
        Some(Kind::VipChanged) => one(event, |changed: &event::VipChanged| changed.account),
        Some(Kind::PerpetualTrade) => {
            two(event, |trade: &PerpetualTrade| (trade.maker_account, trade.taker_account))
        }
        _ => [None; 2],
    }
}

fn one<P: event::Payload>(event: &Event, of: impl Fn(&P) -> AccountId) -> [Option<AccountId>; 2] {
    [event.get::<P>().map(of), None]
}

fn two<P: event::Payload>(
    event: &Event,
    of: impl Fn(&P) -> (AccountId, AccountId),
) -> [Option<AccountId>; 2] {
    let Some((first, second)) = event.get::<P>().map(of) else { return [None; 2] };
    [Some(first), Some(second).filter(|second| *second != first)]
}

/// Tells an account what the command did that the views folded last. `events` are those of its events that
/// [`accounts_of`] says are about the account, in their order.
pub fn tell(account: AccountId, events: &[&Event], views: &Perpetuals, out: &mut Vec<UserEvent>) {
    let Some(first) = events.first() else { return };
    let mut builder = UserEventBuilder {
        views,
        account,
        events,
        place: 0,
        exposures: Exposures::of(events),
        time_ms: first.time_ns.div_euclid(1_000_000),
        ledger: Ledger::new(views, account),
        taken: 0,
        orders: Vec::new(),
        covered: 0,
        refused: None,
        figures: None,
        out,
    };
    builder.configured();
    let mut pass_end = 0;
    for (place, event) in events.iter().enumerate() {
        builder.place = place;
        if let Some(trade) = event.get::<PerpetualTrade>() {
            if place >= pass_end {
                pass_end = builder.begin_pass(place, trade);
            }
            builder.traded(trade);
        } else if place >= pass_end || cover(event).is_none() {
            builder.event(event);
        }
    }
    debug_assert!(
        builder.ledger.is_settled(),
        "the steps of a command lead from what it found to what it left"
    );
}

/// What the fund paid into an isolated wallet, if that is what the event is: told before the fill that it is for.
fn cover(event: &Event) -> Option<Money> {
    let posting = event.get::<event::Posting>()?;
    let is_cover =
        posting.reason == PostingReason::InsuranceClear as u8 && posting.wallet == MarginMode::Isolated as u8;
    is_cover.then_some(posting.amount)
}

struct UserEventBuilder<'a> {
    views: &'a Perpetuals,
    account: AccountId,
    events: &'a [&'a Event],
    /// The event that is told.
    place: usize,
    exposures: Exposures,
    time_ms: i64,
    ledger: Ledger<'a>,
    /// The events before it that tell of the account are in the ledger.
    taken: usize,
    /// Orders of the account as they are after the events so far.
    orders: Vec<OrderRecord>,
    /// What the fund paid into isolated wallets for the fills that follow.
    covered: Money,
    refused: Option<(OrderId, Refusal)>,
    figures: Option<AccountSummary<'a>>,
    out: &'a mut Vec<UserEvent>,
}

impl UserEventBuilder<'_> {
    /// Leverage and margin mode, which change before anything else does.
    fn configured(&mut self) {
        let mut moved = Vec::new();
        for (before, after) in self.ledger.configured() {
            let Some(market) = self.views.markets().get(after.market) else { continue };
            let leverage = leverage_in_force(after.leverage, market);
            if leverage != leverage_in_force(before.leverage, market) {
                let config = LeverageChange { symbol: Name(market.symbol), leverage };
                self.out.push(UserEvent::Leverage(ConfigUpdate { time: self.time_ms, config }));
            }
            if before.mode != after.mode {
                moved.push(after.market);
            }
        }
        if !moved.is_empty() {
            self.account(Reason::MarginTypeChange, None, 0, &moved);
        }
    }

    /// Tells the fills of the pass that begins here, and what they made of the account; the place behind its last.
    fn begin_pass(&mut self, place: usize, first: &PerpetualTrade) -> usize {
        let taker = first.taker_order;
        let mut end = place;
        let (before, mut cleared) = (self.ledger.total(), 0);
        let mut paid = 0;
        for (place, event) in self.events.iter().enumerate().skip(place) {
            self.place = place;
            paid += cover(event).unwrap_or(0);
            let Some(trade) = event.get::<PerpetualTrade>() else { continue };
            if trade.taker_order != taker || trade.is_in_book() != first.is_in_book() {
                break;
            }
            end = place + 1;
            self.covered += std::mem::take(&mut paid);
            for half in self.halves(trade) {
                if let Some(order) = self.order(half.order) {
                    let symbol = self.symbol(order.told.market);
                    let update = encode::lite(self.time_ms, symbol, &order, half.fill);
                    self.out.push(UserEvent::Lite(Box::new(update)));
                }
                if half.is_charged {
                    cleared -= half.fill.fee;
                }
            }
        }
        self.place = place;
        self.take_states(end);
        self.filled(first.market, before, cleared);
        end
    }

    /// Takes what the fills or the posting before a place left of the account. Other facts of fills may come before it.
    fn take_states(&mut self, from: usize) {
        let mut has_taken = false;
        for (place, event) in self.events.iter().enumerate().skip(from.max(self.taken)) {
            let is_next = match event.get::<event::Posting>() {
                Some(posting) => posting.reason != PostingReason::Affiliate as u8,
                None => event.get::<PerpetualTrade>().is_some(),
            };
            if is_next {
                return;
            }
            if self.ledger.take(event) {
                (has_taken, self.taken) = (true, place + 1);
            } else if has_taken && event.get::<PerpetualExposure>().is_none() {
                return;
            }
        }
    }

    /// The account after fills; what liquidation cost or the fund paid is told apart.
    fn filled(&mut self, market: MarketId, before: Money, fees: Money) {
        let cleared = fees + std::mem::take(&mut self.covered);
        let total = self.ledger.total();
        let balance = [total - cleared, self.ledger.wallet() - fees, 0];
        self.account(Reason::Order, Some(balance), total - cleared - before, &[market]);
        if cleared != 0 {
            self.posted(Reason::InsuranceClear, cleared, cleared, &[]);
        }
    }

    /// The account's halves of a trade, the maker's first. A settlement has nobody on its other side.
    fn halves(&self, trade: &PerpetualTrade) -> impl Iterator<Item = Half> + use<> {
        let fill = Fill {
            trade: trade.trade,
            quantity: trade.quantity,
            price: trade.price,
            fee: trade.maker_fee,
            realised: trade.maker_realised,
            is_maker: true,
        };
        let maker = Half {
            order: trade.maker_order,
            fill,
            is_whole: trade.flags & 1 != 0,
            is_forced: !trade.is_in_book(),
            is_charged: false,
        };
        let taker = Half {
            order: trade.taker_order,
            fill: Fill { fee: trade.taker_fee, realised: trade.taker_realised, is_maker: false, ..fill },
            is_whole: trade.flags & 2 != 0,
            is_forced: trade.cause != TradeCause::Book as u8,
            is_charged: trade.cause == TradeCause::Liquidation as u8,
        };
        let is_alone = trade.cause == TradeCause::Settlement as u8;
        let maker = (trade.maker_account == self.account && !is_alone).then_some(maker);
        maker.into_iter().chain((trade.taker_account == self.account).then_some(taker))
    }

    /// The events of an order for its half of a trade.
    fn traded(&mut self, trade: &PerpetualTrade) {
        for half in self.halves(trade) {
            let Some(mut order) = self.order(half.order) else { continue };
            order.filled(trade.quantity, trade.value, half.is_whole, self.time_ms);
            self.note(order);
            let execution = if half.is_forced { Execution::Calculated } else { Execution::Trade };
            self.tell_order(order, execution, Some(half.fill));
            self.finish(order);
        }
    }

    fn event(&mut self, event: &Event) {
        if self.place >= self.taken && self.ledger.take(event) {
            return;
        }
        if let Some(told) = event.get::<event::PerpetualOrder>() {
            self.told(told);
        } else if let Some(posting) = event.get::<event::Posting>() {
            self.posting(posting);
        } else if let Some(deferred) = event.get::<event::TriggerDeferred>() {
            let order = DeferredOrder {
                symbol: Name(self.symbol(deferred.market)),
                order: deferred.order,
                mark: Exact(deferred.mark),
                last: Units(deferred.last),
            };
            self.out.push(UserEvent::Deferred(DeferredUpdate { time: self.time_ms, order }));
        } else if let Some(refused) = event.get::<event::TriggerRefused>() {
            self.refused(refused);
        } else if let Some(call) = event.get::<event::MarginCall>() {
            self.called(call);
        } else if let Some(changed) = event.get::<event::VipChanged>()
            && let Some(change) = VipChange::from_code(changed.change)
        {
            let update = TierUpdate {
                kind: change_word(change),
                from_tier: changed.from,
                to_tier: changed.to,
                volume_14d: Shown(changed.volume),
                effective_at: changed.effective_ms,
                ts: self.time_ms,
            };
            self.out.push(UserEvent::Tier(Box::new(update)));
        }
    }

    /// An order that was accepted, changed, fired or ended.
    fn told(&mut self, told: &event::PerpetualOrder) {
        let Some(execution) = EngineExecution::from_code(told.execution) else { return };
        let order = self.named(told);
        self.note(order);
        let is_of_service = told.flags & order_flag::CONDITIONAL_SERVICE != 0;
        match execution {
            EngineExecution::Triggered if is_of_service => self.fire(order),
            EngineExecution::New if is_of_service => self.algo(order, "NEW", None),
            EngineExecution::Canceled if is_of_service => self.algo(order, "CANCELED", None),
            EngineExecution::Expired if is_of_service => {
                let refusal = self.refused.take().filter(|(refused, _)| *refused == told.order);
                match refusal {
                    Some((_, refusal)) => self.algo(order, "REJECTED", Some(refusal)),
                    None => self.algo(order, "EXPIRED", None),
                }
            }
            EngineExecution::Amended if is_of_service => {}
            EngineExecution::New | EngineExecution::Triggered => self.tell_order(order, Execution::New, None),
            EngineExecution::Amended => self.tell_order(order, Execution::Amendment, None),
            EngineExecution::Canceled => self.tell_order(order, Execution::Canceled, None),
            EngineExecution::Expired => self.tell_order(order, Execution::Expired, None),
        }
        self.finish(order);
    }

    /// An order of the conditional-order service goes on as another.
    fn fire(&mut self, order: OrderRecord) {
        let placed = self.events.iter().filter_map(|event| event.get::<event::PerpetualPlaced>());
        let actual =
            placed.filter(|placed| placed.fired == order.told.order).map(|placed| placed.order).next();
        self.algo(order, "TRIGGERING", None);
        let Some(actual) = actual else { return };
        // Before it did anything; its type is the one that it fired as.
        let mut shown = order;
        shown.told.order = actual;
        shown.told.filled = 0;
        shown.told.value = 0;
        self.push_algo(order, "TRIGGERED", Some(shown), None);
    }

    /// Ends an order of the conditional-order service, where `order` is what it went on as and is over.
    fn finish(&mut self, order: OrderRecord) {
        let is_of_service = order.told.flags & order_flag::CONDITIONAL_SERVICE != 0;
        if order.is_open() || order.counterpart == 0 || is_of_service {
            return;
        }
        // It went on as it was, under another id; a change of that leaves it as it was.
        let known = self.views.orders().get(self.account, order.told.market, order.counterpart);
        let told = known
            .map_or(event::PerpetualOrder { order: order.counterpart, ..order.told }, |known| known.told);
        self.push_algo(OrderRecord { told, ..order }, "FINISHED", Some(order), None);
    }

    fn refused(&mut self, refused: &event::TriggerRefused) {
        let Some(reject) = Reject::from_code(refused.reject) else { return };
        let refusal = reject::of_reject(reject);
        let order = self.order(refused.order);
        if order.is_some_and(|order| order.told.flags & order_flag::CONDITIONAL_SERVICE != 0) {
            self.refused = Some((refused.order, refusal));
        } else {
            let symbol = Name(self.symbol(refused.market));
            let order = RefusedOrder { symbol, order: refused.order, reason: refusal.msg };
            let refusal = TriggerRefusal { time: self.time_ms, order };
            self.out.push(UserEvent::TriggerRefused(Box::new(refusal)));
        }
    }

    fn posting(&mut self, posting: &event::Posting) {
        let Some(reason) = PostingReason::from_code(posting.reason) else { return };
        let is_isolated = posting.wallet == MarginMode::Isolated as u8;
        let before = self.ledger.total();
        let follows_payment = self.ledger.is_below_zero(posting.market);
        let is_cover = reason == PostingReason::InsuranceClear && is_isolated && !follows_payment;
        if !is_cover && reason != PostingReason::Affiliate {
            self.take_states(self.place + 1);
        }
        let amount = posting.amount;
        let change = self.ledger.total() - before;
        let market = [posting.market];
        match reason {
            PostingReason::Transfer if amount > 0 => self.posted(Reason::Deposit, amount, change, &[]),
            PostingReason::Transfer => self.posted(Reason::Withdraw, amount, change, &[]),
            PostingReason::Adjustment if amount > 0 => self.posted(Reason::AdminDeposit, amount, change, &[]),
            PostingReason::Adjustment => self.posted(Reason::AdminWithdraw, amount, change, &[]),
            PostingReason::FundingFee if is_isolated => {
                self.posted(Reason::FundingFee, amount, change, &market);
            }
            PostingReason::FundingFee => self.posted(Reason::FundingFee, amount, change, &[]),
            PostingReason::InsuranceClear if is_cover => self.covered += amount,
            PostingReason::InsuranceClear => self.posted(Reason::InsuranceClear, amount, change, &[]),
            PostingReason::RealisedProfit => self.posted(Reason::Order, 0, change, &market),
            PostingReason::IsolatedMargin => self.posted(Reason::MarginTransfer, 0, change, &market),
            // Of the fund's account alone, which nobody reads the stream of.
            PostingReason::FundingResidue
            | PostingReason::Settlement
            | PostingReason::Affiliate
            | PostingReason::Treasury
            | PostingReason::TreasuryFees => {}
        }
    }

    fn called(&mut self, call: &event::MarginCall) {
        let is_cross = call.market == ALL_MARKETS;
        let figures = self.figures();
        let held = figures.held.iter().filter(|held| {
            let is_of_scope = if is_cross { !held.is_isolated } else { held.market.market == call.market };
            held.holding.position.quantity != 0 && is_of_scope
        });
        let positions = held.map(|held| CalledPosition {
            symbol: Name(held.market.symbol),
            position_side: Both,
            quantity: Units(held.holding.position.quantity),
            margin_type: MarginType::of(mode(held.is_isolated)),
            isolated_wallet: Shown(held.isolated_wallet()),
            mark: Exact(held.market.mark()),
            unrealised: Shown(held.unrealised),
            maintenance: Shown(held.maintenance),
        });
        let call = MarginCall {
            positions: positions.collect(),
            cross_wallet: is_cross.then_some(Shown(figures.account.wallet)),
        };
        self.out.push(UserEvent::MarginCall(Box::new(call)));
    }

    /// An ACCOUNT_UPDATE with the balance as it is now; `amount` is `bc`, `change` all of the change.
    fn posted(&mut self, reason: Reason, amount: Money, change: Money, markets: &[MarketId]) {
        let balance = [self.ledger.total(), self.ledger.wallet(), amount];
        self.account(reason, Some(balance), change, markets);
    }

    fn account(&mut self, reason: Reason, balance: Option<[Money; 3]>, change: Money, markets: &[MarketId]) {
        let positions = markets.iter().map(|market| self.position(&self.ledger.position(*market))).collect();
        let time = self.time_ms;
        let shown = balance.map(|[wallet, cross_wallet, change]| UpdatedBalance {
            asset: USDT,
            wallet: Shown(wallet),
            cross_wallet: Shown(cross_wallet),
            change: MoneyOrZero(change),
        });
        let account = UpdatedAccount { reason, balances: shown.into_iter().collect(), positions };
        self.out.push(UserEvent::Account(Box::new(AccountUpdate { time, account })));
        if let Some([wallet, cross_wallet, _]) = balance {
            let update = BalanceUpdate {
                asset: USDT,
                wallet_balance: Shown(wallet),
                cross_wallet_balance: Shown(cross_wallet),
                available_balance: Shown(self.figures().available),
                change: MoneyOrZero(change),
                reason,
                ts: time,
            };
            self.out.push(UserEvent::Balance(Box::new(update)));
        }
    }

    fn position(&self, position: &PerpetualPosition) -> UpdatedPosition {
        let held = Position { quantity: position.quantity, cost: position.cost };
        let mark = self.views.markets().get(position.market).map_or(0, |market| market.mark());
        UpdatedPosition {
            symbol: Name(self.symbol(position.market)),
            quantity: Units(position.quantity),
            entry_price: Units(held.entry_price().unwrap_or(0)),
            break_even_price: Units(held.break_even_price(position.open_fees).unwrap_or(0)),
            realised: Shown(position.realised),
            unrealised: Shown(if mark > 0 { held.unrealised(mark).unwrap_or(0) } else { 0 }),
            margin_type: PositionMargin::of(mode(position.mode == MarginMode::Isolated as u32)),
            isolated_wallet: Shown(isolated_wallet(position)),
            position_side: Both,
            margin_asset: USDT,
        }
    }

    fn tell_order(&mut self, order: OrderRecord, execution: Execution, fill: Option<Fill>) {
        let (accounts, market) = (self.views.accounts(), order.told.market);
        let known = accounts.find(self.account).and_then(|known| known.holdings.get(market));
        let references = |told: &PerpetualExposure| [told.buy_reference, told.sell_reference];
        let left = known.map_or([0, 0], |holding| references(&holding.exposure));
        let found = accounts.found().exposure(market, self.account).map_or(left, references);
        let exposure = self.exposures.after(self.place, market, found);
        let (time, symbol) = (self.time_ms, self.symbol(market));
        let order = encode::order(time, symbol, &order, execution, fill, exposure);
        self.out.push(UserEvent::Order(Box::new(OrderUpdate { time, order })));
    }

    fn algo(&mut self, order: OrderRecord, status: &'static str, refusal: Option<Refusal>) {
        self.push_algo(order, status, None, refusal);
    }

    fn push_algo(
        &mut self,
        order: OrderRecord,
        status: &'static str,
        actual: Option<OrderRecord>,
        refusal: Option<Refusal>,
    ) {
        let trigger_time = match status {
            "TRIGGERING" | "TRIGGERED" | "REJECTED" => self.time_ms,
            // When it went on.
            "FINISHED" => order.created_ms,
            _ => 0,
        };
        let symbol = self.symbol(order.told.market);
        let order = encode::algo(symbol, &order, status, actual.as_ref(), trigger_time, refusal);
        self.out.push(UserEvent::Algo(Box::new(AlgoUpdate { time: self.time_ms, order })));
    }

    fn symbol(&self, market: MarketId) -> Symbol {
        self.views.markets().get(market).map_or([0; 20], |market| market.symbol)
    }

    fn figures(&mut self) -> &AccountSummary<'_> {
        self.figures.get_or_insert_with(|| figures(self.views, self.account))
    }

    /// What was told of an order, with the name that it was placed under.
    fn named(&self, told: &event::PerpetualOrder) -> OrderRecord {
        match self.views.orders().current(told.order) {
            Some(known) => OrderRecord { told: *told, updated_ms: self.time_ms, ..*known },
            None => OrderRecord::new(told, None, self.time_ms),
        }
    }

    fn note(&mut self, order: OrderRecord) {
        match self.orders.iter_mut().find(|known| known.told.order == order.told.order) {
            Some(known) => *known = order,
            None => self.orders.push(order),
        }
    }

    /// An order after the events so far.
    fn order(&self, id: OrderId) -> Option<OrderRecord> {
        let known = self.orders.iter().find(|order| order.told.order == id);
        known.copied().or_else(|| self.found(id))
    }

    /// An order as the command found it: as it is, without its fills since.
    fn found(&self, id: OrderId) -> Option<OrderRecord> {
        let mut order = *self.views.orders().current(id)?;
        for trade in self.events.iter().filter_map(|event| event.get::<PerpetualTrade>()) {
            let halves = usize::from(trade.maker_order == id) + usize::from(trade.taker_order == id);
            for _ in 0..halves {
                order.told.filled -= trade.quantity;
                order.told.value -= trade.value;
                order.told.open += trade.quantity;
            }
        }
        let status =
            if order.told.filled == 0 { PerpetualStatus::New } else { PerpetualStatus::PartiallyFilled };
        order.told.status = status as u8;
        order.told.expiry_reason = 0;
        Some(order)
    }
}

/// One account's part in a trade.
struct Half {
    order: OrderId,
    fill: Fill,
    /// The order is filled by it.
    is_whole: bool,
    /// Its owner did not ask for it.
    is_forced: bool,
    /// Its fee is what a liquidation costs.
    is_charged: bool,
}

const fn mode(is_isolated: bool) -> MarginMode {
    if is_isolated { MarginMode::Isolated } else { MarginMode::Cross }
}

const fn change_word(change: VipChange) -> &'static str {
    match change {
        VipChange::UpgradeImmediate => "upgrade_immediate",
        VipChange::DowngradeScheduled => "downgrade_scheduled",
        VipChange::DowngradeApplied => "downgrade_applied",
    }
}
