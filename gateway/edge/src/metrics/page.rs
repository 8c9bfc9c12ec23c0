//! The text that Prometheus reads: families with their help and type, samples with labels.

use ringside_core::figures::Counts;
use std::fmt::{Display, Write};

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes both ways.
    Gauge,
    /// Durations by bound.
    Histogram,
}

/// A page being written. Samples belong to the family begun last.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    family: &'static str,
}

impl Page {
    /// Begins a family. `help` is one line without backslashes.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.family = name;
        // Writing into a string cannot fail, here and below.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One sample of the family.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.line("", labels, None, value);
    }

    /// A family of one sample that goes both ways.
    pub fn gauge(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.family(name, Kind::Gauge, help);
        self.sample(&[], value);
    }

    /// A family of one sample that only grows.
    pub fn counter(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.family(name, Kind::Counter, help);
        self.sample(&[], value);
    }

    /// The samples of a histogram, in seconds.
    pub fn histogram(&mut self, labels: &[(&str, &str)], counts: &Counts) {
        for (bound, below) in counts.bounds() {
            self.line("_bucket", labels, Some(&Seconds(u128::from(bound)).to_string()), below);
        }
        self.line("_bucket", labels, Some("+Inf"), counts.count());
        self.line("_sum", labels, None, Seconds(counts.sum_ns()));
        self.line("_count", labels, None, counts.count());
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], bound: Option<&str>, value: impl Display) {
        let _ = write!(self.text, "{}{suffix}", self.family);
        let mut opening = '{';
        for (name, text) in labels.iter().copied().chain(bound.map(|bound| ("le", bound))) {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{opening}{name}=\"{text}\"");
            opening = ',';
        }
        if opening == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// The text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }
}

/// Nanoseconds shown as seconds, exactly.
pub struct Seconds(pub u128);

impl Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::figures::Histogram;

    #[test]
    fn a_page_as_its_reader_wants_it() {
        let mut page = Page::default();
        page.counter("a_total", "As it is", 7);
        page.family("b", Kind::Gauge, "With labels");
        page.sample(&[("x", "1"), ("y", "a \"b\" \\ c")], -2);
        let text = String::from_utf8(page.into_bytes()).unwrap();
        assert_eq!(
            text,
            "# HELP a_total As it is\n# TYPE a_total counter\na_total 7\n\
             # HELP b With labels\n# TYPE b gauge\nb{x=\"1\",y=\"a \\\"b\\\" \\\\ c\"} -2\n"
        );
    }

    #[test]
    fn histograms_of_several_threads_are_one() {
        let histograms = [Histogram::default(), Histogram::default()];
        histograms[0].record(1_000);
        histograms[1].record(1_500);
        histograms[1].record(u64::MAX / 4);
        let mut page = Page::default();
        page.family("t_seconds", Kind::Histogram, "T");
        page.histogram(&[("stage", "ring")], &Counts::of(&histograms));
        let text = String::from_utf8(page.into_bytes()).unwrap();
        for line in [
            "t_seconds_bucket{stage=\"ring\",le=\"0.000001024\"} 1\n",
            "t_seconds_bucket{stage=\"ring\",le=\"0.000001280\"} 1\n",
            "t_seconds_bucket{stage=\"ring\",le=\"0.000001536\"} 2\n",
            "t_seconds_bucket{stage=\"ring\",le=\"17.179869184\"} 2\n",
            "t_seconds_bucket{stage=\"ring\",le=\"+Inf\"} 3\n",
            "t_seconds_sum{stage=\"ring\"} 4611686018.427390403\n",
            "t_seconds_count{stage=\"ring\"} 3\n",
        ] {
            assert!(text.contains(line), "{line}\nnot in\n{text}");
        }
    }
}
