//! Channel `liquidations`: each step of one.

use super::{At, Start, Stream};
use ringside_core::event::{self, Event, LiquidationStep as Step};
use ringside_core::risk::perpetual::units::average_price;
use ringside_dialect::fapi::text;
use ringside_dialect::fapi::words::OrderSide;
use ringside_wire::futures::stream::LiquidationStep;
use ringside_wire::number::{SignedMoney, Units};

pub(crate) fn begin(_: &Start) -> Box<dyn Stream> {
    Box::new(Steps)
}

struct Steps;

impl Stream for Steps {
    fn event(&mut self, event: &Event, at: &mut At<'_, '_>) {
        let Some(told) = event.get::<event::Liquidation>() else { return };
        let reason = match Step::from_code(told.step) {
            Some(Step::Book) => "BOOK",
            Some(Step::Fund) => "FUND",
            Some(Step::Adl) => "ADL",
            Some(Step::Unwind) => "UNWIND",
            Some(Step::Begin | Step::Clear | Step::End) | None => return,
        };
        at.tell(&LiquidationStep {
            symbol: at.label().symbol(),
            account: text::alias(told.account),
            side: OrderSide::of_code(told.side).text(),
            quantity: Units(told.quantity),
            price: Units(average_price(told.value, told.quantity)),
            reason,
            fund_change: SignedMoney(told.fund_change),
            ts: at.time_ms,
        });
    }
}
