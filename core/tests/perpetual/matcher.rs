//! The matching stage between real rings, run by the caller: order, back pressure, time, checkpoints, the end.

use crate::support::perpetual::{BTC, Venue, dec, held, leverage, no_fees, open};
use ringside_core::agent::{Agent, Runner};
use ringside_core::command::{
    ActivateRule, AdvanceTime, Checkpoint, Command, CreateAccount, Credit, Kind, ListMarket, MarketKind,
    OpenEpoch, PlaceOrder, SetCountdown, SetManualPrice, Side, SkipCommand, VerifyHash, rule,
};
use ringside_core::event::{Done, Event, StateHash};
use ringside_core::ids::{ALL_MARKETS, padded};
use ringside_core::matcher::{Matcher, MatcherOptions};
use ringside_core::money::{AMOUNT_UNIT, UNIT};
use ringside_core::reject::Reject;
use ringside_core::ring::{self, Consumer, Mapping, Options, Producer, Slot, Wait};
use ringside_core::{Engine, EngineConfig};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

const DAY_NS: i64 = 86_400_000_000_000;

fn make_ring<T: Slot>(capacity: usize, start: u64) -> (Producer<T>, Consumer<T>) {
    let options = Options { capacity, consumers: 1, start, wait: Wait::Yield };
    let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).expect("a ring");
    (producer, consumers.pop().expect("one consumer"))
}

struct Stage {
    matcher: Matcher<Box<dyn FnMut() -> i64 + Send>>,
    inputs: Vec<(Producer<Command>, u64)>,
    journal: Consumer<Command>,
    output: Consumer<Event>,
    clock: Arc<AtomicI64>,
    journalled: Vec<Command>,
    events: Vec<Event>,
}

impl Stage {
    fn new(inputs: usize, journal_slots: usize, output_slots: usize, options: MatcherOptions) -> Stage {
        let engine = Engine::new(&EngineConfig { orders: 256, accounts: 64, ..EngineConfig::default() });
        Stage::over(engine, inputs, journal_slots, output_slots, options)
    }

    /// The same on an engine that has come some way.
    fn over(
        engine: Engine,
        inputs: usize,
        journal_slots: usize,
        output_slots: usize,
        options: MatcherOptions,
    ) -> Stage {
        let (producers, consumers): (Vec<_>, Vec<_>) = (0..inputs).map(|_| make_ring(64, 1)).unzip();
        let (journal, journal_end) = make_ring(journal_slots, engine.sequence() + 1);
        let (output, output_end) = make_ring(output_slots, 1);
        let clock = Arc::new(AtomicI64::new(1_700_000_000_000_000_000));
        let theirs = clock.clone();
        let now: Box<dyn FnMut() -> i64 + Send> = Box::new(move || theirs.load(Ordering::Relaxed));
        Stage {
            matcher: Matcher::new(engine, consumers, journal, output, now, options),
            inputs: producers.into_iter().map(|producer| (producer, 0)).collect(),
            journal: journal_end,
            output: output_end,
            clock,
            journalled: Vec::new(),
            events: Vec::new(),
        }
    }

    fn publish(&mut self, input: usize, command: Command) {
        let (producer, published) = &mut self.inputs[input];
        *published += 1;
        let command = Command { source: input as u32 + 1, source_seq: *published, ..command };
        producer.try_publish(&command).expect("room");
    }

    /// Takes what stands in the journal and output rings; gives how much.
    fn drain(&mut self, limit: usize) -> usize {
        let (journalled, events) = (&mut self.journalled, &mut self.events);
        self.journal.poll(limit, |_, command| journalled.push(*command))
            + self.output.poll(limit, |_, event| events.push(*event))
    }

    fn settle(&mut self) {
        while self.matcher.do_work() + self.drain(usize::MAX) > 0 {}
    }

    fn found(&mut self) {
        self.publish(0, Command::new(list_market()));
        for number in 1..=3 {
            self.publish(0, Command::new(CreateAccount { address: [number; 20], reserved: 0 }));
            for asset in ["DF", "USDT"] {
                self.publish(
                    0,
                    Command::new(Credit {
                        address: [number; 20],
                        asset: padded(asset).expect("short"),
                        reserved: 0,
                        amount: (1_000_000 * AMOUNT_UNIT).into(),
                        reason: [0; 64],
                    }),
                );
            }
        }
        self.settle();
    }

    /// Replays what was journalled: the same events, the same state.
    fn assert_replays(self) {
        let mut engine = Engine::new(&EngineConfig::default());
        let mut events = Vec::new();
        for command in &self.journalled {
            engine.apply(command, &mut events);
        }
        assert_eq!(events, self.events);
        assert_eq!(engine.diverged(), None);
        assert_eq!(engine.state_hash(), self.matcher.into_engine().state_hash());
    }
}

fn list_market() -> ListMarket {
    ListMarket {
        symbol: padded("DFUSDT").expect("short"),
        base: padded("DF").expect("short"),
        quote: padded("USDT").expect("short"),
        tick: 10_000,
        lot: UNIT / 10,
        min_notional: AMOUNT_UNIT.into(),
        maker_fee: 500,
        taker_fee: 1000,
        max_open_orders: 200,
        kind: MarketKind::Spot as u8,
        reserved: [0; 3],
    }
}

/// Small random numbers; the seed is printed by whoever uses it.
struct Chance(Cell<u64>);

impl Chance {
    fn new(seed: u64) -> Chance {
        Chance(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    fn below(&self, end: u64) -> u64 {
        let mut x = self.0.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(x);
        (x >> 11) % end
    }
}

fn any_order(chance: &Chance) -> Command {
    let side = if chance.below(2) == 0 { Side::Buy } else { Side::Sell };
    let price = 20_000_000 + chance.below(40) as i64 * 10_000;
    let quantity = (1 + chance.below(100) as i64) * (UNIT * 10);
    Command::new(PlaceOrder::limit(1 + chance.below(3) as u32, 0, side, price, quantity))
}

#[test]
fn every_input_is_served_and_order_within_it_is_kept() {
    let mut stage =
        Stage::new(3, 64, 256, MatcherOptions { tick_ns: 0, quota: 4, ..MatcherOptions::default() });
    stage.found();
    let chance = Chance::new(1);
    for round in 0..20 {
        for input in 0..3 {
            stage.publish(input, any_order(&chance));
        }
        if round % 3 == 0 {
            stage.settle();
        }
    }
    stage.settle();
    for source in 1..=3 {
        let numbers: Vec<_> = stage
            .journalled
            .iter()
            .filter(|command| command.source == source)
            .map(|c| c.source_seq)
            .collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "source {source}");
    }
    let sequences: Vec<_> = stage.journalled.iter().map(|command| command.sequence).collect();
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    stage.assert_replays();
}

#[test]
fn full_rings_downstream_hold_commands_back_and_lose_none() {
    for seed in 0..200 {
        let options = MatcherOptions { tick_ns: 0, checkpoint_every: 50, ..MatcherOptions::default() };
        let mut stage = Stage::new(2, 4, 8, options);
        stage.found();
        let chance = Chance::new(seed);
        let mut sent = 0;
        while sent < 100 {
            for input in 0..2 {
                if stage.inputs[input].0.free() > 0 {
                    stage.publish(input, any_order(&chance));
                    sent += 1;
                }
            }
            stage.matcher.do_work();
            // Downstream lags: it takes a few, sometimes none.
            stage.drain(chance.below(4) as usize);
        }
        stage.settle();
        let taken = stage.journalled.iter().filter(|command| command.source_seq > 0).count();
        assert_eq!(taken, sent + 10, "seed {seed}");
        let done = stage.events.iter().filter(|event| event.get::<Done>().is_some()).count();
        assert_eq!(done, stage.journalled.len(), "seed {seed}");
        stage.assert_replays();
    }
}

/// Row 10 of the failure model: 2,000 sequences of clock steps from a day back to a day forth.
#[test]
fn engine_time_never_runs_back_whatever_the_clock_does() {
    for seed in crate::support::seeds::seeds(2_000) {
        let rerun = format!("RINGSIDE_SEED={seed} cargo test -p ringside-core --test perpetual engine_time");
        let chance = Chance::new(seed);
        let options =
            MatcherOptions { tick_ns: 1_000_000_000, checkpoint_every: 16, ..MatcherOptions::default() };
        let mut stage = Stage::new(1, 64, 256, options);
        stage.found();
        for _ in 0..40 {
            let step = match chance.below(4) {
                0 => chance.below(2 * DAY_NS as u64) as i64 - DAY_NS,
                1 => -(chance.below(5_000_000_000) as i64),
                2 => 0,
                _ => chance.below(5_000_000_000) as i64,
            };
            stage.clock.fetch_add(step, Ordering::Relaxed);
            if chance.below(3) > 0 {
                stage.publish(0, any_order(&chance));
            }
            stage.settle();
        }
        let times: Vec<_> = stage.journalled.iter().map(|command| command.time_ns).collect();
        assert!(times.is_sorted(), "commands are stamped backwards: {rerun}");
        assert!(stage.events.iter().map(|event| event.time_ns).is_sorted(), "events run back: {rerun}");
        stage.assert_replays();
    }
}

#[test]
fn time_advances_when_nobody_trades() {
    let options = MatcherOptions { tick_ns: 1_000_000_000, ..MatcherOptions::default() };
    let mut stage = Stage::new(1, 64, 256, options);
    stage.found();
    let before = stage.journalled.len();
    stage.clock.fetch_add(999_999_999, Ordering::Relaxed);
    stage.settle();
    assert_eq!(stage.journalled.len(), before);
    stage.clock.fetch_add(1, Ordering::Relaxed);
    stage.settle();
    assert_eq!(stage.journalled.len(), before + 1);
}

/// Prices and deadlines move at ticks: a flow of orders must not hold them up.
#[test]
fn time_advances_once_a_second_whoever_trades() {
    let options = MatcherOptions { tick_ns: 1_000_000_000, ..MatcherOptions::default() };
    let mut stage = Stage::new(1, 64, 256, options);
    stage.found();
    let chance = Chance::new(5);
    let before = stage.journalled.len();
    // A hundred orders a second, for ten seconds.
    for _ in 0..1_000 {
        stage.clock.fetch_add(10_000_000, Ordering::Relaxed);
        stage.publish(0, any_order(&chance));
        stage.settle();
    }
    let ticks: Vec<_> = stage.journalled[before..]
        .iter()
        .filter(|command| command.kind == Kind::AdvanceTime as u16)
        .map(|command| command.time_ns)
        .collect();
    assert_eq!(ticks.len(), 10);
    assert!(
        ticks.iter().all(|time_ns| time_ns % 1_000_000_000 == 0),
        "at the start of each second: {ticks:?}"
    );
    stage.assert_replays();
}

/// `perpetual.md` 8: timers are checked at least every 10 ms, whether or not anybody trades, and time advances for nothing else.
#[test]
fn a_countdown_runs_out_between_seconds() {
    let options = MatcherOptions { tick_ns: 1_000_000_000, ..MatcherOptions::default() };
    let mut stage = Stage::new(1, 64, 256, options);
    stage.found();
    let set =
        SetCountdown { account: 1, market: ALL_MARKETS, countdown_ms: 303, keep_reduce_only: 0, reserved: 0 };
    for _ in 0..2 {
        stage.publish(0, Command::new(set));
        stage.settle();
        assert_eq!(
            stage.events.last().and_then(|event| event.get::<Done>()).map(|done| done.reject),
            Some(0)
        );
        let before = stage.journalled.len();
        let began_ns = stage.clock.load(Ordering::Relaxed);
        for _ in 0..400 {
            stage.clock.fetch_add(1_000_000, Ordering::Relaxed);
            assert!(stage.matcher.next_timer() <= Duration::from_millis(100));
            stage.settle();
        }
        let ticks: Vec<i64> =
            stage.journalled[before..].iter().map(|command| command.time_ns - began_ns).collect();
        assert_eq!(ticks.len(), 1, "{ticks:?}");
        assert!((303_000_000..=313_000_000).contains(&ticks[0]), "{ticks:?}");
    }
    // Nobody sleeps through one.
    stage.publish(0, Command::new(SetCountdown { countdown_ms: 40, ..set }));
    stage.settle();
    assert_eq!(stage.matcher.next_timer(), Duration::from_millis(40));
    stage.assert_replays();
}

/// A move of the mark leaves more liquidations over than one command carries out: they go on though nobody sends anything and
/// the second has not passed.
#[test]
fn what_a_move_of_the_mark_leaves_over_goes_on_by_itself() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("100000");
    let maker = venue.account("1000000");
    let doomed: Vec<u32> = (0..12).map(|_| venue.account("100")).collect();
    for &account in &doomed {
        leverage(&mut venue, account, 100);
        open(&mut venue, account, maker, Side::Buy, "0.1", "60000");
    }
    // Of a liquidation its order is one, and the takeover.
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: 8 });
    venue.ok(SetManualPrice { market: BTC, moves_band: 0, price: dec("59000") });
    let (begun, now_ns) = (venue.engine.sequence(), (venue.time_ms + 1_000) * 1_000_000);
    assert!(!venue.engine.has_backlog() && doomed.iter().all(|&account| held(&venue, account) > 0));
    let options = MatcherOptions { checkpoint_every: 0, ..MatcherOptions::default() };
    let mut stage = Stage::over(venue.engine, 1, 64, 4_096, options);
    stage.clock.store(now_ns, Ordering::Relaxed);
    stage.settle();
    let is_tick = |command: &Command| command.kind == Kind::AdvanceTime as u16 && command.time_ns == now_ns;
    assert!(stage.journalled.iter().all(is_tick));
    assert!(stage.journalled.len() > 2, "{} commands for twelve liquidations", stage.journalled.len());
    let engine = stage.matcher.into_engine();
    assert_eq!(engine.sequence(), begun + stage.journalled.len() as u64);
    let is_flat = |&account: &u32| {
        engine.perpetual_position(account, BTC).is_none_or(|position| position.quantity == 0)
    };
    assert!(!engine.has_backlog() && doomed.iter().all(is_flat));
}

#[test]
fn a_halted_ring_downstream_is_seen_by_the_publishers() {
    for is_journal in [true, false] {
        let mut stage = Stage::new(2, 64, 256, MatcherOptions::default());
        stage.found();
        if is_journal {
            stage.journal.halt()
        } else {
            stage.output.halt()
        }
        stage.matcher.do_work();
        assert!(stage.inputs.iter().all(|(producer, _)| producer.is_halted()), "journal: {is_journal}");
    }
}

/// The journal may end at any moment, also while a batch is on its way to it: nothing of that can be acknowledged, and it is the host
/// that says how the process ends.
#[test]
fn a_journal_that_ends_within_a_batch_ends_the_work_and_not_the_process() {
    let chance = Chance::new(11);
    for round in 0..3_000 {
        let options = MatcherOptions { tick_ns: 0, ..MatcherOptions::default() };
        let mut stage = Stage::new(1, 256, 4_096, options);
        for number in 0..64 {
            stage.publish(0, Command::new(CreateAccount { address: [number; 20], reserved: 0 }));
        }
        let (matcher, journal) = (&mut stage.matcher, &stage.journal);
        let (has_begun, moment) = (AtomicBool::new(false), chance.below(1_000));
        let ended = std::thread::scope(|scope| {
            let works = scope.spawn(|| {
                has_begun.store(true, Ordering::Release);
                while matcher.do_work() > 0 {}
            });
            while !has_begun.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            (0..moment).for_each(|_| std::hint::spin_loop());
            journal.halt();
            works.join()
        });
        assert!(ended.is_ok(), "round {round}, moment {moment}");
        stage.matcher.do_work();
        assert!(stage.inputs.iter().all(|(producer, _)| producer.is_halted()), "round {round}");
    }
}

#[test]
fn closing_takes_what_was_published_and_ends_the_inputs() {
    let mut stage = Stage::new(2, 64, 256, MatcherOptions { tick_ns: 0, ..MatcherOptions::default() });
    stage.found();
    let chance = Chance::new(9);
    for input in [0, 1, 0, 1] {
        stage.publish(input, any_order(&chance));
    }
    stage.matcher.close();
    stage.drain(usize::MAX);
    assert!(stage.inputs.iter().all(|(producer, _)| producer.is_halted()));
    assert_eq!(stage.journalled.len(), 14);
    stage.assert_replays();
}

/// A gateway of its own process may write what it likes into its ring.
#[test]
fn a_publisher_cannot_speak_for_the_stages() {
    let options = MatcherOptions { tick_ns: 0, checkpoint_every: 0, ..MatcherOptions::default() };
    let mut stage = Stage::new(2, 64, 256, options);
    stage.found();
    let before = (stage.journalled.len(), stage.events.len());
    let forged = [
        Command::new(VerifyHash { checkpoint: 1, hash: [7; 16] }),
        Command::new(OpenEpoch { epoch: 1_000_000, reserved: 0 }),
        Command::new(SkipCommand { skipped: 3, operators: [[b'x'; 24]; 2], reason: [0; 64] }),
        Command::new(Checkpoint {}),
        Command::new(AdvanceTime {}),
        // Tags that may get a meaning.
        Command { kind: 63, ..Command::new(AdvanceTime {}) },
    ];
    for command in forged {
        stage.publish(1, command);
    }
    stage.publish(0, any_order(&Chance::new(1)));
    stage.settle();
    let done: Vec<Done> =
        stage.events[before.1..].iter().filter_map(|event| event.get::<Done>()).copied().collect();
    let refused: Vec<u64> = done
        .iter()
        .filter(|done| done.source == 2)
        .map(|done| {
            assert_eq!(done.rejected(), Some(Reject::Malformed));
            done.source_seq
        })
        .collect();
    assert_eq!(refused, [1, 2, 3, 4, 5, 6], "each is answered, in its order");
    assert!(done.iter().any(|done| done.source == 1 && done.rejected().is_none()), "the honest ring goes on");
    let journalled = &stage.journalled[before.0..];
    assert_eq!(journalled.iter().filter(|command| command.kind == 0).count(), forged.len());
    assert!(journalled.iter().all(|command| !Kind::OWN.contains(&command.kind)));
    stage.assert_replays();
}

#[test]
fn what_the_venue_says_to_itself_stands_in_one_range_of_tags() {
    use Kind::{AdvanceTime, OpenEpoch, VerifyHash};
    let own: Vec<Kind> =
        Kind::ALL.iter().copied().filter(|kind| Kind::OWN.contains(&(*kind as u16))).collect();
    assert_eq!(own, [AdvanceTime, OpenEpoch, Kind::Checkpoint, VerifyHash, Kind::SkipCommand]);
}

/// A stage that is about to be told of a state hash that is not its own, after an order.
fn about_to_diverge() -> Stage {
    let options = MatcherOptions {
        tick_ns: 0,
        checkpoint_every: 1,
        takes_own_kinds: true,
        ..MatcherOptions::default()
    };
    let mut stage = Stage::new(1, 64, 256, options);
    stage.found();
    let told =
        stage.events.iter().rev().find_map(|event| Some((event.sequence, event.get::<StateHash>()?.hash)));
    let (checkpoint, mut hash) = told.expect("a checkpoint was taken");
    hash[15] ^= 1;
    stage.publish(0, any_order(&Chance::new(1)));
    stage.publish(0, Command::new(VerifyHash { checkpoint, hash }));
    stage
}

#[test]
fn a_stage_that_diverged_panics_before_its_events_leave() {
    let mut stage = about_to_diverge();
    let (journalled, told) = (stage.journalled.len(), stage.events.len());
    let step = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.matcher.do_work()));
    let panic = step.expect_err("the stage must not go on");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("the state is not what"), "{message}");
    stage.drain(usize::MAX);
    assert_eq!(stage.journalled.len(), journalled + 2, "the journal has what led there");
    assert_eq!(stage.events.len(), told, "nothing of the batch may be acknowledged");
    assert!(stage.matcher.into_engine().diverged().is_some());
}

/// Runs itself again in a process of its own, whose end is looked at from here.
#[test]
fn a_stage_that_diverged_ends_the_process() {
    const CHILD: &str = "RINGSIDE_TEST_DIVERGE";
    if std::env::var_os(CHILD).is_some() {
        let matcher = about_to_diverge().matcher;
        let runner =
            Runner { name: "matcher".to_owned(), wait: Wait::Yield, critical: true, ..Runner::default() };
        let _running = runner.spawn(vec![Box::new(matcher)]).expect("a thread");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "matcher::a_stage_that_diverged_ends_the_process", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.status), Some(libc::SIGABRT), "{said}");
    assert!(said.contains("stage matcher panicked"), "{said}");
}
