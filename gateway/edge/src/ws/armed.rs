//! Cancel on disconnect (decided here): a connection may have its loss end its account's orders, spot and perpetual, in the markets of one
//! symbol or in all, after a grace of 0 to 60 s. Arming is a command, so it outlives the process, whose death is the loss of every
//! connection; what it does is the engine's ([`SetDisconnect`]).
//!
//! However a connection ends, the engine is told: closed by either side, broken off, or silent. So that silence is noticed, a connection
//! that has armed is pinged every 5 s and closed after 15 s without a sign of life, or sooner where the settings say so.
//! Whoever comes back and arms or disarms again within the grace keeps the orders.

use crate::worker::Worker;
use ringside_commands::ingress::{Priority, Submission, Unavailable};
use ringside_core::command::{Command, ConnectionAct, SetDisconnect};
use ringside_core::ids::{ALL_MARKETS, AccountId, MarketId};
use std::rc::Rc;
use std::time::Duration;

/// How long a full way to the engine is waited for.
const AGAIN: Duration = Duration::from_millis(20);

/// What one connection has armed.
pub struct Armed {
    worker: Rc<Worker>,
    session: u64,
    accounts: Vec<AccountId>,
}

impl Armed {
    /// Of a new connection.
    pub fn new(worker: Rc<Worker>) -> Armed {
        let session = worker.shared.next_session();
        Armed { worker, session, accounts: Vec::new() }
    }

    /// The markets of a symbol, on both sides, or all; none where nothing has that name.
    pub fn markets(&self, symbol: Option<&str>) -> Vec<MarketId> {
        let Some(symbol) = symbol.filter(|symbol| !symbol.is_empty()) else { return vec![ALL_MARKETS] };
        let views = self.worker.shared.views.read();
        let spot = views.markets().by_symbol(symbol).map(|market| market.market);
        let perpetual = views.perpetuals().markets().by_symbol(symbol).map(|market| market.market);
        spot.into_iter().chain(perpetual).collect()
    }

    /// Has the loss of this connection end the account's orders in these markets after so many milliseconds, or without a number no
    /// connection's.
    pub fn set(&mut self, account: AccountId, markets: &[MarketId], grace_ms: Option<u32>) -> Submission {
        // Before it is known whether it is: where nothing is armed the loss changes nothing.
        if grace_ms.is_some() && !self.accounts.contains(&account) {
            self.accounts.push(account);
        }
        let act = if grace_ms.is_some() { ConnectionAct::Arm } else { ConnectionAct::Disarm };
        let of = |market: &MarketId| self.command(account, *market, grace_ms.unwrap_or(0), act);
        let commands: Vec<Command> = markets.iter().map(of).collect();
        let (last, before) = commands.split_last().expect("a symbol has a market");
        self.worker.ingress.submit_after(before, *last, Priority::Cancel)
    }

    /// Tells the engine that the connection is lost, for as long as it may be told.
    pub async fn lost(self) {
        for account in &self.accounts {
            let lost = self.command(*account, ALL_MARKETS, 0, ConnectionAct::Lost);
            while let Err(Unavailable::Busy) = self.worker.ingress.submit(lost, Priority::Cancel).await {
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    fn command(&self, account: AccountId, market: MarketId, grace_ms: u32, act: ConnectionAct) -> Command {
        let session = self.session;
        Command::new(SetDisconnect { account, market, session, grace_ms, act: act as u32 })
    }
}
