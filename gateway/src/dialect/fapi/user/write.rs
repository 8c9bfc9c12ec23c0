//! User events as JSON: keys in the order of `perpetual-stream.md` 4, numbers as `perpetual.md` 1 has them. Written by hand,
//! since one event may go to many connections while orders wait for nothing.

use super::{
    AccountUpdate, AlgoUpdate, BalanceUpdate, CalledRow, Fill, Happening, MarginCall, OrderUpdate,
    PositionRow, UserEvent,
};
use crate::dialect::fapi::object::Object;
use crate::dialect::fapi::words::{
    MatchedPrice, OrderSide, OrderStatus, OrderType, SelfTrade, TimeInForce, TriggerPrice,
};
use ringside_core::command::{PerpetualOrderType, order_flag};
use ringside_core::event::VipChange;
use ringside_core::ids::text;
use ringside_core::risk::perpetual::units::average_price;

impl UserEvent {
    /// Appends the event; `now_ms` is when it is made.
    pub fn write(&self, out: &mut Vec<u8>, now_ms: i64) {
        let (name, mut object) = (self.name(), Object::new(out));
        match self {
            UserEvent::Order(update) => {
                object.begin(name, now_ms, Some(update.time_ms));
                object.object("o", |o| order(o, update));
            }
            UserEvent::Lite(update) => {
                object.begin(name, now_ms, Some(update.time_ms));
                lite(&mut object, update);
            }
            UserEvent::Account(update) => {
                object.begin(name, now_ms, Some(update.time_ms));
                object.object("a", |a| account(a, update));
            }
            UserEvent::MarginCall(call) => {
                object.begin(name, now_ms, None);
                margin_call(&mut object, call);
            }
            UserEvent::Leverage { time_ms, symbol, leverage } => {
                object.begin(name, now_ms, Some(*time_ms));
                object.object("ac", |ac| {
                    ac.text("s", text(symbol));
                    ac.number("l", (*leverage).into());
                });
            }
            UserEvent::Deferred { time_ms, symbol, order, mark, last } => {
                object.begin(name, now_ms, Some(*time_ms));
                object.object("o", |o| {
                    o.text("s", text(symbol));
                    o.id("i", *order);
                    o.exact("mark", *mark);
                    o.units("last", *last);
                });
            }
            UserEvent::TriggerRefused { time_ms, symbol, order, refusal } => {
                object.begin(name, now_ms, Some(*time_ms));
                object.object("or", |or| {
                    or.text("s", text(symbol));
                    or.id("i", *order);
                    or.escaped("r", &refusal.msg);
                });
            }
            UserEvent::Algo(update) => {
                object.begin(name, now_ms, Some(update.time_ms));
                object.object("o", |o| algo(o, update));
            }
            UserEvent::Balance(update) => balance(&mut object, update),
            UserEvent::Vip { time_ms, change, tiers, volume, effective_ms } => {
                object.text("kind", change_word(*change));
                object.number("from_tier", tiers.0.into());
                object.number("to_tier", tiers.1.into());
                object.money("volume_14d", *volume);
                object.number("effective_at", *effective_ms);
                object.number("ts", *time_ms);
            }
        }
        object.end();
    }
}

/// The last event of a stream whose key is over.
pub fn listen_key_expired(out: &mut Vec<u8>, now_ms: i64, listen_key: &str) {
    let mut object = Object::new(out);
    object.begin("listenKeyExpired", now_ms, None);
    object.text("listenKey", listen_key);
    object.end();
}

const fn change_word(change: VipChange) -> &'static str {
    match change {
        VipChange::UpgradeImmediate => "upgrade_immediate",
        VipChange::DowngradeScheduled => "downgrade_scheduled",
        VipChange::DowngradeApplied => "downgrade_applied",
    }
}

/// A type as events name it: here, and nowhere else, a liquidation order is one.
fn order_type(code: u8) -> &'static str {
    match PerpetualOrderType::from_code(code) {
        Some(PerpetualOrderType::Liquidation) => "LIQUIDATION",
        Some(known) => OrderType::of(known).text(),
        None => "",
    }
}

const fn execution(happening: Happening) -> &'static str {
    match happening {
        Happening::New => "NEW",
        Happening::Amendment => "AMENDMENT",
        Happening::Canceled => "CANCELED",
        Happening::Expired => "EXPIRED",
        Happening::Trade => "TRADE",
        Happening::Calculated => "CALCULATED",
    }
}

/// 4.1.
fn order(o: &mut Object<'_>, update: &OrderUpdate) {
    let told = &update.order.told;
    let flag = |bit| told.flags & bit != 0;
    let is_trailing = told.original_type == PerpetualOrderType::TrailingStopMarket as u8;
    let none = Fill { trade: 0, quantity: 0, price: 0, fee: 0, realised: 0, is_maker: false };
    let fill = update.fill.unwrap_or(none);
    o.text("s", text(&update.symbol));
    o.text("c", update.order.client_order());
    o.text("S", OrderSide::of_code(told.side).text());
    o.text("o", order_type(told.order_type));
    o.text("f", TimeInForce::of_code(told.time_in_force).text());
    o.units("q", told.quantity);
    o.units("p", told.price);
    o.units("ap", average_price(told.value, told.filled));
    o.units("sp", if is_trailing { 0 } else { told.stop_price });
    o.text("x", execution(update.happening));
    o.text("X", OrderStatus::of_code(told.status).text());
    o.id("i", told.order);
    o.units("l", fill.quantity);
    o.units("z", told.filled);
    o.units("L", fill.price);
    o.text("N", "USDT");
    o.money_or_none("n", fill.fee);
    o.number("T", update.time_ms);
    o.id("t", fill.trade);
    o.money_or_none("b", update.exposure[0]);
    o.money_or_none("a", update.exposure[1]);
    o.flag("m", fill.is_maker);
    o.flag("R", flag(order_flag::REDUCE_ONLY));
    o.text("wt", TriggerPrice::of_code(told.working_type).text());
    o.text("ot", order_type(told.original_type));
    o.text("ps", "BOTH");
    o.flag("cp", flag(order_flag::CLOSE_POSITION));
    if is_trailing {
        o.units("AP", told.stop_price);
        o.units("cr", i64::from(told.callback_rate) * 100);
    }
    o.flag("pP", flag(order_flag::PRICE_PROTECT));
    o.number("si", 0);
    o.number("ss", 0);
    o.money_or_none("rp", fill.realised);
    o.text("V", SelfTrade::of_code(told.self_trade).text());
    o.text("pm", MatchedPrice::of_code(told.price_match).text());
    o.number("gtd", told.good_till_ms);
    let reason = if update.happening == Happening::Expired { told.expiry_reason } else { 0 };
    o.digits("er", Some(reason.into()));
}

/// 4.2.
fn lite(o: &mut Object<'_>, update: &OrderUpdate) {
    let (told, Some(fill)) = (&update.order.told, update.fill) else { return };
    o.text("s", text(&update.symbol));
    o.units("q", told.quantity);
    o.units("p", told.price);
    o.flag("m", fill.is_maker);
    o.text("c", update.order.client_order());
    o.text("S", OrderSide::of_code(told.side).text());
    o.units("L", fill.price);
    o.units("l", fill.quantity);
    o.id("t", fill.trade);
    o.id("i", told.order);
}

/// 4.3.
fn account(a: &mut Object<'_>, update: &AccountUpdate) {
    a.text("m", update.reason.text());
    a.list("B", update.balance.iter(), |row, [wallet, cross, change]| {
        row.text("a", "USDT");
        row.money("wb", *wallet);
        row.money("cw", *cross);
        row.money_or_none("bc", *change);
    });
    a.list("P", update.positions.iter(), |row, position: &PositionRow| {
        row.text("s", text(&position.symbol));
        row.units("pa", position.quantity);
        row.units("ep", position.entry_price);
        row.units("bep", position.break_even_price);
        row.money("cr", position.realised);
        row.money("up", position.unrealised);
        row.text("mt", if position.is_isolated { "isolated" } else { "cross" });
        row.money("iw", position.isolated_wallet);
        row.text("ps", "BOTH");
        row.text("ma", "USDT");
    });
}

fn margin_call(object: &mut Object<'_>, call: &MarginCall) {
    if let Some(wallet) = call.cross_wallet {
        object.money("cw", wallet);
    }
    object.list("p", call.positions.iter(), |row, position: &CalledRow| {
        row.text("s", text(&position.symbol));
        row.text("ps", "BOTH");
        row.units("pa", position.quantity);
        row.text("mt", if position.is_isolated { "ISOLATED" } else { "CROSSED" });
        row.money("iw", position.isolated_wallet);
        row.exact("mp", position.mark);
        row.money("up", position.unrealised);
        row.money("mm", position.maintenance);
    });
}

fn algo(o: &mut Object<'_>, update: &AlgoUpdate) {
    let told = &update.order.told;
    let flag = |bit| told.flags & bit != 0;
    let actual = update.actual.as_ref();
    o.text("caid", update.order.client_order());
    o.id("aid", told.order);
    o.text("at", "CONDITIONAL");
    o.text("o", order_type(told.original_type));
    o.text("s", text(&update.symbol));
    o.text("S", OrderSide::of_code(told.side).text());
    o.text("ps", "BOTH");
    o.text("f", TimeInForce::of_code(told.time_in_force).text());
    o.units("q", told.quantity);
    o.text("X", update.status);
    o.digits("ai", actual.map(|actual| actual.told.order));
    o.units("ap", actual.map_or(0, |actual| average_price(actual.told.value, actual.told.filled)));
    o.units("aq", actual.map_or(0, |actual| actual.told.filled));
    o.text("act", actual.map_or("", |actual| order_type(actual.told.order_type)));
    let is_trailing = told.original_type == PerpetualOrderType::TrailingStopMarket as u8;
    o.units("tp", if is_trailing { 0 } else { told.stop_price });
    o.units("p", told.price);
    o.text("V", SelfTrade::of_code(told.self_trade).text());
    o.text("wt", TriggerPrice::of_code(told.working_type).text());
    o.text("pm", MatchedPrice::of_code(told.price_match).text());
    o.flag("cp", flag(order_flag::CLOSE_POSITION));
    o.flag("pP", flag(order_flag::PRICE_PROTECT));
    o.flag("R", flag(order_flag::REDUCE_ONLY));
    o.number("tt", update.trigger_ms);
    o.number("gtd", told.good_till_ms);
    o.escaped("rm", update.refusal.as_ref().map_or("", |refusal| &refusal.msg));
}

fn balance(object: &mut Object<'_>, update: &BalanceUpdate) {
    object.text("asset", "USDT");
    object.money("wallet_balance", update.wallet);
    object.money("cross_wallet_balance", update.cross_wallet);
    object.money("available_balance", update.available);
    object.money_or_none("change", update.change);
    object.text("reason", update.reason.text());
    object.number("ts", update.time_ms);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_of_a_key() {
        let mut out = Vec::new();
        listen_key_expired(&mut out, 1_700_000_000_000, "k");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"e":"listenKeyExpired","E":1700000000000,"listenKey":"k"}"#
        );
    }
}
