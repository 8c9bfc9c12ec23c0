//! What a second engine shows where it is the only one: the fold of a follower that serves clients.

use super::lanes::Lanes;
use ringside_core::event::{Event, Kind};
use ringside_core::ids::Sequence;
use ringside_edge::worker::Shared;
use ringside_egress::{Fanout, Listener};
use ringside_persist::archive::ArchiveError;
use ringside_persist::error::FoldError;
use ringside_persist::recover::machine::Fold;
use ringside_streams::pusher::Pusher;
use ringside_views::Views;
use ringside_views::archive::archiver::Archiver;
use ringside_views::log::Retention;
use std::sync::Arc;

/// Events that are folded under one lock, at least.
const BATCH: usize = 1024;

/// Feeds the archive, and shows what the leader did: in the views and, once what there was at the start is replayed, to those who listen.
pub(super) struct Shown {
    archiver: Archiver,
    fanout: Fanout,
    shared: Arc<Shared>,
    /// Of those whose orders are decided elsewhere, and the last change of them that was heard of.
    lanes: Option<Arc<Lanes>>,
    change: u64,
    /// The last command there was at the start: nobody is told of those before.
    begun_at: Sequence,
    /// The last command of which something is kept for user streams.
    kept: Sequence,
    is_live: bool,
}

impl Shown {
    /// Behind `begun_at` those who listen are told; what is kept for user streams reaches to `kept`.
    pub(super) fn new(
        archiver: Archiver,
        shared: Arc<Shared>,
        lanes: Option<Arc<Lanes>>,
        begun_at: Sequence,
        kept: Sequence,
    ) -> Shown {
        let fanout = Fanout::new(shared.views.clone(), Vec::new());
        Shown { archiver, fanout, shared, lanes, change: 0, begun_at, kept, is_live: false }
    }

    /// Shows all of it.
    pub(super) fn show(&mut self) {
        if let Some(routes) = self.lanes.as_ref().and_then(|lanes| lanes.routes(&mut self.change)) {
            self.fanout.answer(routes);
        }
        self.fanout.show();
    }

    /// Those who listen, to be told of what comes next by somebody else.
    pub(super) fn into_listeners(self) -> Vec<Box<dyn Listener>> {
        self.fanout.into_listeners()
    }

    fn views(&self) -> Views {
        Views::new(Retention::Window(self.shared.config.history_window))
    }

    /// Has those who listen told of what comes behind `through`.
    fn begin_to_tell(&mut self, through: Sequence) {
        self.is_live = true;
        let registry = self.shared.registry.clone();
        if self.kept < through {
            registry.miss_kept(through);
        }
        let pusher = Pusher::new(registry, &self.shared.views.read());
        self.fanout.listen(Box::new(pusher));
    }
}

impl Fold for Shown {
    fn event(&mut self, event: &Event) {
        self.archiver.event(event);
        self.fanout.take(event);
        if event.kind == Kind::Done as u16 && self.fanout.len() >= BATCH {
            self.show();
        }
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        self.archiver.save(bytes);
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FoldError> {
        self.archiver.load(bytes)?;
        let mut views = self.views();
        views.load(bytes)?;
        self.fanout.clear();
        self.shared.views.replace(views);
        Ok(())
    }

    fn reset(&mut self) {
        self.archiver.reset();
        self.fanout.clear();
        self.shared.views.replace(self.views());
    }

    fn kept(&self) -> Sequence {
        self.archiver.kept()
    }

    fn commit(&mut self, through: Sequence, is_due: bool) -> Result<(), ArchiveError> {
        self.show();
        if !self.is_live && through >= self.begun_at {
            self.begin_to_tell(through);
        }
        self.fanout.tick();
        self.archiver.commit(through, is_due)
    }
}
