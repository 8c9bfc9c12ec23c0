//! `ringside inspect`: commands of a journal, what each did, and the state after them, as text or JSON. For finding out what
//! happened; reads the folder of a running exchange as well.
//!
//! Amounts are decimals, and markets, tokens and accounts bear their names as of the end of what is shown.

pub(super) mod tree;

use crate::boot::{self, ViewFold};
use anyhow::{Context, Result, ensure};
use ringside_config::Config;
use ringside_core::Engine;
use ringside_core::command::{self, Command};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, Address, Sequence};
use ringside_core::reject::Reject;
use ringside_core::side::SideEntry;
use ringside_persist::read::look::{entries_beside, look};
use ringside_views::Views;
use ringside_wire::address::{address_text, parse_address};
use ringside_wire::number::{Amount, Total, Units};
use serde_json::{Value, json};
use std::path::Path;
use std::str::FromStr;
use tree::Names;

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
    pub(super) account: Option<Asked>,
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
    let mut seen: Vec<Kept> = Vec::new();
    let engine = look::<Engine>(&journal, &boot::engine_config(config), from, through, &mut fold, |shown| {
        seen.push(Kept {
            command: *shown.command,
            events: shown.events.to_vec(),
            is_passed: shown.is_passed,
        });
    })?;
    ensure!(!seen.is_empty(), "the journal ends at sequence {}, before {from}", engine.sequence());
    let views = fold.views();
    let commands: Vec<Value> = seen.iter().map(|kept| kept.shown(&Known(views))).collect();
    let beside = entries_beside(&journal, from, through)?;
    let beside: Vec<Value> = beside.iter().map(|(after, entry)| entry_shown(*after, entry)).collect();
    let with_state = wanted.with_state || wanted.account.is_some();
    let account = wanted.account.map(|account| account.find(views)).transpose()?;
    let state = with_state.then(|| state(&engine, views, account));
    if wanted.as_json {
        let mut all = json!({ "commands": commands, "beside": beside });
        if let Some(state) = state {
            all["state"] = state;
        }
        return Ok(format!("{all}\n"));
    }
    let mut text: String = commands.iter().map(as_text).collect();
    text.extend(beside.iter().map(entry_as_text));
    if let Some(state) = state {
        text += &format!("state {state:#}\n");
    }
    Ok(text)
}

/// An account as it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Number(AccountId),
    Address(Address),
}

impl FromStr for Asked {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Asked, Self::Err> {
        let number = text.parse().ok().map(Asked::Number);
        number.or_else(|| parse_address(text).map(Asked::Address)).ok_or("a number, or 0x and 40 hex digits")
    }
}

impl Asked {
    pub(super) fn find(self, views: &Views) -> Result<AccountId> {
        match self {
            Asked::Number(account) => Ok(account),
            Asked::Address(address) => {
                views.accounts().of_address(&address).context("that address has no account")
            }
        }
    }
}

/// Names as the views have them.
pub(super) struct Known<'a>(pub(super) &'a Views);

impl Names for Known<'_> {
    fn account(&self, number: u64) -> Option<String> {
        self.0.accounts().address(u32::try_from(number).ok()?).map(address_text)
    }

    fn market(&self, number: u64) -> Option<String> {
        let market = u32::try_from(number).ok()?;
        let spot = self.0.markets().get(market).map(|market| market.symbol());
        spot.or_else(|| self.0.perpetuals().markets().get(market).map(|market| market.symbol()))
            .map(str::to_owned)
    }

    fn asset(&self, number: u64) -> Option<String> {
        self.0.markets().asset_name(u16::try_from(number).ok()?).map(str::to_owned)
    }
}

/// A command with what it did.
struct Kept {
    command: Command,
    events: Vec<Event>,
    is_passed: bool,
}

fn verdict(events: &[Event]) -> Option<String> {
    let done = events.last()?.get::<event::Done>()?;
    Some(match done.reject {
        0 => "accepted".to_owned(),
        code => Reject::from_code(code).map_or_else(|| code.to_string(), |reject| format!("{reject:?}")),
    })
}

impl Kept {
    fn shown(&self, names: &dyn Names) -> Value {
        let Command { sequence, time_ns, source, source_seq, kind, .. } = self.command;
        let events: Vec<Value> = self
            .events
            .iter()
            .map(|event| {
                let kind = event::Kind::from_code(event.kind);
                let kind = kind.map_or_else(|| event.kind.to_string(), |kind| format!("{kind:?}"));
                let body = tree::readable(&kind, tree::body(&format!("{event:?}")), names);
                json!({ "index": event.index, "kind": kind, "body": body })
            })
            .collect();
        let kind =
            command::Kind::from_code(kind).map_or_else(|| kind.to_string(), |kind| format!("{kind:?}"));
        let body = tree::readable(&kind, tree::body(&format!("{:?}", self.command)), names);
        json!({
            "sequence": sequence,
            "time_ns": time_ns,
            "source": source,
            "source_seq": source_seq,
            "kind": kind,
            "body": body,
            "passed_over": self.is_passed,
            "verdict": verdict(&self.events),
            "events": events,
        })
    }
}

/// An entry beside the commands, behind this one. What is in it is nobody's business: it may be a credential.
fn entry_shown(after: Sequence, entry: &SideEntry) -> Value {
    let SideEntry { key, bytes } = entry;
    json!({ "after": after, "kind": key.kind, "id_len": key.id.len(), "len": bytes.as_ref().map(Vec::len) })
}

/// The same for people.
fn entry_as_text(shown: &Value) -> String {
    let what = match shown["len"].as_u64() {
        Some(len) => format!("{len} bytes"),
        None => "taken away".to_owned(),
    };
    format!(
        "beside #{}: kind {}, an id of {} bytes, {what}\n",
        shown["after"], shown["kind"], shown["id_len"]
    )
}

/// The same for people: a line, and one for each event.
fn as_text(shown: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdict = match shown["passed_over"] == true {
        true => "passed over".to_owned(),
        false => word(&shown["verdict"]),
    };
    let mut text = format!(
        "#{} t={} {}/{} {} {}: {verdict}\n",
        shown["sequence"],
        shown["time_ns"],
        shown["source"],
        shown["source_seq"],
        word(&shown["kind"]),
        tree::text(&shown["body"])
    );
    for event in shown["events"].as_array().into_iter().flatten() {
        text += &format!(
            "    #{}.{} {} {}\n",
            shown["sequence"],
            event["index"],
            word(&event["kind"]),
            tree::text(&event["body"])
        );
    }
    text
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
                "mark": Units(market.mark()),
                "index": Units(market.index()),
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
                "available": Amount(row.available),
                "frozen": Amount(row.frozen),
            })
        })
        .collect();
    let shown = |kind: &str, text: String| tree::readable(kind, tree::body(&text), &Known(views));
    let orders: Vec<Value> =
        views.open_orders().of_account(account).map(|order| shown("Order", format!("{order:?}"))).collect();
    let perpetual = views.perpetuals().accounts().get(account);
    let positions: Vec<Value> = perpetual
        .holdings
        .iter()
        .filter(|holding| holding.position.quantity != 0)
        .map(|holding| shown("PerpetualPosition", format!("{:?}", holding.position)))
        .collect();
    let open: Vec<u64> = views.perpetuals().orders().open_of(account).map(|order| order.told.order).collect();
    json!({
        "account": account,
        "address": views.accounts().address(account).map(const_hex::encode_prefixed),
        "balances": balances,
        "orders": orders,
        "wallet": tree::decimal(perpetual.wallet.into(), 6),
        "tier": perpetual.tier,
        "positions": positions,
        "perpetual_orders": open,
    })
}

/// Price and total of the best levels.
fn levels(levels: impl Iterator<Item = (i64, i128)>) -> Vec<(Units, Total)> {
    levels.take(LEVELS).map(|(price, total)| (Units(price), Total(total))).collect()
}
