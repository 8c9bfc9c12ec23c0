//! Row 10 of the failure model: whatever the machine's clock does, timers, liquidations and funding come at the right pace.

use crate::support::perpetual::{BTC, Venue, dec, held, leverage, no_fees, open};
use crate::support::random::Random;
use crate::support::seeds::seeds;
use ringside_core::command::{AdvanceTime, SetCountdown, SetManualPrice, Side};
use ringside_core::event::{FundingSettled, PerpetualOrder};
use ringside_core::pace::{Pace, Reading};

const DAY_MS: i64 = 86_400_000;
const HOUR_MS: i64 = 3_600_000;

/// A venue on a machine whose clock is wrong by an offset that changes; milliseconds.
struct Machine {
    venue: Venue,
    pace: Pace,
    /// Since the test began, by a clock that is right.
    true_ms: i64,
    offset_ms: i64,
    /// When the process began, by the clock that is right.
    started_ms: i64,
}

impl Machine {
    fn new(venue: Venue) -> Machine {
        let now = Reading { wall_ns: venue.time_ms * 1_000_000, boot_ns: 7 };
        let offset_ms = venue.time_ms;
        let pace = Pace::begin(now.wall_ns, now);
        Machine { venue, pace, true_ms: 0, offset_ms, started_ms: 0 }
    }

    fn reading(&self) -> Reading {
        Reading {
            wall_ns: (self.true_ms + self.offset_ms) * 1_000_000,
            boot_ns: 7 + self.true_ms * 1_000_000,
        }
    }

    /// Stops and starts: engine time goes on behind the last stamp.
    fn restart(&mut self) {
        self.venue.reload();
        self.pace = Pace::begin(self.venue.engine.time_ns(), self.reading());
        self.started_ms = self.true_ms;
    }

    /// Time passes, and what is due is done; whether the clock stepped or the process was restarted just before.
    fn pass(&mut self, ms: i64, random: &mut Random) {
        match random.below(12) {
            0 => self.offset_ms += random.below(2 * DAY_MS as u64) as i64 - DAY_MS,
            1 => self.offset_ms += random.below(10_000) as i64 - 5_000,
            2 => self.restart(),
            _ => {}
        }
        self.true_ms += ms;
        let before = self.venue.time_ms;
        self.venue.time_ms = self.pace.at(self.reading()) / 1_000_000;
        assert!(self.venue.time_ms >= before, "engine time runs back");
        self.venue.ok(AdvanceTime {});
    }
}

#[test]
fn what_is_due_is_done_in_time_whatever_the_clock_does() {
    let (mut early, mut restarted) = (0, 0);
    for seed in seeds(2_000) {
        let rerun = format!("RINGSIDE_SEED={seed} cargo test -p ringside-core --test perpetual what_is_due");
        let mut random = Random::new(seed);
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        venue.fund("100000");
        venue.every = u64::MAX;
        let [maker, doomed, careful] = ["1000000", "130", "100000"].map(|wallet| venue.account(wallet));
        leverage(&mut venue, doomed, 50);
        open(&mut venue, doomed, maker, Side::Buy, "0.1", "60000");
        venue.buy(maker, "1", "58000");
        let mut machine = Machine::new(venue);
        for _ in 0..random.below(20) {
            machine.pass(1_000, &mut random);
        }

        // A dead-man switch over an order that rests.
        let order = machine.venue.buy(careful, "0.1", "50000");
        let countdown_ms = 1_000 + random.below(40_000) as i64;
        let set =
            SetCountdown { account: careful, market: BTC, countdown_ms, keep_reduce_only: 0, reserved: 0 };
        machine.venue.ok(set);
        let (set_ms, mut ended_ms) = (machine.true_ms, None);
        // A long that its index takes below maintenance.
        machine.venue.ok(SetManualPrice { market: BTC, moves_band: 0, price: dec("58200") });
        let (moved_ms, mut liquidated_ms) = (machine.true_ms, None);
        // The next funding hour.
        let hour = machine.venue.time_ms / HOUR_MS + 1;
        let (left_ms, hour_ms, mut funded_ms) =
            (hour * HOUR_MS - machine.venue.time_ms, machine.true_ms, None);

        while ended_ms.is_none() || liquidated_ms.is_none() || funded_ms.is_none() {
            let step_ms = if machine.true_ms < 80_000 { 1_000 } else { 60_000 };
            machine.pass(step_ms, &mut random);
            let now_ms = machine.true_ms;
            let ends = |told: &PerpetualOrder| told.order == order && told.open == 0;
            if ended_ms.is_none() && machine.venue.said::<PerpetualOrder>().iter().any(ends) {
                ended_ms = Some(now_ms);
                if machine.started_ms < set_ms {
                    let waited_ms = now_ms - set_ms;
                    assert!(waited_ms * 10 >= countdown_ms * 9, "cancelled after {waited_ms} ms: {rerun}");
                } else {
                    restarted += 1;
                    early += u32::from((now_ms - set_ms) * 10 < countdown_ms * 9);
                }
            }
            if liquidated_ms.is_none() && held(&machine.venue, doomed) == 0 {
                liquidated_ms = Some(now_ms);
            }
            if funded_ms.is_none() && !machine.venue.said::<FundingSettled>().is_empty() {
                funded_ms = Some(now_ms);
            }
            let is_late = |done: Option<i64>, began_ms: i64, within_ms: i64| {
                done.is_none() && (now_ms - began_ms) * 10 > within_ms * 12 + step_ms * 10
            };
            assert!(
                !is_late(ended_ms, set_ms, countdown_ms),
                "the switch of {countdown_ms} ms is late: {rerun}"
            );
            assert!(!is_late(liquidated_ms, moved_ms, 2_000), "the liquidation is late: {rerun}");
            assert!(!is_late(funded_ms, hour_ms, left_ms), "funding in {left_ms} ms is late: {rerun}");
        }
    }
    // A start takes a clock that is ahead at once, so that what was due in the pause comes then.
    println!("{restarted} switches ran out after a restart, {early} of them early");
}
