//! Agents that are run by whoever has something for them: for machines with fewer processors than threads.
//!
//! On two processors a stage that has to be woken for every batch costs more than what it does: the wake-up, the change of
//! threads, the same again for the answer, and in between polls that find nothing. Here the thread that hands a batch over
//! runs the agents itself ([`Invoker::invoke`]), if nobody else does at that moment, and finds the answers when it is back.
//! The agents' own thread does the same work with the same steps: at times of its own, and for those who only ring.
//!
//! One lock decides who runs them; nobody waits for it but their own thread, and that holds it while it works and not while
//! it sleeps. What wakes it is decided anew whenever somebody else has run them: a work step may have changed what the
//! agents listen to, or how long they can do without.

use super::{CRITICAL, Counters, Shared, Turns, lock};
use crate::ring::{Doorbell, wait_any};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// Turns of one invocation at most: what is left is the agents' own thread's, so that who invokes comes back in bounded time.
const TURNS_MAX: usize = 64;
/// A nap may last so much longer than it now would: agents reckon in milliseconds.
const SLACK: Duration = Duration::from_millis(1);

/// Agents between those who run them.
#[derive(Default)]
pub(super) struct Lent {
    /// `None` before the thread begins and from when it ends.
    turns: Option<Turns>,
    /// Name of the stage in the line that a panic writes; `None` where it ends no process.
    stage: Option<Arc<str>>,
    /// How the agents' own thread sleeps, while it does.
    asleep: Option<Asleep>,
}

/// What a sleep was begun with.
struct Asleep {
    until: Instant,
    bells: Vec<Doorbell>,
}

impl Asleep {
    /// Whether a sleep that began now would listen to the same and last as long.
    fn still_serves(&self, turns: &Turns, also: &Doorbell) -> bool {
        let mut listened = self.bells.iter();
        let is_same = turns.bells(also).all(|bell| listened.next().is_some_and(|other| other.is(bell)));
        is_same && listened.next().is_none() && Instant::now() + turns.next_timer() + SLACK >= self.until
    }
}

/// Runs the agents of another thread on the calling one. Clones run the same agents.
#[derive(Clone)]
pub struct Invoker(Arc<Shared>);

impl std::fmt::Debug for Invoker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Invoker")
    }
}

impl Invoker {
    pub(super) fn new(shared: Arc<Shared>) -> Invoker {
        Invoker(shared)
    }

    /// Calls `before`, which may hand something over without ringing for it, then runs the agents until they have nothing
    /// more to do. False, and nothing is called, while another thread runs them and once they have ended.
    ///
    /// A panic of an agent is one of its own thread: where that is critical, the process ends.
    pub fn invoke(&self, before: impl FnOnce()) -> bool {
        let mut lent = match self.0.lent.try_lock() {
            Ok(lent) => lent,
            // An agent that is not critical has panicked: nothing can be said of its state.
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => return false,
        };
        let Lent { turns: Some(turns), stage, asleep } = &mut *lent else { return false };
        before();
        let is_idle = {
            let _acting = Acting::of(stage.clone());
            (0..TURNS_MAX).any(|_| turns.turn() == 0)
        };
        let serves = |asleep: &Asleep| is_idle && asleep.still_serves(turns, &self.0.doorbell);
        if asleep.as_ref().is_some_and(|asleep| !serves(asleep)) {
            *asleep = None;
            self.0.doorbell.ring();
        }
        true
    }
}

/// For as long as it is there, a panic of this thread is one of the stage.
struct Acting(Option<Arc<str>>);

impl Acting {
    fn of(stage: Option<Arc<str>>) -> Acting {
        Acting(CRITICAL.replace(stage))
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        CRITICAL.set(self.0.take());
    }
}

/// The agents' own thread. `begin` is called when the first turns are sure to be this thread's.
pub(super) fn run(turns: Turns, shared: &Shared, begin: impl FnOnce()) -> Turns {
    let mut counters = Counters::default();
    // Acquire: partner of the Release in `stop`.
    let is_stopped = || shared.stop.load(Ordering::Acquire);
    let mut lent = lock(&shared.lent);
    *lent = Lent { turns: Some(turns), stage: CRITICAL.with_borrow(Clone::clone), asleep: None };
    begin();
    loop {
        while !is_stopped() && work(&mut lent, &mut counters) > 0 {}
        if is_stopped() {
            break;
        }
        shared.show(&counters);
        sleep(lent, shared, &mut counters, is_stopped);
        lent = lock(&shared.lent);
        lent.asleep = None;
    }
    let mut turns = lent.turns.take().unwrap_or_default();
    drop(lent);
    turns.close();
    shared.show(&counters);
    turns
}

fn work(lent: &mut Lent, counters: &mut Counters) -> usize {
    let done = lent.turns.as_mut().map_or(0, Turns::turn);
    counters.turns += 1;
    counters.work += done as u64;
    done
}

/// Gives the agents free and sleeps until one of their doorbells rings or somebody's nap is over, unless a last turn, taken
/// while listening, finds work.
fn sleep(
    lent: MutexGuard<'_, Lent>,
    shared: &Shared,
    counters: &mut Counters,
    is_stopped: impl Fn() -> bool,
) {
    let Some(turns) = &lent.turns else { return };
    let nap = turns.next_timer();
    let bells: Vec<Doorbell> = turns.bells(&shared.doorbell).cloned().collect();
    let asleep = Asleep { until: Instant::now() + nap, bells: bells.clone() };
    let mut lent = Some(lent);
    wait_any(bells.iter(), Some(nap), || {
        // The agents are let go here, while the bells are listened to: what others do with them from now on is heard.
        let Some(mut lent) = lent.take() else { return false };
        let is_ready = work(&mut lent, counters) > 0
            || is_stopped()
            || !lent.turns.as_ref().is_some_and(|turns| asleep.still_serves(turns, &shared.doorbell));
        if !is_ready {
            lent.asleep = Some(asleep);
            counters.sleeps += 1;
        }
        is_ready
    });
}

#[cfg(test)]
mod tests {
    use super::super::{Agent, Runner};
    use super::*;
    use crate::ring::Wait;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;
    use std::thread::ThreadId;

    /// Counts what is asked of it, and listens to one bell until it was asked so often, then to another.
    #[derive(Clone)]
    struct Clerk {
        asked: Arc<AtomicU64>,
        done: Arc<AtomicU64>,
        by: Arc<Mutex<Vec<ThreadId>>>,
        bells: [Doorbell; 2],
        second_at: u64,
    }

    impl Clerk {
        fn new(second_at: u64) -> Clerk {
            let bells = [Doorbell::new(), Doorbell::new()];
            Clerk { asked: Arc::default(), done: Arc::default(), by: Arc::default(), bells, second_at }
        }

        fn ask(&self) -> u64 {
            self.asked.fetch_add(1, Ordering::AcqRel) + 1
        }

        fn done(&self) -> u64 {
            self.done.load(Ordering::Acquire)
        }

        fn wait_for(&self, done: u64) {
            while self.done() < done {
                std::thread::yield_now();
            }
        }
    }

    impl Agent for Clerk {
        fn name(&self) -> &str {
            "clerk"
        }

        fn do_work(&mut self) -> usize {
            let (asked, done) = (self.asked.load(Ordering::Acquire), self.done());
            if asked > done {
                lock(&self.by).push(std::thread::current().id());
                self.done.store(asked, Ordering::Release);
            }
            (asked - done) as usize
        }

        fn doorbells(&self) -> &[Doorbell] {
            let at = usize::from(self.done() >= self.second_at);
            &self.bells[at..=at]
        }

        fn next_timer(&self) -> Duration {
            Duration::from_secs(3_600)
        }
    }

    fn start(clerk: &Clerk) -> (super::super::Running, Invoker) {
        let runner =
            Runner { name: "clerk".to_owned(), wait: Wait::Park, invoked: true, ..Runner::default() };
        let running = runner.spawn(vec![Box::new(clerk.clone())]).expect("a thread");
        let invoker = running.invoker();
        (running, invoker)
    }

    /// The agents' own thread may be on its way to sleep.
    fn invoke(invoker: &Invoker, clerk: &Clerk) -> u64 {
        let mut asked = 0;
        while !invoker.invoke(|| asked = clerk.ask()) {
            std::thread::yield_now();
        }
        asked
    }

    #[test]
    fn whoever_has_something_runs_the_agents_and_their_thread_for_those_who_ring() {
        let clerk = Clerk::new(u64::MAX);
        let (running, invoker) = start(&clerk);
        for _ in 0..100 {
            let asked = invoke(&invoker, &clerk);
            assert_eq!(clerk.done(), asked, "it is done when the call is back");
            let asked = clerk.ask();
            clerk.bells[0].ring();
            clerk.wait_for(asked);
        }
        let here = std::thread::current().id();
        let by = lock(&clerk.by).clone();
        assert_eq!((by.len(), by.iter().filter(|thread| **thread == here).count()), (200, 100));
        assert!(running.join().is_some());
        assert!(!invoker.invoke(|| unreachable!("the agents have ended")));
    }

    #[test]
    fn a_sleep_begins_anew_when_the_agents_listen_to_something_else() {
        let clerk = Clerk::new(1);
        let (_running, invoker) = start(&clerk);
        invoke(&invoker, &clerk);
        // Their thread may have gone to sleep over the first bell; only the second rings from now on.
        for _ in 0..20 {
            let asked = clerk.ask();
            clerk.bells[1].ring();
            clerk.wait_for(asked);
        }
    }

    #[test]
    fn bells_that_the_agents_ring_for_each_other_are_not_listened_to() {
        let clerk = Clerk::new(u64::MAX);
        let own_bells = vec![clerk.bells[0].clone()];
        let turns = Turns { agents: vec![Box::new(clerk)], own_bells };
        let also = Doorbell::new();
        let listened: Vec<_> = turns.bells(&also).collect();
        assert!(listened.len() == 1 && listened[0].is(&also));
    }
}
