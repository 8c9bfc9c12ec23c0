//! `ringside inspect`: commands of a journal, what each did, and the state after them, as text or JSON. For finding out what
//! happened; reads the folder of a running exchange as well.
//!
//! Amounts stand as the engine has them, integers: prices and quantities in 10^-8, spot amounts in 10^-18, perpetual money in
//! 10^-6. Balances and books of the state are shown as the API shows them.

mod tree;

use crate::boot::{self, ViewFold};
use crate::config::Config;
use anyhow::{Result, ensure};
use ringside_core::Engine;
use ringside_core::command::{self, Command};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, Sequence};
use ringside_core::reject::Reject;
use ringside_persist::read::look::{Seen, look};
use ringside_views::Views;
use ringside_wire::decimal::{write_amount, write_entry, write_total};
use serde_json::{Value, json};
use std::path::Path;

/// Levels of a book that are shown.
const LEVELS: usize = 10;

/// What is wanted.
pub(super) struct Wanted {
    /// From here on; nothing: the last commands.
    pub(super) sequence: Option<Sequence>,
    /// So many commands.
    pub(super) count: u64,
    /// The state after them too.
    pub(super) with_state: bool,
    /// And what this account has.
    pub(super) account: Option<AccountId>,
    /// As JSON, one object.
    pub(super) as_json: bool,
}

/// What the journal of the data folder `data` says.
pub(super) fn inspect(config: &Config, data: &Path, wanted: &Wanted) -> Result<String> {
    ensure!(wanted.count > 0, "--count must be at least 1");
    let journal = super::journal_of(data);
    let (from, through) = match wanted.sequence {
        Some(sequence) => (sequence.max(1), sequence.max(1).saturating_add(wanted.count - 1)),
        None => {
            let verdict = ringside_persist::read::verify::verify(&journal)?;
            (verdict.last.saturating_sub(wanted.count - 1).max(1), verdict.last)
        }
    };
    let mut fold = ViewFold::new(config.history_window);
    let mut shown = Vec::new();
    let engine = look::<Engine>(&journal, &boot::engine_config(config), from, through, &mut fold, |seen| {
        shown.push(if wanted.as_json { Shown::Json(as_json(&seen)) } else { Shown::Text(as_text(&seen)) });
    })?;
    ensure!(!shown.is_empty(), "the journal ends at sequence {}, before {from}", engine.sequence());
    let with_state = wanted.with_state || wanted.account.is_some();
    let state = with_state.then(|| state(&engine, fold.views(), wanted.account));
    if wanted.as_json {
        let commands: Vec<Value> = shown.into_iter().filter_map(Shown::into_json).collect();
        let mut all = json!({ "commands": commands });
        if let Some(state) = state {
            all["state"] = state;
        }
        return Ok(format!("{all}\n"));
    }
    let mut text: String = shown.into_iter().filter_map(Shown::into_text).collect();
    if let Some(state) = state {
        text += &format!("state {state:#}\n");
    }
    Ok(text)
}

/// A command in the form asked for.
enum Shown {
    Text(String),
    Json(Value),
}

impl Shown {
    fn into_text(self) -> Option<String> {
        if let Shown::Text(text) = self { Some(text) } else { None }
    }

    fn into_json(self) -> Option<Value> {
        if let Shown::Json(value) = self { Some(value) } else { None }
    }
}

fn verdict(events: &[Event]) -> Option<String> {
    let done = events.last()?.get::<event::Done>()?;
    Some(match done.reject {
        0 => "accepted".to_owned(),
        code => Reject::from_code(code).map_or_else(|| code.to_string(), |reject| format!("{reject:?}")),
    })
}

fn as_text(seen: &Seen<'_, Engine>) -> String {
    let verdict =
        if seen.is_passed { "passed over".to_owned() } else { verdict(seen.events).unwrap_or_default() };
    let mut text = format!("{}: {verdict}\n", tree::named(&format!("{:?}", seen.command)));
    for event in seen.events {
        text += &format!("    {}\n", tree::named(&format!("{event:?}")));
    }
    text
}

fn as_json(seen: &Seen<'_, Engine>) -> Value {
    let Command { sequence, time_ns, source, source_seq, kind, .. } = *seen.command;
    let events: Vec<Value> = seen
        .events
        .iter()
        .map(|event| {
            let kind = event::Kind::from_code(event.kind);
            json!({
                "index": event.index,
                "kind": kind.map_or_else(|| event.kind.to_string(), |kind| format!("{kind:?}")),
                "body": tree::body(&format!("{event:?}")),
            })
        })
        .collect();
    let kind = command::Kind::from_code(kind).map_or_else(|| kind.to_string(), |kind| format!("{kind:?}"));
    json!({
        "sequence": sequence,
        "time_ns": time_ns,
        "source": source,
        "source_seq": source_seq,
        "kind": kind,
        "body": tree::body(&format!("{:?}", seen.command)),
        "passed_over": seen.is_passed,
        "verdict": verdict(seen.events),
        "events": events,
    })
}

/// The state in short, and all of one account.
fn state(engine: &Engine, views: &Views, account: Option<AccountId>) -> Value {
    let markets: Vec<Value> = views
        .markets()
        .in_order_of_symbol()
        .map(|market| {
            let book = views.depth().book(market.market);
            let bids = book.map(|book| levels(book.bids())).unwrap_or_default();
            let asks = book.map(|book| levels(book.asks())).unwrap_or_default();
            let status = format!("{:?}", market.status);
            json!({ "symbol": market.symbol(), "status": status, "bids": bids, "asks": asks })
        })
        .collect();
    let perpetuals: Vec<Value> = views
        .perpetuals()
        .markets()
        .all()
        .iter()
        .map(|market| {
            let book = views.perpetuals().book(market.market);
            json!({
                "symbol": market.symbol(),
                "state": format!("{:?}", market.state),
                "mark": text(|out| write_entry(out, market.mark())),
                "index": text(|out| write_entry(out, market.index())),
                "holders": market.holders().len(),
                "bids": book.map(|book| levels(book.bids())).unwrap_or_default(),
                "asks": book.map(|book| levels(book.asks())).unwrap_or_default(),
            })
        })
        .collect();
    let mut state = json!({
        "sequence": engine.sequence(),
        "time_ns": engine.time_ns(),
        "hash": format!("{:032x}", u128::from_be_bytes(engine.state_hash())),
        "accounts": views.accounts().len(),
        "open_orders": views.open_orders().len(),
        "spot": markets,
        "perpetual": perpetuals,
    });
    if let Some(account) = account {
        state["account"] = of_account(views, account);
    }
    state
}

fn of_account(views: &Views, account: AccountId) -> Value {
    let balances: Vec<Value> = views
        .balances()
        .rows(account)
        .iter()
        .map(|row| {
            json!({
                "token": views.markets().asset_name(row.asset),
                "available": text(|out| write_amount(out, row.available)),
                "frozen": text(|out| write_amount(out, row.frozen)),
            })
        })
        .collect();
    let orders: Vec<String> =
        views.open_orders().of_account(account).map(|order| format!("{order:?}")).collect();
    let perpetual = views.perpetuals().accounts().get(account);
    let positions: Vec<Value> = perpetual
        .holdings
        .iter()
        .filter(|holding| holding.position.quantity != 0)
        .map(|holding| tree::body(&format!("{:?}", holding.position)))
        .collect();
    let open: Vec<u64> = views.perpetuals().orders().open_of(account).map(|order| order.told.order).collect();
    json!({
        "account": account,
        "address": views.accounts().address(account).map(const_hex::encode_prefixed),
        "balances": balances,
        "orders": orders,
        "wallet": perpetual.wallet,
        "tier": perpetual.tier,
        "positions": positions,
        "perpetual_orders": open,
    })
}

/// Price and total of the best levels.
fn levels(levels: impl Iterator<Item = (i64, i128)>) -> Vec<[String; 2]> {
    let shown = |(price, total)| [text(|out| write_entry(out, price)), text(|out| write_total(out, total))];
    levels.take(LEVELS).map(shown).collect()
}

/// What a writer of numbers writes.
fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}
