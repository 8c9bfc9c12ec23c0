//! What may be sent now: steps enter a window in order, each waits for the earlier steps in it that it conflicts
//! with. Knows nothing of connections or time.

use crate::data::script::Script;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The steps between the oldest unanswered one and the newest considered.
pub struct Window<'a> {
    script: &'a Script,
    capacity: usize,
    /// Step of `entries[0]`.
    first: usize,
    entries: VecDeque<Entry>,
    /// Steps that wait for nothing, lowest first.
    ready: BinaryHeap<Reverse<usize>>,
}

#[derive(Default)]
struct Entry {
    /// Earlier steps that must be answered first.
    blockers: u32,
    /// Later steps that wait for this one.
    dependents: Vec<usize>,
    is_done: bool,
}

impl<'a> Window<'a> {
    /// A window of at most `capacity` steps, before the first.
    pub fn new(script: &'a Script, capacity: usize) -> Window<'a> {
        Window { script, capacity, first: 0, entries: VecDeque::new(), ready: BinaryHeap::new() }
    }

    /// Lets steps below `limit` enter as far as there is room.
    pub fn fill(&mut self, limit: usize) {
        let steps = &self.script.steps;
        while self.entries.len() < self.capacity && self.next() < limit.min(steps.len()) {
            let next = self.next();
            let mut entry = Entry::default();
            for (offset, earlier) in self.entries.iter_mut().enumerate() {
                if !earlier.is_done && self.script.conflict(&steps[self.first + offset], &steps[next]) {
                    earlier.dependents.push(next);
                    entry.blockers += 1;
                }
            }
            if entry.blockers == 0 {
                self.ready.push(Reverse(next));
            }
            self.entries.push_back(entry);
        }
    }

    /// The lowest step that may be sent, and stays until [`Window::take`].
    pub fn ready(&self) -> Option<usize> {
        self.ready.peek().map(|step| step.0)
    }

    /// Takes the step that [`Window::ready`] named: it is being sent.
    pub fn take(&mut self) -> Option<usize> {
        self.ready.pop().map(|step| step.0)
    }

    /// A step has been answered.
    pub fn done(&mut self, step: usize) {
        let entry = &mut self.entries[step - self.first];
        assert!(!entry.is_done && entry.blockers == 0, "step {step} was not on the way");
        entry.is_done = true;
        for dependent in std::mem::take(&mut entry.dependents) {
            let blockers = &mut self.entries[dependent - self.first].blockers;
            *blockers -= 1;
            if *blockers == 0 {
                self.ready.push(Reverse(dependent));
            }
        }
        while self.entries.front().is_some_and(|entry| entry.is_done) {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// Whether `step` has been answered.
    pub fn is_done(&self, step: usize) -> bool {
        step < self.first || self.entries.get(step - self.first).is_some_and(|entry| entry.is_done)
    }

    /// All steps below this have been answered.
    pub fn answered(&self) -> usize {
        self.first
    }

    /// The first step that has not entered.
    fn next(&self) -> usize {
        self.first + self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::script::{Action, OrderPlan, Step};
    use ringside_bench::op::Random;

    #[test]
    fn conflicting_steps_are_never_out_together_and_keep_their_order() {
        let mut random = Random::new(3);
        let mut script = Script::default();
        for order in 0..600u32 {
            let is_buy = random.below(2) == 0;
            let price = i64::from(random.below(30)) + if is_buy { 0 } else { 25 };
            script.orders.push(OrderPlan { is_buy, price, quantity: 1 });
            let action = if random.below(4) == 0 { Action::Cancel } else { Action::Place };
            script.steps.push(Step { action, order, time_ns: 0, row: order, fills: 0..0, left: 1 });
        }
        let mut window = Window::new(&script, 64);
        let (mut out, mut position, mut most) = (Vec::new(), vec![0; 600], 0);
        let mut clock = 0;
        while window.answered() < 600 {
            window.fill(600);
            // Sends some of what is ready, answers one at random.
            while window.ready().is_some() && (out.is_empty() || random.below(3) > 0) {
                let step = window.take().expect("was ready");
                for &other in &out {
                    assert!(!script.conflict(&script.steps[step], &script.steps[other]));
                }
                out.push(step);
            }
            most = most.max(out.len());
            let step = out.swap_remove(random.below(out.len() as u32) as usize);
            window.done(step);
            clock += 1;
            position[step] = clock;
        }
        assert!(most > 4, "no concurrency: {most}");
        for later in 0..600 {
            for earlier in 0..later {
                if script.conflict(&script.steps[earlier], &script.steps[later]) {
                    assert!(position[earlier] < position[later], "{earlier} before {later}");
                }
            }
        }
    }
}
