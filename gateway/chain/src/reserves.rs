//! What a proof of reserves means for withdrawals: while the ledgers owe more than the vault holds, and more than operators have accepted,
//! they are paused. The pause is this guard's own: a proof in which nothing is missing takes it back, and so do two operators
//! (`POST /admin/proof/accept`).

use crate::proof::{Proofs, Verdict};
use ringside_commands::ingress::{Ingress, Priority};
use ringside_core::command::{Command, PauseWithdrawals, pause};
use ringside_core::ids::padded;
use ringside_views::SharedViews;
use std::sync::Arc;
use std::time::Duration;

/// What everybody is told.
const REASON: &str = "the ledgers owe more than the vault holds";
/// Before what the engine did not take is tried again, and between two looks without a call.
const AGAIN: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Guard {
    ingress: Ingress,
    views: Arc<SharedViews>,
    proofs: Arc<Proofs>,
}

impl Guard {
    pub(super) fn new(ingress: Ingress, views: Arc<SharedViews>, proofs: Arc<Proofs>) -> Guard {
        Guard { ingress, views, proofs }
    }

    /// Works for ever.
    pub(super) async fn run(self) {
        loop {
            self.judge().await;
            let _ = tokio::time::timeout(AGAIN, self.proofs.changed()).await;
        }
    }

    async fn judge(&self) {
        let (paused, reason) = match self.proofs.verdict() {
            // A pause that was in force at the start stays so until something is known.
            Verdict::Unknown => return,
            Verdict::Covered => (0, "the vault holds what is owed".to_owned()),
            Verdict::Short(missing) => (pause::RESERVES, missing),
        };
        let is_paused = self.views.read().withdrawals().paused() & pause::RESERVES;
        if is_paused == paused {
            return;
        }
        let told = if paused == 0 { reason.as_str() } else { REASON };
        let told =
            PauseWithdrawals { mask: pause::RESERVES, paused, reason: padded(told).unwrap_or([0; 64]) };
        match self.ingress.submit(Command::new(told), Priority::Internal).await {
            Ok(_) if paused == 0 => {
                tracing::info!("withdrawals go on: the vault holds what is owed, or it was accepted")
            }
            Ok(_) => tracing::error!(missing = reason, "ALARM: {REASON}; withdrawals are paused"),
            Err(unavailable) => tracing::warn!(%unavailable, "withdrawals cannot be paused now"),
        }
    }
}
