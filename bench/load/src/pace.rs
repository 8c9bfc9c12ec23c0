//! When requests are due, so that a slow answer delays no later request's clock: latency is counted from when a
//! request was due, not from when the client got round to sending it (coordinated omission).

use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A rate of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// As fast as answers come.
    Max,
    /// So many per second, evenly.
    PerSecond(f64),
    /// As recorded, times this.
    Recorded(f64),
}

impl FromStr for Rate {
    type Err = String;

    /// `max`, `recorded`, `60x` (sixty times recorded speed), or a number per second.
    fn from_str(text: &str) -> Result<Rate, String> {
        let positive =
            |number: &str| number.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        let wanted = || format!("`{text}` is not a rate: max, recorded, 60x, or a number per second");
        match text {
            "max" => Ok(Rate::Max),
            "recorded" => Ok(Rate::Recorded(1.0)),
            _ => match text.strip_suffix('x') {
                Some(factor) => positive(factor).map(Rate::Recorded).ok_or_else(wanted),
                None => positive(text).map(Rate::PerSecond).ok_or_else(wanted),
            },
        }
    }
}

impl Rate {
    /// How long after the start request `index`, recorded at `time_ns` after the recording's start, is due;
    /// `None` for at once.
    pub fn due(self, index: u64, time_ns: u64) -> Option<Duration> {
        match self {
            Rate::Max => None,
            Rate::PerSecond(rate) => Some(Duration::from_secs_f64(index as f64 / rate)),
            Rate::Recorded(factor) => Some(Duration::from_nanos((time_ns as f64 / factor) as u64)),
        }
    }
}

/// Wakes at a moment, to some microseconds: the runtime's own timer knows only milliseconds. A thread sleeps until
/// shortly before, the rest is spent yielding to other tasks.
pub struct Alarm {
    sleeper: Sender<Instant>,
    rung: Arc<Notify>,
}

/// Sleeping threads wake up to this much late.
const SLACK: Duration = Duration::from_micros(120);

impl Alarm {
    /// Starts the sleeping thread; it ends with the alarm.
    pub fn new() -> io::Result<Alarm> {
        let (sleeper, moments) = channel::<Instant>();
        let rung = Arc::new(Notify::new());
        let bell = Arc::clone(&rung);
        std::thread::Builder::new().name("alarm".to_string()).spawn(move || {
            // A later request takes the place of an earlier one.
            let mut next: Option<Instant> = None;
            loop {
                let asked = match next {
                    None => moments.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    Some(moment) => moments.recv_timeout(moment.saturating_duration_since(Instant::now())),
                };
                match asked {
                    Ok(moment) => next = Some(moment),
                    Err(RecvTimeoutError::Timeout) => {
                        next = None;
                        bell.notify_one();
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        })?;
        Ok(Alarm { sleeper, rung })
    }

    /// Waits until `moment`. Dropped before, it may ring once for nothing, which costs the next wait a turn.
    pub async fn at(&self, moment: Instant) {
        while let Some(rest) = moment.checked_duration_since(Instant::now()) {
            if rest > 2 * SLACK {
                // The thread lives as long as the sender.
                let _ = self.sleeper.send(moment - SLACK);
                self.rung.notified().await;
            } else if rest.is_zero() {
                return;
            } else {
                tokio::task::yield_now().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_parse() {
        assert_eq!("max".parse(), Ok(Rate::Max));
        assert_eq!("recorded".parse(), Ok(Rate::Recorded(1.0)));
        assert_eq!("2.5x".parse(), Ok(Rate::Recorded(2.5)));
        assert_eq!("20000".parse(), Ok(Rate::PerSecond(20_000.0)));
        for text in ["", "x", "-1", "0", "nanx", "fast"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn alarms_ring_on_time() {
        let alarm = Alarm::new().expect("a thread");
        for wait in [Duration::ZERO, Duration::from_micros(90), Duration::from_millis(3)] {
            let moment = Instant::now() + wait;
            alarm.at(moment).await;
            assert!(Instant::now() >= moment);
        }
        // A wait that is given up must not make the next one return early.
        let late = Instant::now() + Duration::from_millis(4);
        tokio::select! {
            biased;
            () = alarm.at(late) => {}
            () = tokio::task::yield_now() => {}
        }
        let later = late + Duration::from_millis(2);
        alarm.at(later).await;
        assert!(Instant::now() >= later);
    }

    #[test]
    fn due_times() {
        assert_eq!(Rate::Max.due(7, 9), None);
        assert_eq!(Rate::PerSecond(1_000.0).due(500, 0), Some(Duration::from_millis(500)));
        assert_eq!(Rate::Recorded(60.0).due(0, 60_000_000_000), Some(Duration::from_secs(1)));
    }
}
