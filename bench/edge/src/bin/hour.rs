//! How long a command that touches every position keeps replies and reads waiting: an hour's funding, and the close of a market.
//!
//! ```text
//!  matcher -> ring -> egress, on one thread as shipped for two cores, the journal passing everything at once
//!  positions: pairs of accounts, one long and one short; of each pair, as asked, the first is isolated
//!  a reader:  another thread that looks at an account every 100 us, through the lock that every read takes
//! ```
//!
//! An order comes right behind an hour's tick. Measured from the moment the command is taken: until the engine has carried it out,
//! until the reply of that order, or of the close, leaves; the longest that one step of egress took; and the longest that the reader waited. Histories are
//! archived at once, as far as the views need to know.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, bail};
use clap::Parser;
use ringside_bench::op::Random;
use ringside_bench::perpetual::{MARKET, credits, limit, listing, opposite};
use ringside_bench::report::{self, ForeignLoad};
use ringside_bench::workload::LOT;
use ringside_commands::clock::Clock;
use ringside_core::agent::{Agent, Runner, Running};
use ringside_core::command::{
    Command, MarginMode, PerpetualState, PerpetualTimeInForce, SetMarginMode, SetPerpetualState, Side,
};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Done, Event, Outbox};
use ringside_core::gate::{Gate, GateMode};
use ringside_core::matcher::{Matcher, MatcherOptions};
use ringside_core::memory::Pages;
use ringside_core::money::{Price, UNIT};
use ringside_core::ring::{self, Consumer, Mapping, Options, Producer, Wait};
use ringside_core::sums::Sums;
use ringside_egress::{CommandEvents, Egress, Listener};
use ringside_streams::envelope::Form;
use ringside_streams::pusher::Pusher;
use ringside_streams::registry::SubscriptionRegistry;
use ringside_streams::topic::{Kind, Topic};
use ringside_views::chunk_pool::Refiller;
use ringside_views::log::Retention;
use ringside_views::{SharedViews, Views};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a command that touches every position keeps replies and reads waiting.
#[derive(Parser)]
struct Arguments {
    /// Open positions.
    #[arg(long, default_value_t = 1_000_000)]
    positions: u32,
    /// Hours.
    #[arg(long, default_value_t = 4)]
    hours: u32,
    /// The first of each pair has its position isolated.
    #[arg(long)]
    isolated: bool,
    /// Each account has this many orders in the book when the market closes.
    #[arg(long, default_value_t = 0)]
    orders: u32,
    /// An account and a book are listened to.
    #[arg(long)]
    listened: bool,
    /// Asks the system for huge pages, as the setting does.
    #[arg(long)]
    huge_pages: bool,
    /// Seed.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    #[command(flatten)]
    report: report::Arguments,
}

const INDEX: Price = 1_000 * UNIT;
/// Of every account, micro-quote.
const WALLET: i64 = 1_000_000_000;
const HOUR_NS: i64 = 3_600_000_000_000;
/// Between two ticks while the hour goes by.
const STEP_NS: i64 = 5_000_000_000;
/// Between two looks of the reader.
const LOOK: Duration = Duration::from_micros(100);

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    let Arguments { positions, hours, seed, isolated, orders, listened, .. } = arguments;
    writeln!(
        text,
        "{positions} positions, isolated {isolated}, {orders} orders each, listened {listened}, seed {seed}\n"
    )?;
    let mut venue = Venue::new(&arguments)?;
    writeln!(text, "{:<10}{:>12}{:>12}{:>12}{:>12}  ms", "", "applied", "replied", "step", "read")?;
    for hour in 1..=hours {
        let waits = venue.hour()?;
        writeln!(text, "{:<10}{}", format!("hour {hour}"), waits.row())?;
    }
    for _ in 0..orders {
        venue.rest(positions)?;
    }
    let waits = venue.close()?;
    writeln!(text, "{:<10}{}", "close", waits.row())?;
    writeln!(text, "\nother processes used {:.1} % of the machine", load.percent())?;
    Ok(arguments.report.conclude("hour", &text, false)?)
}

/// What a command kept waiting.
struct Waits {
    applied: Duration,
    replied: Duration,
    step: Duration,
    read: Duration,
}

impl Waits {
    fn row(&self) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        let Waits { applied, replied, step, read } = self;
        format!("{:>12.1}{:>12.1}{:>12.1}{:>12.1}", ms(*applied), ms(*replied), ms(*step), ms(*read))
    }
}

/// The stages, run by whoever asks.
struct Venue {
    input: Producer<Command>,
    matcher: Matcher<Box<dyn FnMut() -> i64 + Send>>,
    journal: Consumer<Command>,
    gate: Arc<Gate>,
    egress: Egress,
    views: Arc<SharedViews>,
    now: Arc<AtomicI64>,
    /// The last command that the journal passed, and the last that was answered.
    passed: u64,
    flushed: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
    longest_read_ns: Arc<AtomicU64>,
    time_ns: i64,
    orders: u64,
    user: u32,
    /// Keeps up what views take their memory from.
    _restocking: Running,
}

impl Venue {
    fn new(arguments: &Arguments) -> Result<Venue> {
        let positions = arguments.positions;
        let pages = if arguments.huge_pages { Pages::Huge } else { Pages::Small };
        let config = EngineConfig {
            orders: (1 << 16) + (positions * arguments.orders) as usize,
            accounts: positions as usize + 2,
            pages,
            ..EngineConfig::default()
        };
        let (engine, views) = opened(&config, arguments)?;
        let time_ns = engine.time_ns();
        let sequence = engine.sequence();
        let options = |capacity, start| Options { capacity, consumers: 1, start, wait: Wait::Park };
        let (input, inputs) = ring::create::<Command>(Mapping::anonymous(), options(1_024, 1))?;
        let (to_journal, mut journal) =
            ring::create::<Command>(Mapping::anonymous(), options(1_024, sequence + 1))?;
        let (output, mut outputs) = ring::create::<Event>(Mapping::anonymous(), options(131_072, 1))?;
        let gate = Arc::new(Gate::new(sequence));
        let restocker = Refiller::new(views.spares());
        let views = Arc::new(SharedViews::new(views));
        let now = Arc::new(AtomicI64::new(time_ns));
        let clock = now.clone();
        let clock: Box<dyn FnMut() -> i64 + Send> = Box::new(move || clock.load(Ordering::Relaxed));
        let events = engine.events_at_most();
        let options = MatcherOptions { checkpoint_every: 0, ..MatcherOptions::default() };
        let matcher = Matcher::new(engine, inputs, to_journal, output, clock, options);
        let output = outputs.pop().context("one consumer")?;
        let sums = Arc::new(Sums::since(sequence + 1));
        let mut egress =
            Egress::new(output, gate.clone(), GateMode::Durable, views.clone(), Vec::new(), sums);
        egress.make_room(events, pages);
        let registry = Arc::new(SubscriptionRegistry::new(1, Clock::manual(time_ns / 1_000_000)));
        egress.listen(Box::new(Pusher::new(registry.clone(), &views.read())));
        if arguments.listened {
            registry.enter(0, Topic::of_account(Kind::UserData, 1), Form::Stream, None);
            registry.enter(0, Topic::of_market(Kind::BestPrice, MARKET), Form::Stream, None);
        }
        let (flushed, refused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        egress.listen(Box::new(Answered { last: 0, flushed: flushed.clone(), refused: refused.clone() }));
        let restocking = Runner { name: "restocker".to_owned(), wait: Wait::Sleep, ..Runner::default() };
        let restocking = restocking.spawn(vec![Box::new(restocker)])?;
        let longest_read_ns = Arc::new(AtomicU64::new(0));
        let (longest, looked_at) = (longest_read_ns.clone(), views.clone());
        std::thread::spawn(move || {
            loop {
                let start = Instant::now();
                let wallet = looked_at.read().perpetuals().accounts().find(1).map(|account| account.wallet);
                std::hint::black_box(wallet);
                longest.fetch_max(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
                std::thread::sleep(LOOK);
            }
        });
        Ok(Venue {
            input,
            matcher,
            journal: journal.pop().context("one consumer")?,
            gate,
            egress,
            views,
            now,
            passed: sequence,
            flushed,
            refused,
            longest_read_ns,
            time_ns,
            orders: u64::from(positions),
            user: positions + 1,
            _restocking: restocking,
        })
    }

    /// What has been matched is in the journal; how much that was.
    fn pass(&mut self) -> usize {
        let mut last = 0;
        let count = self.journal.poll(1_024, |_, command| last = command.sequence);
        if count > 0 {
            self.gate.publish_written(last);
            self.gate.publish_durable(last);
            self.passed = last;
        }
        count
    }

    fn settle(&mut self) {
        while self.matcher.do_work() + self.pass() + self.egress.do_work() > 0 {}
        self.views.set_archived(self.passed);
    }

    /// An hour goes by, and the next begins.
    fn hour(&mut self) -> Result<Waits> {
        let next = (self.time_ns / HOUR_NS + 1) * HOUR_NS;
        self.time_ns += STEP_NS - self.time_ns % STEP_NS;
        while self.time_ns < next {
            self.now.store(self.time_ns, Ordering::Relaxed);
            self.settle();
            self.time_ns += STEP_NS;
        }
        // What is archived is let go of a little with each command.
        for _ in 0..2_000 {
            self.views.write(|_| ());
        }
        std::thread::sleep(Duration::from_millis(300));
        self.time_ns = next;
        self.now.store(self.time_ns, Ordering::Relaxed);
        self.wait(true)
    }

    /// The market closes, which settles every position.
    fn close(&mut self) -> Result<Waits> {
        self.settle();
        for _ in 0..2_000 {
            self.views.write(|_| ());
        }
        std::thread::sleep(Duration::from_millis(300));
        let state = PerpetualState::Closed as u8;
        self.send(Command::new(SetPerpetualState { market: MARKET, state, reserved: [0; 3] }));
        self.wait(false)
    }

    /// An order of each account that nobody meets.
    fn rest(&mut self, positions: u32) -> Result<()> {
        for account in 1..=positions {
            let side = if account % 2 == 1 { Side::Sell } else { Side::Buy };
            let price = if account % 2 == 1 { INDEX + INDEX / 50 } else { INDEX - INDEX / 50 };
            self.order(account, side, price, 10 * LOT);
            if account % 256 == 0 {
                self.settle();
            }
        }
        self.settle();
        let refused = self.refused.load(Ordering::Relaxed);
        if refused > 0 {
            bail!("{refused} commands were refused");
        }
        Ok(())
    }

    fn order(&mut self, account: u32, side: Side, price: Price, quantity: i64) {
        self.orders += 1;
        let gtc = PerpetualTimeInForce::GoodTillCancel;
        self.send(Command::new(limit(account, side, price, quantity, gtc, self.orders)));
    }

    fn send(&mut self, command: Command) {
        while self.input.try_publish(&command).is_err() {
            self.settle();
        }
    }

    /// What the next command keeps waiting: its own answer, or that of an order right behind it.
    fn wait(&mut self, is_followed: bool) -> Result<Waits> {
        let last = self.passed + 1 + u64::from(is_followed);
        self.longest_read_ns.store(0, Ordering::Relaxed);
        let start = Instant::now();
        self.matcher.do_work();
        let applied = start.elapsed();
        if is_followed {
            // A tick comes after what is there, so that the order comes only now.
            self.order(self.user, Side::Buy, INDEX / 2, LOT);
        }
        let mut step = Duration::ZERO;
        while self.flushed.load(Ordering::Relaxed) < last {
            self.matcher.do_work();
            self.pass();
            let begun = Instant::now();
            self.egress.do_work();
            step = step.max(begun.elapsed());
        }
        let replied = start.elapsed();
        std::thread::sleep(Duration::from_millis(20));
        let read = Duration::from_nanos(self.longest_read_ns.load(Ordering::Relaxed));
        Ok(Waits { applied, replied, step, read })
    }
}

/// An engine and views with the positions open.
fn opened(config: &EngineConfig, arguments: &Arguments) -> Result<(Engine, Views)> {
    let mut engine = Engine::new(config);
    let mut views = Views::new(Retention::Window(65_536));
    let mut outbox = Outbox::new(4_096);
    let mut apply = |mut command: Command| {
        command.sequence = engine.sequence() + 1;
        command.time_ns = 1_700_000_000_000_000_000;
        outbox.clear();
        engine.apply(&command, &mut outbox);
        outbox.events().iter().for_each(|event| views.fold(event));
        views.forget(command.sequence);
        match outbox.events().last().and_then(Event::get::<Done>) {
            Some(done) if done.reject == 0 => Ok(()),
            done => bail!("{command:?} was answered by {done:?}"),
        }
    };
    for command in listing(INDEX).chain(credits(arguments.positions + 1, WALLET)) {
        apply(command)?;
    }
    let mut random = Random::new(arguments.seed);
    for pair in 0..arguments.positions / 2 {
        // 0.1 to 18 times the wallet of 1,000 at a price of 1,000.
        let quantity = i64::from(10 + random.below(1_790)) * LOT;
        let orders = opposite(pair, INDEX, quantity);
        if arguments.isolated {
            let (account, mode) = (orders[0].account, MarginMode::Isolated as u32);
            apply(Command::new(SetMarginMode { account, market: MARKET, mode, reserved: 0 }))?;
        }
        for place in orders {
            apply(Command::new(place))?;
        }
    }
    Ok((engine, views))
}

/// Knows what was answered.
struct Answered {
    last: u64,
    flushed: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
}

impl Listener for Answered {
    fn command(&mut self, told: CommandEvents<'_>, _: &Views) {
        let Some(end) = told.last() else { return };
        self.last = end.sequence;
        if end.get::<Done>().is_some_and(|done| done.reject != 0) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush(&mut self) {
        self.flushed.store(self.last, Ordering::Relaxed);
    }
}
