//! Who writes the journal, as seen from the host that follows it, or writes it for a cluster.

use ringside_core::ids::Sequence;
use ringside_core::sums::Sums;
use ringside_edge::metrics::Page;
use std::sync::Arc;

/// Who writes the journal.
pub(super) trait Upstream: Send + Sync {
    /// Id of the journal, once an engine can start from what is here.
    fn journal_id(&self) -> Option<[u8; 16]>;
    /// The last command that may be shown.
    fn sequence(&self) -> Sequence;
    /// Whether nothing is written here any more, or reads are not to be served any more.
    fn is_over(&self) -> bool;
    /// Number of the one that leads, and its term, where this one follows and may take orders for it.
    fn leader(&self) -> Option<(u64, u64)> {
        None
    }
    /// An engine that follows here counts what it tells; whether others can be asked where it differs from the leader.
    fn counts(&self, _sums: Arc<Sums>) -> bool {
        false
    }
    /// Its own figures.
    fn figures(&self, page: &mut Page);
    /// Where it is this host that writes, and others can: one of them is to, as soon as it has everything; this one, where one is named.
    fn hand_over(&self, _to: Option<u64>) {}
    /// Who is to write in its place, once: an operator wants so.
    fn take_transfer(&self) -> Option<u64> {
        None
    }
    /// Who has room where this host's disk is short of it.
    fn roomier(&self) -> Option<u64> {
        None
    }
}
