//! The last proof of the ledgers that was asked for (`risk.md` 20), as the engine told it. Not part of saved views: a proof
//! is of a moment, and is asked for anew.

use ringside_core::command::Kind;
use ringside_core::event::{Done, Event, PerpetualLedger, SpotLedger, StateHash};
use ringside_core::ids::Sequence;
use ringside_core::money::Amount;

/// Both sides of every ledger after one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerProof {
    /// The command.
    pub sequence: Sequence,
    /// Its time, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// Hash of the whole state after it.
    pub state_hash: [u8; 16],
    /// Spot side, by asset.
    pub spot: Vec<SpotLedger>,
    /// Perpetual side, where there is one.
    pub perpetual: Option<PerpetualLedger>,
    /// What has left it for the chain and was neither paid nor given back: added up withdrawal by withdrawal, and as it was
    /// told change by change.
    pub on_their_way: (Amount, Amount),
}

/// See the module.
#[derive(Debug, Default)]
pub struct LedgerView {
    last: LedgerProof,
    running: LedgerProof,
}

impl LedgerView {
    /// The last one; of sequence 0 where there was none.
    pub fn last(&self) -> &LedgerProof {
        &self.last
    }

    pub(super) fn spot(&mut self, ledger: &SpotLedger) {
        self.running.spot.push(*ledger);
    }

    pub(super) fn perpetual(&mut self, ledger: &PerpetualLedger, on_their_way: (Amount, Amount)) {
        self.running.perpetual = Some(*ledger);
        self.running.on_their_way = on_their_way;
    }

    pub(super) fn hash(&mut self, told: &StateHash) {
        self.running.state_hash = told.hash;
    }

    pub(super) fn done(&mut self, event: &Event, done: &Done) {
        if done.command == Kind::ProveLedger as u16 && done.rejected().is_none() {
            self.last = std::mem::take(&mut self.running);
            (self.last.sequence, self.last.time_ns) = (event.sequence, event.time_ns);
        } else if self.running != LedgerProof::default() {
            // A checkpoint's hash.
            self.running = LedgerProof::default();
        }
    }
}
