//! What the venue itself shows an operator: markets, prices, the insurance fund. Read from the views when asked for.

use ringside_core::event::{IndexState, PerpetualPrice};
use ringside_core::ids::FEE_ACCOUNT;
use ringside_edge::metrics::{Kind, Page};
use ringside_edge::worker::Shared;
use ringside_views::Views;
use std::fmt::Display;

pub(super) fn write(page: &mut Page, shared: &Shared) {
    let views = shared.views.read();
    page.gauge("ringside_sequence", "The last command that is shown", views.sequence());
    let distance_ns = shared.agreement.distance_ns();
    let engine_ns = shared.clock.now_ns().saturating_sub(distance_ns);
    page.gauge(
        "ringside_engine_time_behind_seconds",
        "Engine time as it runs less that of the last command that is shown, of which there is one every second",
        Fixed { value: i128::from(engine_ns.saturating_sub(views.time_ns())), places: 9 },
    );
    page.gauge(
        "ringside_clock_distance_seconds",
        "The wall clock less engine time, which goes on at its own pace where the clock was set",
        Fixed { value: i128::from(distance_ns), places: 9 },
    );
    page.gauge(
        "ringside_clock_agrees",
        "0 while the clock is more than a second from engine time and no operator accepts it: new orders are refused",
        u8::from(shared.agreement.holds()),
    );
    page.gauge("ringside_archived_sequence", "Through where history is archived", shared.views.archived());
    page.gauge(
        "ringside_idempotency_keys",
        "Idempotency keys that are remembered",
        views.idempotency().len(),
    );
    page.gauge(
        "ringside_idempotency_keys_limit",
        "How many may be, after which new ones are refused",
        shared.config.idempotency_keys,
    );
    page.gauge("ringside_spot_books", "Spot markets not delisted", views.markets().book_count());
    markets(page, &views);
    let fund = views.perpetuals().accounts().get(FEE_ACCOUNT).wallet;
    page.gauge("ringside_insurance_fund", "Wallet of the insurance fund, in quote", money(fund));
    let pools = views.perpetuals().pools();
    page.gauge("ringside_fee_pool", "Fees taken and not paid on, in quote", money(pools.fees));
    page.gauge("ringside_deficit", "1 while the pool is flagged DEFICIT", pools.deficit);
}

fn markets(page: &mut Page, views: &Views) {
    let markets = views.perpetuals().markets().all();
    page.family("ringside_market_state", Kind::Gauge, "State of a perpetual market: 1 for the one in force");
    for market in markets {
        let state = format!("{:?}", market.state).to_lowercase();
        page.sample(&[("market", market.symbol()), ("state", &state)], 1);
    }
    let priced = || markets.iter().filter_map(|market| Some((market.symbol(), market.price.as_ref()?)));
    page.family("ringside_index_state", Kind::Gauge, "Where an index comes from: 1 for the state in force");
    for (market, price) in priced() {
        for state in IndexState::ALL {
            let word = format!("{state:?}").to_lowercase();
            page.sample(
                &[("market", market), ("state", &word)],
                u64::from(price.index_state == *state as u8),
            );
        }
    }
    let mut prices = |name, help: &str, of: fn(&PerpetualPrice) -> i64| {
        page.family(name, Kind::Gauge, help);
        for (market, price) in priced() {
            page.sample(&[("market", market)], Fixed { value: i128::from(of(price)), places: 8 });
        }
    };
    prices("ringside_mark_price", "Mark price", |price| price.mark);
    prices("ringside_index_price", "Index price", |price| price.index);
    prices("ringside_funding_rate", "Funding rate estimated so far", |price| price.funding_rate);
    page.family("ringside_mark_clamped", Kind::Gauge, "1 while the clamp bounds the mark");
    for (market, price) in priced() {
        page.sample(&[("market", market)], price.clamped);
    }
    page.family("ringside_open_interest", Kind::Gauge, "Base of all long positions");
    for market in markets {
        page.sample(&[("market", market.symbol())], Fixed { value: market.open_interest, places: 8 });
    }
}

/// Micro-quote as quote.
fn money(value: i64) -> Fixed {
    Fixed { value: i128::from(value), places: 6 }
}

/// A scaled integer, shown exactly.
struct Fixed {
    value: i128,
    places: u32,
}

impl Display for Fixed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, value) = (if self.value < 0 { "-" } else { "" }, self.value.unsigned_abs());
        let one = 10_u128.pow(self.places);
        write!(f, "{sign}{}.{:0width$}", value / one, value % one, width = self.places as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_shown_to_the_last_place() {
        assert_eq!(money(-1).to_string(), "-0.000001");
        assert_eq!(Fixed { value: 6_000_000_000_012, places: 8 }.to_string(), "60000.00000012");
    }
}
