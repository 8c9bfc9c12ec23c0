//! What one command has to tell whom of the spot side, in the order that `spot.md` 11 fixes: user orders per fill, then user balances,
//! then depth, trades, ticker, candles.

use super::recorder::PushRecorder;
use super::spot_update::SpotUpdate;
use super::topic::{Kind, Topic};
use ringside_core::command::{OrderStatus, Side};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, AssetId, FIRST_PERPETUAL, MarketId};
use ringside_core::money::{Amount, Price, notional};
use ringside_egress::CommandEvents;
use ringside_views::Views;
use ringside_views::history::{Role, TradeRecord};
use ringside_views::kline::SPOT_INTERVALS;
use ringside_views::order::OrderRecord;
use std::collections::HashSet;

/// Takes notes of commands. It must see every command, since a diff begins where the command before it ended.
#[derive(Debug, Default)]
pub struct SpotPublisher {
    /// Levels of the depth notes.
    pub levels: Vec<(Price, i128)>,
    /// The last update id of each market.
    updates: Vec<u64>,
    sides: [Vec<(Price, i128)>; 2],
    told: HashSet<(AccountId, AssetId)>,
    markets: Vec<MarketId>,
}

impl SpotPublisher {
    /// One that goes on where these views are.
    pub fn new(views: &Views) -> SpotPublisher {
        let updates = (0..views.markets().len() as MarketId)
            .map(|market| views.depth().book(market).map_or(0, |book| book.update_id()))
            .collect();
        SpotPublisher { updates, ..SpotPublisher::default() }
    }

    /// Forgets the levels: all notes that name them are encoded.
    pub fn clear(&mut self) {
        self.levels.clear();
    }

    /// Notes a command, with the views after it.
    pub fn command(&mut self, told: CommandEvents<'_>, views: &Views, recorder: &mut PushRecorder<'_>) {
        orders(told.part(&[event::Kind::Trade, event::Kind::Order]), views, recorder);
        self.balances(told.part(&[event::Kind::Balances]), views, recorder);
        self.depth(told.part(&[event::Kind::Depth]), recorder);
        let trades = told.part(&[event::Kind::Trade]);
        for event in trades {
            if let Some(trade) = event.get::<event::Trade>() {
                let topic = Topic::of_market(Kind::Trade, trade.market);
                if recorder.is_wanted(topic) {
                    recorder.spot(topic, SpotUpdate::Trade(TradeRecord::of_event(trade, event.time_ns)));
                }
            }
        }
        let Some(done) = told.last() else { return };
        tickers(trades, done, views, recorder);
        klines(trades, done, views, recorder);
    }

    /// Follows the update ids of a command that nobody wants to know more of.
    pub fn skip(&mut self, told: CommandEvents<'_>) {
        for event in told.part(&[event::Kind::Depth]) {
            if let Some(depth) = spot_depth(event) {
                *self.update_of(depth.market) = depth.update;
            }
        }
    }

    /// One note per row that changed, at the place of its first change, with its last values.
    fn balances(&mut self, events: &[Event], views: &Views, recorder: &mut PushRecorder<'_>) {
        self.told.clear();
        for event in events {
            let Some(balances) = event.get::<event::Balances>() else { continue };
            let account = balances.account;
            let topic = Topic::of_account(Kind::UserBalances, account);
            if !recorder.is_wanted(topic) {
                continue;
            }
            for (bit, asset) in [(1, balances.base), (2, balances.quote)] {
                if balances.changed & bit != 0 && self.told.insert((account, asset)) {
                    recorder.spot(topic, SpotUpdate::Balance(views.balances().row(account, asset)));
                }
            }
        }
    }

    /// One note per market whose book changed; only a cancel of all orders changes more than one.
    fn depth(&mut self, events: &[Event], recorder: &mut PushRecorder<'_>) {
        let depths = || events.iter().filter_map(spot_depth);
        self.markets.clear();
        for first in depths() {
            let market = first.market;
            if self.markets.contains(&market) {
                continue;
            }
            self.markets.push(market);
            let topic = Topic::of_market(Kind::Depth, market);
            let is_wanted = recorder.is_wanted(topic);
            let mut last = first.update;
            self.sides.iter_mut().for_each(Vec::clear);
            for depth in depths().filter(|depth| depth.market == market) {
                last = depth.update;
                if is_wanted {
                    let side = usize::from(depth.side != Side::Buy as u8);
                    self.sides[side].push((depth.price, depth.total.get()));
                }
            }
            let updates = (*self.update_of(market) + 1, last);
            *self.update_of(market) = last;
            if is_wanted {
                let [bids, asks] = &mut self.sides;
                keep_last_of_each(bids);
                keep_last_of_each(asks);
                let start = self.levels.len();
                self.levels.extend(bids.iter().rev());
                let middle = self.levels.len();
                self.levels.extend(asks.iter());
                let asks = middle..self.levels.len();
                recorder.spot(topic, SpotUpdate::Depth { updates, bids: start..middle, asks });
            }
        }
    }

    fn update_of(&mut self, market: MarketId) -> &mut u64 {
        let index = market as usize;
        if index >= self.updates.len() {
            self.updates.resize(index + 1, 0);
        }
        &mut self.updates[index]
    }
}

/// A level of a spot book; those of perpetual markets, whose ids are far above, are not pushed yet.
fn spot_depth(event: &Event) -> Option<&event::Depth> {
    event.get::<event::Depth>().filter(|depth| depth.market < FIRST_PERPETUAL)
}

/// The market that a command traded in.
fn traded(events: &[Event]) -> Option<MarketId> {
    events.iter().find_map(|event| event.get::<event::Trade>()).map(|trade| trade.market)
}

/// Rows of rolling 24 hours: one per fill; all others when they are computed anew.
fn tickers(trades: &[Event], done: &Event, views: &Views, recorder: &mut PushRecorder<'_>) {
    let traded = traded(trades);
    if views.tickers().is_refreshed_by(done.sequence) {
        for market in (0..views.markets().len() as MarketId).filter(|market| Some(*market) != traded) {
            let topic = Topic::of_market(Kind::Ticker, market);
            if recorder.is_wanted(topic)
                && let Some(ticker) = views.tickers().get(market)
            {
                recorder.spot(topic, SpotUpdate::Ticker(*ticker));
            }
        }
    }
    let Some(market) = traded else { return };
    let topic = Topic::of_market(Kind::Ticker, market);
    if recorder.is_wanted(topic) {
        views
            .tickers()
            .updates(market, trades)
            .for_each(|ticker| recorder.spot(topic, SpotUpdate::Ticker(ticker)));
    }
}

/// Candles: those that are over, then one per fill.
fn klines(trades: &[Event], done: &Event, views: &Views, recorder: &mut PushRecorder<'_>) {
    for closed in views.klines().closed_by(done.sequence) {
        let topic = Topic::of_candles(closed.market, closed.interval());
        if recorder.is_wanted(topic) {
            recorder.spot(topic, SpotUpdate::Kline(closed.candle, closed.interval(), true));
        }
    }
    let Some(market) = traded(trades) else { return };
    for interval in 0..SPOT_INTERVALS.len() {
        let topic = Topic::of_candles(market, interval);
        if recorder.is_wanted(topic) {
            let klines = views.klines().updates(market, interval, trades);
            klines.for_each(|kline| recorder.spot(topic, SpotUpdate::Kline(kline, interval, false)));
        }
    }
}

/// Levels by ascending price, of each the total that came last.
fn keep_last_of_each(levels: &mut Vec<(Price, i128)>) {
    if levels.len() < 2 {
        return;
    }
    // Stable, so what came last of a level stands last of it.
    levels.sort_by_key(|(price, _)| *price);
    levels.reverse();
    levels.dedup_by_key(|(price, _)| *price);
    levels.reverse();
}

/// Orders: the maker and the taker of each fill in turn, then those that the command placed or ended without a fill.
fn orders(events: &[Event], views: &Views, recorder: &mut PushRecorder<'_>) {
    let mut trades = events.iter().filter_map(|event| event.get::<event::Trade>()).peekable();
    let taker_of = trades.peek().map(|trade| trade.taker_order);
    let mut has_begun = false;
    if let Some(taker_order) = taker_of {
        let is_taker = |event: &&Event| event.get::<event::Order>().is_some_and(|o| o.order == taker_order);
        let taker = events.iter().find(is_taker).and_then(|event| event.get::<event::Order>());
        let mut taker = taker.map(|order| TakerState::new(order, events, views));
        if let Some(taker) = &mut taker {
            let topic = Topic::of_account(Kind::UserOrders, taker.last.account);
            if taker.is_new && recorder.is_wanted(topic) {
                let note = SpotUpdate::Order {
                    record: taker.record(OrderStatus::Open),
                    is_beginning: true,
                    fill: None,
                };
                recorder.spot(topic, note);
            }
            has_begun = true;
        }
        while let Some(trade) = trades.next() {
            let time_ns = events.first().map_or(0, |event| event.time_ns);
            let fills = TradeRecord::of_event(trade, time_ns);
            let topic = Topic::of_account(Kind::UserOrders, trade.maker_account);
            if recorder.is_wanted(topic)
                && let Some(record) = views.order(trade.maker_account, trade.maker_order)
            {
                let fill = Some(fills.fill(Role::Maker));
                recorder.spot(topic, SpotUpdate::Order { record, is_beginning: false, fill });
            }
            let topic = Topic::of_account(Kind::UserOrders, trade.taker_account);
            let Some(taker) = &mut taker else { continue };
            taker.take(trade);
            if recorder.is_wanted(topic) {
                let is_end = trades.peek().is_none() && taker.last.status == OrderStatus::Filled;
                let status = if is_end { OrderStatus::Filled } else { OrderStatus::PartiallyFilled };
                let fill = Some(fills.fill(Role::Taker));
                recorder.spot(
                    topic,
                    SpotUpdate::Order { record: taker.record(status), is_beginning: false, fill },
                );
            }
        }
    }
    for event in events {
        let Some(order) = event.get::<event::Order>() else { continue };
        let topic = Topic::of_account(Kind::UserOrders, order.account);
        if !recorder.is_wanted(topic) {
            continue;
        }
        let Some(record) = views.order(order.account, order.order) else { continue };
        // What its last fill has already said is not said again.
        let is_said = has_begun
            && taker_of == Some(order.order)
            && matches!(record.status, OrderStatus::Filled | OrderStatus::PartiallyFilled);
        if !is_said {
            recorder.spot(topic, SpotUpdate::Order { record, is_beginning: false, fill: None });
        }
    }
}

/// The taker as it was after each of its fills, worked out forwards from its last state.
struct TakerState {
    last: OrderRecord,
    is_new: bool,
    filled: i64,
    traded: Amount,
}

impl TakerState {
    fn new(order: &event::Order, events: &[Event], views: &Views) -> TakerState {
        let trades = || events.iter().filter_map(|event| event.get::<event::Trade>());
        let time_ns = events.first().map_or(0, |event| event.time_ns);
        let taken: i64 = trades().map(|trade| trade.quantity).sum();
        let spent: Amount = trades().map(|trade| notional(trade.price, trade.quantity)).sum();
        TakerState {
            last: OrderRecord::of_event(order, 0, time_ns, time_ns),
            is_new: order.is_new == 1,
            filled: order.filled - taken,
            traded: views.order(order.account, order.order).map_or(0, |record| record.traded - spent),
        }
    }

    fn take(&mut self, trade: &event::Trade) {
        self.filled += trade.quantity;
        self.traded += notional(trade.price, trade.quantity);
    }

    fn record(&self, status: OrderStatus) -> OrderRecord {
        OrderRecord { filled: self.filled, traded: self.traded, status, ..self.last }
    }
}
