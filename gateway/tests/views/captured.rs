//! Candles that another exchange showed, each with the trades it is made of, from a recording.

use crate::data;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// A text field.
pub(crate) fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("no text {name} in {value}"))
}

/// A number field.
pub(crate) fn number_of(value: &Value, name: &str) -> i64 {
    value[name].as_i64().unwrap_or_else(|| panic!("no number {name} in {value}"))
}

/// A decimal in steps of 10^-8.
pub(crate) fn steps(text: &str) -> i64 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{part:0<8}").parse().unwrap_or_else(|_| panic!("not a decimal: {text}"))
}

/// Events `k` whose trades were recorded completely, with these; `None` where the recording is absent.
pub(crate) fn candles() -> Option<Vec<(Value, Vec<Value>)>> {
    let folder = data::folder("binance-usdm-ws-20210722")?;
    let text = data::text(&folder.join("BINANCE_FUTURES.jsonl.zst"));
    let (mut trades, mut klines) = (BTreeMap::<String, VecDeque<Value>>::new(), Vec::new());
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("json");
        if line["t"] != "recv" {
            continue;
        }
        let frame: Value = serde_json::from_str(text_of(&line, "data")).expect("json");
        let data = &frame["data"];
        match data["e"].as_str() {
            Some("aggTrade") => {
                trades.entry(text_of(data, "s").to_owned()).or_default().push_back(data.clone());
            }
            Some("kline") => klines.push(data["k"].clone()),
            _ => {}
        }
    }
    let mut covered = Vec::new();
    for kline in klines {
        let (first, last) = (number_of(&kline, "f"), number_of(&kline, "L"));
        let Some(trades) = trades.get(text_of(&kline, "s")) else { continue };
        let inside: Vec<_> = trades
            .iter()
            .filter(|trade| number_of(trade, "f") >= first && number_of(trade, "l") <= last)
            .cloned()
            .collect();
        let is_covered = inside.first().is_some_and(|trade| number_of(trade, "f") == first)
            && inside.last().is_some_and(|trade| number_of(trade, "l") == last)
            && inside.windows(2).all(|pair| number_of(&pair[0], "l") + 1 == number_of(&pair[1], "f"));
        if is_covered {
            covered.push((kline, inside));
        }
    }
    assert_eq!(covered.len(), 15, "as many as the set's own check found");
    Some(covered)
}
