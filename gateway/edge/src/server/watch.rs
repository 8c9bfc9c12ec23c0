//! Time limits of connections without a timer per request.
//!
//! Each worker counts ticks; each connection notes the tick at which it entered its phase. One sweep per tick looks for those
//! that stayed too long: a connection that waits for a request is closed, a request that waits is told so (`is_expired`) and
//! answers for itself. The HTTP library's own header timeout is not used: it also runs while a connection rests between two
//! requests, so it would be the idle limit as well, and it makes a timer for every request.

use ringside_config::Config;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::task::Waker;
use std::time::Duration;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum EngineState {
    /// The head of a request has begun to arrive, or the connection is new.
    Head = 0,
    /// A request is being read, handled or answered.
    Request = 1,
    /// Between two requests.
    Idle = 2,
}

/// The watch of one connection. Shared with its stream, which must be `Send`; all run on one thread, so nothing is ordered.
#[derive(Debug)]
pub struct Watch {
    phase: AtomicU8,
    since_tick: AtomicU32,
    is_expired: AtomicBool,
    /// An [`Asked`].
    asked: AtomicU8,
    tick: Arc<AtomicU32>,
}

impl Watch {
    fn enter(&self, phase: EngineState) {
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.since_tick.store(self.tick.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Bytes arrived. Between two requests they begin the next head.
    #[inline]
    pub fn received(&self) {
        if self.phase.load(Ordering::Relaxed) == EngineState::Idle as u8 {
            self.enter(EngineState::Head);
        }
    }

    /// A head is whole; also starts the time of a request's next part.
    #[inline]
    pub fn begin_request(&self) {
        self.is_expired.store(false, Ordering::Relaxed);
        self.enter(EngineState::Request);
    }

    /// The answer is ready.
    #[inline]
    pub fn end_request(&self) {
        self.enter(EngineState::Idle);
    }

    /// Whether a request is being read, handled or answered.
    #[inline]
    pub fn is_in_request(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == EngineState::Request as u8
    }

    /// Whether the running request has taken too long.
    #[inline]
    pub fn is_expired(&self) -> bool {
        self.is_expired.load(Ordering::Relaxed)
    }

    /// What is asked of the connection now.
    #[inline]
    pub fn asked(&self) -> Asked {
        match self.asked.load(Ordering::Relaxed) {
            0 => Asked::Nothing,
            1 => Asked::Drain,
            _ => Asked::Close,
        }
    }
}

/// All connections of one worker.
#[derive(Debug)]
pub struct Watchdog {
    tick: Arc<AtomicU32>,
    period: Duration,
    header_ticks: u32,
    request_ticks: u32,
    idle_ticks: u32,
    connections: RefCell<slab::Slab<Rc<Entry>>>,
}

/// A connection as its worker sees it.
#[derive(Debug)]
pub struct Entry {
    /// Its watch.
    pub watch: Arc<Watch>,
    /// Wakes its task.
    waker: RefCell<Option<Waker>>,
}

/// What a connection is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Asked {
    /// Nothing: go on.
    Nothing = 0,
    /// Finish the running request, then close.
    Drain = 1,
    /// Close now.
    Close = 2,
}

/// Keeps a connection watched; dropping it ends that.
#[derive(Debug)]
pub struct Watched {
    watchdog: Rc<Watchdog>,
    key: usize,
    /// The connection.
    pub entry: Rc<Entry>,
}

impl Watchdog {
    /// Ticks are an eighth of the shortest limit, between 5 and 250 milliseconds.
    pub fn new(config: &Config) -> Rc<Watchdog> {
        let shortest = config.header_timeout.min(config.request_timeout).min(config.idle_timeout);
        let period = (shortest / 8).clamp(Duration::from_millis(5), Duration::from_millis(250));
        let ticks = |limit: Duration| {
            // One more, since a phase begins somewhere inside a tick: nothing is cut short.
            u32::try_from(limit.as_nanos().div_ceil(period.as_nanos())).unwrap_or(u32::MAX).saturating_add(1)
        };
        Rc::new(Watchdog {
            tick: Arc::new(AtomicU32::new(0)),
            period,
            header_ticks: ticks(config.header_timeout),
            request_ticks: ticks(config.request_timeout),
            idle_ticks: ticks(config.idle_timeout),
            connections: RefCell::default(),
        })
    }

    /// How often [`Watchdog::sweep`] is to run.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Begins to watch a new connection.
    pub fn watch(self: &Rc<Watchdog>) -> Watched {
        let since_tick = AtomicU32::new(self.tick.load(Ordering::Relaxed));
        let watch = Arc::new(Watch {
            phase: AtomicU8::new(EngineState::Head as u8),
            since_tick,
            is_expired: AtomicBool::new(false),
            asked: AtomicU8::new(Asked::Nothing as u8),
            tick: self.tick.clone(),
        });
        let entry = Rc::new(Entry { watch, waker: RefCell::default() });
        let key = self.connections.borrow_mut().insert(entry.clone());
        Watched { watchdog: self.clone(), key, entry }
    }

    /// One tick: asks those that stayed too long in a phase to end it.
    pub fn sweep(&self) {
        let now = self.tick.load(Ordering::Relaxed).wrapping_add(1);
        self.tick.store(now, Ordering::Relaxed);
        for (_, entry) in self.connections.borrow().iter() {
            let watch = &entry.watch;
            let stayed = now.wrapping_sub(watch.since_tick.load(Ordering::Relaxed));
            let phase = watch.phase.load(Ordering::Relaxed);
            if phase == EngineState::Request as u8 {
                if stayed > self.request_ticks && !watch.is_expired.swap(true, Ordering::Relaxed) {
                    entry.wake();
                }
                // An answer that the client does not read is not waited for either.
                if stayed > self.request_ticks.saturating_mul(2) {
                    entry.ask(Asked::Close);
                }
            } else if stayed
                > if phase == EngineState::Head as u8 { self.header_ticks } else { self.idle_ticks }
            {
                entry.ask(Asked::Close);
            }
        }
    }

    /// Asks every connection.
    pub fn ask_all(&self, asked: Asked) {
        for (_, entry) in self.connections.borrow().iter() {
            entry.ask(asked);
        }
    }

    /// Connections now.
    pub fn len(&self) -> usize {
        self.connections.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Entry {
    /// Notes the task to wake: once, as a connection stays with its task.
    pub fn note(&self, waker: &Waker) {
        *self.waker.borrow_mut() = Some(waker.clone());
    }

    fn ask(&self, asked: Asked) {
        if self.watch.asked() != Asked::Close {
            self.watch.asked.store(asked as u8, Ordering::Relaxed);
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watchdog.connections.borrow_mut().remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of 100 ms: header 8 + 1, request 16 + 1, idle 32 + 1.
    fn watchdog() -> Rc<Watchdog> {
        Watchdog::new(&Config {
            header_timeout: Duration::from_millis(800),
            request_timeout: Duration::from_millis(1_600),
            idle_timeout: Duration::from_millis(3_200),
            ..Config::default()
        })
    }

    fn sweeps_until(watchdog: &Watchdog, done: impl Fn() -> bool) -> usize {
        (1..100).find(|_| (watchdog.sweep(), done()).1).expect("it happens")
    }

    fn asked(watched: &Watched) -> Asked {
        watched.entry.watch.asked()
    }

    #[test]
    fn each_phase_has_its_own_limit() {
        let watchdog = watchdog();
        let new = watchdog.watch();
        assert_eq!(sweeps_until(&watchdog, || asked(&new) == Asked::Close), 10);

        let idle = watchdog.watch();
        idle.entry.watch.begin_request();
        idle.entry.watch.end_request();
        assert_eq!(sweeps_until(&watchdog, || asked(&idle) == Asked::Close), 34);

        let dripping = watchdog.watch();
        dripping.entry.watch.begin_request();
        dripping.entry.watch.end_request();
        (0..20).for_each(|_| watchdog.sweep());
        dripping.entry.watch.received();
        (0..5).for_each(|_| watchdog.sweep());
        // Further bytes of the same head buy no time.
        dripping.entry.watch.received();
        assert_eq!(sweeps_until(&watchdog, || asked(&dripping) == Asked::Close), 5);

        let busy = watchdog.watch();
        busy.entry.watch.begin_request();
        assert_eq!(sweeps_until(&watchdog, || busy.entry.watch.is_expired()), 18);
        assert_eq!(asked(&busy), Asked::Nothing, "a request answers for itself");
        assert_eq!(sweeps_until(&watchdog, || asked(&busy) == Asked::Close), 17);
    }

    #[test]
    fn a_request_that_ends_in_time_is_left_alone_and_a_dropped_connection_forgotten() {
        let watchdog = watchdog();
        let steady = watchdog.watch();
        for _ in 0..100 {
            steady.entry.watch.received();
            steady.entry.watch.begin_request();
            watchdog.sweep();
            steady.entry.watch.end_request();
            watchdog.sweep();
        }
        assert_eq!((asked(&steady), watchdog.len()), (Asked::Nothing, 1));
        watchdog.ask_all(Asked::Drain);
        assert_eq!(asked(&steady), Asked::Drain);
        drop(steady);
        assert!(watchdog.is_empty());
    }
}
