//! Whether commands are taken, and why one is not. Says nothing of what a client is told.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Unavailable {
    /// This deployment has no engine. Nothing was handed over.
    #[error("the engine is not started")]
    Disabled,
    /// Recovery runs. Nothing was handed over.
    #[error("the engine is restarting")]
    Restarting,
    /// The ring or the journal's disk has no room for a command of this priority, or the clock is not engine time's. Nothing was
    /// handed over.
    #[error("the queue is full")]
    Busy,
    /// The engine or its journal has stopped for good. Nothing was handed over.
    #[error("the engine has stopped")]
    Halted,
    /// The command was handed over and no reply came: it may or may not have taken effect.
    #[error("the outcome is unknown")]
    Unknown,
    /// This host follows another, which takes the commands. Nothing was handed over.
    #[error("this host follows another and takes no commands")]
    Mirror,
}

impl Unavailable {
    /// Every reason, in the order of their numbers, with the word of figures and logs.
    pub const ALL: [(Unavailable, &'static str); 6] = [
        (Unavailable::Disabled, "disabled"),
        (Unavailable::Restarting, "restarting"),
        (Unavailable::Busy, "busy"),
        (Unavailable::Halted, "halted"),
        (Unavailable::Unknown, "unknown"),
        (Unavailable::Mirror, "mirror"),
    ];
}

/// Who may have the last slots of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A new order, or anything else that adds load: not the last slots.
    Order,
    /// A cancel: any slot.
    Cancel,
    /// A command of the exchange itself, or of its administrator: any slot.
    Internal,
}

/// Whether commands are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EngineState {
    /// There is no engine.
    Disabled = 0,
    /// Recovery runs.
    Restarting = 1,
    /// Commands are taken.
    Running = 2,
    /// The engine or the journal has stopped for good.
    Halted = 3,
    /// This host follows another: what that one did is shown, and no command is taken.
    Mirror = 4,
    /// It follows another, and commands are carried there.
    Carrying = 5,
}

/// What is taken while the engine runs, as the journal's disk and the clock allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DiskHeadroom {
    /// Everything.
    All = 0,
    /// What reduces, cancels and internal commands only.
    Cancels = 1,
    /// Nothing but what the rings hold already.
    Nothing = 2,
}

/// Until when the leader of a cluster is known to lead. Share it in an `Arc`.
#[derive(Debug)]
pub struct Lease {
    begun: Instant,
    until_ms: AtomicU64,
}

impl Default for Lease {
    /// One that is over.
    fn default() -> Lease {
        Lease { begun: Instant::now(), until_ms: AtomicU64::new(0) }
    }
}

impl Lease {
    /// Milliseconds of the clock that it is counted by, which never runs back.
    pub fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    /// It lasts until then by that clock.
    pub fn set(&self, until_ms: u64) {
        // Relaxed: it stands for itself; whoever sees it late has a shorter one.
        self.until_ms.store(until_ms, Ordering::Relaxed);
    }

    /// Whether it lasts.
    pub fn lasts(&self) -> bool {
        self.now_ms() < self.until_ms.load(Ordering::Relaxed)
    }
}

/// The phase as all threads share it, and with it the room there is.
#[derive(Debug)]
pub struct SharedEngineState(AtomicU8, AtomicU8, OnceLock<Arc<Lease>>);

impl SharedEngineState {
    /// Starts in `phase`.
    pub fn new(phase: EngineState) -> SharedEngineState {
        let room = AtomicU8::new(DiskHeadroom::All as u8);
        SharedEngineState(AtomicU8::new(phase as u8), room, OnceLock::new())
    }

    /// From here on the engine runs only as long as the lease lasts: others may lead behind it. Once.
    pub fn leased(&self, lease: Arc<Lease>) {
        // A second one would be a second cluster.
        let _ = self.2.set(lease);
    }

    /// The phase now. Behind the end of a lease an engine that runs counts as restarting: what it has may not be the newest.
    pub fn get(&self) -> EngineState {
        // Acquire: partner of the Release in `set`; who sees `Running` sees the recovered views and the lanes.
        match self.0.load(Ordering::Acquire) {
            0 => EngineState::Disabled,
            1 => EngineState::Restarting,
            2 if self.2.get().is_some_and(|lease| !lease.lasts()) => EngineState::Restarting,
            2 => EngineState::Running,
            3 => EngineState::Halted,
            4 => EngineState::Mirror,
            _ => EngineState::Carrying,
        }
    }

    /// Moves to `phase`. Nothing leaves [`EngineState::Halted`].
    pub fn set(&self, phase: EngineState) {
        // Release: partner of the Acquire in `get`.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, |present| {
            (present != EngineState::Halted as u8).then_some(phase as u8)
        });
    }

    /// Says what there is room for.
    pub fn set_headroom(&self, room: DiskHeadroom) {
        // Relaxed: a lone figure that may be seen late; the journal keeps a margin for that.
        self.1.store(room as u8, Ordering::Relaxed);
    }

    /// Whether new orders are taken, not what reduces alone.
    pub fn takes_orders(&self) -> bool {
        matches!(self.get(), EngineState::Running | EngineState::Carrying)
            && self.has_room_for(Priority::Order)
    }

    /// Whether there is room for a command of this priority.
    pub fn has_room_for(&self, priority: Priority) -> bool {
        let most = if priority == Priority::Order { DiskHeadroom::All } else { DiskHeadroom::Cancels };
        self.1.load(Ordering::Relaxed) <= most as u8
    }
}
