//! What recovery and follower need of the engine and of the views, as two traits, so that crash tests can run with a
//! state that is cheap and easy to predict.

use crate::archive::ArchiveError;
use crate::error::FoldError;
use ringside_core::audit::Auditor;
use ringside_core::command::Command;
use ringside_core::engine::{Divergence, ENGINE_VERSION, Engine, EngineConfig};
use ringside_core::event::{Event, Sink};
use ringside_core::ids::Sequence;
use ringside_core::prefetch::Hint;
use ringside_core::sums::Counting;

/// A deterministic state that commands change: the engine.
pub trait Machine: Sized + Send {
    /// Memory to take at start; never changes results.
    type Config: Sync;

    /// Version of its decisions: commands decided by another version are not replayed.
    fn version() -> u32;
    /// The state before the first command.
    fn genesis(config: &Self::Config) -> Self;
    /// The state of [`Machine::save`].
    fn load(config: &Self::Config, bytes: &[u8]) -> Result<Self, FoldError>;
    /// Appends the whole state.
    fn save(&self, bytes: &mut Vec<u8>);
    /// Applies the next command. May panic on a command that exposes a bug.
    fn apply(&mut self, command: &Command, sink: &mut impl Sink);
    /// Passes over the next command.
    fn skip(&mut self, command: &Command);
    /// Whether hints are worth their time.
    fn wants_hints(&self) -> bool {
        true
    }
    /// A hint that `command` comes soon; each gets all three, one after the other.
    fn prefetch(&self, command: &Command, hint: Hint);
    /// The last command applied or passed over.
    fn sequence(&self) -> Sequence;
    /// Largest command time seen, nanoseconds of the UNIX epoch.
    fn time_ns(&self) -> i64;
    /// Hash of the state, whatever its layout in memory.
    fn state_hash(&self) -> [u8; 16];
    /// The checkpoint at which the state was found to differ from the live engine's, and how.
    fn diverged(&self) -> Option<(Sequence, String)>;
    /// What about the state cannot be, if anything.
    fn check_invariants(&self) -> Result<(), String>;
    /// A judge of all events from here on, for the follower.
    fn watch(&self) -> Box<dyn Watch> {
        Box::new(())
    }
}

/// Judges what a machine tells, command by command, from nothing but its events.
pub trait Watch: Send {
    /// Takes the next event.
    fn event(&mut self, event: &Event);
    /// The next command was passed over.
    fn skip(&mut self);
    /// The first command that cannot be, and why.
    fn fault(&self) -> Option<(Sequence, String)>;
}

/// Judges nothing.
impl Watch for () {
    #[inline(always)]
    fn event(&mut self, _event: &Event) {}
    #[inline(always)]
    fn skip(&mut self) {}
    #[inline(always)]
    fn fault(&self) -> Option<(Sequence, String)> {
        None
    }
}

impl Watch for Auditor {
    fn event(&mut self, event: &Event) {
        Auditor::event(self, event);
    }
    fn skip(&mut self) {
        Auditor::skip(self);
    }
    fn fault(&self) -> Option<(Sequence, String)> {
        Auditor::fault(self).cloned()
    }
}

/// Counts, and believes everything.
impl Watch for Counting {
    #[inline]
    fn event(&mut self, event: &Event) {
        Counting::event(self, event);
    }
    fn skip(&mut self) {
        Counting::skip(self);
    }
    #[inline(always)]
    fn fault(&self) -> Option<(Sequence, String)> {
        None
    }
}

/// Both look.
impl<A: Watch + ?Sized, B: Watch + ?Sized> Watch for (&mut A, &mut B) {
    #[inline]
    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }
    fn skip(&mut self) {
        self.0.skip();
        self.1.skip();
    }
    #[inline]
    fn fault(&self) -> Option<(Sequence, String)> {
        self.0.fault().or_else(|| self.1.fault())
    }
}

impl Machine for Engine {
    type Config = EngineConfig;

    fn version() -> u32 {
        ENGINE_VERSION
    }

    fn genesis(config: &EngineConfig) -> Engine {
        Engine::new(config)
    }

    fn load(config: &EngineConfig, bytes: &[u8]) -> Result<Engine, FoldError> {
        Ok(Engine::load(config, bytes)?)
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        Engine::save(self, bytes);
    }

    #[inline]
    fn apply(&mut self, command: &Command, sink: &mut impl Sink) {
        Engine::apply(self, command, sink);
    }

    fn skip(&mut self, command: &Command) {
        Engine::skip(self, command);
    }

    #[inline]
    fn wants_hints(&self) -> bool {
        Engine::wants_hints(self)
    }

    #[inline]
    fn prefetch(&self, command: &Command, hint: Hint) {
        Engine::prefetch(self, command, hint);
    }

    fn sequence(&self) -> Sequence {
        Engine::sequence(self)
    }

    fn time_ns(&self) -> i64 {
        Engine::time_ns(self)
    }

    fn state_hash(&self) -> [u8; 16] {
        Engine::state_hash(self)
    }

    fn diverged(&self) -> Option<(Sequence, String)> {
        let Divergence { checkpoint, expected, computed } = Engine::diverged(self)?;
        let (expected, computed) = (u128::from_be_bytes(expected), u128::from_be_bytes(computed));
        Some((checkpoint, format!("recorded {expected:032x}, replayed {computed:032x}")))
    }

    fn check_invariants(&self) -> Result<(), String> {
        Engine::check_invariants(self)
    }

    fn watch(&self) -> Box<dyn Watch> {
        Box::new(Auditor::new(self))
    }
}

/// What the events add up to: the views. Rides in snapshots as a section of its own.
pub trait Fold {
    /// Takes the next event.
    fn event(&mut self, event: &Event);
    /// Appends the whole of it.
    fn save(&self, bytes: &mut Vec<u8>);
    /// Becomes what [`Fold::save`] saved, whatever it was before.
    fn load(&mut self, bytes: &[u8]) -> Result<(), FoldError>;
    /// Becomes as new, whatever it was before.
    fn reset(&mut self);
    /// The sequence through which everything is kept that this fold keeps elsewhere than in snapshots. The follower starts
    /// at or before it, so that what comes after is given again.
    fn kept(&self) -> Sequence {
        Sequence::MAX
    }
    /// Every event through `through` was given. The fold may store now what it keeps elsewhere; with `is_due` it must, and
    /// durably: a snapshot of `through` is about to be written. Called often.
    ///
    /// Errors: the store's; with [`ArchiveError::is_full`] the call is repeated later and no event is given before.
    fn commit(&mut self, _through: Sequence, _is_due: bool) -> Result<(), ArchiveError> {
        Ok(())
    }
}

/// Keeps nothing.
impl Fold for () {
    #[inline(always)]
    fn event(&mut self, _event: &Event) {}
    fn save(&self, _bytes: &mut Vec<u8>) {}
    fn load(&mut self, _bytes: &[u8]) -> Result<(), FoldError> {
        Ok(())
    }
    fn reset(&mut self) {}
}

/// Lets events of the machine go to a fold and to a judge. What neither of them looks at is not even made: both are known
/// when this is compiled.
pub(crate) struct WatchedSink<'a, F: Fold + ?Sized, W: Watch + ?Sized>(
    pub(crate) &'a mut F,
    pub(crate) &'a mut W,
);

impl<F: Fold + ?Sized, W: Watch + ?Sized> Sink for WatchedSink<'_, F, W> {
    #[inline]
    fn event(&mut self, event: &Event) {
        self.1.event(event);
        self.0.event(event);
    }
}

/// Lets events of the machine go to a fold.
pub struct FoldSink<'a, F: Fold + ?Sized>(pub &'a mut F);

impl<F: Fold + ?Sized> Sink for FoldSink<'_, F> {
    #[inline]
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }
}
