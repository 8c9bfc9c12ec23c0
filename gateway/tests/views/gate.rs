//! What egress holds back: of a command nothing is shown, told or answered before the journal has passed it, as the mode of the gate
//! asks for it. No sockets.

use crate::flow::{any_order, credit, list_market};
use crate::random::{Random, seeds};
use ringside_commands::ingress::{
    CommandProducer, EngineState, Ingress, Priority, ReplyQueue, SharedEngineState, Submission,
};
use ringside_core::agent::Agent;
use ringside_core::command::Command;
use ringside_core::event::Event;
use ringside_core::gate::{Gate, GateMode};
use ringside_core::ids::Sequence;
use ringside_core::money::UNIT;
use ringside_core::ring::{self, Consumer, Mapping, Options, Producer, Wait};
use ringside_core::sums::Sums;
use ringside_core::{Engine, EngineConfig};
use ringside_egress::{CommandEvents, Egress, Listener};
use ringside_views::{SharedViews, Views};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

const SLOTS: usize = 1 << 12;

/// Notes the last command that it was told, and what the views showed then.
struct Last(Arc<AtomicU64>);

impl Listener for Last {
    fn command(&mut self, told: CommandEvents<'_>, views: &Views) {
        let sequence = told.last().unwrap().sequence;
        assert_eq!(sequence, views.sequence(), "told with the views as they are after it");
        assert_eq!(sequence, self.0.swap(sequence, Ordering::Relaxed) + 1, "each in its turn");
    }

    fn flush(&mut self) {}
}

/// A worker, the engine and egress, with the journal in the hands of the test.
struct Rig {
    ingress: Ingress,
    input: Consumer<Command>,
    engine: Engine,
    output: Producer<Event>,
    gate: Arc<Gate>,
    egress: Egress,
    views: Arc<SharedViews>,
    told: Arc<AtomicU64>,
    /// By the order of their commands, those whose reply has not come.
    waiting: Vec<(Sequence, Submission)>,
}

impl Rig {
    fn new(mode: GateMode) -> Rig {
        let options = Options { capacity: SLOTS, consumers: 1, start: 1, wait: Wait::Park };
        let (input_in, mut input) = ring::create::<Command>(Mapping::anonymous(), options).unwrap();
        let (output, mut outputs) = ring::create::<Event>(Mapping::anonymous(), options).unwrap();
        let port = Arc::new(ReplyQueue::new(Arc::new(SharedEngineState::new(EngineState::Running))));
        port.attach(CommandProducer::new(input_in, 7));
        let (gate, views) = (Arc::new(Gate::new(0)), Arc::new(SharedViews::new(Views::default())));
        let ports = vec![(7, port.clone())];
        let (output_ring, sums) = (outputs.pop().unwrap(), Arc::new(Sums::since(1)));
        let mut egress = Egress::new(output_ring, gate.clone(), mode, views.clone(), ports, sums);
        let told = Arc::new(AtomicU64::new(0));
        egress.listen(Box::new(Last(told.clone())));
        let engine = Engine::new(&EngineConfig::default());
        let input = input.pop().unwrap();
        let ingress = Ingress::new(port);
        Rig { ingress, input, engine, output, gate, egress, views, told, waiting: Vec::new() }
    }

    /// A command through the ring and the engine, its events before egress.
    fn apply(&mut self, command: Command) {
        let submission = self.ingress.submit(command, Priority::Internal);
        let (engine, mut events) = (&mut self.engine, Vec::<Event>::new());
        self.input.poll(1, |_, command| {
            let sequence = engine.sequence() + 1;
            engine.apply(&Command { sequence, time_ns: sequence as i64, ..*command }, &mut events);
        });
        assert_eq!(self.output.try_publish_batch(&events), events.len());
        self.waiting.push((self.engine.sequence(), submission));
    }

    /// Lets egress do what it can. Exactly what the journal has passed must have come out of it.
    fn check(&mut self, released: Sequence) {
        while self.egress.do_work() > 0 {}
        assert_eq!(self.views.read().sequence(), released, "shown");
        assert_eq!(self.told.load(Ordering::Relaxed), released, "told");
        self.ingress.take_replies();
        let mut context = Context::from_waker(Waker::noop());
        self.waiting.retain_mut(|(sequence, submission)| match Pin::new(submission).poll(&mut context) {
            Poll::Ready(reply) => {
                assert_eq!(reply.unwrap().sequence, *sequence);
                assert!(*sequence <= released, "the reply to {sequence} came at {released}");
                false
            }
            Poll::Pending => {
                assert!(*sequence > released, "no reply to {sequence} at {released}");
                true
            }
        });
    }
}

fn commands(random: &mut Random) -> impl Iterator<Item = Command> {
    let before = std::iter::once(list_market(("DFUSDT", "DF", "USDT")))
        .chain((1..=5).flat_map(|account| ["DF", "USDT"].map(|asset| credit(account, asset, 1 << 70))));
    before.chain(std::iter::repeat_with(move || {
        let (account, price) = (1 + random.below(5) as u32, (20 + random.below(5) as i64) * 10_000);
        let quantity = (1 + random.below(50) as i64) * UNIT;
        Command::new(any_order(random, account, 0, price, quantity))
    }))
}

#[test]
fn nothing_comes_out_before_the_journal_has_passed_it() {
    for mode in [GateMode::Written, GateMode::Durable] {
        for seed in seeds(4) {
            let (mut rig, mut random) = (Rig::new(mode), Random::new(seed));
            let mut orders = Random::new(seed ^ 1);
            let mut commands = commands(&mut orders);
            let mut held_back = 0;
            for _ in 0..500 {
                for command in commands.by_ref().take(random.below(20) as usize) {
                    rig.apply(command);
                }
                let last = rig.engine.sequence();
                let (written, durable) = (rig.gate.written(), rig.gate.durable());
                match random.below(3) {
                    0 => rig.gate.publish_written(written + random.below(last - written + 1)),
                    1 => rig.gate.publish_durable(durable + random.below(written - durable + 1)),
                    _ => {}
                }
                let released = match mode {
                    GateMode::Written => rig.gate.written(),
                    GateMode::Durable => rig.gate.durable(),
                };
                rig.check(released);
                held_back += u32::from(released < last && rig.gate.written() > rig.gate.durable());
            }
            assert!(held_back > 100, "{held_back} of 500 looks saw the three apart");
            // The journal fails: what it has passed is out, and nothing more comes.
            for command in commands.by_ref().take(10) {
                rig.apply(command);
            }
            rig.gate.halt();
            rig.check(rig.gate.released(mode));
            rig.egress.close();
            rig.check(rig.gate.released(mode));
            assert!(rig.waiting.len() >= 10);
        }
    }
}

#[test]
fn closing_waits_for_what_the_journal_still_passes() {
    let (mut rig, mut orders) = (Rig::new(GateMode::Durable), Random::new(1));
    for command in commands(&mut orders).take(100) {
        rig.apply(command);
    }
    rig.check(0);
    let gate = rig.gate.clone();
    let journal = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        gate.publish_written(100);
        gate.publish_durable(100);
    });
    rig.egress.close();
    journal.join().unwrap();
    rig.check(100);
    assert!(rig.waiting.is_empty());
}
