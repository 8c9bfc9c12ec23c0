//! Limits of an account as operators write them and as it is shown them (`account.md` 13).

use super::params::{member, number, typed};
use super::refusal::{INVALID_PARAMETER, Refused};
use crate::fapi::params::Decimal;
use crate::fapi::{place, text};
use ringside_core::command::{PerpetualParameter as P, SetAccountLimits, limit_mask as mask};
use ringside_core::ids::{ALL_MARKETS, AccountId, FIRST_PERPETUAL, MarketId};
use ringside_core::money::Money;
use ringside_core::risk::perpetual::bounds::VALUE_MAX;
use ringside_views::Views;
use ringside_wire::account::own::{Limits, PerpetualLimits, SpotLimits};
use ringside_wire::name::Market;
use ringside_wire::number::Micros;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Members of a change.
const NAMES: [&str; 8] = [
    "symbol",
    "ledger",
    "open_orders",
    "order_rate_10s",
    "order_rate_1m",
    "max_position_notional",
    "max_order_notional",
    "reason",
];

/// A change of limits: a member that is null takes a limit away, one that is absent leaves it.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub struct LimitsBody<'a> {
    #[serde(borrow)]
    sent: BTreeMap<String, &'a RawValue>,
}

impl LimitsBody<'_> {
    /// A member, null or not.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.sent.get(name).copied()
    }

    /// The symbol that is named, in capitals, and whether it is a spot market's.
    pub fn market(&self) -> Result<Option<(String, bool)>, Refused> {
        let ledger: Option<String> = typed("ledger", self.get("ledger"))?;
        let is_spot = match ledger.as_deref() {
            None | Some("perpetual") => false,
            Some("spot") => true,
            Some(_) => return Err(INVALID_PARAMETER.saying("ledger: may be perpetual or spot")),
        };
        let symbol: Option<String> = typed("symbol", self.get("symbol"))?;
        Ok(symbol.map(|symbol| (symbol.to_ascii_uppercase(), is_spot)))
    }

    /// The command; `most`: open orders, orders in a window.
    pub fn command(
        &self,
        account: AccountId,
        market: MarketId,
        most: (u32, u32),
    ) -> Result<SetAccountLimits, Refused> {
        if let Some(unknown) = self.sent.keys().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(INVALID_PARAMETER.saying(format!("{unknown}: there is no such limit")));
        }
        let mut bits = 0;
        let set = SetAccountLimits {
            account,
            market,
            mask: 0,
            open_orders: 0,
            order_rate_10s: 0,
            order_rate_1m: 0,
            max_position_notional: 0,
            max_order_notional: 0,
        };
        let mut count = |name: &str, bit: u32, most: u32| -> Result<u32, Refused> {
            let Some(raw) = self.get(name) else { return Ok(0) };
            bits |= bit;
            let Some(raw) = member(Some(raw)) else { return Ok(0) };
            let value: Option<u32> = serde_json::from_str(raw.get()).ok();
            value
                .filter(|value| (1..=most).contains(value))
                .ok_or_else(|| INVALID_PARAMETER.saying(format!("{name}: may be 1 to {most} or null")))
        };
        let open_orders = count("open_orders", mask::OPEN_ORDERS, most.0)?;
        let order_rate_10s = count("order_rate_10s", mask::RATE_10S, most.1)?;
        let order_rate_1m = count("order_rate_1m", mask::RATE_1M, most.1)?;
        let mut money = |name: &str, bit: u32| -> Result<Money, Refused> {
            let Some(raw) = self.get(name) else { return Ok(0) };
            bits |= bit;
            let Some(raw) = member(Some(raw)) else { return Ok(0) };
            let value = number(raw).and_then(Decimal::micros).filter(|value| (1..=VALUE_MAX).contains(value));
            value.ok_or_else(|| {
                let most = text::micros(VALUE_MAX);
                INVALID_PARAMETER
                    .saying(format!("{name}: may be 0.000001 to {most}, with 6 decimals, or null"))
            })
        };
        let position = money("max_position_notional", mask::POSITION)?;
        let order = money("max_order_notional", mask::ORDER)?;
        if bits == 0 {
            return Err(INVALID_PARAMETER.saying("body: nothing to change"));
        }
        for (name, bit, is_of_all) in [
            ("order_rate_10s", mask::RATE_10S, true),
            ("order_rate_1m", mask::RATE_1M, true),
            ("max_position_notional", mask::POSITION, false),
            ("max_order_notional", mask::ORDER, false),
        ] {
            if bits & bit == 0 {
                continue;
            }
            if is_of_all && market != ALL_MARKETS {
                return Err(
                    INVALID_PARAMETER.saying(format!("{name}: is of all markets; send it without symbol"))
                );
            }
            if !is_of_all && market < FIRST_PERPETUAL {
                return Err(INVALID_PARAMETER.saying(format!("{name}: spot markets have none")));
            }
        }
        Ok(SetAccountLimits {
            mask: bits,
            open_orders,
            order_rate_10s,
            order_rate_1m,
            max_position_notional: position,
            max_order_notional: order,
            ..set
        })
    }

    /// What is changed, in short.
    pub fn detail(&self, set: &SetAccountLimits) -> Result<String, Refused> {
        let mut parts = Vec::new();
        parts.extend(self.market()?.map(
            |(symbol, is_spot)| {
                if is_spot { format!("spot {symbol}") } else { symbol }
            },
        ));
        let mut add = |name: &str, bit: u32, value: String, is_none: bool| {
            if set.mask & bit != 0 {
                parts.push(format!("{name}={}", if is_none { "none" } else { &value }));
            }
        };
        add("open_orders", mask::OPEN_ORDERS, set.open_orders.to_string(), set.open_orders == 0);
        add("order_rate_10s", mask::RATE_10S, set.order_rate_10s.to_string(), set.order_rate_10s == 0);
        add("order_rate_1m", mask::RATE_1M, set.order_rate_1m.to_string(), set.order_rate_1m == 0);
        let money = text::micros;
        let (position, order) = (set.max_position_notional, set.max_order_notional);
        add("max_position_notional", mask::POSITION, money(position), position == 0);
        add("max_order_notional", mask::ORDER, money(order), order == 0);
        Ok(parts.join(" "))
    }
}

/// What an account may do at most; `rates`: orders in ten seconds and in a minute.
pub fn shown(views: &Views, account: AccountId, rates: [u32; 2]) -> Limits {
    let configured = views.perpetuals().configured();
    let open = |market| configured.own_limit(account, market, |limits| limits.open_orders);
    let perpetual = views.perpetuals().markets().all().iter().map(|found| {
        let market = found.market;
        let most = open(market).map_or(found.setting(P::MaxOpenOrders), i64::from);
        let position = configured.own_limit(account, market, |limits| limits.max_position_notional);
        PerpetualLimits {
            symbol: Market(found.symbol),
            open_orders: most,
            conditional_orders: found.setting(P::MaxConditionalOrders).min(most),
            max_order_notional: Micros(place::notional_max(views.perpetuals(), account, found)),
            max_position_notional: position.map(Micros),
        }
    });
    let spot = views.markets().in_order_of_symbol().map(|found| SpotLimits {
        symbol: Market(found.symbol),
        open_orders: open(found.market).unwrap_or(found.max_open_orders),
    });
    let [order_rate_10s, order_rate_1m] = rates;
    Limits { order_rate_10s, order_rate_1m, perpetual: perpetual.collect(), spot: spot.collect() }
}
