//! `ringside top`: what a running exchange does now, refreshed in place. It asks `/metrics` and `/latency.json` as any operator may, and
//! shows the difference of two looks.
//!
//! Plain control sequences redraw it, without a library: nothing is typed at it, and what does not fit into a line is cut by the
//! terminal itself.

use super::client::Client;
use super::latency::Counted;
use super::target::Target;
use anyhow::{Context, Result, ensure};
use hyper::{Method, StatusCode};
use ringside_config::Config;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

/// What is wanted.
pub(super) struct Wanted {
    pub(super) target: Target,
    /// How long between two looks.
    pub(super) every: Duration,
    /// How many are shown; without, until it is stopped.
    pub(super) count: Option<u64>,
    pub(super) as_json: bool,
}

/// The terminal's other screen, without a cursor and without going on in the next line where one is full; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Shows it until it has been shown as often as wanted, or is stopped.
pub(super) fn top(config: &Config, wanted: &Wanted) -> Result<()> {
    let client = wanted.target.client(config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let is_drawn = !wanted.as_json && std::io::stdout().is_terminal();
    if is_drawn {
        super::show(ENTER);
    }
    let told = runtime.block_on(async {
        tokio::select! {
            told = refresh(&client, wanted, is_drawn) => told,
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    });
    if is_drawn {
        super::show(LEAVE);
    }
    told
}

async fn refresh(client: &Client, wanted: &Wanted, is_drawn: bool) -> Result<()> {
    let mut before = Look::take(client).await?;
    let mut shown = 0;
    while wanted.count.is_none_or(|count| shown < count) {
        tokio::time::sleep(wanted.every).await;
        let now = match Look::take(client).await {
            Ok(now) => now,
            // One that is started again is waited for, where somebody watches.
            Err(error) if is_drawn => {
                super::show(&format!("\x1b[H\x1b[J{}: {error:#}\n", wanted.target.url));
                continue;
            }
            Err(error) => return Err(error),
        };
        let interval = Interval::between(&before, &now);
        let text = match wanted.as_json {
            true => format!("{}\n", interval.json()),
            false if is_drawn => {
                format!("\x1b[H{}\x1b[J", interval.text(&wanted.target.url).replace('\n', "\x1b[K\n"))
            }
            false => interval.text(&wanted.target.url),
        };
        let mut out = std::io::stdout().lock();
        // Whoever read it has gone.
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
            break;
        }
        before = now;
        shown += 1;
    }
    Ok(())
}

/// Labels of a sample by name.
type Labels = BTreeMap<String, String>;

/// Figures and latencies at a moment.
struct Look {
    at: Instant,
    /// Samples by the name of their family.
    samples: BTreeMap<String, Vec<(Labels, f64)>>,
    counted: Counted,
}

impl Look {
    async fn take(client: &Client) -> Result<Look> {
        let (status, page) = client.ask(Method::GET, "/metrics", None).await?;
        ensure!(status == StatusCode::OK, "/metrics: {status} {}", String::from_utf8_lossy(&page));
        let page = std::str::from_utf8(&page).context("/metrics is no text")?;
        Ok(Look { at: Instant::now(), samples: read(page), counted: Counted::ask(client).await? })
    }

    fn of(&self, family: &str) -> impl Iterator<Item = &(Labels, f64)> {
        self.samples.get(family).into_iter().flatten()
    }

    fn sum(&self, family: &str) -> f64 {
        self.of(family).map(|(_, value)| value).sum()
    }

    /// Of a family of one sample; `None` where it is not on the page.
    fn gauge(&self, family: &str) -> Option<f64> {
        self.of(family).map(|(_, value)| *value).next()
    }

    /// The values of a family by one label, added up.
    fn by(&self, family: &str, label: &str) -> BTreeMap<&str, f64> {
        let mut found = BTreeMap::new();
        for (labels, value) in self.of(family) {
            *found.entry(labels.get(label).map_or("", String::as_str)).or_default() += value;
        }
        found
    }

    /// The value of `label` of the sample that is 1, for each value of `key`.
    fn states(&self, family: &str, key: &str, label: &str) -> BTreeMap<&str, &str> {
        self.of(family)
            .filter(|(_, value)| *value == 1.0)
            .map(|(labels, _)| {
                let of = |name: &str| labels.get(name).map_or("", String::as_str);
                (of(key), of(label))
            })
            .collect()
    }
}

/// Reads the page of figures; buckets of histograms are left out, which [`Counted`] has finer.
fn read(page: &str) -> BTreeMap<String, Vec<(Labels, f64)>> {
    let mut samples: BTreeMap<String, Vec<(Labels, f64)>> = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let (family, labels) = name.split_once('{').unwrap_or((name, ""));
        let Some(value) = value.parse().ok().filter(|_| !family.ends_with("_bucket")) else { continue };
        let labels = labels.trim_end_matches('}').split(',').filter_map(|pair| pair.split_once('='));
        let labels = labels.map(|(name, text)| (name.to_owned(), text.trim_matches('"').to_owned()));
        samples.entry(family.to_owned()).or_default().push((labels.collect(), value));
    }
    samples
}

/// What happened between two looks, and how it is at the second.
struct Interval<'a> {
    now: &'a Look,
    before: &'a Look,
    seconds: f64,
    latencies: Counted,
}

impl<'a> Interval<'a> {
    fn between(before: &'a Look, now: &'a Look) -> Interval<'a> {
        let seconds = (now.at - before.at).as_secs_f64().max(1e-3);
        Interval { now, before, seconds, latencies: now.counted.clone().since(&before.counted) }
    }

    /// How much a counter grew a second; one that began anew counts from 0.
    fn rate(&self, of: impl Fn(&Look) -> f64) -> f64 {
        let (before, now) = (of(self.before), of(self.now));
        let grown = if now < before { now } else { now - before };
        (grown / self.seconds * 10.0).round() / 10.0
    }

    fn rates(&self, family: &str, label: &str) -> BTreeMap<&str, f64> {
        let names = self.now.by(family, label).into_keys();
        let rate = |name| (name, self.rate(|look| look.by(family, label).get(name).copied().unwrap_or(0.0)));
        names.map(rate).collect()
    }

    fn total(&self, family: &str) -> f64 {
        self.rate(|look| look.sum(family))
    }

    /// Commands that the journal holds and something else has not come to yet.
    fn behind(&self, sequence: &str) -> Option<f64> {
        let durable = self.now.gauge("ringside_journal_durable_sequence")?;
        Some((durable - self.now.gauge(sequence)?).max(0.0))
    }

    fn orders(&self) -> f64 {
        self.rate(|look| {
            let commands = look.by("ringside_commands_total", "kind");
            let is_order = |kind: &str| kind.contains("Order") && !kind.contains("Note");
            commands.iter().filter(|(kind, _)| is_order(kind)).map(|(_, count)| count).sum()
        })
    }

    fn phase(&self) -> &str {
        let phases = self.now.by("ringside_phase", "phase");
        phases.into_iter().find(|(_, value)| *value == 1.0).map_or("unknown", |(phase, _)| phase)
    }

    fn rings(&self) -> BTreeMap<&str, (f64, f64)> {
        let capacities = self.now.by("ringside_ring_capacity", "ring");
        let depths = self.now.by("ringside_ring_depth", "ring").into_iter();
        depths.map(|(ring, depth)| (ring, (depth, capacities.get(ring).copied().unwrap_or(0.0)))).collect()
    }

    fn indices(&self) -> BTreeMap<&str, &str> {
        self.now.states("ringside_index_state", "market", "state")
    }

    fn json(&self) -> Value {
        let gauge = |family| self.now.gauge(family);
        let rings = self.rings().into_iter().map(|(ring, (depth, capacity))| {
            (ring.to_owned(), json!({ "depth": depth as u64, "capacity": capacity as u64 }))
        });
        json!({
            "phase": self.phase(),
            "up_s": gauge("ringside_up_seconds"),
            "sequence": gauge("ringside_sequence"),
            "interval_ms": (self.seconds * 1_000.0).round(),
            "per_second": {
                "commands": self.total("ringside_commands_total"),
                "orders": self.orders(),
                "trades": self.total("ringside_trades_total"),
                "events": self.total("ringside_events_total"),
                "answers": self.rates("ringside_answers_total", "status"),
                "limited": self.rates("ringside_limited_total", "status"),
                "unavailable": self.rates("ringside_unavailable_total", "reason"),
                "journal_bytes": self.total("ringside_journal_bytes_total"),
                "pushes": self.total("ringside_frames_queued_total"),
                "pushes_dropped": self.total("ringside_frames_dropped_total"),
                "ring_stalls": self.rates("ringside_ring_stalls_total", "ring"),
            },
            "latency_us": self.latencies.stages_json(),
            "rings": rings.collect::<Map<_, _>>(),
            "limited_total": self.now.sum("ringside_limited_total"),
            "sync_under_way_us": gauge("ringside_sync_age_seconds").map(|seconds| (seconds * 1e6).round()),
            "behind_commands": {
                "follower": gauge("ringside_follower_behind_commands"),
                "archive": self.behind("ringside_archived_sequence"),
            },
            "snapshot_age_s": gauge("ringside_snapshot_age_seconds"),
            "connections": gauge("ringside_connections"),
            "connections_max": gauge("ringside_connections_max"),
            "websockets": gauge("ringside_websockets"),
            "disk_free_bytes": gauge("ringside_disk_free_bytes"),
            "disk_pressure": gauge("ringside_disk_pressure"),
            "insurance_fund": gauge("ringside_insurance_fund"),
            "index_states": self.indices(),
        })
    }

    fn text(&self, url: &str) -> String {
        let gauge = |family| self.now.gauge(family).unwrap_or(0.0);
        let mut text = String::new();
        let up = Duration::from_secs(gauge("ringside_up_seconds") as u64);
        // Writing into a string cannot fail, here and below.
        let _ =
            writeln!(text, "{url}   {}   up {up:?}   command {}\n", self.phase(), gauge("ringside_sequence"));
        let mut line = |name: &str, said: String| _ = writeln!(text, "{name:13}{said}");
        line(
            "a second",
            format!(
                "commands {}   orders {}   trades {}   events {}",
                self.total("ringside_commands_total"),
                self.orders(),
                self.total("ringside_trades_total"),
                self.total("ringside_events_total"),
            ),
        );
        line("answers", list(self.rates("ringside_answers_total", "status")));
        line(
            "limits hit",
            format!(
                "{}   since the start {}",
                list(self.rates("ringside_limited_total", "status")),
                self.now.sum("ringside_limited_total")
            ),
        );
        line("not taken", list(self.rates("ringside_unavailable_total", "reason")));
        line("", String::new());
        for row in self.latencies.table().lines() {
            line("", row.to_owned());
        }
        line("", String::new());
        let rings = self.rings().into_iter();
        line(
            "rings",
            rings.map(|(ring, (depth, of))| format!("{ring} {depth}/{of}")).collect::<Vec<_>>().join("   "),
        );
        line("stalls", list(self.rates("ringside_ring_stalls_total", "ring")));
        line(
            "journal",
            format!(
                "{} a second   sync under way {:.1} ms   segments ahead {}",
                bytes(self.total("ringside_journal_bytes_total")),
                gauge("ringside_sync_age_seconds") * 1e3,
                gauge("ringside_journal_spares"),
            ),
        );
        line(
            "behind",
            format!(
                "follower {} commands   archive {}   snapshot {:.0} s old",
                gauge("ringside_follower_behind_commands"),
                self.behind("ringside_archived_sequence").unwrap_or(0.0),
                gauge("ringside_snapshot_age_seconds"),
            ),
        );
        line(
            "connections",
            format!(
                "{} of {}   WebSockets {}   pushes {}   dropped {}",
                gauge("ringside_connections"),
                gauge("ringside_connections_max"),
                gauge("ringside_websockets"),
                self.total("ringside_frames_queued_total"),
                self.total("ringside_frames_dropped_total"),
            ),
        );
        line("disk left", bytes(gauge("ringside_disk_free_bytes")));
        line("fund", gauge("ringside_insurance_fund").to_string());
        let mut by_state: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (market, state) in self.indices() {
            by_state.entry(state).or_default().push(market);
        }
        let states = by_state.into_iter().map(|(state, markets)| format!("{state}: {}", markets.join(" ")));
        line("index", states.collect::<Vec<_>>().join("   "));
        text
    }
}

fn list(values: BTreeMap<&str, f64>) -> String {
    let values = values.into_iter().filter(|(name, _)| !name.starts_with("1"));
    values.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join("   ")
}

fn bytes(value: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (0..units.len() - 1)
        .find(|power| value < 1024_f64.powi(*power as i32 + 1))
        .unwrap_or(units.len() - 1);
    format!("{:.1} {}", value / 1024_f64.powi(power as i32), units[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(page: &str, at: Instant, order: &[(u64, u64)]) -> Look {
        let counted = json!({ "since_ms": 5, "stages": { "order": order } });
        Look { at, samples: read(page), counted: serde_json::from_value(counted).unwrap() }
    }

    #[test]
    fn two_looks_make_an_interval() {
        let begin = Instant::now();
        let before = look(
            "# HELP x\nringside_commands_total{kind=\"PlaceOrder\"} 10\nringside_commands_total{kind=\"Credit\"} 1\n",
            begin,
            &[(100_000, 1)],
        );
        let now = look(
            "ringside_commands_total{kind=\"PlaceOrder\"} 30\nringside_commands_total{kind=\"Credit\"} 5\n\
             ringside_journal_durable_sequence 40\nringside_archived_sequence 33\n\
             ringside_stage_seconds_bucket{stage=\"ring\",le=\"0.1\"} 3\n\
             ringside_index_state{market=\"BTCUSDT\",state=\"live\"} 1\n\
             ringside_index_state{market=\"BTCUSDT\",state=\"stale\"} 0\n",
            begin + Duration::from_secs(2),
            &[(100_000, 4)],
        );
        let interval = Interval::between(&before, &now);
        let told = interval.json();
        assert_eq!(told["per_second"]["commands"], 12.0);
        assert_eq!(told["per_second"]["orders"], 10.0);
        assert_eq!(told["behind_commands"]["archive"], 7.0);
        assert_eq!(told["latency_us"]["order"]["count"], 3);
        assert_eq!(told["index_states"]["BTCUSDT"], "live");
        assert!(!now.samples.contains_key("ringside_stage_seconds_bucket"));
        // Counters of one that was started again.
        assert_eq!(
            Interval::between(&now, &before).rate(|look| look.sum("ringside_commands_total")),
            11_000.0
        );
        let text = interval.text("http://x");
        assert!(text.contains("commands 12   orders 10") && text.contains("live: BTCUSDT"), "{text}");
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!((bytes(0.0), bytes(1536.0)), ("0.0 B".to_owned(), "1.5 KiB".to_owned()));
        assert_eq!(bytes(3.0 * 1024_f64.powi(4)), "3.0 TiB");
    }
}
