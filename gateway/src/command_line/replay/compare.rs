//! Two runs beside each other, and the report of what differs, in decimals: of spot fees of what the side receives.

use super::Change;
use crate::command_line::inspect::Known;
use crate::command_line::inspect::tree::{Names, decimal};
use ringside_core::command::{self, Command, Side};
use ringside_core::event::{self, Event, LiquidationStep};
use ringside_core::ids::{AccountId, FEE_ACCOUNT, MarketId, Sequence};
use ringside_core::reject::Reject;
use ringside_views::Views;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Accounts that are named in the report.
const NAMED: usize = 20;

/// What a run came to.
#[derive(Debug, Default)]
pub(super) struct Totals {
    numbers: BTreeMap<String, i128>,
}

impl Totals {
    fn count(&mut self, name: impl Into<String>, by: i128) {
        *self.numbers.entry(name.into()).or_default() += by;
    }

    /// Adds the events of one command.
    pub(super) fn add(&mut self, events: &[Event]) {
        for event in events {
            if let Some(trade) = event.get::<event::Trade>() {
                self.trade(trade);
            } else if let Some(trade) =
                event.get::<event::PerpetualTrade>().filter(|trade| trade.is_in_book())
            {
                let market = trade.market;
                self.count(of(market, "trades"), 1);
                self.count(of(market, "base traded"), trade.quantity.into());
                self.count(of(market, "maker fees"), trade.maker_fee.into());
                self.count(of(market, "taker fees"), trade.taker_fee.into());
            } else if let Some(step) = event.get::<event::Liquidation>() {
                self.liquidation(step);
            } else if let Some(done) = event.get::<event::Done>() {
                self.count(if done.reject == 0 { "commands accepted" } else { "commands refused" }, 1);
            }
        }
    }

    fn trade(&mut self, trade: &event::Trade) {
        let market = trade.market;
        self.count(of(market, "trades"), 1);
        self.count(of(market, "base traded"), trade.quantity.into());
        self.count(of(market, "quote traded"), i128::from(trade.price) * i128::from(trade.quantity));
        // Each side pays out of what it receives: who buys, base.
        let taker_buys = trade.taker_side == Side::Buy as u8;
        let (base, quote) = if taker_buys {
            (trade.taker_fee.get(), trade.maker_fee.get())
        } else {
            (trade.maker_fee.get(), trade.taker_fee.get())
        };
        self.count(of(market, "fees in base"), base);
        self.count(of(market, "fees in quote"), quote);
    }

    fn liquidation(&mut self, step: &event::Liquidation) {
        let known = LiquidationStep::ALL.iter().find(|known| **known as u8 == step.step);
        let word = known.map_or_else(|| step.step.to_string(), |step| format!("{step:?}").to_lowercase());
        self.count(format!("liquidation steps {word}"), 1);
        self.count("liquidations: gained by the fund", step.fund_change.into());
    }
}

fn of(market: MarketId, what: &str) -> String {
    format!("{market:010}: {what}")
}

/// Commands that were judged otherwise.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// By kind and both verdicts: how many, and the first.
    changed: BTreeMap<(String, String, String), (u64, Sequence)>,
}

impl Verdicts {
    /// Compares the verdicts on one command.
    pub(super) fn compare(&mut self, command: &Command, real: &[Event], other: &[Event]) {
        let (real, other) = (verdict(real), verdict(other));
        if real == other {
            return;
        }
        let kind =
            command::Kind::from_code(command.kind).map_or_else(String::new, |kind| format!("{kind:?}"));
        let counted = self.changed.entry((kind, real, other)).or_insert((0, command.sequence));
        counted.0 += 1;
    }
}

fn verdict(events: &[Event]) -> String {
    match events.last().and_then(|event| event.get::<event::Done>()).map(|done| done.reject) {
        Some(0) => "accepted".to_owned(),
        Some(code) => {
            Reject::from_code(code).map_or_else(|| code.to_string(), |reject| format!("{reject:?}"))
        }
        None => "nothing".to_owned(),
    }
}

/// Everything there is to say.
pub(super) struct Report<'a> {
    pub(super) from: Sequence,
    pub(super) through: Sequence,
    pub(super) changes: &'a [Change],
    pub(super) real: (&'a Totals, &'a Views),
    pub(super) other: (&'a Totals, &'a Views),
    pub(super) verdicts: &'a Verdicts,
}

/// A number on both sides.
struct Pair {
    name: String,
    /// Its decimals.
    places: u32,
    real: i128,
    other: i128,
}

impl Pair {
    fn shown(&self, number: i128) -> String {
        decimal(number, self.places)
    }

    /// `name: 1.5 -> 2 (+0.5)`.
    fn line(&self) -> String {
        let Pair { name, real, other, .. } = self;
        let sign = if other > real { "+" } else { "" };
        format!(
            "{name}: {} -> {} ({sign}{})",
            self.shown(*real),
            self.shown(*other),
            self.shown(other - real)
        )
    }
}

/// Decimals of a sum, by its name: as the engine has it.
fn places_of(name: &str) -> u32 {
    match name.rsplit_once(": ").map_or(name, |(_, what)| what) {
        "base traded" => 8,
        // Price times quantity.
        "quote traded" => 16,
        "fees in base" | "fees in quote" => 18,
        "maker fees" | "taker fees" | "gained by the fund" => 6,
        _ => 0,
    }
}

impl Report<'_> {
    /// Totals that differ, markets by their names.
    fn totals(&self) -> Vec<Pair> {
        let names = self.real.0.numbers.keys().chain(self.other.0.numbers.keys());
        let names: std::collections::BTreeSet<&String> = names.collect();
        let get = |totals: &Totals, name: &String| totals.numbers.get(name).copied().unwrap_or(0);
        let pair = |name: &String| Pair {
            name: self.named(name),
            places: places_of(name),
            real: get(self.real.0, name),
            other: get(self.other.0, name),
        };
        let wallet = |views: &Views| i128::from(views.perpetuals().accounts().get(FEE_ACCOUNT).wallet);
        let fund = Pair {
            name: "insurance fund at the end".to_owned(),
            places: 6,
            real: wallet(self.real.1),
            other: wallet(self.other.1),
        };
        names.into_iter().map(pair).chain([fund]).filter(|pair| pair.real != pair.other).collect()
    }

    /// A name with the symbol in place of the market's number.
    fn named(&self, name: &str) -> String {
        let Some((number, what)) = name.split_once(": ") else { return name.to_owned() };
        let Ok(market) = number.parse::<MarketId>() else { return name.to_owned() };
        let symbol = Known(self.real.1).market(market.into());
        format!("{} {what}", symbol.as_deref().unwrap_or(number))
    }

    /// An account by its address; those of the venue have none.
    fn holder(&self, account: AccountId) -> String {
        Known(self.real.1).account(account.into()).unwrap_or_else(|| format!("account {account}"))
    }

    /// What accounts have at the end, where it differs: the largest differences first.
    fn accounts(&self) -> Vec<(AccountId, Pair)> {
        let mut all = Vec::new();
        for account in 0..=self.real.1.accounts().len().max(self.other.1.accounts().len()) as AccountId {
            for (asset, token) in self.real.1.markets().assets_by_name() {
                let total = |views: &Views| {
                    let row = views.balances().row(account, asset);
                    row.available + row.frozen
                };
                all.push((
                    account,
                    Pair {
                        name: token.to_owned(),
                        places: 18,
                        real: total(self.real.1),
                        other: total(self.other.1),
                    },
                ));
            }
            let wallet = |views: &Views| i128::from(views.perpetuals().accounts().get(account).wallet);
            all.push((
                account,
                Pair {
                    name: "perpetual wallet".to_owned(),
                    places: 6,
                    real: wallet(self.real.1),
                    other: wallet(self.other.1),
                },
            ));
        }
        all.retain(|(_, pair)| pair.real != pair.other);
        all.sort_by_key(|(account, pair)| {
            let scale = 10_i128.pow(18 - pair.places);
            (std::cmp::Reverse((pair.real - pair.other).saturating_mul(scale).unsigned_abs()), *account)
        });
        all
    }

    /// One object.
    pub(super) fn to_json(&self) -> Value {
        let pair = |pair: &Pair| {
            json!({
                "name": pair.name, "real": pair.shown(pair.real), "replayed": pair.shown(pair.other),
            })
        };
        let accounts: Vec<Value> = self
            .accounts()
            .iter()
            .map(|(account, held)| {
                let mut value = pair(held);
                value["account"] = json!(self.holder(*account));
                value
            })
            .collect();
        let verdicts: Vec<Value> = self
            .verdicts
            .changed
            .iter()
            .map(|((kind, real, other), (count, first))| {
                json!({ "kind": kind, "real": real, "replayed": other, "count": count, "first": first })
            })
            .collect();
        json!({
            "from": self.from,
            "through": self.through,
            "changes": self.changes.iter().map(|change| &change.text).collect::<Vec<_>>(),
            "verdicts": verdicts,
            "totals": self.totals().iter().map(pair).collect::<Vec<_>>(),
            "accounts": accounts,
        })
    }

    /// Sentences and a table.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        let changes: Vec<&str> = self.changes.iter().map(|change| change.text.as_str()).collect();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "commands {} to {} with {}", self.from, self.through, changes.join(", "));
        for ((kind, real, other), (count, first)) in &self.verdicts.changed {
            let _ = writeln!(text, "{kind}: {count} times {other} instead of {real}, first at {first}");
        }
        let totals = self.totals();
        for pair in &totals {
            let _ = writeln!(text, "{}", pair.line());
        }
        let accounts = self.accounts();
        for (account, pair) in accounts.iter().take(NAMED) {
            let _ = writeln!(text, "{} {}", self.holder(*account), pair.line());
        }
        if accounts.len() > NAMED {
            let _ = writeln!(text, "and {} more holdings that differ", accounts.len() - NAMED);
        }
        if self.verdicts.changed.is_empty() && totals.is_empty() && accounts.is_empty() {
            text.push_str("nothing would have differed\n");
        }
        text
    }
}
