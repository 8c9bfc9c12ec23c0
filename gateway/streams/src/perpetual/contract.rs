//! `!contractInfo`: a market's status or brackets were set.

use super::{At, Start, Stream};
use ringside_core::event::{Event, PerpetualBracket};
use ringside_core::money::RATE_ONE;
use ringside_dialect::fapi::encode::DELIVERY_MS;
use ringside_dialect::fapi::words;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::futures::stream::{ContractEvent, EventBracket};
use ringside_wire::number::MicrosNumber;

pub(crate) fn begin(start: &Start) -> Box<dyn Stream> {
    Box::new(Contract { status: start.status })
}

struct Contract {
    /// As told last.
    status: &'static str,
}

impl Stream for Contract {
    fn event(&mut self, event: &Event, at: &mut At<'_, '_>) {
        let bracket = event.get::<PerpetualBracket>();
        if bracket.is_some_and(|bracket| bracket.bracket != bracket.count) {
            return;
        }
        let Some(market) = at.listed() else { return };
        let (symbol, status) = (at.label().symbol(), words::symbol_status(market.state));
        if std::mem::replace(&mut self.status, status) == status && bracket.is_none() {
            return;
        }
        at.tell(&ContractEvent {
            event_time: at.time_ms,
            symbol,
            pair: symbol,
            contract_type: "PERPETUAL",
            delivery: DELIVERY_MS,
            onboard: market.listed_ms,
            status,
            brackets: bracket.map(|_| brackets(market)),
        });
    }
}

fn brackets(market: &PerpetualMarket) -> Vec<EventBracket> {
    let mut floor = 0;
    let rows = market.brackets.iter().enumerate().map(|(place, bracket)| EventBracket {
        bracket: bracket.bracket,
        notional_floor: MicrosNumber(std::mem::replace(&mut floor, bracket.cap)),
        notional_cap: MicrosNumber(bracket.cap),
        cumulated: MicrosNumber(bracket.cumulated),
        rate: bracket.rate as f64 / RATE_ONE as f64,
        least_leverage: market.brackets.get(place + 1).map_or(1, |next| next.leverage + 1),
        most_leverage: bracket.leverage,
    });
    rows.collect()
}
