//! When requests are due, so that a slow answer delays no later request's clock: latency is counted from when a
//! request was due, not from when the client got round to sending it (coordinated omission).

use std::str::FromStr;
use std::time::Duration;

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

    #[test]
    fn due_times() {
        assert_eq!(Rate::Max.due(7, 9), None);
        assert_eq!(Rate::PerSecond(1_000.0).due(500, 0), Some(Duration::from_millis(500)));
        assert_eq!(Rate::Recorded(60.0).due(0, 60_000_000_000), Some(Duration::from_secs(1)));
    }
}
