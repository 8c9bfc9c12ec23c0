//! Whose orders end with a connection, written out as a list that is looked through.

use super::output::Output;
use super::{Outcome, Reference};
use ringside_core::command::{CancelAll, SetDisconnect};
use ringside_core::event::Event;
use ringside_core::ids::{ALL_MARKETS, AccountId, MarketId};
use ringside_core::reject::Reject;

/// What one account has armed somewhere.
#[derive(Clone, Debug)]
pub struct Connection {
    account: AccountId,
    market: MarketId,
    session: u64,
    grace_ms: i64,
    /// Since the connection is lost: when its orders end.
    ends_ms: Option<i64>,
}

impl Reference {
    pub(super) fn set_disconnect(&mut self, set: &SetDisconnect) -> Result<Outcome, Reject> {
        if !(1..=3).contains(&set.act) {
            return Err(Reject::Malformed);
        }
        self.known_account(set.account)?;
        let is_lost = set.act == 3;
        let is_known = set.market == ALL_MARKETS
            || (set.market as usize) < self.markets.len()
            || self.perpetuals.contains(&set.market);
        if !is_lost && !is_known {
            return Err(Reject::MarketNotFound);
        }
        if set.act == 1 && set.grace_ms > 60_000 {
            return Err(Reject::Malformed);
        }
        if is_lost {
            let now_ms = self.time_ns / 1_000_000;
            for connection in &mut self.connections {
                let is_own = connection.account == set.account && connection.session == set.session;
                if is_own && connection.ends_ms.is_none() {
                    connection.ends_ms = Some(now_ms + connection.grace_ms);
                }
            }
            return Ok(Outcome::default());
        }
        self.connections.retain(|other| (other.account, other.market) != (set.account, set.market));
        if set.act == 1 {
            self.connections.push(Connection {
                account: set.account,
                market: set.market,
                session: set.session,
                grace_ms: set.grace_ms.into(),
                ends_ms: None,
            });
        }
        Ok(Outcome::default())
    }

    /// Every connection is lost, just now.
    pub(super) fn lose_connections(&mut self) {
        let now_ms = self.time_ns / 1_000_000;
        for connection in &mut self.connections {
            connection.ends_ms = Some(now_ms + connection.grace_ms);
        }
    }

    /// Takes out those whose time is over, a unit each.
    pub fn take_lost(&mut self) -> Vec<(AccountId, MarketId)> {
        let now_ms = self.time_ns / 1_000_000;
        let ends =
            |connection: &Connection| Some((connection.ends_ms?, connection.account, connection.market));
        let mut over: Vec<_> = self.connections.iter().filter_map(ends).collect();
        over.retain(|(ends_ms, ..)| *ends_ms <= now_ms);
        over.sort_unstable();
        over.truncate(self.units_max());
        let over: Vec<_> = over.into_iter().map(|(_, account, market)| (account, market)).collect();
        self.connections.retain(|connection| !over.contains(&(connection.account, connection.market)));
        over
    }

    /// Ends their spot orders, one account after the other.
    pub fn end_lost(&mut self, lost: &[(AccountId, MarketId)]) -> Vec<Event> {
        let mut events = Vec::new();
        for &(account, market) in lost {
            let mut output = Output::new(self.sequence, self.time_ns);
            // A perpetual market has no orders here.
            let _ = self.cancel_all(&CancelAll { account, market }, &mut output);
            events.extend(output.unfinished());
        }
        events
    }
}
