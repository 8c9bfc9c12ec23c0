//! Events of an account as its user stream tells them (`perpetual-stream.md` 4). `tell` makes them of a command's events,
//! `ledger` knows what the account had after each step of it, `encode` fills what is said of orders. Who listens is not known here.

mod encode;
mod exposure;
mod ledger;
mod tell;

pub use tell::{accounts_of, tell};

use ringside_wire::futures::user::{
    AccountUpdate, AlgoUpdate, BalanceUpdate, ConfigUpdate, DeferredUpdate, KeyExpired, LiteUpdate,
    MarginCall, OrderUpdate, Stamped, TierUpdate, TriggerRefusal,
};
use serde::Serialize;

/// Where events of an account go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserChannel {
    /// The stream of its listen key: bare events.
    Raw,
    /// Channel `user_data`.
    UserData,
    /// Channel `orders`.
    Orders,
    /// Channel `positions`.
    Positions,
    /// Channel `balances`.
    Balances,
    /// Channel `vip_tier`.
    VipTier,
}

/// One event.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each is what its struct says")]
pub enum UserEvent {
    Order(Box<OrderUpdate>),
    Lite(Box<LiteUpdate>),
    Account(Box<AccountUpdate>),
    MarginCall(Box<MarginCall>),
    Leverage(ConfigUpdate),
    Deferred(DeferredUpdate),
    TriggerRefused(Box<TriggerRefusal>),
    Algo(Box<AlgoUpdate>),
    Balance(Box<BalanceUpdate>),
    Tier(Box<TierUpdate>),
}

impl UserEvent {
    /// Its name, `e` of a bare event and `type` of a channel's frame, and where it goes. Bare streams have no event that existing
    /// clients do not know.
    const fn row(&self) -> (&'static str, &'static [UserChannel]) {
        use UserChannel::{Balances, Orders, Positions, Raw, UserData, VipTier};
        match self {
            UserEvent::Order(_) => ("ORDER_TRADE_UPDATE", &[Raw, UserData, Orders]),
            UserEvent::Lite(_) => ("TRADE_LITE", &[Raw, UserData, Orders]),
            UserEvent::Account(_) => ("ACCOUNT_UPDATE", &[Raw, UserData, Positions]),
            UserEvent::MarginCall(_) => ("MARGIN_CALL", &[Raw, UserData, Positions]),
            UserEvent::Leverage(_) => ("ACCOUNT_CONFIG_UPDATE", &[Raw, UserData, Positions]),
            UserEvent::Deferred(_) => ("TRIGGER_DEFERRED", &[UserData, Orders]),
            UserEvent::TriggerRefused(_) => ("CONDITIONAL_ORDER_TRIGGER_REJECT", &[Raw, UserData, Orders]),
            UserEvent::Algo(_) => ("ALGO_UPDATE", &[Raw, UserData, Orders]),
            UserEvent::Balance(_) => ("balance_update", &[Balances]),
            UserEvent::Tier(_) => ("vip_tier_changed", &[VipTier]),
        }
    }

    /// See [`UserEvent::row`].
    pub const fn name(&self) -> &'static str {
        self.row().0
    }

    /// See [`UserEvent::row`].
    pub const fn channels(&self) -> &'static [UserChannel] {
        self.row().1
    }

    /// Appends the event; `now_ms` is when it is made. Rows of channels alone do not say that.
    pub fn write(&self, out: &mut Vec<u8>, now_ms: i64) {
        match self {
            UserEvent::Balance(_) | UserEvent::Tier(_) => ringside_wire::write(out, self),
            _ => ringside_wire::write(out, &Stamped { name: self.name(), made: now_ms, event: self }),
        }
    }
}

/// Appends the last event of a stream whose key is over.
pub fn listen_key_expired(out: &mut Vec<u8>, now_ms: i64, listen_key: &str) {
    let event = &KeyExpired { listen_key };
    ringside_wire::write(out, &Stamped { name: "listenKeyExpired", made: now_ms, event });
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
