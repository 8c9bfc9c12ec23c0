//! The real engine and the reference engine get the same random commands and must emit the same events, byte for
//! byte, after each; balances, books and the real engine's own invariants are compared at intervals.
//!
//! `RINGSIDE_COMMANDS` sets how many commands in all, `RINGSIDE_SEED` the first seed. A failure prints the line that
//! reruns it and the shortest stream found that still fails.

mod examples;

use crate::naive::Reference;
use crate::support::stream::Stream;
use crate::support::versus::{Versus, config, run_streams, same_events};
use ringside_core::command::{Command, Side};
use ringside_core::engine::Engine;
use ringside_core::event::{self, Event};
use ringside_core::reject::Reject;
use std::time::Duration;

/// Both engines.
struct Pair {
    real: Engine,
    reference: Reference,
    events: Vec<Event>,
}

impl Versus for Pair {
    const TEST: &'static str = "spot reference";
    const STREAM_LEN: u64 = 20_000;
    type Stream = Stream;

    fn new() -> Pair {
        Pair { real: Engine::new(&config()), reference: Reference::new(), events: Vec::new() }
    }

    fn stream(seed: u64) -> Stream {
        Stream::new(seed)
    }

    fn next(&self, stream: &mut Stream) -> Command {
        stream.observe(&self.events);
        stream.next()
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    /// Applies a command to both and compares what they emit; the real engine's events are then in `events`.
    ///
    /// A few commands are passed over, and after a few others the real engine goes on from its own snapshot. The
    /// command's time decides which, so that a shortened stream does the same.
    fn apply(&mut self, command: &Command) -> Result<(), String> {
        self.events.clear();
        if command.time_ns % 211 == 7 {
            self.real.skip(command);
            self.reference.skip(command);
            return Ok(());
        }
        self.real.apply(command, &mut self.events);
        if command.time_ns % 307 == 7 {
            let mut saved = Vec::new();
            self.real.save(&mut saved);
            self.real =
                Engine::load(&config(), &saved).map_err(|error| format!("its own snapshot: {error}"))?;
        }
        let expected = self.reference.apply(command);
        same_events(command, &self.events, &expected)
    }

    /// Compares balances and books, and has the real engine check itself.
    fn compare(&self) -> Result<(), String> {
        self.real.check_invariants()?;
        for account in 0..self.reference.accounts.len() as u32 {
            for asset in 0..self.reference.assets.len() as u16 {
                let real = self.real.balance(account, asset).unwrap_or((0, 0));
                let reference = self.reference.balance(account, asset);
                if real != reference {
                    return Err(format!(
                        "account {account}, asset {asset}: engine {real:?}, reference {reference:?}"
                    ));
                }
            }
        }
        for market in 0..self.reference.markets.len() as u32 {
            for &side in Side::ALL {
                let mut levels: Vec<(i64, i128)> = Vec::new();
                for order in self.reference.side(market, side) {
                    match levels.last_mut() {
                        Some(level) if level.0 == order.price => level.1 += i128::from(order.open),
                        _ => levels.push((order.price, i128::from(order.open))),
                    }
                }
                let real = self.real.depth(market, side, usize::MAX);
                if real != levels {
                    return Err(format!("market {market}, {side:?}: engine {real:?}, reference {levels:?}"));
                }
                let real: Vec<_> = self
                    .real
                    .resting(market, side)
                    .map(|order| (order.order, order.account, order.price, order.quantity, order.open))
                    .collect();
                let reference: Vec<_> = self
                    .reference
                    .side(market, side)
                    .into_iter()
                    .map(|order| {
                        (order.order, order.account, order.price, order.filled + order.open, order.open)
                    })
                    .collect();
                if real != reference {
                    return Err(format!(
                        "market {market}, {side:?}: engine {real:?}, reference {reference:?}"
                    ));
                }
            }
            let reference = &self.reference.markets[market as usize];
            if self.real.update(market) != Some(reference.update)
                || self.real.last_price(market) != reference.last_price
            {
                return Err(format!("market {market}: update id or last price is not that of {reference:?}"));
            }
        }
        let counts = (self.real.accounts() as usize, self.real.assets(), self.real.markets());
        let expected =
            (self.reference.accounts.len(), self.reference.assets.len(), self.reference.markets.len());
        if counts != expected || self.real.time_ns() != self.reference.time_ns {
            return Err(format!("accounts, assets, markets: engine {counts:?}, reference {expected:?}"));
        }
        Ok(())
    }
}

#[test]
fn random_streams() {
    let total = crate::support::commands(2_000_000, 200_000);
    let seen = run_streams::<Pair>(total);
    if total >= 200_000 {
        // The comparison is worth what its streams reach; the perpetual side has a comparison of its own.
        let of_spot = |code: u16| code < Reject::MarginAssetDiffers.code();
        for reject in Reject::ALL.into_iter().filter(|reject| of_spot(reject.code())) {
            assert!(seen.rejects.contains_key(&reject.code()), "no stream met {reject:?}");
        }
        // Proofs are of both ledgers, and asked for in `perpetual/independent.rs`.
        let of_spot =
            |kind: event::Kind| kind as u16 <= event::Kind::Done as u16 && kind != event::Kind::SpotLedger;
        for &kind in event::Kind::ALL.iter().filter(|&&kind| of_spot(kind)) {
            assert!(seen.kinds.contains_key(&(kind as u16)), "no stream told {kind:?}");
        }
    }
}

/// The shrinker finds the three commands that matter among three hundred.
#[test]
fn shrinking_keeps_what_matters() {
    let mut stream = Stream::new(5);
    let mut reference = Reference::new();
    let mut commands = Vec::new();
    for _ in 0..300 {
        let command = stream.next();
        stream.observe(&reference.apply(&command));
        commands.push(command);
    }
    for (index, kind) in [(40, 9001), (150, 9002), (260, 9003)] {
        commands[index].kind = kind;
    }
    let fails = |commands: &[Command]| {
        let mut wanted = [9001, 9002, 9003].into_iter().peekable();
        for (index, command) in commands.iter().enumerate() {
            wanted.next_if_eq(&command.kind);
            if wanted.peek().is_none() {
                return Some(index);
            }
        }
        None
    };
    let short = crate::support::shrink::shrink(&commands, Duration::from_secs(5), fails);
    assert_eq!(short.iter().map(|command| command.kind).collect::<Vec<_>>(), [9001, 9002, 9003]);
    assert_eq!(short.iter().map(|command| command.sequence).collect::<Vec<_>>(), [1, 2, 3]);
}
