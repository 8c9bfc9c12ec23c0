//! A worker without its server: a ring whose other end the test holds.

use super::*;
use ringside_core::agent::{Agent, Runner};
use ringside_core::command::AdvanceTime;
use ringside_core::event;
use ringside_core::ring::{self, Consumer, Doorbell, Mapping, Options, Wait};

struct Rig {
    phase: Arc<SharedEngineState>,
    port: Arc<ReplyQueue>,
    ingress: Ingress,
    ring: Consumer<Command>,
}

fn rig(capacity: usize) -> Rig {
    let phase = Arc::new(SharedEngineState::new(EngineState::Running));
    let port = Arc::new(ReplyQueue::new(phase.clone()));
    let options = Options { capacity, consumers: 1, start: 1, wait: Wait::Park };
    let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).expect("a ring");
    port.attach(CommandProducer::new(producer, 7));
    let ingress = Ingress::measured(port.clone(), Clock::manual(0), Arc::default());
    Rig { phase, port, ingress, ring: consumers.pop().expect("one consumer") }
}

impl Rig {
    /// How many commands were told to be of unknown outcome, or not to fit.
    fn counted(&self) -> [u64; 2] {
        let (_, figures) = self.ingress.0.measured.as_ref().expect("it counts");
        [Unavailable::Unknown, Unavailable::Busy].map(|reason| figures.unavailable[reason as usize].get())
    }

    fn submit(&self, priority: Priority) -> Submission {
        self.ingress.submit(Command::new(AdvanceTime {}), priority)
    }

    /// Answers everything in the ring, as matcher and egress would; gives the numbers answered.
    fn answer(&mut self) -> Vec<u64> {
        let mut numbers = Vec::new();
        self.ring.poll(usize::MAX, |_, command| {
            assert_eq!(command.source, 7);
            numbers.push(command.source_seq);
            self.port.reply(reply(command.source_seq));
        });
        self.port.wake();
        numbers
    }
}

fn reply(source_seq: u64) -> Reply {
    let done = event::Done {
        source_seq,
        source: 7,
        command: 48,
        reject: 0,
        order: 0,
        account: 0,
        market: 0,
        idempotency_key: 0,
        replayed: 0,
        update: 0,
    };
    Reply::new(100 + source_seq, 0, done)
}

fn poll(submission: &mut Submission) -> Option<Result<u64, Unavailable>> {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(submission).poll(&mut context) {
        Poll::Ready(result) => Some(result.map(|reply| reply.sequence)),
        Poll::Pending => None,
    }
}

#[test]
fn numbers_are_dense_and_replies_find_their_requests() {
    let mut rig = rig(8);
    let mut first = rig.submit(Priority::Order);
    let mut second = rig.submit(Priority::Cancel);
    drop(rig.submit(Priority::Order));
    assert_eq!((poll(&mut first), poll(&mut second), rig.port.queue_len()), (None, None, 3));
    assert_eq!(rig.answer(), [1, 2, 3]);
    assert_eq!(poll(&mut first), None, "a reply is not seen before it is taken");
    rig.ingress.take_replies();
    assert_eq!(
        (poll(&mut second), poll(&mut first), rig.port.queue_len()),
        (Some(Ok(102)), Some(Ok(101)), 0)
    );
    assert!(rig.ingress.0.state.borrow().waiting.is_empty(), "nothing is kept");
    let mut fourth = rig.submit(Priority::Order);
    assert_eq!(rig.answer(), [4]);
    rig.ingress.take_replies();
    assert_eq!(poll(&mut fourth), Some(Ok(104)));
}

#[test]
fn the_last_fifth_is_kept_for_cancels() {
    let mut rig = rig(8);
    let mut sent: Vec<_> = (0..7).map(|_| rig.submit(Priority::Order)).collect();
    assert!(sent.iter_mut().all(|submission| poll(submission).is_none()));
    assert_eq!(poll(&mut rig.submit(Priority::Order)), Some(Err(Unavailable::Busy)));
    let command = Command::new(AdvanceTime {});
    let mut second = rig.ingress.submit_after(&[command], command, Priority::Order);
    assert_eq!(poll(&mut second), Some(Err(Unavailable::Busy)));
    assert_eq!(rig.counted(), [0, 2]);
    sent.push(rig.submit(Priority::Cancel));
    assert!(sent.iter_mut().all(|submission| poll(submission).is_none()));
    assert_eq!(poll(&mut rig.submit(Priority::Internal)), Some(Err(Unavailable::Busy)));
    assert_eq!(rig.answer(), [1, 2, 3, 4, 5, 6, 7, 8], "a refused command takes no number");
    assert!(poll(&mut rig.submit(Priority::Order)).is_none(), "there is room again");
}

#[test]
fn each_phase_has_its_answer() {
    let mut rig = rig(8);
    for (phase, answer) in [
        (EngineState::Disabled, Some(Err(Unavailable::Disabled))),
        (EngineState::Restarting, Some(Err(Unavailable::Restarting))),
        (EngineState::Running, None),
    ] {
        rig.phase.set(phase);
        assert_eq!(poll(&mut rig.submit(Priority::Order)), answer);
    }
    let mut waiting = rig.submit(Priority::Order);
    assert_eq!(poll(&mut waiting), None);
    rig.phase.set(EngineState::Halted);
    rig.phase.set(EngineState::Running);
    assert_eq!(rig.phase.get(), EngineState::Halted, "nothing leaves a halt");
    assert_eq!(
        poll(&mut rig.submit(Priority::Cancel)),
        Some(Err(Unavailable::Halted)),
        "though its ring goes on"
    );
    rig.ingress.sweep();
    assert_eq!(poll(&mut waiting), Some(Err(Unavailable::Unknown)), "no reply can come any more");
    assert_eq!(rig.answer(), [1, 2]);
}

#[test]
fn who_reads_no_ring_any_more_has_halted() {
    let rig = rig(8);
    rig.ring.halt();
    assert_eq!(poll(&mut rig.submit(Priority::Cancel)), Some(Err(Unavailable::Halted)));
}

#[test]
fn the_room_on_the_disk_decides_what_is_taken() {
    let mut rig = rig(8);
    for (room, order, others) in [
        (DiskHeadroom::All, None, None),
        (DiskHeadroom::Cancels, Some(Err(Unavailable::Busy)), None),
        (DiskHeadroom::Nothing, Some(Err(Unavailable::Busy)), Some(Err(Unavailable::Busy))),
        (DiskHeadroom::All, None, None),
    ] {
        rig.phase.set_headroom(room);
        assert_eq!(rig.ingress.has_room_for_orders(), order.is_none(), "{room:?}");
        assert_eq!(poll(&mut rig.submit(Priority::Order)), order, "{room:?}");
        for priority in [Priority::Cancel, Priority::Internal] {
            assert_eq!(poll(&mut rig.submit(priority)), others, "{room:?}");
        }
    }
    assert_eq!(rig.answer(), [1, 2, 3, 4, 5, 6, 7, 8], "what is refused takes no number");
}

#[test]
fn a_request_waits_its_time_and_a_late_reply_disturbs_nobody() {
    let mut rig = rig(8);
    let mut old = rig.submit(Priority::Order);
    assert_eq!(poll(&mut old), None);
    for _ in 0..SWEEPS_MAX {
        rig.ingress.sweep();
    }
    let mut young = rig.submit(Priority::Order);
    assert_eq!((poll(&mut old), poll(&mut young)), (None, None));
    rig.ingress.sweep();
    assert_eq!((poll(&mut old), poll(&mut young)), (Some(Err(Unavailable::Unknown)), None));
    assert_eq!(rig.counted(), [1, 0]);
    assert_eq!(rig.answer(), [1, 2]);
    rig.ingress.take_replies();
    assert_eq!(poll(&mut young), Some(Ok(102)));
    assert!(rig.ingress.0.state.borrow().waiting.is_empty());
}

#[test]
fn one_turn_of_a_worker_is_shown_at_once_and_long_ones_in_parts() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let mut rig = rig(64);
    let shown = |rig: &mut Rig| rig.answer().len() as u32;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let running = tokio::task::spawn_local(rig.ingress.clone().run());
        tokio::task::yield_now().await;
        let mut sent: Vec<_> = (1..STAGED_MAX).map(|_| rig.submit(Priority::Order)).collect();
        assert_eq!(shown(&mut rig), 0, "the turn goes on");
        sent.push(rig.submit(Priority::Order));
        assert_eq!(shown(&mut rig), STAGED_MAX, "as many as wait for nothing");
        sent.extend((0..3).map(|_| rig.submit(Priority::Order)));
        tokio::task::yield_now().await;
        assert_eq!(shown(&mut rig), 3, "the turn is over");
        sent.push(rig.submit(Priority::Order));
        running.abort();
        assert!(running.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(shown(&mut rig), 1, "the end shows what is left");
        sent.push(rig.submit(Priority::Order));
        assert_eq!(shown(&mut rig), 1, "and from then on all is shown at once");
    });
}

/// The stages, as far as a worker sees them: answers every command of its ring.
struct Answering(Consumer<Command>, Arc<ReplyQueue>, Vec<Doorbell>);

impl Agent for Answering {
    fn name(&self) -> &str {
        "answering"
    }

    fn do_work(&mut self) -> usize {
        let Answering(ring, port, _) = self;
        let count = ring.poll(usize::MAX, |_, command| port.reply(reply(command.source_seq)));
        if count > 0 {
            port.wake();
        }
        count
    }

    fn doorbells(&self) -> &[Doorbell] {
        &self.2
    }
}

#[test]
fn a_worker_that_runs_the_stages_has_its_replies_at_the_end_of_the_turn() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let Rig { port, ingress, ring, .. } = rig(64);
    let bells = vec![ring.doorbell()];
    let runner = Runner { name: "stages".to_owned(), wait: Wait::Park, invoked: true, ..Runner::default() };
    let stages = runner.spawn(vec![Box::new(Answering(ring, port.clone(), bells))]).expect("a thread");
    port.lane.lock().as_mut().expect("a lane").invoker = Some(stages.invoker());
    tokio::task::LocalSet::new().block_on(&runtime, async {
        tokio::task::spawn_local(ingress.clone().run());
        tokio::task::yield_now().await;
        for _ in 0..50 {
            let submit = || ingress.submit(Command::new(AdvanceTime {}), Priority::Order);
            let mut sent: Vec<_> = (0..2 * STAGED_MAX).map(|_| submit()).collect();
            assert!(sent.iter_mut().all(|submission| poll(submission).is_none()), "the turn goes on");
            // Whether this thread runs the stages or, where they are about to sleep, their own: every reply comes.
            for submission in sent {
                submission.await.expect("a reply");
            }
        }
    });
    assert!(ingress.0.state.borrow().waiting.is_empty());
}

#[test]
fn one_wake_brings_all_replies_of_a_batch() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let mut rig = rig(8);
    tokio::task::LocalSet::new().block_on(&runtime, async {
        tokio::task::spawn_local(rig.ingress.clone().run());
        let waiting: Vec<_> = (0..5).map(|_| tokio::task::spawn_local(rig.submit(Priority::Order))).collect();
        tokio::task::yield_now().await;
        assert_eq!(rig.answer(), [1, 2, 3, 4, 5]);
        for (index, task) in (1..).zip(waiting) {
            let reply = task.await.expect("no panic").expect("a reply");
            assert_eq!(reply.done.source_seq, index);
        }
    });
}

#[test]
fn a_lane_that_is_taken_back_leaves_nobody_waiting_and_another_one_goes_on() {
    let mut rig = rig(8);
    let (mut asked, mut told) = (rig.submit(Priority::Order), rig.submit(Priority::Order));
    drop(rig.submit(Priority::Order));
    assert_eq!(rig.answer().len(), 3);
    rig.ingress.take_replies();
    assert_eq!(poll(&mut told), Some(Ok(102)));
    let mut waits = rig.submit(Priority::Order);
    assert_eq!((poll(&mut waits), rig.port.queue_len()), (None, 1));
    rig.port.detach(false);
    rig.phase.set(EngineState::Mirror);
    // A reply of before that comes late is nobody's.
    rig.ingress.take_replies();
    assert_eq!(poll(&mut asked), Some(Ok(101)), "it was answered before");
    assert_eq!(poll(&mut waits), Some(Err(Unavailable::Unknown)));
    assert_eq!((rig.counted(), rig.port.queue_len()), ([1, 0], 0));
    assert_eq!(poll(&mut rig.submit(Priority::Order)), Some(Err(Unavailable::Mirror)));

    let options = Options { capacity: 8, consumers: 1, start: 1, wait: Wait::Park };
    let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).expect("a ring");
    rig.port.attach(CommandProducer::new(producer, 7));
    rig.ring = consumers.pop().expect("one consumer");
    rig.phase.set(EngineState::Running);
    for number in 1..=3 {
        let mut again = rig.submit(Priority::Order);
        assert_eq!(poll(&mut again), None);
        assert_eq!(rig.answer(), [number], "numbers begin anew with the source");
        rig.ingress.take_replies();
        assert_eq!(poll(&mut again), Some(Ok(100 + number)));
    }
    assert_eq!(rig.port.queue_len(), 0);
    assert!(rig.ingress.0.state.borrow().waiting.is_empty(), "nothing of before is kept");
}

#[test]
fn behind_the_end_of_its_lease_a_leader_takes_and_shows_nothing() {
    let rig = rig(8);
    let lease = Arc::new(Lease::default());
    rig.phase.leased(lease.clone());
    assert_eq!((rig.phase.get(), rig.phase.takes_orders()), (EngineState::Restarting, false));
    assert_eq!(poll(&mut rig.submit(Priority::Cancel)), Some(Err(Unavailable::Restarting)));
    lease.set(u64::MAX);
    assert_eq!((rig.phase.get(), poll(&mut rig.submit(Priority::Order))), (EngineState::Running, None));
    lease.set(lease.now_ms());
    assert_eq!(rig.phase.get(), EngineState::Restarting, "the end is not in it");
    rig.phase.set(EngineState::Mirror);
    assert_eq!(rig.phase.get(), EngineState::Mirror, "who follows needs none");
}

#[test]
fn what_a_lane_never_came_to_do_is_known_unless_the_lane_was_missed() {
    let mut rig = rig(8);
    let mut done = rig.submit(Priority::Order);
    rig.ingress.take_replies();
    rig.answer();
    let mut known = rig.submit(Priority::Order);
    rig.port.detach(true);
    // One that came by that lane and is late.
    rig.port.reply(Reply::new(9, 0, event::Done { source: 6, ..reply(2).done }));
    rig.ingress.take_replies();
    assert_eq!(poll(&mut done), Some(Ok(101)), "its reply was there");
    assert_eq!(poll(&mut known), Some(Err(Unavailable::Restarting)));
    let options = Options { capacity: 8, consumers: 1, start: 1, wait: Wait::Park };
    let (producer, _ring) = ring::create(Mapping::anonymous(), options).expect("a ring");
    rig.port.attach(CommandProducer::new(producer, 8));
    let mut unknown = rig.submit(Priority::Order);
    assert_eq!(poll(&mut unknown), None);
    rig.port.detach(false);
    rig.port.detach(true);
    rig.ingress.take_replies();
    assert_eq!(poll(&mut unknown), Some(Err(Unavailable::Unknown)), "one detach was not heard of");
}
