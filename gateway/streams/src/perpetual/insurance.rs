//! `@insurance`: what the insurance fund gained or paid in a market by one command. What belongs to no one market, as the rest of a cross
//! scope or what an operator moves, is not among it; the balance told is the whole fund's.

use super::{At, Start, Stream};
use ringside_core::event::{self, Event, Kind, LiquidationStep, Posting, PostingReason};
use ringside_core::ids::FEE_ACCOUNT;
use ringside_core::money::Money;
use ringside_wire::futures::stream::InsuranceEvent;
use ringside_wire::number::{Name, SignedMoney};

/// What moves the fund's wallet in a market.
pub(crate) const EVENTS: &[Kind] = &[Kind::Liquidation, Kind::Posting];

pub(crate) fn begin(_: &Start) -> Box<dyn Stream> {
    Box::new(Moves { change: 0 })
}

struct Moves {
    /// By the running command.
    change: Money,
}

impl Stream for Moves {
    fn event(&mut self, event: &Event, _: &mut At<'_, '_>) {
        if let Some(told) = event.get::<event::Liquidation>() {
            // Of what it clears a posting tells, as it does outside of a liquidation.
            if told.step != LiquidationStep::Clear as u8 {
                self.change += told.fund_change;
            }
        } else if let Some(posting) = event.get::<Posting>() {
            if posting.account == FEE_ACCOUNT {
                self.change += posting.amount;
            } else if posting.reason == PostingReason::InsuranceClear as u8 {
                self.change -= posting.amount;
            }
        }
    }

    fn end(&mut self, at: &mut At<'_, '_>) {
        let change = std::mem::take(&mut self.change);
        let Some(market) = at.listed().filter(|_| change != 0) else { return };
        let fund = at.views.perpetuals().accounts().find(FEE_ACCOUNT);
        at.tell(&InsuranceEvent {
            event_time: at.now_ms,
            time: at.time_ms,
            symbol: at.label().symbol(),
            asset: Name(market.quote),
            change: SignedMoney(change),
            balance: SignedMoney(fund.map_or(0, |fund| fund.wallet)),
        });
    }
}
