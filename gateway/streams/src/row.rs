//! Every channel and every stream: one row with its names, what a new subscriber is shown first, what of a command it
//! waits for, and who says what. What a row of perpetual markets says is its file in `perpetual/`.

use super::detail::Detail;
use super::perpetual::{
    Begin, aggregate, best, book, candle, contract, day, depth, forced, insurance, liquidation, mark, trade,
};
use super::snapshot::{self, TakeSnapshot};
use super::topic::{Kind, Topic};
use ringside_core::event;
use ringside_core::ids::ALL_MARKETS;
use ringside_views::perpetual::market::MarketTable;

/// One row. Names are empty where there is none.
pub struct Row {
    /// Which.
    pub kind: Kind,
    /// Channel of `/ws`: `channel`, `channel:{symbol}` or `channel:{symbol}:{interval}`.
    pub channel: &'static str,
    /// The detail of the channel's topic, where its name says none.
    channel_detail: u16,
    /// `type` of the channel's frames, where what is told does not say it.
    pub frame_type: &'static str,
    /// What is sent right after the acknowledgement, if anything: taken while the views are held, so it only copies.
    pub snapshot: Option<TakeSnapshot>,
    /// Of an account: routes that say what came of events that are missing.
    pub reads: &'static [&'static str],
    /// Stream of a market: `symbol@stream`, then the detail.
    stream: &'static str,
    /// What follows the symbol in the name of its stream.
    suffix: &'static str,
    /// Stream of all markets, then the detail.
    of_all: &'static str,
    /// Whether an event of all markets is an array of theirs.
    pub is_array: bool,
    /// See there.
    pub detail: Detail,
    /// Kinds of events that it is told of.
    pub events: &'static [event::Kind],
    /// Begins to follow a perpetual market for a topic. What spot markets and accounts are told is not followed one by one.
    pub(super) begin: Option<Begin>,
}

const NONE: Row = Row {
    kind: Kind::Depth,
    channel: "",
    channel_detail: 0,
    frame_type: "",
    snapshot: None,
    reads: &[],
    stream: "",
    suffix: "",
    of_all: "",
    is_array: false,
    detail: Detail::One,
    events: &[],
    begin: None,
};

/// What a user stream tells of.
const EVERYTHING: &[&str] =
    &["/fapi/v2/account", "/fapi/v1/openOrders", "/fapi/v1/openAlgoOrders", "/fapi/v1/userTrades"];

macro_rules! rows {
    ($($kind:ident { $($member:ident: $value:expr),* $(,)? })*) => {
        /// By kind.
        static ROWS: [Row; Kind::ALL.len()] = [$(Row { kind: Kind::$kind, $($member: $value,)* ..NONE }),*];
    };
}

rows! {
    Depth { channel: "spot:depth", snapshot: Some(snapshot::depth) }
    Trade { channel: "spot:trade" }
    Ticker { channel: "spot:ticker", snapshot: Some(snapshot::ticker) }
    Kline {
        channel: "spot:kline", snapshot: Some(snapshot::kline), detail: Detail::SpotInterval,
    }
    UserOrders { channel: "spot:user:orders", reads: &["/api/v1/spot/orders", "/api/v1/spot/trades/me"] }
    UserBalances { channel: "spot:user:balances", reads: &["/api/v1/spot/balances"] }
    UserData { reads: EVERYTHING }
    AccountEvents { channel: "user_data", reads: EVERYTHING }
    AccountOrders { channel: "orders", reads: &["/fapi/v1/openOrders", "/fapi/v1/openAlgoOrders", "/fapi/v1/userTrades"] }
    AccountPositions { channel: "positions", reads: &["/fapi/v2/account"] }
    AccountBalances { channel: "balances", reads: &["/fapi/v2/account"] }
    AccountTier { channel: "vip_tier", reads: &["/fapi/v1/commissionRate"] }
    PerpetualTrade {
        channel: "trades", frame_type: "trade", stream: "trade",
        events: &[event::Kind::PerpetualTrade], begin: Some(trade::begin),
    }
    AggregateTrade { stream: "aggTrade", events: &[event::Kind::PerpetualTrade], begin: Some(aggregate::begin) }
    DepthDiff { stream: "depth", detail: Detail::Speed, begin: Some(depth::begin) }
    DepthTop { stream: "depth", detail: Detail::LevelsAndSpeed, begin: Some(book::begin_top) }
    OrderBook {
        channel: "orderbook", frame_type: "orderbook", snapshot: Some(book::snapshot), begin: Some(book::begin),
    }
    BestPrice { stream: "bookTicker", of_all: "!bookTicker", begin: Some(best::begin) }
    Mark {
        channel: "mark_price", channel_detail: 1, frame_type: "mark_price", snapshot: Some(mark::snapshot),
        stream: "markPrice", of_all: "!markPrice@arr", is_array: true, detail: Detail::Seconds, begin: Some(mark::begin),
    }
    Candle {
        channel: "kline", frame_type: "kline", snapshot: Some(candle::snapshot), stream: "kline_",
        detail: Detail::Interval, events: &[event::Kind::PerpetualTrade], begin: Some(candle::begin),
    }
    PairCandle {
        stream: "continuousKline_", suffix: "_perpetual", detail: Detail::Interval,
        events: &[event::Kind::PerpetualTrade], begin: Some(candle::begin),
    }
    MiniDay {
        stream: "miniTicker", of_all: "!miniTicker@arr", is_array: true,
        events: &[event::Kind::PerpetualTrade], begin: Some(day::begin_mini),
    }
    Day {
        channel: "ticker", frame_type: "ticker", snapshot: Some(day::snapshot), stream: "ticker", of_all: "!ticker@arr",
        is_array: true, events: &[event::Kind::PerpetualTrade], begin: Some(day::begin),
    }
    ForcedOrder {
        stream: "forceOrder", of_all: "!forceOrder@arr",
        events: &[event::Kind::PerpetualTrade, event::Kind::PerpetualOrder], begin: Some(forced::begin),
    }
    Contract {
        of_all: "!contractInfo", events: &[event::Kind::PerpetualStateChanged, event::Kind::PerpetualBracket],
        begin: Some(contract::begin),
    }
    Liquidation {
        channel: "liquidations", frame_type: "liquidation",
        events: &[event::Kind::Liquidation], begin: Some(liquidation::begin),
    }
    Insurance { stream: "insurance", events: insurance::EVENTS, begin: Some(insurance::begin) }
}

const _: () = {
    let mut place = 0;
    while place < ROWS.len() {
        assert!(ROWS[place].kind as usize == place, "rows stand in the order of the kinds");
        place += 1;
    }
};

impl Kind {
    /// Its row.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The kinds that have a channel.
    pub fn channels() -> impl Iterator<Item = Kind> {
        Kind::ALL.iter().copied().filter(|kind| !kind.row().channel.is_empty())
    }
}

impl Topic {
    /// The name of its channel, given its market's symbol; empty where it has none.
    pub fn channel_name(self, symbol: &str) -> String {
        let Row { channel, detail, .. } = self.kind.row();
        if channel.is_empty() || self.kind.is_private() {
            (*channel).to_owned()
        } else if detail.is_interval() {
            format!("{channel}:{symbol}:{}", detail.write(self))
        } else {
            format!("{channel}:{symbol}")
        }
    }

    /// The name of its stream, given its market's symbol in lower case; empty where it has none.
    pub fn stream_name(self, symbol: &str) -> String {
        let Row { stream, suffix, of_all, detail, .. } = self.kind.row();
        match (self.id == ALL_MARKETS, *stream, *of_all) {
            (true, _, "") | (false, "", _) => String::new(),
            (true, ..) => format!("{of_all}{}", detail.write(self)),
            (false, ..) => format!("{symbol}{suffix}@{stream}{}", detail.write(self)),
        }
    }

    /// The topic of a stream's name; `None` where it is of no form, or of no market.
    pub fn of_stream(name: &str, markets: &MarketTable) -> Option<Topic> {
        if name.starts_with('!') {
            return Kind::ALL.iter().find_map(|kind| {
                let Row { of_all, detail, .. } = kind.row();
                let word = name.strip_prefix(of_all).filter(|_| !of_all.is_empty())?;
                Some(Topic { kind: *kind, id: ALL_MARKETS, detail: detail.read(word)? })
            });
        }
        let (symbol, stream) = name.split_once('@')?;
        let (kind, detail) = Kind::ALL.iter().find_map(|kind| {
            let row = kind.row();
            let word = stream.strip_prefix(row.stream).filter(|_| !row.stream.is_empty())?;
            Some((*kind, row.detail.read(word)?))
        })?;
        let suffix = kind.row().suffix;
        let at = symbol.len().checked_sub(suffix.len())?;
        let (symbol, rest) = symbol.split_at_checked(at)?;
        let market = rest.eq_ignore_ascii_case(suffix).then(|| markets.by_symbol(symbol))??;
        Some(Topic { kind, id: market.market, detail })
    }

    /// What follows the name of a kind's channel, as a symbol and a detail; `None` where it is of no form.
    pub(super) fn of_channel(kind: Kind, rest: &str) -> Option<(&str, u16)> {
        let Row { detail, channel_detail, .. } = kind.row();
        let rest = rest.strip_prefix(':')?;
        if !detail.is_interval() {
            return Some((rest, *channel_detail));
        }
        let (symbol, word) = rest.split_once(':')?;
        Some((symbol, detail.read(word)?))
    }
}

/// A stream's name as it is repeated: what stands before the first `@` in lower case.
pub fn canonical(name: &str) -> String {
    match name.split_once('@') {
        Some((symbol, rest)) if !name.starts_with('!') => format!("{}@{rest}", symbol.to_ascii_lowercase()),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::detail::{LEVELS, SPEEDS};
    use super::*;
    use ringside_core::event::{Event, PerpetualListed};
    use ringside_core::ids::FIRST_PERPETUAL;
    use ringside_views::Views;
    use ringside_views::candle::INTERVALS;

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
        let mut names: Vec<String> = Vec::new();
        for kind in Kind::ALL.iter().copied().filter(|kind| kind.is_of_perpetuals()) {
            let details: u16 = match kind.row().detail {
                Detail::One => 1,
                Detail::Seconds => 2,
                Detail::Interval | Detail::SpotInterval => INTERVALS.len() as u16,
                Detail::Speed => SPEEDS.len() as u16,
                Detail::LevelsAndSpeed => 8 * LEVELS.len() as u16,
            };
            let is_one =
                |detail: &u16| details != 8 * LEVELS.len() as u16 || usize::from(detail % 8) < SPEEDS.len();
            for detail in (0..details).filter(is_one) {
                for id in [FIRST_PERPETUAL + 1, ALL_MARKETS] {
                    names.push(Topic { kind, id, detail }.stream_name("ethusdt"));
                }
            }
        }
        names.retain(|name| !name.is_empty());
        assert_eq!(names.len(), 7 + 8 + 1 + 30 + 20);
        for name in [
            "ethusdt@trade",
            "!markPrice@arr@1s",
            "ethusdt_perpetual@continuousKline_1M",
            "ethusdt@depth20@0ms",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        let mut topics = Vec::new();
        for name in &names {
            let topic = Topic::of_stream(name, markets).unwrap_or_else(|| panic!("{name}"));
            assert!(name.starts_with('!') || topic.id == FIRST_PERPETUAL + 1, "{name}");
            assert_eq!(topic.stream_name("ethusdt"), *name);
            let shouted =
                name.replace("ethusdt_perpetual", "EthUSDT_PERPETUAL").replace("ethusdt", "ETHUSDT");
            assert_eq!(Topic::of_stream(&shouted, markets), Some(topic), "{shouted}");
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
            assert_eq!(Topic::of_stream(name, views.perpetuals().markets()), None, "{name}");
        }
    }
}
