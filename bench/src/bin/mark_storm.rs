//! How long a move of the mark holds back the order behind it, with few and with very many open positions.
//!
//! ```text
//!  positions: pairs of accounts, one long and one short, each worth 0.1 to 19 times its wallet
//!  a round:   the index moves by up to 0.05 %, a tick makes it the mark, a user's order arrives meanwhile
//!  measured:  tick + order, from the moment the tick begins: the longest that the order can have to wait
//! ```
//!
//! The index stays within 4 % of where it began, where nobody is liquidated; then it falls in steps of 0.25 % until
//! positions are, and from then on those rounds are shown apart. One command carries out only so many liquidations: after each
//! step time advances until none is left over, as the matching stage has it do, and each of those commands is measured as well.
//! The book is empty and so is the fund: counterparties take every position that is liquidated. The first command after a step
//! is the one that has to find them at new marks.
//!
//! A round is a second, so hours pass, and with an hour comes funding, which is one command for every position
//! (`risk.md` 11): those rounds are shown apart as well. Between rounds the engine is let idle as the matching stage lets it.
//!
//! Before it measures, it has a smaller number of positions go through the same beside an engine that tests and orders all of them:
//! where an event differs, it ends. There those who are asked pay 0.1 % an hour, and the engine idles a little between the commands
//! of the fall and not before, so that what is put off after an hour is done between takeovers.
#![allow(clippy::print_stdout)]

use anyhow::{Result, bail};
use clap::Parser;
use hdrhistogram::Histogram;
use ringside_bench::op::Random;
use ringside_bench::perpetual::{MARKET, limit};
use ringside_bench::positions::{INDEX, Venue};
use ringside_bench::report::{self, Bars, ForeignLoad, Unit};
use ringside_bench::workload::{LOT, TICK};
use ringside_core::command::{
    AdvanceTime, CancelPerpetual, Command, PerpetualParameter, PerpetualTimeInForce, SetManualPrice,
    SetPerpetualParameter, Side, order_class,
};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Done, Event, FundingSettled, Liquidation, LiquidationStep, Outbox};
use ringside_core::money::Price;
use std::fmt::Write as _;
use std::time::Instant;

/// How long a move of the mark holds back an order.
#[derive(Parser)]
struct Arguments {
    /// Open positions, the many.
    #[arg(long, default_value_t = 1_000_000)]
    positions: u32,
    /// Open positions, the few.
    #[arg(long, default_value_t = 1_000)]
    few: u32,
    /// Open positions, those that are compared.
    #[arg(long, default_value_t = 10_000)]
    compared: u32,
    /// Moves of the mark.
    #[arg(long, default_value_t = 20_000)]
    moves: u32,
    /// Steps of the fall, from the one on that liquidates someone.
    #[arg(long, default_value_t = 20)]
    falls: u32,
    /// Seed.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Core to run on.
    #[arg(long, default_value_t = 1)]
    core: usize,
    #[command(flatten)]
    report: report::Arguments,
}

/// The fall begins to liquidate within so many steps: at 40 % even those with the least leverage are.
const STEPS_MAX: u32 = 160;
/// Of those that are compared: two hours begin, the last a quarter of one before the fall.
const COMPARED_MOVES: u32 = 7_300;
/// Steps without a command between two of a fall, at most.
const STEPS_BETWEEN: u32 = 3;

/// The market, and an order that comes behind each move of it.
struct Storm {
    venue: Venue,
    random: Random,
    /// How long it idles between the commands of a fall.
    idling: Random,
    orders: u64,
    /// An engine that tests and orders everybody and never idles.
    beside: Option<(Engine, Outbox)>,
}

/// What came of one number of positions.
struct Stormed {
    calm: Histogram<u64>,
    funding: Histogram<u64>,
    falling: Histogram<u64>,
    liquidations: usize,
    takeovers: usize,
}

/// One round, or one command after it.
struct Round {
    held_ns: u64,
    /// Scopes that were liquidated.
    liquidations: usize,
    /// Positions, or parts of them, that counterparties took.
    takeovers: usize,
    /// An hour began.
    is_funding: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pinned = core_affinity::set_for_current(core_affinity::CoreId { id: arguments.core });
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(text, "{} moves, seed {}, pinned {pinned}\n", arguments.moves, arguments.seed)?;
    let compared = Storm::new(arguments.compared, arguments.seed)?.with_another_beside()?;
    let moves = arguments.moves.min(COMPARED_MOVES);
    let stormed = storm(compared, arguments.compared, moves, arguments.falls)?;
    writeln!(
        text,
        "{} positions beside an engine that orders all: {} takeovers, each from the same\n",
        arguments.compared, stormed.takeovers
    )?;
    let [few, many] = [arguments.few, arguments.positions].map(|positions| {
        storm(Storm::new(positions, arguments.seed)?, positions, arguments.moves, arguments.falls)
    });
    let (few, many) = (few?, many?);
    let mut rows = Vec::new();
    for (positions, stormed) in [(arguments.few, &few), (arguments.positions, &many)] {
        rows.push((format!("{positions} positions"), &stormed.calm));
        rows.push((format!("{positions}, an hour begins"), &stormed.funding));
        rows.push((format!("{positions}, falling"), &stormed.falling));
    }
    rows.retain(|(_, histogram)| !histogram.is_empty());
    let rows: Vec<_> = rows.iter().map(|(name, histogram)| (name.as_str(), *histogram)).collect();
    text.push_str(&report::percentile_table(&rows, Unit::Microseconds));
    for (positions, stormed) in [(arguments.few, &few), (arguments.positions, &many)] {
        let Stormed { liquidations, takeovers, .. } = stormed;
        writeln!(
            text,
            "\n{positions} positions, falling: {liquidations} liquidations, {takeovers} takeovers"
        )?;
    }
    let mut bars = Bars::default();
    let held_us = many.calm.value_at_quantile(0.999) as f64 / 1_000.0;
    bars.at_most(format!("{} positions: p99.9 of the hold, us", arguments.positions), held_us, 50.0);
    writeln!(text, "other processes used {:.1} % of the machine\n", load.percent())?;
    text.push_str(&bars.table());
    Ok(arguments.report.conclude("mark_storm", &text, bars.missed() > 0)?)
}

fn storm(mut storm: Storm, positions: u32, moves: u32, falls_wanted: u32) -> Result<Stormed> {
    let mut stormed = Stormed {
        calm: report::histogram(),
        funding: report::histogram(),
        falling: report::histogram(),
        liquidations: 0,
        takeovers: 0,
    };
    let mut index = INDEX;
    for _ in 0..moves {
        let step = i64::from(storm.random.below(10_001)) - 5_000;
        let moved = index + index / 10_000_000 * step;
        if (moved - INDEX).abs() < INDEX / 25 {
            index = moved;
        }
        let round = storm.round(index, positions)?;
        if round.liquidations > 0 {
            bail!("{} liquidations where nobody should be near one", round.liquidations);
        }
        let to = if round.is_funding { &mut stormed.funding } else { &mut stormed.calm };
        to.saturating_record(round.held_ns);
        // What the hour left over.
        while storm.venue.engine.has_backlog() {
            stormed.funding.saturating_record(storm.go_on()?.held_ns);
        }
    }
    let (mut falls, mut steps) = (0, 0);
    while falls < falls_wanted {
        index -= INDEX / 400;
        steps += 1;
        let round = storm.round(index, positions)?;
        if falls == 0 && round.liquidations == 0 {
            if steps == STEPS_MAX {
                bail!("nobody is liquidated after {steps} steps down");
            }
            continue;
        }
        falls += 1;
        stormed.fell(&round);
        while storm.venue.engine.has_backlog() {
            if storm.beside.is_some() {
                storm.idle_a_little();
            }
            let round = storm.go_on()?;
            stormed.fell(&round);
        }
    }
    Ok(stormed)
}

impl Stormed {
    fn fell(&mut self, round: &Round) {
        let to = if round.is_funding { &mut self.funding } else { &mut self.falling };
        to.saturating_record(round.held_ns);
        self.liquidations += round.liquidations;
        self.takeovers += round.takeovers;
    }
}

impl Storm {
    /// A market with `positions` open positions, an even number.
    fn new(positions: u32, seed: u64) -> Result<Storm> {
        let mut random = Random::new(seed);
        let venue = Venue::with_positions(positions, &mut random)?;
        Ok(Storm { venue, random, idling: Random::new(seed), orders: u64::from(positions), beside: None })
    }

    /// With an engine beside it that stands where it stands, and tests and orders everybody.
    fn with_another_beside(mut self) -> Result<Storm> {
        for (parameter, value) in
            [(PerpetualParameter::Damp, 10_000_000), (PerpetualParameter::Interest, -800_000)]
        {
            let parameter = parameter as u32;
            self.accepted(Command::new(SetPerpetualParameter { market: MARKET, parameter, value }))?;
        }
        let mut bytes = Vec::new();
        self.venue.engine.save(&mut bytes);
        let config = EngineConfig { orders: 1 << 16, accounts: 1 << 16, ..EngineConfig::default() };
        let Ok(mut beside) = Engine::load(&config, &bytes) else { bail!("a snapshot that does not load") };
        beside.test_every_position();
        self.beside = Some((beside, Outbox::new(4_096)));
        Ok(self)
    }

    /// Nothing to do for long.
    fn idle(&mut self) {
        while self.venue.engine.tidy() {}
    }

    /// Nothing to do between two commands of a fall, for a moment.
    fn idle_a_little(&mut self) {
        for _ in 0..self.idling.below(STEPS_BETWEEN) {
            self.venue.engine.tidy();
        }
    }

    /// Has the engine beside it, if there is one, carry out the last commands, which must come to the same.
    fn compare(&mut self, commands: &[Command]) -> Result<()> {
        let Some((beside, outbox)) = &mut self.beside else { return Ok(()) };
        outbox.clear();
        commands.iter().for_each(|command| beside.apply(command, outbox));
        let (events, others) = (self.venue.outbox.events(), outbox.events());
        if events != others {
            let differing = events.iter().zip(others).find(|(event, other)| event != other);
            bail!("another order of counterparties after {commands:?}: {differing:?}");
        }
        Ok(())
    }

    /// One move of the mark with an order behind it.
    fn round(&mut self, index: Price, positions: u32) -> Result<Round> {
        self.accepted(Command::new(SetManualPrice { market: MARKET, moves_band: 0, price: index }))?;
        self.venue.time_ns += 1_000_000_000;
        let tick = self.venue.stamp(Command::new(AdvanceTime {}));
        self.orders += 1;
        let price = (index - index / 50) / TICK * TICK;
        // What could match is refused while liquidations wait.
        let post_only = PerpetualTimeInForce::PostOnly;
        let user = positions + 1;
        let order =
            self.venue.stamp(Command::new(limit(user, Side::Buy, price, LOT, post_only, self.orders)));
        self.venue.outbox.clear();
        let start = Instant::now();
        self.venue.engine.apply(&tick, &mut self.venue.outbox);
        self.venue.engine.apply(&order, &mut self.venue.outbox);
        let held_ns = start.elapsed().as_nanos() as u64;
        let done = self.venue.outbox.events().last().and_then(Event::get::<Done>).copied();
        let Some(done) = done.filter(|done| done.reject == 0) else {
            bail!("the order was refused: {done:?}")
        };
        let round = self.came_to(held_ns);
        self.compare(&[tick, order])?;
        self.accepted(Command::new(CancelPerpetual {
            account: user,
            market: MARKET,
            order: done.order,
            client_order: [0; 36],
            classes: order_class::ORDINARY,
        }))?;
        if self.beside.is_none() {
            self.idle();
        }
        Ok(round)
    }

    /// Time advances while liquidations are left over.
    fn go_on(&mut self) -> Result<Round> {
        let tick = self.venue.stamp(Command::new(AdvanceTime {}));
        self.venue.outbox.clear();
        let start = Instant::now();
        self.venue.engine.apply(&tick, &mut self.venue.outbox);
        let round = self.came_to(start.elapsed().as_nanos() as u64);
        self.compare(&[tick])?;
        Ok(round)
    }

    /// What the last commands came to.
    fn came_to(&self, held_ns: u64) -> Round {
        let events = self.venue.outbox.events();
        let count = |step: LiquidationStep| {
            let steps = events.iter().filter_map(Event::get::<Liquidation>);
            steps.filter(|found| found.step == step as u8).count()
        };
        Round {
            held_ns,
            liquidations: count(LiquidationStep::Begin),
            takeovers: count(LiquidationStep::Adl),
            is_funding: events.iter().any(|event| event.get::<FundingSettled>().is_some()),
        }
    }

    /// Carries out a command that nothing may refuse.
    fn accepted(&mut self, command: Command) -> Result<()> {
        let command = self.venue.accepted(command)?;
        self.compare(&[command])
    }
}
