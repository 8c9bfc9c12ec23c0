//! A reader of user streams: knows an account by its events alone, as an existing client would, and finds fault with events
//! that contradict what came before. Nothing of the exchange's own code.

#![allow(dead_code, reason = "each test file uses its own part")]

use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Keys of `o` in every ORDER_TRADE_UPDATE (`perpetual-stream.md` 4.1); trailing orders have two more.
const ORDER_KEYS: &str =
    "s c S o f q p ap sp x X i l z L N n T t b a m R wt ot ps cp pP si ss rp V pm gtd er";
const ALGO_KEYS: &str = "caid aid at o s S ps f q X ai ap aq act tp p V wt pm cp pP R tt gtd rm";

/// What the events of one account came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// Balance and cross wallet, once told.
    pub(crate) wallet: Option<(Decimal, Decimal)>,
    /// By symbol: the last row of `P`.
    pub(crate) positions: BTreeMap<String, Value>,
    /// Open orders by id: the last `o`.
    pub(crate) orders: BTreeMap<u64, Value>,
    /// Waiting orders of the conditional-order service by id: the last `o`.
    pub(crate) algos: BTreeMap<u64, Value>,
    /// By symbol, where it was told.
    pub(crate) leverage: BTreeMap<String, u64>,
    /// How often each name, each `x`, each `er` and each `m` came.
    pub(crate) met: BTreeMap<String, u64>,
    /// Fills told as TRADE_LITE but not yet as events of their orders, by order and trade.
    lites: BTreeSet<(u64, u64)>,
    /// Whether the account was told since the last TRADE_LITE.
    is_account_told: bool,
    /// Profit less commission that a balance told before its fills, and those fills so far.
    expected: Decimal,
    told: Decimal,
    times: BTreeMap<String, (i64, i64)>,
}

/// A decimal string.
pub(crate) fn decimal(value: &Value) -> Decimal {
    value.as_str().unwrap_or_else(|| panic!("{value} is no string")).parse().expect("a decimal")
}

/// A decimal string with exactly 8 decimals, or `0` where nothing may be told so.
fn money(value: &Value) -> Decimal {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no string"));
    let decimals = text.split_once('.').map(|(_, decimals)| decimals.len());
    assert!(decimals == Some(8) || text == "0", "{text} has eight decimals");
    decimal(value)
}

#[track_caller]
fn has_keys(object: &Value, keys: &str) {
    let shown: BTreeSet<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(shown, keys.split(' ').collect(), "{object}");
}

#[track_caller]
fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no number"))
}

impl Reader {
    /// A reader that begins with a balance, all of it cross, and nothing else.
    pub(crate) fn with(balance: i64) -> Reader {
        Reader { wallet: Some((balance.into(), balance.into())), ..Reader::default() }
    }

    /// Takes an event in.
    #[track_caller]
    pub(crate) fn read(&mut self, event: &Value) {
        let name = event["e"].as_str().expect("a name").to_owned();
        *self.met.entry(name.clone()).or_default() += 1;
        let time_ms = event.get("T").map_or(0, number);
        let before = self.times.insert(name.clone(), (number(&event["E"]), time_ms));
        if let Some((event_ms, engine_ms)) = before {
            assert!(number(&event["E"]) >= event_ms && time_ms >= engine_ms, "time runs back: {event}");
        }
        match name.as_str() {
            "ORDER_TRADE_UPDATE" => self.order(event),
            "TRADE_LITE" => self.lite(event),
            "ACCOUNT_UPDATE" => self.account(event),
            "ACCOUNT_CONFIG_UPDATE" => {
                has_keys(event, "e E T ac");
                has_keys(&event["ac"], "s l");
                let leverage = event["ac"]["l"].as_u64().expect("a number");
                self.leverage.insert(event["ac"]["s"].as_str().expect("a symbol").to_owned(), leverage);
            }
            "MARGIN_CALL" => {
                let is_cross = event.get("cw").is_some();
                has_keys(event, if is_cross { "e E cw p" } else { "e E p" });
                let rows = event["p"].as_array().expect("rows");
                assert!(!rows.is_empty() && (is_cross || rows.len() == 1), "{event}");
                for row in rows {
                    has_keys(row, "s ps pa mt iw mp up mm");
                    assert_eq!(row["mt"], if is_cross { "CROSSED" } else { "ISOLATED" });
                    assert!(!decimal(&row["pa"]).is_zero() && money(&row["mm"]) > Decimal::ZERO, "{row}");
                }
            }
            "TRIGGER_DEFERRED" => {
                has_keys(event, "e E T o");
                has_keys(&event["o"], "s i mark last");
            }
            "CONDITIONAL_ORDER_TRIGGER_REJECT" => {
                has_keys(event, "e E T or");
                has_keys(&event["or"], "s i r");
                let id = event["or"]["i"].as_u64().expect("an id");
                assert!(self.orders.contains_key(&id), "a refused order was open: {event}");
                assert!(!event["or"]["r"].as_str().expect("a text").is_empty());
            }
            "ALGO_UPDATE" => self.algo(event),
            other => panic!("nobody knows {other}: {event}"),
        }
    }

    fn order(&mut self, event: &Value) {
        has_keys(event, "e E T o");
        let o = &event["o"];
        let is_trailing = o["ot"] == "TRAILING_STOP_MARKET";
        has_keys(o, &if is_trailing { format!("{ORDER_KEYS} AP cr") } else { ORDER_KEYS.to_owned() });
        assert_eq!(
            (&event["T"], &o["ps"], &o["N"], &o["si"], &o["ss"]),
            (&o["T"], &"BOTH".into(), &"USDT".into(), &0.into(), &0.into())
        );
        for key in ["q", "p", "ap", "sp", "l", "z", "L"] {
            let text = o[key].as_str().expect("a string");
            assert!(!text.contains('.') || !text.ends_with('0'), "{key} is in its shortest form: {o}");
        }
        let id = o["i"].as_u64().expect("an id");
        let (x, status) = (o["x"].as_str().expect("a word"), o["X"].as_str().expect("a word"));
        *self.met.entry(format!("x {x}")).or_default() += 1;
        *self.met.entry(format!("X {status}")).or_default() += 1;
        *self.met.entry(format!("er {}", o["er"].as_str().expect("a string"))).or_default() += 1;
        assert!(x == "EXPIRED" || o["er"] == "0", "{o}");
        let is_fill = matches!(x, "TRADE" | "CALCULATED");
        assert_eq!(is_fill, decimal(&o["l"]) > Decimal::ZERO, "{o}");
        if !is_fill {
            assert_eq!([&o["l"], &o["L"], &o["n"], &o["rp"]], ["0"; 4], "{o}");
            assert_eq!((&o["t"], &o["m"]), (&0.into(), &false.into()));
        }
        let before = self.orders.get(&id);
        match x {
            "NEW" => assert!(before.is_none_or(|before| before["o"] != o["o"]), "told as new twice: {o}"),
            _ => assert!(before.is_some(), "nobody knows the order: {o}"),
        }
        if let Some(before) = before {
            let filled = decimal(&o["z"]) - decimal(&before["z"]);
            assert_eq!(filled, decimal(&o["l"]), "what is executed grows by the fill: {before} {o}");
            assert_eq!((&before["c"], &before["S"], &before["s"]), (&o["c"], &o["S"], &o["s"]));
        }
        if is_fill {
            let fill = (id, o["t"].as_u64().filter(|trade| *trade > 0).expect("an id"));
            assert!(self.lites.remove(&fill), "a fill comes as TRADE_LITE first: {o}");
            assert!(self.is_account_told, "the account is told before the fill: {o}");
            let fee = if x == "CALCULATED" { Decimal::ZERO } else { money(&o["n"]) };
            self.told += money(&o["rp"]) - fee;
        }
        if x == "CALCULATED" {
            let name = o["c"].as_str().expect("a name");
            let is_forced = name.starts_with("autoclose-");
            assert!(is_forced || ["adl_autoclose", "settlement_autoclose"].contains(&name), "{o}");
        }
        if matches!(status, "NEW" | "PARTIALLY_FILLED") {
            self.orders.insert(id, o.clone());
        } else {
            self.orders.remove(&id);
        }
    }

    fn lite(&mut self, event: &Value) {
        has_keys(event, "e E T s q p m c S L l t i");
        let (order, trade) = (event["i"].as_u64().expect("an id"), event["t"].as_u64().expect("an id"));
        assert!(self.orders.contains_key(&order), "nobody knows the order: {event}");
        assert!(self.lites.insert((order, trade)), "told twice: {event}");
        self.is_account_told = false;
    }

    fn account(&mut self, event: &Value) {
        has_keys(event, "e E T a");
        let a = &event["a"];
        has_keys(a, "m B P");
        let reason = a["m"].as_str().expect("a word");
        *self.met.entry(format!("m {reason}")).or_default() += 1;
        let balances = a["B"].as_array().expect("rows");
        assert_eq!(balances.len(), usize::from(reason != "MARGIN_TYPE_CHANGE"), "{event}");
        for row in balances {
            has_keys(row, "a wb cw bc");
            assert_eq!(row["a"], "USDT");
            let (wallet, cross, change) = (money(&row["wb"]), money(&row["cw"]), money(&row["bc"]));
            let before = self.wallet.replace((wallet, cross)).map_or(Decimal::ZERO, |(wallet, _)| wallet);
            self.expected += wallet - before - change;
        }
        for row in a["P"].as_array().expect("rows") {
            has_keys(row, "s pa ep bep cr up mt iw ps ma");
            assert_eq!((&row["ps"], &row["ma"]), (&"BOTH".into(), &"USDT".into()));
            if row["mt"] == "cross" {
                assert_eq!(row["iw"], "0.00000000", "{row}");
            }
            self.positions.insert(row["s"].as_str().expect("a symbol").to_owned(), row.clone());
        }
        self.is_account_told |= reason == "ORDER";
    }

    fn algo(&mut self, event: &Value) {
        has_keys(event, "e E T o");
        let o = &event["o"];
        has_keys(o, ALGO_KEYS);
        let (id, status) = (o["aid"].as_u64().expect("an id"), o["X"].as_str().expect("a word"));
        *self.met.entry(format!("algo {status}")).or_default() += 1;
        let before = self.algos.remove(&id);
        let from: &[&str] = match status {
            "NEW" => &[],
            "CANCELED" | "EXPIRED" | "REJECTED" | "TRIGGERING" => &["NEW"],
            "TRIGGERED" => &["TRIGGERING"],
            "FINISHED" => &["TRIGGERED"],
            _ => panic!("{event}"),
        };
        match &before {
            None => assert!(from.is_empty(), "nobody knows it: {event}"),
            Some(before) => assert!(from.contains(&before["X"].as_str().unwrap_or("")), "{before} {event}"),
        }
        // What it goes on as may be changed; it is what it was.
        for before in before.iter().filter(|before| before["X"] != "NEW") {
            for key in "caid at o s S ps f q tp p V wt pm cp pP R tt gtd".split(' ') {
                assert_eq!(o[key], before[key], "{key} of {event}, before {before}");
            }
        }
        let has_actual = matches!(status, "TRIGGERED" | "FINISHED");
        assert_eq!(has_actual, o["ai"] != "", "{event}");
        assert_eq!(status == "REJECTED", o["rm"] != "", "{event}");
        assert_eq!(o["at"], "CONDITIONAL");
        if matches!(status, "NEW" | "TRIGGERING" | "TRIGGERED") {
            self.algos.insert(id, o.clone());
        }
    }

    /// At the end of a command nothing is half told: each fill of a TRADE_LITE was told by its order, and balances changed by
    /// what fills and `bc` say. `drawn` is profit that no fill tells: what a position paid of funding out of its own.
    #[track_caller]
    pub(crate) fn rest(&mut self, drawn: Decimal) {
        assert!(self.lites.is_empty(), "fills not told by their orders: {:?}", self.lites);
        for algo in self.algos.values() {
            let actual = algo["ai"].as_str().and_then(|id| id.parse().ok()).unwrap_or(0);
            let goes_on = algo["X"] == "TRIGGERED" && self.orders.contains_key(&actual);
            assert!(algo["X"] == "NEW" || goes_on, "{algo}");
        }
        assert_eq!(self.expected, self.told + drawn, "balances change by fills and by bc");
        (self.expected, self.told) = (Decimal::ZERO, Decimal::ZERO);
    }
}
