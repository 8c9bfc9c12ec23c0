//! `@markPrice` and channel `mark_price`: mark, index and funding, each second of the time of commands, or each third.

use super::{At, Label, Start, Stream};
use crate::snapshot::{self, Moment, Snapshot};
use crate::topic::Topic;
use ringside_core::money::Price;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::futures::stream::MarkEvent;
use ringside_wire::number::{Exact, SignedExact};

pub(crate) fn begin(start: &Start) -> Box<dyn Stream> {
    Box::new(Marks { is_each_second: start.topic.detail == 1 })
}

/// Shown to a new subscriber; nothing before the first mark.
pub(crate) fn snapshot(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot::of_market(moment, topic, |market| {
        event(market, moment.registry.mean_of(market.market), moment.now_ms)
    })
}

fn event(market: &PerpetualMarket, mean: Price, now_ms: i64) -> Option<MarkEvent> {
    let price = market.price.as_ref()?;
    Some(MarkEvent {
        event_time: now_ms,
        symbol: Label::of(market).symbol(),
        mark: Exact(price.mark),
        mean: Exact(if mean == 0 { price.mark } else { mean }),
        settle: Exact(price.index),
        index: Exact(price.index),
        rate: SignedExact(price.funding_rate),
        next: price.next_funding_ms,
    })
}

struct Marks {
    is_each_second: bool,
}

impl Stream for Marks {
    fn second(&mut self, is_third: bool, at: &mut At<'_, '_>) {
        if (is_third || self.is_each_second)
            && let Some(event) = at.listed().and_then(|market| event(market, at.market.mean, at.time_ms))
        {
            at.tell(&event);
        }
    }
}
