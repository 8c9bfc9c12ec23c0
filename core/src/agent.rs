//! Stages as objects with one work step, and the threads that run them.
//!
//! Who runs an agent is configuration: a thread of its own, a thread shared by several in turn, a thread that shares the work
//! with whoever has something for it ([`invoke`]), or the caller ([`Turns`], which tests use). A work step never blocks: the
//! runner alone waits, by one strategy, on the doorbells of all its agents. Nothing here knows what the stages do.

mod invoke;

pub use invoke::Invoker;

use crate::pin::{NotPinned, pin_current_thread};
use crate::ring::{Doorbell, Idle, Wait, wait_any};
use invoke::Lent;
use std::cell::RefCell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest sleep between two work steps of an agent that does not say otherwise.
const NAP: Duration = Duration::from_millis(100);

/// One step of the flow.
pub trait Agent: Send {
    /// Name of the stage, for its thread and in the line that a panic writes.
    fn name(&self) -> &str;

    /// Does what can be done now without waiting, a batch at most; gives how much was done, 0 for nothing.
    fn do_work(&mut self) -> usize;

    /// What rings when there may be work again after a step did nothing. An agent that leaves one out is looked at
    /// every [`Agent::nap`] only.
    fn doorbells(&self) -> &[Doorbell] {
        &[]
    }

    /// Longest sleep between two work steps, for duties that no doorbell announces.
    fn next_timer(&self) -> Duration {
        NAP
    }

    /// Called once on the agent's thread after its last work step.
    fn close(&mut self) {}
}

/// Several agents in turn, run by whoever calls.
#[derive(Default)]
pub struct Turns {
    agents: Vec<Box<dyn Agent>>,
    /// Bells that only these agents ring.
    own_bells: Vec<Doorbell>,
}

impl Turns {
    /// In this order.
    pub fn new(agents: Vec<Box<dyn Agent>>) -> Turns {
        Turns { agents, own_bells: Vec::new() }
    }

    /// One work step of each; gives the sum of what they did.
    pub fn turn(&mut self) -> usize {
        self.agents.iter_mut().map(|agent| agent.do_work()).sum()
    }

    /// Closes the agents, in order.
    pub fn close(&mut self) {
        self.agents.iter_mut().for_each(|agent| agent.close());
    }

    /// Sleeps until a doorbell rings or somebody's nap is over, unless a last turn, taken while listening, finds work.
    /// Gives what that turn did.
    fn sleep(&mut self, also: &Doorbell, is_stopped: impl Fn() -> bool) -> usize {
        let nap = self.next_timer();
        let mut done = 0;
        // The list is taken before the last turn, which may change it; a bell of that turn's making is heard at
        // the next sleep, after the next turn has looked.
        let bells: Vec<Doorbell> = self.bells(also).cloned().collect();
        wait_any(bells.iter(), Some(nap), || {
            done = self.turn();
            done > 0 || is_stopped()
        });
        done
    }

    /// The shortest of the agents' naps.
    fn next_timer(&self) -> Duration {
        self.agents.iter().map(|agent| agent.next_timer()).min().unwrap_or(NAP)
    }

    /// What a sleep of all agents listens to. Not the bells that they ring for each other: whoever goes to sleep has found
    /// in a whole turn that none of them did anything.
    fn bells<'a>(&'a self, also: &'a Doorbell) -> impl Iterator<Item = &'a Doorbell> {
        let bells = self.agents.iter().flat_map(|agent| agent.doorbells());
        bells.filter(|bell| !self.own_bells.iter().any(|own| own.is(bell))).chain([also])
    }
}

/// How to run a thread of agents.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    /// Name of the thread; the system shows its first 15 bytes.
    pub name: String,
    /// Core to bind the thread to.
    pub core: Option<usize>,
    /// What to do between work steps that found nothing.
    pub wait: Wait,
    /// A panic ends the process: nothing downstream may go on without these stages.
    pub critical: bool,
    /// Bells that nobody but these agents rings, each for another of them: the thread need not listen to them.
    pub own_bells: Vec<Doorbell>,
    /// Whether other threads run the agents as well, through [`Running::invoker`]. The thread then sleeps as soon as there is
    /// nothing to do, whatever `wait` says.
    pub invoked: bool,
}

/// What a running thread has done, refreshed while it idles and every 1,024 turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Rounds over all agents.
    pub turns: u64,
    /// Sum of what the work steps did.
    pub work: u64,
    /// Times the thread went to sleep.
    pub sleeps: u64,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    doorbell: Doorbell,
    turns: AtomicU64,
    work: AtomicU64,
    sleeps: AtomicU64,
    not_pinned: Mutex<Option<NotPinned>>,
    /// The agents, where other threads may run them too.
    lent: Mutex<Lent>,
}

/// A thread that runs agents until it is stopped. Dropping it stops the thread and waits for its end.
pub struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Turns>>,
}

impl Runner {
    /// Starts a thread that runs `agents` in turn. Fails when the system gives no thread.
    pub fn spawn(self, agents: Vec<Box<dyn Agent>>) -> std::io::Result<Running> {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let (started, start) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name(self.name.clone()).spawn(move || {
            if self.critical {
                abort_on_panic(&self.name);
            }
            if let Some(core) = self.core {
                *lock(&theirs.not_pinned) = pin_current_thread(core).err();
            }
            let turns = Turns { agents, own_bells: self.own_bells };
            // The receiver waits for this, or is gone because its own thread panicked.
            let begin = || {
                let _ = started.send(());
            };
            if self.invoked {
                invoke::run(turns, &theirs, begin)
            } else {
                begin();
                run(turns, self.wait, &theirs)
            }
        })?;
        let _ = start.recv();
        Ok(Running { shared, thread: Some(thread) })
    }
}

fn run(mut turns: Turns, wait: Wait, shared: &Shared) -> Turns {
    let mut idle = Idle::new(wait);
    let mut counters = Counters::default();
    // Acquire: partner of the Release in `stop`.
    let is_stopped = || shared.stop.load(Ordering::Acquire);
    while !is_stopped() {
        let done = turns.turn();
        counters.turns += 1;
        counters.work += done as u64;
        if done > 0 {
            idle.reset();
            if counters.turns.is_multiple_of(1024) {
                shared.show(&counters);
            }
            continue;
        }
        if idle.pause() {
            shared.show(&counters);
            let done = turns.sleep(&shared.doorbell, is_stopped);
            counters.turns += 1;
            counters.work += done as u64;
            counters.sleeps += 1;
            idle.reset();
        }
    }
    turns.close();
    shared.show(&counters);
    turns
}

impl Shared {
    fn show(&self, counters: &Counters) {
        // Relaxed: figures for people; nothing follows from them.
        self.turns.store(counters.turns, Ordering::Relaxed);
        self.work.store(counters.work, Ordering::Relaxed);
        self.sleeps.store(counters.sleeps, Ordering::Relaxed);
    }

    fn counters(&self) -> Counters {
        Counters {
            turns: self.turns.load(Ordering::Relaxed),
            work: self.work.load(Ordering::Relaxed),
            sleeps: self.sleeps.load(Ordering::Relaxed),
        }
    }
}

/// A look at what a thread does, for others; it outlives the thread.
#[derive(Clone)]
pub struct Activity(Arc<Shared>);

impl Activity {
    /// What the thread has done so far.
    pub fn counters(&self) -> Counters {
        self.0.counters()
    }
}

impl Running {
    /// A look at what it does.
    pub fn activity(&self) -> Activity {
        Activity(self.shared.clone())
    }

    /// For another thread that may run the agents; of use where [`Runner::invoked`] says so.
    pub fn invoker(&self) -> Invoker {
        Invoker::new(self.shared.clone())
    }

    /// Asks the thread to end after its present work step.
    pub fn stop(&self) {
        // Release: partner of the Acquire in `run`.
        self.shared.stop.store(true, Ordering::Release);
        self.shared.doorbell.ring();
    }

    /// Stops the thread and gives its agents back, closed. `None` when it panicked.
    pub fn join(mut self) -> Option<Turns> {
        self.stop();
        self.thread.take().and_then(|thread| thread.join().ok())
    }

    /// Whether the thread has ended, by a stop or a panic.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(|thread| thread.is_finished())
    }

    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        self.shared.counters()
    }

    /// Why the thread does not run on the core asked for, if it does not: a warning for the operator.
    pub fn not_pinned(&self) -> Option<NotPinned> {
        *lock(&self.shared.not_pinned)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of an uncritical agent has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

thread_local! {
    /// Name of the critical stage that this thread runs.
    static CRITICAL: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// From now on a panic of this thread ends the process, with one line that names the stage. For threads that are
/// not started by a [`Runner`]; the runner's critical threads do it themselves.
pub fn abort_on_panic(stage: &str) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            CRITICAL.with_borrow(|stage| match stage {
                Some(stage) => die(stage, panic),
                None => others(panic),
            });
        }));
    });
    CRITICAL.set(Some(stage.into()));
}

/// The hook runs before anything unwinds, so no destructor of the stage can publish half a step.
fn die(stage: &str, panic: &std::panic::PanicHookInfo<'_>) -> ! {
    let message = panic.payload_as_str().unwrap_or("(no message)").replace('\n', " ");
    let place =
        panic.location().map(|place| format!("{}:{}", place.file(), place.line())).unwrap_or_default();
    let line = format!("ringside: stage {stage} panicked at {place}: {message}; the process ends\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
    std::process::abort();
}
