//! What the threads of this process cost, by their names: time on a processor, and time in which they could have gone on and
//! none was free.

use std::collections::BTreeMap;
use std::fs;

/// Of the threads of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// On a processor, nanoseconds.
    pub ran_ns: u64,
    /// Waiting for one, nanoseconds.
    pub waited_ns: u64,
}

/// What all threads that live have cost so far. Empty where the system does not say.
pub fn costs() -> BTreeMap<String, Cost> {
    let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
    for entry in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let figures = read("schedstat");
        let mut figures = figures.split_whitespace().map_while(|figure| figure.parse::<u64>().ok());
        if let (Some(ran_ns), Some(waited_ns)) = (figures.next(), figures.next()) {
            let cost = costs.entry(read("comm").trim().to_string()).or_default();
            cost.ran_ns += ran_ns;
            cost.waited_ns += waited_ns;
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
