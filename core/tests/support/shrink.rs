//! Makes a failing stream short: the shortest failing prefix first, then everything that can be left out of it.

use ringside_core::command::Command;
use std::time::{Duration, Instant};

/// Numbers the commands from 1 again.
pub fn renumbered(commands: &[Command]) -> Vec<Command> {
    let numbered = |(index, command): (usize, &Command)| Command { sequence: index as u64 + 1, ..*command };
    commands.iter().enumerate().map(numbered).collect()
}

/// The shortest stream found that still fails. `fails` gives the index of the command at which a stream fails; it is
/// called with streams numbered from 1. Stops after `limit`.
pub fn shrink(
    commands: &[Command],
    limit: Duration,
    mut fails: impl FnMut(&[Command]) -> Option<usize>,
) -> Vec<Command> {
    let start = Instant::now();
    let mut shortest = renumbered(commands);
    let Some(at) = fails(&shortest) else { return shortest };
    shortest.truncate(at + 1);
    let mut chunk = shortest.len() / 2;
    while chunk > 0 {
        let mut shrunk = false;
        // From the end, so that what depends on an earlier command goes before it.
        let mut end = shortest.len().saturating_sub(1);
        while end > 0 && start.elapsed() < limit {
            let from = end.saturating_sub(chunk);
            let kept = [&shortest[..from], &shortest[end..]].concat();
            let candidate = renumbered(&kept);
            if let Some(at) = fails(&candidate) {
                shortest = candidate;
                shortest.truncate(at + 1);
                shrunk = true;
            }
            end = from.min(shortest.len().saturating_sub(1));
        }
        if !shrunk || chunk > 1 {
            chunk /= 2;
        }
        if start.elapsed() >= limit {
            break;
        }
    }
    shortest
}
