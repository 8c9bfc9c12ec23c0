//! How near the processors are to each other. On a virtual machine that changes while it runs: its processors are threads of the
//! host, now two of one core, now neighbours, now far apart, and what goes from one stage to the next costs accordingly.

use ringside_core::pin::{cores, pin_current_thread};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

/// Round trips in all, and in a look at the clock, the shortest of which counts.
const TRIPS: u64 = 20_000;
const TRIPS_TIMED: u64 = 100;

/// Nanoseconds in which a line goes from the first processor that may be used to the second and back; 0 where there is only one.
pub fn round_trip() -> f64 {
    let [first, second, ..] = cores()[..] else { return 0.0 };
    let line = Line(AtomicU64::new(0));
    let play = |side: u64, core: usize| {
        // Without its own processor it takes as long as the system's turns are, which shows.
        let _ = pin_current_thread(core);
        let (mut shortest, mut begun) = (f64::INFINITY, Instant::now());
        for trip in 1..=TRIPS {
            let turn = 2 * (trip - 1) + side;
            while line.0.load(Ordering::Acquire) != turn {
                spin_loop();
            }
            line.0.store(turn + 1, Ordering::Release);
            if trip.is_multiple_of(TRIPS_TIMED) {
                shortest = shortest.min(begun.elapsed().as_nanos() as f64 / TRIPS_TIMED as f64);
                begun = Instant::now();
            }
        }
        shortest
    };
    let play = &play;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || play(1, second));
        let own = scope.spawn(move || play(0, first));
        let shortest = own.join().unwrap_or(f64::INFINITY);
        let _ = other.join();
        shortest
    })
}
