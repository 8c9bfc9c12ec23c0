//! Reference values of an account's open orders (`perpetual.md` 12) after each event of a command. The engine tells what
//! the book holds where a later event changes it again; an order that still trades is not in the book yet, and counts with what
//! it has left.

use ringside_core::command::{PerpetualOrderType, Side, order_flag};
use ringside_core::event::{
    Event, PerpetualAmended, PerpetualExposure, PerpetualOrder, PerpetualPlaced, PerpetualTrade,
};
use ringside_core::ids::{AccountId, MarketId, OrderId};
use ringside_core::money::{Money, Quantity};
use ringside_core::risk::perpetual::order_margin::Reservation;

/// See the module.
#[derive(Default)]
pub(super) struct Exposures {
    told: Vec<Told>,
    arrivals: Vec<Arrival>,
    /// Markets, and the place of the first event that took something out of the book there.
    lowered: Vec<(MarketId, usize)>,
}

/// Bids and asks of a market in the book, and the place among the events where that was told.
struct Told {
    place: usize,
    market: MarketId,
    sums: [Money; 2],
}

/// An order that came to the book, or came back to it changed.
struct Arrival {
    order: OrderId,
    market: MarketId,
    side: Side,
    /// Its reference value while all of `whole` is open.
    reference: Money,
    whole: Quantity,
    begin: usize,
    /// Places of its fills as the one that arrives, and what each left open.
    fills: Vec<(usize, Quantity)>,
    ended: Option<usize>,
}

impl Exposures {
    /// Of the events that are about an account.
    pub(super) fn of(account: AccountId, events: &[&Event]) -> Exposures {
        let mut found = Exposures::default();
        let mut named = None;
        for (place, event) in events.iter().enumerate() {
            if let Some(exposure) = event.get::<PerpetualExposure>() {
                let sums = [exposure.buy_reference, exposure.sell_reference];
                found.told.push(Told { place, market: exposure.market, sums });
            } else if let Some(placed) = event.get::<PerpetualPlaced>() {
                named = Some((placed.order, placed.reference));
            } else if let Some(amended) = event.get::<PerpetualAmended>() {
                named = Some((amended.order, amended.reference));
                found.lower(amended.market, place);
            } else if let Some(told) = event.get::<PerpetualOrder>() {
                match named.take_if(|(order, _)| *order == told.order) {
                    Some((_, 0)) => {}
                    Some((_, reference)) => found.arrive(place, told, reference),
                    None if told.open == 0 => match found.arrival(told.order) {
                        Some(arrival) => arrival.ended = Some(place),
                        None if was_in_book(told) => found.lower(told.market, place),
                        None => {}
                    },
                    None => {}
                }
            } else if let Some(trade) = event.get::<PerpetualTrade>() {
                if trade.maker_account == account && trade.is_in_book() {
                    found.lower(trade.market, place);
                }
                if let Some(arrival) = found.arrival(trade.taker_order) {
                    let open = arrival.open_after(place) - trade.quantity;
                    arrival.fills.push((place, open));
                }
            }
        }
        found
    }

    fn lower(&mut self, market: MarketId, place: usize) {
        if self.lowered.iter().all(|(known, _)| *known != market) {
            self.lowered.push((market, place));
        }
    }

    fn arrive(&mut self, begin: usize, told: &PerpetualOrder, reference: Money) {
        let &PerpetualOrder { order, market, open: whole, .. } = told;
        let Some(side) = Side::from_code(told.side) else { return };
        let fills = Vec::new();
        self.arrivals.push(Arrival { order, market, side, reference, whole, begin, fills, ended: None });
    }

    /// The newest: the one that trades.
    fn arrival(&mut self, order: OrderId) -> Option<&mut Arrival> {
        self.arrivals.iter_mut().rfind(|arrival| arrival.order == order)
    }

    /// Bids and asks of a market after the event at a place, of what the command found and what it left there.
    pub(super) fn after(&self, place: usize, market: MarketId, [found, left]: [[Money; 2]; 2]) -> [Money; 2] {
        let arrivals = self.arrivals.iter().filter(|arrival| arrival.market == market);
        let is_lowered = self.lowered.iter().any(|(known, at)| *known == market && *at <= place);
        if !is_lowered {
            let mut sums = found;
            for arrival in arrivals.filter(|arrival| arrival.ended.is_none_or(|ended| ended > place)) {
                sums[arrival.side as usize & 1] += arrival.value_after(place);
            }
            return sums;
        }
        let later = &self.told[self.told.partition_point(|told| told.place <= place)..];
        let told = later.iter().find(|told| told.market == market);
        let mut sums = told.map_or(left, |told| told.sums);
        for arrival in arrivals.filter(|arrival| place <= arrival.last()) {
            let booked = told.map_or(0, |told| arrival.booked_at(told.place));
            sums[arrival.side as usize & 1] += arrival.value_after(place) - booked;
        }
        sums
    }
}

/// Whether an order that ended counted: what waits for its price, or only reduces, does not.
fn was_in_book(told: &PerpetualOrder) -> bool {
    told.order_type == PerpetualOrderType::Limit as u8 && told.flags & order_flag::REDUCE_ONLY == 0
}

impl Arrival {
    /// The place of its last fill as the one that arrives.
    fn last(&self) -> usize {
        self.fills.last().map_or(self.begin, |(place, _)| *place)
    }

    fn open_after(&self, place: usize) -> Quantity {
        match self.fills.partition_point(|(at, _)| *at <= place) {
            0 => self.whole,
            count => self.fills[count - 1].1,
        }
    }

    /// Reference value of what it has left after the event at a place; nothing before it was told.
    fn value_after(&self, place: usize) -> Money {
        if place < self.begin {
            return 0;
        }
        let whole = Reservation { reference: self.reference, ..Reservation::default() };
        whole.scaled(self.open_after(place), self.whole).map_or(0, |left| left.reference)
    }

    /// What sums told at a place count of it: it came to rest after its last fill, unless it ended.
    fn booked_at(&self, place: usize) -> Money {
        let is_in = self.last() < place && self.ended.is_none_or(|ended| ended > place);
        if is_in { self.value_after(self.last()) } else { 0 }
    }
}
