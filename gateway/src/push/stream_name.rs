//! Names of streams: text to topic and back. A table of this file is the only place where a name's spelling stands.

use super::topic::{Kind, Topic};
use ringside_core::ids::ALL_MARKETS;
use ringside_views::perpetual::market::MarketTable;
use ringside_views::perpetual::series::INTERVALS;

/// Speeds of depth streams, with what stands in the name: milliseconds between two events, 0 for each command.
pub const SPEEDS: [(&str, i64); 5] =
    [("", 250), ("@250ms", 250), ("@500ms", 500), ("@100ms", 100), ("@0ms", 0)];

/// Levels of a side in depth streams that send the best ones.
pub const LEVELS: [usize; 3] = [5, 10, 20];

/// Streams of one market whose whole name follows the symbol, with the detail of their topics.
const OF_MARKET: [(&str, Kind, u16); 8] = [
    ("trade", Kind::PerpetualTrade, 0),
    ("aggTrade", Kind::AggregateTrade, 0),
    ("bookTicker", Kind::BestPrice, 0),
    ("markPrice", Kind::Mark, 0),
    ("markPrice@1s", Kind::Mark, 1),
    ("miniTicker", Kind::MiniDay, 0),
    ("ticker", Kind::Day, 0),
    ("forceOrder", Kind::ForcedOrder, 0),
];

/// Streams of all markets.
const OF_ALL: [(&str, Kind, u16); 7] = [
    ("!bookTicker", Kind::BestPrice, 0),
    ("!markPrice@arr", Kind::Mark, 0),
    ("!markPrice@arr@1s", Kind::Mark, 1),
    ("!miniTicker@arr", Kind::MiniDay, 0),
    ("!ticker@arr", Kind::Day, 0),
    ("!forceOrder@arr", Kind::ForcedOrder, 0),
    ("!contractInfo", Kind::Contract, 0),
];

const PAIR: &str = "_perpetual";
const PAIR_CANDLES: &str = "continuousKline_";
const CANDLES: &str = "kline_";
const DEPTH: &str = "depth";

/// A name as it is repeated: what stands before the first `@` in lower case.
pub fn canonical(name: &str) -> String {
    match name.split_once('@') {
        Some((symbol, rest)) if !name.starts_with('!') => format!("{}@{rest}", symbol.to_ascii_lowercase()),
        _ => name.to_owned(),
    }
}

/// The topic of a name; `None` where it is of no form, or of no market.
pub fn parse(name: &str, markets: &MarketTable) -> Option<Topic> {
    if name.starts_with('!') {
        let (_, kind, detail) = OF_ALL.iter().find(|(known, ..)| *known == name)?;
        return Some(Topic { kind: *kind, id: ALL_MARKETS, detail: *detail });
    }
    let (symbol, stream) = name.split_once('@')?;
    if let Some(word) = stream.strip_prefix(PAIR_CANDLES) {
        let pair = symbol.len().checked_sub(PAIR.len()).and_then(|end| symbol.split_at_checked(end));
        let (pair, _) = pair.filter(|(_, suffix)| suffix.eq_ignore_ascii_case(PAIR))?;
        let id = markets.by_symbol(pair)?.market;
        return Some(Topic { kind: Kind::PairCandle, id, detail: interval(word)? });
    }
    let (kind, detail) = of_market(stream)?;
    Some(Topic { kind, id: markets.by_symbol(symbol)?.market, detail })
}

fn of_market(stream: &str) -> Option<(Kind, u16)> {
    if let Some((_, kind, detail)) = OF_MARKET.iter().find(|(known, ..)| *known == stream) {
        return Some((*kind, *detail));
    }
    if let Some(word) = stream.strip_prefix(CANDLES) {
        return Some((Kind::Candle, interval(word)?));
    }
    let rest = stream.strip_prefix(DEPTH)?;
    let (levels, speed) = rest.split_at(rest.find('@').unwrap_or(rest.len()));
    let speed = SPEEDS.iter().position(|(known, _)| *known == speed)? as u16;
    if levels.is_empty() {
        return Some((Kind::DepthDiff, speed));
    }
    let levels = LEVELS.iter().position(|known| known.to_string() == levels)? as u16;
    Some((Kind::DepthTop, levels * 8 + speed))
}

fn interval(word: &str) -> Option<u16> {
    INTERVALS.iter().position(|(known, _)| *known == word).map(|place| place as u16)
}

/// The name of a topic, given the market's symbol in lower case; empty where it is no stream's.
pub fn write(topic: Topic, symbol: &str) -> String {
    let Topic { kind, id, detail } = topic;
    let is_it = |(_, known, other): &&(&str, Kind, u16)| (*known, *other) == (kind, detail);
    if id == ALL_MARKETS {
        return OF_ALL.iter().find(is_it).map_or_else(String::new, |(name, ..)| (*name).to_owned());
    }
    let word = |place: u16| INTERVALS.get(usize::from(place)).map_or("", |(word, _)| word);
    match kind {
        Kind::Candle => format!("{symbol}@{CANDLES}{}", word(detail)),
        Kind::PairCandle => format!("{symbol}{PAIR}@{PAIR_CANDLES}{}", word(detail)),
        Kind::DepthDiff => format!("{symbol}@{DEPTH}{}", speed_of(topic).0),
        Kind::DepthTop => format!("{symbol}@{DEPTH}{}{}", levels_of(topic), speed_of(topic).0),
        _ => {
            let name = OF_MARKET.iter().find(is_it).map_or("", |(name, ..)| name);
            format!("{symbol}@{name}")
        }
    }
}

/// The speed of a depth stream.
pub fn speed_of(topic: Topic) -> (&'static str, i64) {
    SPEEDS[usize::from(topic.detail % 8) % SPEEDS.len()]
}

/// How many levels a stream of the best ones sends.
pub fn levels_of(topic: Topic) -> usize {
    LEVELS[usize::from(topic.detail / 8) % LEVELS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::event::{Event, PerpetualListed};
    use ringside_core::ids::FIRST_PERPETUAL;
    use ringside_views::Views;

    fn views() -> Views {
        let mut views = Views::default();
        for (market, name) in (FIRST_PERPETUAL..).zip([b"BTCUSDT", b"ETHUSDT"]) {
            let mut symbol = [0; 20];
            symbol[..name.len()].copy_from_slice(name);
            let listed = PerpetualListed { market, base: 0, quote: 1, symbol, reserved: 0 };
            views.fold(&Event::new(1, 0, 0, listed));
        }
        views
    }

    #[test]
    fn every_name_is_written_as_it_is_read() {
        let views = views();
        let markets = views.perpetuals().markets();
        let mut names: Vec<String> = OF_ALL.iter().map(|(name, ..)| (*name).to_owned()).collect();
        names.extend(OF_MARKET.iter().map(|(name, ..)| format!("ethusdt@{name}")));
        for (word, _) in INTERVALS {
            names.extend([
                format!("ethusdt@kline_{word}"),
                format!("ethusdt_perpetual@continuousKline_{word}"),
            ]);
        }
        for (speed, _) in SPEEDS {
            names.extend(["", "5", "10", "20"].map(|levels| format!("ethusdt@depth{levels}{speed}")));
        }
        assert_eq!(names.len(), 7 + 8 + 30 + 20);
        let mut topics = Vec::new();
        for name in &names {
            let topic = parse(name, markets).unwrap_or_else(|| panic!("{name}"));
            assert!(name.starts_with('!') || topic.id == FIRST_PERPETUAL + 1, "{name}");
            assert_eq!(write(topic, "ethusdt"), *name);
            let shouted =
                name.replace("ethusdt_perpetual", "EthUSDT_PERPETUAL").replace("ethusdt", "ETHUSDT");
            assert_eq!(parse(&shouted, markets), Some(topic), "{shouted}");
            assert_eq!(canonical(&shouted), *name);
            assert!(!topics.contains(&topic), "{name}");
            topics.push(topic);
        }
    }

    #[test]
    fn other_names_are_no_streams() {
        let views = views();
        for name in [
            "",
            "@",
            "!",
            "btcusdt",
            "btcusdt@",
            "xrpusdt@trade",
            "btcusdt@Trade",
            "btcusdt@trade@1s",
            "btcusdt@kline_",
            "btcusdt@kline_2m",
            "btcusdt@kline_1M ",
            "btcusdt@depth7",
            "btcusdt@depth05",
            "btcusdt@depth5@1000ms",
            "btcusdt@depth@",
            "btcusdt@depthx",
            "btcusdt@markPrice@3s",
            "!markPrice",
            "!bookTicker@arr",
            "!ticker",
            "_perpetual@continuousKline_1m",
            "btcusdt@continuousKline_1m",
            "btcusdt_quarter@continuousKline_1m",
            "btcusdt_perpetual@kline_1m",
            "\u{e9}_perpetua@continuousKline_1m",
            "!contractInfo@arr",
            "btcusdt@contractInfo",
        ] {
            assert_eq!(parse(name, views.perpetuals().markets()), None, "{name}");
        }
    }
}
