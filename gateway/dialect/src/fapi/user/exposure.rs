//! Reference values of an account's open orders (`perpetual.md` 12) after each event of a command. The engine tells what the book
//! holds as it changes; an order that still trades is not in the book yet, and counts with what it has left.

use ringside_core::command::Side;
use ringside_core::event::{
    Event, PerpetualAmended, PerpetualExposure, PerpetualOrder, PerpetualPlaced, PerpetualTrade,
};
use ringside_core::ids::{MarketId, OrderId};
use ringside_core::money::{Money, Quantity};
use ringside_core::risk::perpetual::order_margin::Reservation;

/// See the module.
#[derive(Default)]
pub(super) struct Exposures {
    told: Vec<Told>,
    arrivals: Vec<Arrival>,
    /// Places of what is told of orders, ascending: what each changed is told before the next.
    facts: Vec<usize>,
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
    is_amended: bool,
    /// Places of its fills as the one that arrives, and what each left open.
    fills: Vec<(usize, Quantity)>,
    ended: Option<usize>,
}

impl Exposures {
    /// Of the events that are about an account.
    pub(super) fn of(events: &[&Event]) -> Exposures {
        let mut found = Exposures::default();
        let mut named = None;
        for (place, event) in events.iter().enumerate() {
            if let Some(exposure) = event.get::<PerpetualExposure>() {
                let sums = [exposure.buy_reference, exposure.sell_reference];
                found.told.push(Told { place, market: exposure.market, sums });
                continue;
            } else if let Some(placed) = event.get::<PerpetualPlaced>() {
                named = Some((placed.order, placed.reference, false));
            } else if let Some(amended) = event.get::<PerpetualAmended>() {
                named = Some((amended.order, amended.reference, true));
            } else if let Some(told) = event.get::<PerpetualOrder>() {
                match named.take_if(|(order, ..)| *order == told.order) {
                    Some((_, 0, _)) => {}
                    Some((_, reference, is_amended)) => found.arrive(place, told, (reference, is_amended)),
                    None if told.open == 0 => {
                        if let Some(arrival) = found.arrival(told.order) {
                            arrival.ended = Some(place);
                        }
                    }
                    None => {}
                }
            } else if let Some(trade) = event.get::<PerpetualTrade>() {
                if let Some(arrival) = found.arrival(trade.taker_order) {
                    let open = arrival.open_after(place) - trade.quantity;
                    arrival.fills.push((place, open));
                }
            } else {
                continue;
            }
            found.facts.push(place);
        }
        found
    }

    fn arrive(&mut self, begin: usize, told: &PerpetualOrder, (reference, is_amended): (Money, bool)) {
        let &PerpetualOrder { order, market, open: whole, .. } = told;
        let Some(side) = Side::from_code(told.side) else { return };
        let (fills, ended) = (Vec::new(), None);
        self.arrivals.push(Arrival {
            order,
            market,
            side,
            reference,
            whole,
            begin,
            is_amended,
            fills,
            ended,
        });
    }

    /// The newest: the one that trades.
    fn arrival(&mut self, order: OrderId) -> Option<&mut Arrival> {
        self.arrivals.iter_mut().rfind(|arrival| arrival.order == order)
    }

    /// Bids and asks of a market after the event at a place, of what the command found there.
    pub(super) fn after(&self, place: usize, market: MarketId, found: [Money; 2]) -> [Money; 2] {
        let until = self.facts.iter().find(|fact| **fact > place).copied().unwrap_or(usize::MAX);
        let told = self.told.iter().take_while(|told| told.place < until);
        let sums = told.filter(|told| told.market == market).last().map_or(found, |told| told.sums);
        let arrivals = self.arrivals.iter().filter(|arrival| arrival.market == market);
        let is_coming = |arrival: &&Arrival| {
            arrival.ended.is_none_or(|ended| ended > place) && self.rest_of(arrival, found) >= until
        };
        arrivals.filter(is_coming).fold(sums, |mut sums, arrival| {
            sums[arrival.side as usize & 1] += arrival.value_after(place);
            sums
        })
    }

    /// The place where the sums are told that an order is in: the first that are higher than before, as nothing else of its owner's comes
    /// to the book meanwhile; or of one that was changed where it stands, the first.
    fn rest_of(&self, arrival: &Arrival, found: [Money; 2]) -> usize {
        let side = arrival.side as usize & 1;
        let (mut before, mut first) = (found[side], None);
        for told in self.told.iter().filter(|told| told.market == arrival.market) {
            let sum = told.sums[side];
            if told.place > arrival.begin {
                if sum > before {
                    return told.place;
                }
                first = first.or(Some(told.place));
            }
            before = sum;
        }
        let stands = arrival.is_amended && arrival.fills.is_empty() && arrival.ended.is_none();
        first.filter(|_| stands).unwrap_or(usize::MAX)
    }
}

impl Arrival {
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
}
