//! Orders of a connection that is gone (`disconnect.rs`): armed on request, ended when its grace is over.

use super::{Engine, Outcome};
use crate::command::{CancelAll, ConnectionAct, GRACE_MAX_MS, SetDisconnect};
use crate::emit::Emitter;
use crate::event::Sink;
use crate::ids::{ALL_MARKETS, AccountId, MarketId};
use crate::reject::Reject;

impl Engine {
    /// See [`SetDisconnect`].
    pub(super) fn set_disconnect(&mut self, set: &SetDisconnect) -> Outcome {
        let outcome = Outcome { account: set.account, ..Outcome::default() };
        let Some(act) = u8::try_from(set.act).ok().and_then(ConnectionAct::from_code) else {
            return outcome.refused(Reject::Malformed);
        };
        if !self.accounts.exists(set.account) {
            return outcome.refused(Reject::AccountNotFound);
        }
        if act != ConnectionAct::Lost && !self.has_market(set.market) {
            return outcome.refused(Reject::MarketNotFound);
        }
        match act {
            ConnectionAct::Arm if set.grace_ms > GRACE_MAX_MS => return outcome.refused(Reject::Malformed),
            ConnectionAct::Arm => self.disconnects.arm(set),
            ConnectionAct::Disarm => self.disconnects.disarm(set.account, set.market),
            ConnectionAct::Lost => {
                let now_ms = self.time.ns() / 1_000_000;
                self.disconnects.lose(set.account, set.session, now_ms);
            }
        }
        outcome
    }

    /// Whether there is such a market, on either side; all are one.
    pub(crate) fn has_market(&self, market: MarketId) -> bool {
        let is_perpetual = || {
            let perpetual = self.perpetual.as_ref();
            perpetual.is_some_and(|perpetual| perpetual.state.index_of(market).is_some())
        };
        market == ALL_MARKETS || (market as usize) < self.markets.len() || is_perpetual()
    }

    /// Ends the spot orders of those whose grace is over, a unit each, and gives them, for the perpetual ones. Who is left over is next
    /// at the tick that follows at once (`countdown_ms`).
    pub(super) fn end_of_lost<S: Sink>(
        &mut self,
        emitter: &mut Emitter<'_, S>,
    ) -> Vec<(AccountId, MarketId)> {
        let lost = self.disconnects.take_due(self.time.ns() / 1_000_000, self.work_max());
        for &(account, market) in &lost {
            // One that is of the other side has none here.
            self.cancel_all(&CancelAll { account, market }, emitter);
        }
        lost
    }
}
