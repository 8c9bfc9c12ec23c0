//! A disk that takes its time: replies wait, order is kept, nothing is lost, and new orders are refused while a flush takes too
//! long, so that those that wait do not become more and more.

use crate::common::{Session, for_each_seed, random_command, recover_ledger, small_config};
use ringside_persist::config::PersistConfig;
use ringside_persist::storage::faulty::{Faulty, Plan, Random};
use ringside_persist::write::status::Pressure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// As 250 ms to 3 s, on a disk that is so much quicker.
const SHED_AFTER: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(60);

#[test]
fn a_slow_disk_sheds_what_is_new_and_loses_nothing() {
    for_each_seed("slow_disk::a_slow_disk_sheds_what_is_new_and_loses_nothing", 25, |seed| {
        let mut random = Random::new(seed);
        let config = PersistConfig { shed_after: SHED_AFTER, ..small_config(&mut random) };
        let disk = Faulty::new(seed);
        let mut truth = vec![0; 2];
        let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
        truth[1] = session.hash;
        let status = session.journaller.status();
        disk.plan(Plan { delay: LONGEST, ..Plan::default() });
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut shed = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let before = status.flush_age();
                    let pressure = status.pressure();
                    // Of one and the same flush, which had taken too long before the pressure was asked for.
                    if let (Some(before), Some(after)) = (before, status.flush_age())
                        && before >= SHED_AFTER
                        && after >= before
                    {
                        assert_eq!(pressure, Pressure::CancelsOnly, "{before:?}");
                        shed += 1;
                    }
                    std::thread::yield_now();
                }
                shed
            });
            let mut durable = session.gate.durable();
            for _ in 0..12 {
                for _ in 0..random.below(6) {
                    session.publish(random_command(&mut random), &mut truth);
                }
                session.settle();
                assert!(session.gate.durable() >= durable, "what is told rises");
                durable = session.gate.durable();
                assert_eq!(durable, session.next - 1);
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(watcher.join().unwrap() > 0, "no flush took long");
        });
        disk.plan(Plan::default());
        assert_eq!((status.pressure(), status.flush_age()), (Pressure::None, None), "as soon as it is over");
        assert!(!status.is_failed());
        let recovered = recover_ledger(Arc::new(disk.power_cut(seed)), &config, &mut ()).unwrap();
        assert_eq!(recovered.report.last, session.next - 1);
    });
}
