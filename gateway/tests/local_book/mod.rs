//! A client's book kept by the rules of `perpetual-stream.md` 5 ("Local book") alone: knows JSON and decimals, nothing of the
//! exchange. The same code is judged by recorded sessions of the venue whose clients ours must serve.

#![allow(dead_code, reason = "each test file uses its own part")]

use serde_json::Value;
use std::collections::BTreeMap;

/// Price and quantity as whole numbers of 10^-8.
pub(crate) type Level = (i128, i128);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct LocalBook {
    /// Events kept before the snapshot.
    kept: Vec<Value>,
    /// `u` of the last event used, once there is one.
    last: Option<u64>,
    /// `lastUpdateId` of the snapshot.
    snapshot: Option<u64>,
    bids: BTreeMap<i128, i128>,
    asks: BTreeMap<i128, i128>,
    /// Events used.
    pub(crate) used: usize,
}

/// Why the book must be begun anew.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The snapshot ends before the first event begins.
    Early,
    /// `pu` is not the `u` before.
    Gap(u64, u64),
    /// An event of no change, or that ends before it begins.
    Malformed,
}

impl LocalBook {
    /// The next event of the stream.
    pub(crate) fn event(&mut self, event: &Value) -> Result<(), Broken> {
        match self.snapshot {
            None => {
                self.kept.push(event.clone());
                Ok(())
            }
            Some(snapshot) => self.apply(snapshot, event),
        }
    }

    /// An answer of GET /fapi/v1/depth with limit 1000.
    pub(crate) fn snapshot(&mut self, answer: &Value) -> Result<(), Broken> {
        let id = number(answer, "lastUpdateId");
        self.snapshot = Some(id);
        for (side, name) in [(&mut self.bids, "bids"), (&mut self.asks, "asks")] {
            side.extend(levels(&answer[name]));
        }
        for event in std::mem::take(&mut self.kept) {
            self.apply(id, &event)?;
        }
        Ok(())
    }

    fn apply(&mut self, snapshot: u64, event: &Value) -> Result<(), Broken> {
        let [first, last, before] = ["U", "u", "pu"].map(|name| number(event, name));
        let (bids, asks) = (levels(&event["b"]), levels(&event["a"]));
        if first > last || (bids.is_empty() && asks.is_empty()) {
            return Err(Broken::Malformed);
        }
        match self.last {
            _ if last < snapshot => return Ok(()),
            None if first > snapshot + 1 && before > snapshot => return Err(Broken::Early),
            Some(used) if used != before => return Err(Broken::Gap(used, before)),
            _ => {}
        }
        self.last = Some(last);
        self.used += 1;
        for (side, levels) in [(&mut self.bids, bids), (&mut self.asks, asks)] {
            for (price, quantity) in levels {
                match quantity {
                    0 => side.remove(&price),
                    _ => side.insert(price, quantity),
                };
            }
        }
        Ok(())
    }

    /// `u` of the last event used, or the snapshot's id.
    pub(crate) fn update(&self) -> Option<u64> {
        self.last.or(self.snapshot)
    }

    /// Both sides, best first.
    pub(crate) fn sides(&self) -> [Vec<Level>; 2] {
        let level = |(price, quantity): (&i128, &i128)| (*price, *quantity);
        [self.bids.iter().rev().map(level).collect(), self.asks.iter().map(level).collect()]
    }

    /// Best bid and ask.
    pub(crate) fn best(&self) -> [Option<Level>; 2] {
        let level = |(price, quantity): (&i128, &i128)| (*price, *quantity);
        [self.bids.last_key_value().map(level), self.asks.first_key_value().map(level)]
    }
}

/// Best bid and ask of a `bookTicker` event; an empty side is `0`.
pub(crate) fn best_of(event: &Value) -> [Option<Level>; 2] {
    [("b", "B"), ("a", "A")].map(|(price, quantity)| {
        let level = (units(&event[price]), units(&event[quantity]));
        (level.0 != 0).then_some(level)
    })
}

/// Levels of a side.
pub(crate) fn levels(side: &Value) -> Vec<Level> {
    let rows = side.as_array().expect("levels");
    rows.iter().map(|row| (units(&row[0]), units(&row[1]))).collect()
}

/// A whole number of an event.
pub(crate) fn number(event: &Value, name: &str) -> u64 {
    event[name].as_u64().unwrap_or_else(|| panic!("{name} of {event}"))
}

/// A decimal as a whole number of 10^-8.
pub(crate) fn units(text: &Value) -> i128 {
    let text = text.as_str().unwrap_or_else(|| panic!("a decimal is a string, not {text}"));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    assert!(part.len() <= 8, "{text}");
    let digits = format!("{whole}{part:0<8}");
    digits.parse().unwrap_or_else(|_| panic!("{text}"))
}
