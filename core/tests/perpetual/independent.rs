//! The real engine and the reference model of the perpetual side get the same random commands and must emit the same
//! events, byte for byte, after each: 40 to 48 accounts, two markets, an index that jumps by 0.3, 1.2, 4 and 9 %, insurance
//! funds of 0, 5, 500 and 50,000 USDT, every kind of perpetual command, prices of some thousand steps, orders and positions up to
//! the largest value, and values that nobody should send.
//!
//! Properties of `risk.md` 21 that are judged on these streams: 1, the model recomputes I-1 to I-13 after every command,
//! and the engine checks itself at intervals; 3, closing both markets leaves no cost, and all wallets together DEP; 4, the
//! engine goes on from its own snapshots, and the commands from a snapshot on lead to the same hash; 5, what a liquidation
//! leaves; 6, orders that only close are not refused for margin; 8a, positions and profits by the histories of their accounts
//! (`support/perpetual/histories.rs`). Wallets, positions and spot balances are compared through the engine's views at intervals.
//!
//! Not covered: properties 2, 7 and 8 (unit tests of `risk/perpetual/`), and the windows after a recovery
//! (`recovery.rs`).
//!
//! `RINGSIDE_COMMANDS` sets how many commands in all (2,000,000 for the whole proof), `RINGSIDE_SEED` the first seed.
//! A failure prints the line that reruns it and the shortest
//! stream found that still fails.

use crate::model::Model;
use crate::model::stream::Stream;
use crate::model::view::Told;
use crate::model::{FUND, Stage};
use crate::support::model::Seen;
use crate::support::perpetual::histories::Histories;
use crate::support::perpetual::plain::Plain;
use crate::support::versus::{Versus, config, run_streams, same_events};
use ringside_core::audit::Auditor;
use ringside_core::command::{
    AdvanceTime, Command, Kind, MarginMode, PerpetualOrderType, PerpetualState, PlacePerpetual,
    SetPerpetualState, Side, order_flag,
};
use ringside_core::engine::Engine;
use ringside_core::event::{self, Event, Liquidation, LiquidationStep, PostingReason};
use ringside_core::ids::{AccountId, FIRST_PERPETUAL};
use ringside_core::reject::Reject;

/// Property 6, where it bites.
const CLOSED: &str = "closing orders taken with nothing available";
/// The bound of a command's liquidations.
const LEFT_OVER: &str = "commands that left something over";
const TRIGGERS: &str = "commands that left triggers over";
const TRIMS: &str = "commands that left orders to be trimmed";
const PAUSED: &str = "commands that left a liquidation in its midst";
const DATES: &str = "ticks that left dates or countdowns over";
const HOURS: &str = "commands that left funding over";
const CLOSES: &str = "commands that left a market closing";
const BUSY: &str = "orders refused as something was left over";
/// The ends of the ranges of `risk.md` 1.
const CHEAP: &str = "trades at prices of some thousand steps";
const LARGE: &str = "trades of more than 10,000,000 USDT";
/// Funding that an isolated wallet does not have.
const PROFIT: &str = "payments out of the profit of an isolated position";
const CLEARED: &str = "payments to isolated positions by the fund";
/// Trades by what they came of.
const CAUSES: [&str; 5] =
    ["trades", "trades of liquidations", "takeovers", "counterparties deleveraged", "positions settled"];

/// Both engines.
struct Pair {
    real: Engine,
    model: Model,
    auditor: Auditor,
    events: Vec<Event>,
    /// A snapshot of the real engine and the sequence of the first command after it.
    snapshot: Option<(Vec<u8>, u64)>,
    /// Orders that close, taken with nothing available: property 6.
    closed_without_margin: u64,
    /// Commands that left something over for the next, and what: triggers, trims, a liquidation in its midst, dates, funding, a market that closes; then orders
    /// refused for that.
    left_over: u64,
    left: [u64; 7],
    cheap: u64,
    large: u64,
    profit: u64,
    cleared: u64,
    /// Property 8a.
    histories: Histories,
    /// What was told last of everything that changes.
    told: Told,
}

impl Pair {
    /// What is available to the account of a placement that can do nothing but shrink its position, and asks for nothing
    /// else: of the other side, no larger than the position, with no other order of that side.
    fn only_closes(&self, command: &Command) -> Option<i128> {
        if command.kind != Kind::PlacePerpetual as u16 {
            return None;
        }
        let place: &PlacePerpetual = command.body();
        let known = (place.account as usize) < self.model.accounts.len()
            && self.model.markets.iter().any(|market| market.id == place.market);
        let plain = place.leverage == 0
            && place.order_type == PerpetualOrderType::Limit as u8
            && place.price_match == 0
            && place.flags & (order_flag::TEST | order_flag::REDUCE_ONLY) == 0;
        if !known || !plain || place.account == FUND {
            return None;
        }
        let held = self.model.position(place.account, place.market).quantity;
        let side = Side::from_code(place.side)?;
        let opposite = if side == Side::Sell { held > 0 } else { held < 0 };
        let crowded = self.model.orders.values().any(|order| {
            order.account == place.account && order.market == place.market && order.stage == Stage::Resting
        });
        let mark = self.model.market(place.market).mark;
        // An order at twice the mark would turn the exposure round by its value alone.
        let small = i128::from(place.quantity) <= held.abs() && i128::from(place.price) <= mark * 3 / 2;
        (opposite && !crowded && small).then(|| self.model.available(place.account))
    }
}

impl Versus for Pair {
    const TEST: &'static str = "perpetual independent";
    const STREAM_LEN: u64 = 5_000;
    type Stream = Stream;

    fn new() -> Pair {
        let real = Engine::new(&config());
        Pair {
            auditor: Auditor::new(&real),
            real,
            model: Model::new(),
            events: Vec::new(),
            snapshot: None,
            closed_without_margin: 0,
            left_over: 0,
            left: [0; 7],
            cheap: 0,
            large: 0,
            profit: 0,
            cleared: 0,
            histories: Histories::default(),
            told: Told::default(),
        }
    }

    fn stream(seed: u64) -> Stream {
        Stream::new(seed)
    }

    fn next(&self, stream: &mut Stream) -> Command {
        stream.next(&self.model)
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn count(&self, seen: &mut Seen) {
        *seen.cases.entry(CLOSED).or_default() += self.closed_without_margin;
        *seen.cases.entry(LEFT_OVER).or_default() += self.left_over;
        for (case, count) in [TRIGGERS, TRIMS, PAUSED, DATES, HOURS, CLOSES, BUSY].into_iter().zip(self.left)
        {
            *seen.cases.entry(case).or_default() += count;
        }
        *seen.cases.entry(CHEAP).or_default() += self.cheap;
        *seen.cases.entry(LARGE).or_default() += self.large;
        *seen.cases.entry(PROFIT).or_default() += self.profit;
        *seen.cases.entry(CLEARED).or_default() += self.cleared;
        for (cause, count) in CAUSES.into_iter().zip(self.histories.causes) {
            *seen.cases.entry(cause).or_default() += count;
        }
    }

    /// Applies a command to both and compares what they emit; the real engine's events are then in `events`.
    ///
    /// A few commands are passed over, and after a few others the real engine goes on from its own snapshot. The
    /// command's time decides which, so that a shortened stream does the same.
    fn apply(&mut self, command: &Command) -> Result<(), String> {
        self.events.clear();
        if command.time_ns % 1_009 == 7 {
            self.real.skip(command);
            self.model.skip(command);
            self.auditor.skip();
            return Ok(());
        }
        let closes = self.only_closes(command);
        let expected = self.model.apply(command);
        self.model.check().map_err(|text| format!("{command:?}\nthe model: {text}\n{expected:#?}"))?;
        self.real.apply(command, &mut self.events);
        same_events(command, &self.events, &expected)?;
        let waits = self.model.leaves_over();
        if self.real.has_backlog() != waits {
            return Err(format!("{command:?}\nthe model has left over: {waits}"));
        }
        self.left_over += u64::from(waits);
        let done = expected.last().and_then(Event::get::<event::Done>);
        let is_left = [
            !self.model.queue.is_empty(),
            !self.model.untrimmed.is_empty(),
            self.model.paused.is_some(),
            self.model.dates_until.is_some(),
            self.model.markets.iter().any(|market| market.hour.is_some()),
            self.model.markets.iter().any(|market| market.closing.is_some()),
            done.is_some_and(|done| done.reject == Reject::EngineBusy.code()),
        ];
        self.left.iter_mut().zip(is_left).for_each(|(count, is_left)| *count += u64::from(is_left));
        if command.time_ns % 307 == 7 {
            let mut saved = Vec::new();
            self.real.save(&mut saved);
            self.real =
                Engine::load(&config(), &saved).map_err(|error| format!("its own snapshot: {error}"))?;
            if self.real.has_backlog() != waits {
                return Err(format!("{command:?}\nits own snapshot has left over: {}", !waits));
            }
            self.snapshot = Some((saved, command.sequence + 1));
        }
        self.events.iter().for_each(|event| self.auditor.event(event));
        if let Some((_, fault)) = self.auditor.fault() {
            return Err(format!("the auditor: {fault}\n{command:?}\n{:#?}", self.events));
        }
        self.histories.take(&self.events)?;
        self.told.take(&self.events);
        liquidations_end_well(&expected)?;
        for trade in crate::support::perpetual::fills(&expected) {
            self.cheap += u64::from(trade.price < 10_000);
            self.large += u64::from(trade.value > 10_000_000_000_000);
        }
        for posting in expected.iter().filter_map(Event::get::<event::Posting>) {
            self.profit += u64::from(posting.reason == PostingReason::RealisedProfit as u8);
            let is_isolated = posting.wallet == MarginMode::Isolated as u8;
            self.cleared += u64::from(is_isolated && posting.reason == PostingReason::InsuranceClear as u8);
        }
        if let Some(available) = closes {
            let refused =
                expected.iter().filter_map(Event::get::<event::Done>).map(|done| done.reject).next();
            if refused == Some(Reject::InsufficientMargin.code()) {
                return Err(format!("property 6: refused for margin: {command:?}"));
            }
            self.closed_without_margin += u64::from(available == 0 && refused == Some(0));
        }
        Ok(())
    }

    /// Has the real engine check itself, and compares what its views show.
    fn compare(&self) -> Result<(), String> {
        self.real.check_invariants()?;
        let told = self.model.told();
        self.told.compare(&told)?;
        for account in 0..self.model.accounts.len() as AccountId {
            let (real, model) = (self.real.perpetual_wallet(account), told.wallets[&account]);
            if real != model {
                return Err(format!("wallet of {account}: engine {real}, model {model}"));
            }
            for asset in 0..self.model.spot.assets.len() as u16 {
                let real = self.real.balance(account, asset).unwrap_or((0, 0));
                let model = self.model.spot.balance(account, asset);
                if real != model {
                    return Err(format!(
                        "account {account}, asset {asset}: engine {real:?}, model {model:?}"
                    ));
                }
            }
            for market in &self.model.markets {
                let real = self.real.perpetual_position(account, market.id);
                let model = told.positions.get(&(market.id, account)).copied();
                if real != model {
                    return Err(format!("position of {account}: engine {real:?}, model {model:?}"));
                }
            }
        }
        if self.real.time_ns() != self.model.spot.time_ns {
            return Err(format!("time: engine {}, model {}", self.real.time_ns(), self.model.spot.time_ns));
        }
        Ok(())
    }

    /// Properties 3 and 4, at the end of a stream. Both markets are settled.
    fn finish(&mut self, commands: &mut Vec<Command>) -> Result<(), String> {
        for market in [FIRST_PERPETUAL, FIRST_PERPETUAL + 1] {
            let state = PerpetualState::Closed as u8;
            let mut command = Command::new(SetPerpetualState { market, state, reserved: [0; 3] });
            command.sequence = commands.len() as u64 + 1;
            command.time_ns = commands.last().map_or(0, |last| last.time_ns);
            commands.push(command);
            self.apply(&command)?;
        }
        while self.real.has_backlog() {
            let mut command = Command::new(AdvanceTime {});
            command.sequence = commands.len() as u64 + 1;
            command.time_ns = commands.last().map_or(0, |last| last.time_ns + 1_000_000);
            commands.push(command);
            self.apply(&command)?;
        }
        self.compare()?;
        self.histories.judge()?;
        let open =
            self.model.positions.values().find(|position| position.quantity != 0 || position.cost != 0);
        if let Some(position) = open
            && self.model.markets.iter().all(|market| market.set_state == PerpetualState::Closed)
        {
            return Err(format!("property 3: both markets are closed, and {position:?} is left"));
        }
        if let Some((saved, from)) = self.snapshot.take() {
            let mut again =
                Engine::load(&config(), &saved).map_err(|error| format!("property 4: {error}"))?;
            let mut events = Vec::new();
            for command in &commands[from as usize - 1..] {
                if command.time_ns % 1_009 == 7 {
                    again.skip(command);
                } else {
                    again.apply(command, &mut events);
                }
                events.clear();
            }
            if again.state_hash() != self.real.state_hash() {
                return Err(format!("property 4: another hash from the snapshot before command {from} on"));
            }
        }
        Ok(())
    }
}

/// Property 5: a scope leaves its liquidation at or above maintenance margin, and with exactly nothing where its last
/// position went to the fund or to counterparties.
fn liquidations_end_well(events: &[Event]) -> Result<(), String> {
    let mut last = LiquidationStep::Begin as u8;
    for step in events.iter().filter_map(Event::get::<Liquidation>) {
        if step.step == LiquidationStep::End as u8 {
            let handed = last == LiquidationStep::Fund as u8 || last == LiquidationStep::Adl as u8;
            if step.equity < step.maintenance || (step.maintenance == 0 && handed && step.equity != 0) {
                return Err(format!("property 5: {step:?} after step {last}"));
            }
        }
        if step.step != LiquidationStep::Clear as u8 {
            last = step.step;
        }
    }
    Ok(())
}

#[test]
fn random_streams() {
    let total = crate::support::commands(500_000, 20_000);
    let seen = run_streams::<Pair>(total);
    let cases = [
        CLOSED, LEFT_OVER, CHEAP, LARGE, PROFIT, CLEARED, TRIGGERS, TRIMS, PAUSED, DATES, HOURS, CLOSES, BUSY,
    ];
    let [closed, left_over, cheap, large, profit, cleared, left @ ..] = cases.map(|case| {
        let count = seen.cases.get(case).copied().unwrap_or(0);
        eprintln!("{case}: {count}");
        count
    });
    for &kind in event::Kind::ALL {
        let count = seen.kinds.get(&(kind as u16)).copied().unwrap_or(0);
        eprintln!("  {kind:?}: {count}");
    }
    if total >= 100_000 {
        // The comparison is worth what its streams reach.
        assert!(closed > 0, "property 6 was never put to the test");
        assert!(left_over > 0, "no move of the mark brought more than one command may do");
        assert!(left.iter().all(|&count| count > 0), "not everything that may wait did: {left:?}");
        assert!(cheap > 0 && large > 0, "no trade at the ends of the ranges");
        assert!(cleared > 0, "no isolated wallet lacked anything");
        for cause in CAUSES {
            assert!(seen.cases.get(cause).is_some_and(|count| *count > 0), "no {cause}");
        }
        assert!(profit > 0 || total < 1_000_000, "no isolated wallet was filled up by its position's profit");
        for &kind in event::Kind::ALL {
            // A deficit wants a loss taken by hand while the index is gone: `recovery.rs`.
            // What operators say of themselves changes nothing, and no stream says it.
            let is_told_elsewhere = matches!(
                kind,
                event::Kind::PoolDeficit | event::Kind::OperatorNoted | event::Kind::OperatorReason
            );
            // Withdrawals have a model of their own: `withdrawal.rs`.
            let is_perpetual = (event::Kind::PerpetualOrder as u16..event::Kind::Withdrawal as u16)
                .contains(&(kind as u16))
                && !is_told_elsewhere;
            let is_reached = seen.kinds.contains_key(&(kind as u16));
            assert!(!is_perpetual || is_reached, "no stream told {kind:?}");
        }
    }
}

/// Commands as most are, from which mostly nothing follows: they are carried out by less than others.
#[test]
fn plain_streams() {
    let (mut fills, mut several, mut tiers, mut refused) = (0u32, 0u32, 0u32, 0u32);
    for seed in 1..=12 {
        let (mut flow, mut engine, mut model) = (Plain::new(seed), Engine::new(&config()), Model::new());
        for sequence in 1..=6_000u64 {
            let command = flow.command();
            let mut events: Vec<Event> = Vec::new();
            engine.apply(&command, &mut events);
            if let Err(difference) = same_events(&command, &events, &model.apply(&command)) {
                panic!("seed {seed} at {sequence}: {difference}");
            }
            flow.observe(&events);
            let trades = events.iter().filter(|event| event.get::<event::PerpetualTrade>().is_some()).count();
            fills += trades as u32;
            several += u32::from(trades > 2);
            tiers += events.iter().filter(|event| event.get::<event::VipChanged>().is_some()).count() as u32;
            let orders = events.iter().filter_map(Event::get::<event::PerpetualOrder>);
            refused += orders.filter(|order| order.expiry_reason == 10).count() as u32;
            if sequence % 151 == 0 {
                engine.check_invariants().unwrap();
                let mut bytes = Vec::new();
                engine.save(&mut bytes);
                engine = Engine::load(&config(), &bytes).unwrap();
            }
        }
    }
    eprintln!(
        "{fills} fills, {several} commands with several, {tiers} tiers, {refused} refused at the match"
    );
    assert!(fills > 20_000 && several > 1_000 && tiers > 20 && refused > 0, "the stream became another");
}
