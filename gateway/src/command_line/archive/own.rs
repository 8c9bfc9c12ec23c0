//! What accounts have of their own, as lines of CSV: a line of names, then rows in the members of the API and spelled as it spells them.
//!
//! ```text
//!  TO/accounts/0x2b5a…/data/futures/um/daily/orders/BTCUSDT/BTCUSDT-orders-2026-11-26.zip
//! ```
//!
//! Orders stand on the day they were placed, once they have ended: the file of a day grows as long as one of that day is open.

use super::day::Day;
use super::rows::{Lines, all_of, each_of, first, members};
use anyhow::{Context, Result};
use ringside_core::ids::{AccountId, FEE_ACCOUNT, MarketId, OrderId, Symbol, text};
use ringside_dialect::{fapi, spot};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{ArchiveReader, EntriesAsked};
use ringside_views::Views;
use ringside_views::history::{BalanceRecord, FillRecord};
use ringside_views::kept::List;
use ringside_views::market::MarketRecord;
use ringside_views::order;
use ringside_views::perpetual::order::OrderRecord;
use ringside_views::perpetual::rows::{self, IncomeRecord, TransferRecord};
use ringside_wire::address::address_text;
use ringside_wire::number::Amount;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;

/// What is exported of an account, and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Orders,
    ConditionalOrders,
    Trades,
    Income,
    SpotOrders,
    SpotTrades,
    Balances,
    Transfers,
}

impl Kind {
    pub(super) const ALL: [Kind; 8] = [
        Kind::Orders,
        Kind::ConditionalOrders,
        Kind::Trades,
        Kind::Income,
        Kind::SpotOrders,
        Kind::SpotTrades,
        Kind::Balances,
        Kind::Transfers,
    ];

    fn list(self) -> List {
        match self {
            Kind::Orders => List::Orders,
            Kind::ConditionalOrders => List::ServiceOrders,
            Kind::Trades => List::Fills,
            Kind::Income => List::Income,
            Kind::SpotOrders => List::SpotOrders,
            Kind::SpotTrades => List::SpotFills,
            Kind::Balances => List::BalanceChanges,
            Kind::Transfers => List::Transfers,
        }
    }

    /// Its folder of all venues, and its word.
    fn place(self) -> (&'static str, &'static str) {
        match self {
            Kind::Orders => ("futures/um", "orders"),
            Kind::ConditionalOrders => ("futures/um", "algoOrders"),
            Kind::Trades => ("futures/um", "trades"),
            Kind::Income => ("futures/um", "income"),
            Kind::SpotOrders => ("spot", "orders"),
            Kind::SpotTrades => ("spot", "trades"),
            Kind::Balances => ("spot", "balances"),
            Kind::Transfers => ("spot", "transfers"),
        }
    }

    /// In words.
    pub(super) fn words(self) -> String {
        let (venue, word) = self.place();
        format!("{word} of {}", if venue == "spot" { "the spot side" } else { "perpetual markets" })
    }

    /// Members of the API that are columns.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Kind::Orders => &[
                "orderId",
                "clientOrderId",
                "symbol",
                "side",
                "type",
                "origType",
                "timeInForce",
                "status",
                "price",
                "avgPrice",
                "origQty",
                "executedQty",
                "cumQuote",
                "stopPrice",
                "workingType",
                "priceProtect",
                "reduceOnly",
                "closePosition",
                "priceMatch",
                "selfTradePreventionMode",
                "goodTillDate",
                "activatePrice",
                "priceRate",
                "parentOrderId",
                "triggerTime",
                "time",
                "updateTime",
            ],
            // What became of one that fired stands among the orders, under `actualOrderId`.
            Kind::ConditionalOrders => &[
                "algoId",
                "clientAlgoId",
                "symbol",
                "side",
                "orderType",
                "timeInForce",
                "algoStatus",
                "actualOrderId",
                "quantity",
                "price",
                "triggerPrice",
                "workingType",
                "priceProtect",
                "reduceOnly",
                "closePosition",
                "priceMatch",
                "selfTradePreventionMode",
                "activatePrice",
                "callbackRate",
                "goodTillDate",
                "triggerTime",
                "createTime",
                "updateTime",
            ],
            Kind::Trades => &[
                "id",
                "orderId",
                "symbol",
                "side",
                "price",
                "qty",
                "quoteQty",
                "realizedPnl",
                "commission",
                "commissionAsset",
                "buyer",
                "maker",
                "time",
            ],
            Kind::Income => &["tranId", "symbol", "incomeType", "income", "asset", "info", "tradeId", "time"],
            Kind::SpotOrders => &[
                "id",
                "symbol",
                "side",
                "type",
                "tif",
                "status",
                "price",
                "quantity",
                "quote_quantity",
                "filled_qty",
                "avg_fill_price",
                "reject_reason",
                "created_at",
                "updated_at",
            ],
            Kind::SpotTrades => &[
                "trade_id",
                "order_id",
                "symbol",
                "side",
                "price",
                "quantity",
                "fee",
                "fee_token",
                "role",
                "ts",
            ],
            Kind::Balances => &["sequence", "token", "available", "frozen", "time"],
            Kind::Transfers => &["id", "direction", "token", "amount", "status", "ts"],
        }
    }

    /// Whether rows of an order that is open are among these, or it will be one.
    fn is_of_orders(self) -> Option<IsSpot> {
        match self {
            Kind::Orders | Kind::ConditionalOrders | Kind::Trades => Some(false),
            Kind::SpotOrders | Kind::SpotTrades => Some(true),
            Kind::Income | Kind::Balances | Kind::Transfers => None,
        }
    }
}

type IsSpot = bool;

/// Names as the public dumps spell them.
fn line_of_names(names: &[&str]) -> String {
    let mut line = String::new();
    for name in names.join(",").chars() {
        if name.is_ascii_uppercase() {
            line.push('_');
        }
        line.push(name.to_ascii_lowercase());
    }
    line
}

/// Lines of some columns.
struct Table<'a> {
    lines: Lines<'a>,
    names: String,
    columns: &'static [&'static str],
}

impl Table<'_> {
    fn add(&mut self, row: &impl Serialize) -> Result<()> {
        self.lines.add(&self.names, &members(row, self.columns)?)
    }
}

/// An account's list in a market; of balances, in an asset.
#[derive(Clone, Copy)]
pub(super) struct Own<'a> {
    views: &'a Views,
    pub(super) kind: Kind,
    pub(super) owner: AccountId,
    pub(super) market: MarketId,
}

impl<'a> Own<'a> {
    /// All that an archive has, of one account or of all.
    pub(super) fn all(
        archive: &Sqlite,
        views: &'a Views,
        account: Option<AccountId>,
    ) -> Result<Vec<Own<'a>>> {
        let mut found = Vec::new();
        for kind in Kind::ALL {
            let owners = archive.owners(kind.list() as u16)?.into_iter();
            let owners = owners.filter(|(owner, _)| {
                *owner != FEE_ACCOUNT && account.is_none_or(|account| account == *owner)
            });
            found.extend(owners.map(|(owner, market)| Own { views, kind, owner, market }));
        }
        found.sort_by_key(|own| own.owner);
        Ok(found)
    }

    pub(super) fn list(self) -> u16 {
        self.kind.list() as u16
    }

    /// Everything of it: `times` and `ids` bound it.
    pub(super) fn asked(self) -> EntriesAsked {
        all_of(self.list(), self.owner, self.market)
    }

    /// The account's address.
    pub(super) fn address(self) -> Result<String> {
        self.views.accounts().address(self.owner).map(address_text).context("an account has no address")
    }

    fn spot_market(self) -> Result<&'a MarketRecord> {
        self.views.markets().get(self.market).context("a market is not known")
    }

    /// Of the perpetual side; blank where it is of no market.
    fn symbol(self) -> Result<Symbol> {
        match self.views.perpetuals().markets().get(self.market) {
            Some(market) => Ok(market.symbol),
            None if self.kind == Kind::Income => Ok(Symbol::default()),
            None => anyhow::bail!("a market is not known"),
        }
    }

    /// The market's name; what is of none stands under that of the asset.
    pub(super) fn name(self) -> Result<String> {
        Ok(match self.kind {
            Kind::Orders | Kind::ConditionalOrders | Kind::Trades | Kind::Income => {
                match text(&self.symbol()?) {
                    "" => fapi::encode::USDT.to_owned(),
                    symbol => symbol.to_owned(),
                }
            }
            Kind::SpotOrders | Kind::SpotTrades => self.spot_market()?.symbol().to_owned(),
            Kind::Balances => self.asset()?.to_owned(),
            Kind::Transfers => spot::transfer::TOKEN.to_owned(),
        })
    }

    fn asset(self) -> Result<&'a str> {
        let asset = u16::try_from(self.market).ok();
        asset.and_then(|asset| self.views.markets().asset_name(asset)).context("an asset is not known")
    }

    /// Folder and name of a day's file, without an ending.
    pub(super) fn file(self, day: Day) -> Result<(String, String)> {
        let ((venue, word), name) = (self.kind.place(), self.name()?);
        let folder = format!("accounts/{}/data/{venue}/daily/{word}/{name}", self.address()?);
        Ok((folder, format!("{name}-{word}-{day}")))
    }

    /// Writes the lines of a day; how many rows those were.
    pub(super) fn write(self, reader: &mut dyn ArchiveReader, day: Day, out: &mut dyn Write) -> Result<u64> {
        let asked = self.asked();
        let columns = self.kind.columns();
        let mut table = Table { lines: Lines::new(out), names: line_of_names(columns), columns };
        match self.kind {
            Kind::Orders => {
                let symbol = self.symbol()?;
                each_of(reader, asked, day, |row: OrderRecord| {
                    table.add(&fapi::order::shown(&row, symbol, false))
                })?;
            }
            Kind::ConditionalOrders => {
                let symbol = self.symbol()?;
                each_of(reader, asked, day, |row: OrderRecord| table.add(&conditional(&row, symbol)?))?;
            }
            Kind::Trades => {
                let symbol = self.symbol()?;
                each_of(reader, asked, day, |row: rows::FillRecord| {
                    table.add(&fapi::encode::fill(&row, symbol))
                })?;
            }
            Kind::Income => {
                let symbol = self.symbol()?;
                each_of(reader, asked, day, |row: IncomeRecord| {
                    table.add(&fapi::encode::income(&row, symbol))
                })?;
            }
            Kind::SpotOrders => {
                let market = self.spot_market()?;
                each_of(reader, asked, day, |row: order::OrderRecord| {
                    table.add(&spot::encode::order(&row, market))
                })?;
            }
            Kind::SpotTrades => {
                let market = self.spot_market()?;
                each_of(reader, asked, day, |row: FillRecord| table.add(&spot::encode::fill(&row, market)))?;
            }
            Kind::Balances => {
                let asset = self.asset()?;
                each_of(reader, asked, day, |row: BalanceRecord| table.add(&balance(&row, asset)))?;
            }
            Kind::Transfers => {
                each_of(reader, asked, day, |row: TransferRecord| {
                    table.add(&spot::transfer::transfer(&row))
                })?;
            }
        }
        Ok(table.lines.count)
    }

    /// The day from which on all of it is needed: that on which the oldest open order of its market was placed, or one that an open order
    /// names.
    pub(super) fn needed_from(self, reader: &mut dyn ArchiveReader) -> Result<Option<Day>> {
        let oldest_ms = match self.kind.is_of_orders() {
            None => None,
            Some(true) => {
                let open = self.views.open_orders().of_account(self.owner);
                let open = open.filter(|open| open.market == self.market);
                open.map(|open| open.created_ns.div_euclid(1_000_000)).min()
            }
            Some(false) => {
                let open = self.views.perpetuals().orders().open_of(self.owner);
                let mut oldest_ms = None;
                for open in open.filter(|open| open.told.market == self.market) {
                    oldest_ms = oldest_ms.into_iter().chain([open.created_ms]).min();
                    for named in [open.counterpart, open.told.parent] {
                        oldest_ms = oldest_ms.into_iter().chain(self.placed_ms(reader, named)?).min();
                    }
                }
                oldest_ms
            }
        };
        Ok(oldest_ms.map(Day::of))
    }

    /// When an order that ended was placed.
    fn placed_ms(self, reader: &mut dyn ArchiveReader, order: OrderId) -> Result<Option<i64>> {
        for list in [List::Orders, List::ServiceOrders].into_iter().filter(|_| order != 0) {
            let asked = EntriesAsked { ids: order..=order, ..all_of(list as u16, self.owner, self.market) };
            if let Some(found) = first::<OrderRecord>(reader, &asked)? {
                return Ok(Some(found.created_ms));
            }
        }
        Ok(None)
    }
}

/// An order of the conditional-order service as its end left it, whatever became of what it went on as.
fn conditional(row: &OrderRecord, symbol: Symbol) -> Result<Value> {
    let mut shown = serde_json::to_value(fapi::algo::order(row, None, symbol))?;
    if row.counterpart != 0 {
        shown["algoStatus"] = "TRIGGERED".into();
        shown["actualOrderId"] = row.counterpart.to_string().into();
    }
    Ok(shown)
}

fn balance(row: &BalanceRecord, asset: &str) -> Value {
    json!({
        "sequence": row.sequence,
        "token": asset,
        "available": Amount(row.available.get()),
        "frozen": Amount(row.frozen.get()),
        "time": row.time_ns.div_euclid(1_000_000),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_in_public_dumps() {
        assert_eq!(line_of_names(&["orderId", "qty", "filled_qty"]), "order_id,qty,filled_qty");
    }
}
