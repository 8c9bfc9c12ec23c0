//! What the threads of this process cost, by their names: time on a processor, and time in which they could have gone on and
//! none was free.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// Of the threads of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// On a processor, nanoseconds.
    pub ran_ns: u64,
    /// Waiting for one, nanoseconds.
    pub waited_ns: u64,
}

impl Cost {
    /// From the system's account of a thread.
    fn told(schedstat: &str) -> Option<Cost> {
        let mut figures = schedstat.split_whitespace().map_while(|figure| figure.parse().ok());
        Some(Cost { ran_ns: figures.next()?, waited_ns: figures.next()? })
    }
}

/// What the calling thread has cost so far. Zeros where the system does not say.
fn own() -> Cost {
    Cost::told(&fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default()).unwrap_or_default()
}

/// Runs while the calling thread has a processor: what others take meanwhile does not count.
pub struct OwnClock {
    ran_ns: u64,
    start: Instant,
}

impl OwnClock {
    /// Starts it.
    pub fn start() -> OwnClock {
        OwnClock { ran_ns: settled(), start: Instant::now() }
    }

    /// Nanoseconds of a processor since then; of the day where the system does not say.
    pub fn elapsed_ns(&self) -> f64 {
        match settled().saturating_sub(self.ran_ns) {
            0 => self.start.elapsed().as_nanos() as f64,
            ran_ns => ran_ns as f64,
        }
    }
}

/// What the calling thread has cost until now: the system brings its account up to date when another gets a turn.
fn settled() -> u64 {
    std::thread::yield_now();
    own().ran_ns
}

/// What all threads that live have cost so far. Empty where the system does not say.
pub fn costs() -> BTreeMap<String, Cost> {
    let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
    for entry in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        if let Some(added) = Cost::told(&read("schedstat")) {
            let cost = costs.entry(read("comm").trim().to_string()).or_default();
            cost.ran_ns += added.ran_ns;
            cost.waited_ns += added.waited_ns;
        }
    }
    costs
}

/// What was added since `before`, in nanoseconds for each of `count` things done, as text: name, time run, time waited.
pub fn since(before: &BTreeMap<String, Cost>, count: usize) -> String {
    let each = |now: u64, before: u64| now.saturating_sub(before) / count.max(1) as u64;
    let told = costs().into_iter().filter_map(|(name, now)| {
        let before = before.get(&name).copied().unwrap_or_default();
        let (ran, waited) = (each(now.ran_ns, before.ran_ns), each(now.waited_ns, before.waited_ns));
        (ran > 0).then(|| format!("{name} {ran} (waited {waited})"))
    });
    told.collect::<Vec<_>>().join(", ")
}
