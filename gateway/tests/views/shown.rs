//! Everything that views and an archive hold as lines of text, so that what one build wrote can be compared with what
//! another reads. Lines name each field themselves: a field that is appended later does not change them.

use crate::flow::{fills, orders};
use crate::stored::{has, hex_of, hex_of_entry};
use ringside_core::command::PerpetualParameter;
use ringside_core::ids::{ALL_MARKETS, AccountId, AssetId, MarketId};
use ringside_core::money::kept_rate;
use ringside_persist::archive::row::Entry;
use ringside_persist::archive::{ALL_FACETS, ArchiveReader, EntriesAsked};
use ringside_views::Views;
use ringside_views::archive::pages::row_of;
use ringside_views::archive::rows;
use ringside_views::candle::{ClosedCandle, INTERVALS};
use ringside_views::history::{
    BalanceRecord, CreditRecord, FillQuery, FillRecord, OrderQuery, OwnerRecord, TradeRecord,
};
use ringside_views::kept::Kept;
use ringside_views::kept::{FIRST_CANDLES, List};
use ringside_views::kline::{self, SPOT_INTERVALS, SpotCandle};
use ringside_views::log::{Log, Row};
use ringside_views::order::OrderRecord;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::series::{CandleQuery, Source};
use ringside_views::time::TimeRange;
use std::fmt::Write;

/// Accounts and markets that are looked at: more than there are.
const ACCOUNTS: AccountId = 50;
const MARKETS: MarketId = 3;
/// Keys of placements that are looked at.
const KEYS: u64 = 420;

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

macro_rules! line {
    ($out:expr, $($part:tt)*) => { writeln!($out, $($part)*).expect("text takes lines") };
}

fn order(out: &mut String, name: &str, o: &OrderRecord) {
    let reject = o.reject.map_or(0, |reject| reject.code());
    let codes = [o.side as u8, o.order_type as u8, o.time_in_force as u8, o.status as u8];
    let sizes = (o.price, o.quantity, o.filled, o.quote_quantity, o.traded);
    line!(
        out,
        "{name} {} {} {} {codes:?} {reject} {sizes:?} {} {}",
        o.order,
        o.account,
        o.market,
        o.created_ns,
        o.updated_ns
    );
}

fn trade(out: &mut String, name: &str, t: &TradeRecord) {
    let fees = (t.maker_fee.get(), t.taker_fee.get());
    let sides = (t.maker_order, t.taker_order, t.maker_account, t.taker_account, fees.0, fees.1);
    let side = t.taker_side;
    line!(out, "{name} {} {} {side} {} {} {sides:?} {}", t.trade, t.market, t.price, t.quantity, t.time_ns);
}

fn fill(out: &mut String, name: &str, account: AccountId, f: &FillRecord) {
    let codes = (f.side, f.role);
    let sizes = (f.price, f.quantity, f.fee.get());
    line!(out, "{name} {account} {} {} {codes:?} {sizes:?} {} {}", f.trade, f.market, f.order, f.time_ns);
}

fn candle(out: &mut String, name: &str, market: MarketId, interval: usize, c: &SpotCandle) {
    let interval_s = kline::seconds_of(interval);
    let prices = [c.open, c.high, c.low, c.close];
    let sums = (c.volume, c.value, c.count);
    line!(out, "{name} {market} {interval_s} {} {prices:?} {sums:?}", c.open_ms / 1_000);
}

/// The views.
pub(crate) fn views(views: &Views) -> String {
    let mut out = String::new();
    let out = &mut out;
    line!(out, "at {} {}", views.sequence(), views.time_ns());
    for account in 0..ACCOUNTS {
        if let Some(address) = views.accounts().address(account) {
            line!(out, "account {account} {}", hex(address));
        }
        for row in views.balances().rows(account) {
            let sizes = (row.available, row.frozen);
            line!(out, "balance {account} {} {sizes:?} {}", row.asset, row.changed_ns);
        }
        views.open_orders().of_account(account).for_each(|row| order(out, "open", row));
        let (market, status, limit) = (None, None, usize::MAX);
        let asked = OrderQuery { account, market, status, created: TimeRange::ALL, limit };
        let ended = orders(views, &asked).into_iter().filter(|row| !row.status.is_resting());
        ended.for_each(|row| order(out, "ended", &row));
        let asked = FillQuery { account, market, time: TimeRange::ALL, limit };
        fills(views, &asked).iter().for_each(|row| fill(out, "fill", account, row));
        for key in 1..KEYS {
            let Some(outcome) = views.idempotency().outcome(account, key) else { continue };
            let reject = outcome.reject.map_or(0, |reject| reject.code());
            let order = outcome.order.map_or(String::new(), |order| hex_of(&order));
            line!(out, "outcome {account} {key} {} {} {reject} {order}", outcome.sequence, outcome.time_ns);
            outcome.trades.iter().for_each(|trade| line!(out, "outcome's trade {}", hex_of(trade)));
            if has(Kept::KeyedOrders, 1) {
                outcome.perpetual.iter().for_each(|order| line!(out, "outcome's order {}", hex_of(order)));
            }
        }
    }
    let spot = views.history();
    let places = [spot.ended().archived_through(), spot.owners().archived_through()];
    let trades = [spot.fills().archived_through(), spot.trades().archived_through()];
    let through = places.into_iter().chain(trades).fold(spot.credits().archived_through(), u64::max);
    line!(out, "forgotten {through}");
    (0..6).for_each(|asset: AssetId| line!(out, "asset {asset} {:?}", views.markets().asset_name(asset)));
    for m in views.markets().in_order_of_symbol() {
        let [maker_fee, taker_fee] = [m.maker_fee, m.taker_fee].map(kept_rate);
        let sizes = (m.tick, m.lot, m.min_notional, maker_fee, taker_fee, m.max_open_orders);
        let codes = (m.base, m.quote, m.kind as u8, m.status as u8);
        line!(out, "market {} {} {codes:?} {sizes:?}", m.market, m.symbol());
    }
    for market in 0..MARKETS {
        if let Some(book) = views.depth().book(market) {
            let (bids, asks): (Vec<_>, Vec<_>) = (book.bids().collect(), book.asks().collect());
            line!(out, "book {market} {} {bids:?} {asks:?}", book.update_id());
        }
        let trades = views.history().trades().of(0).filter(|row| row.market == market);
        trades.rev().for_each(|row| trade(out, "trade", row));
        views.history().last_trade(market).iter().for_each(|row| trade(out, "last trade", row));
        for interval in 0..SPOT_INTERVALS.len() {
            for row in views.klines().page(market, interval, &TimeRange::ALL, usize::MAX) {
                candle(out, "candle", market, interval, &row);
            }
        }
        if let Some(t) = views.tickers().get(market) {
            let prices = [t.day.close, t.day.open, t.day.high, t.day.low];
            let sums = (t.day.volume, t.day.value, t.day.count);
            line!(out, "ticker {market} {prices:?} {sums:?} {}", t.close_time_s);
        }
    }
    for c in views.history().credits().iter() {
        let reason = hex(&c.reason);
        line!(
            out,
            "credit {} {} {} {} {} {reason}",
            c.sequence,
            c.time_ns,
            c.amount.get(),
            c.account,
            c.asset
        );
    }
    withdrawals(out, views);
    perpetuals(out, views.perpetuals(), views.time_ns().div_euclid(1_000_000));
    std::mem::take(out)
}

fn withdrawals(out: &mut String, views: &Views) {
    let withdrawals = views.withdrawals();
    line!(out, "withdrawals paused {}", withdrawals.paused());
    if has(Kept::Withdrawals, 2) {
        line!(out, "withdrawals paused because {:?}", withdrawals.pause_reason());
        (0..3).for_each(|vault| {
            let above = withdrawals.alarms_above(vault, 0);
            above.for_each(|alarm| line!(out, "alarm of {vault} that counts {}", hex(&alarm.tx_hash)));
        });
    }
    if has(Kept::Deposits, 1) {
        deposits(out, views);
    }
    if has(Kept::Unbacked, 1) {
        (0..6).for_each(|asset| line!(out, "unbacked {asset} {}", views.unbacked().of(asset, asset == 0)));
    }
    for vault in (0..3).filter_map(|vault| withdrawals.vault(vault)) {
        let texts = [hex(&vault.address), hex(&vault.name), hex(&vault.hash)];
        line!(out, "vault {} {texts:?} {} {}", vault.chain_id, vault.block, vault.time_s);
    }
    withdrawals.alarms().iter().for_each(|alarm| line!(out, "alarm {}", hex_of(alarm)));
    for number in 1..20 {
        if let Some(judged) = withdrawals.judged(number) {
            line!(out, "judged {}", hex_of(judged));
        }
        let Some(w) = withdrawals.get(number) else { continue };
        let codes = (w.account, w.asset, w.vault, w.ledger as u8, w.status as u8, w.nonce);
        let times = (w.requested_at_s, w.deadline_s);
        let signature = w.signature.map(|signature| hex(&signature));
        let release = w.release.map(|release| (hex(&release.tx_hash), release.block, release.confirmed_at_s));
        let token = hex(&w.token);
        line!(out, "withdrawal {number} {} {codes:?} {} {token} {times:?}", w.sequence, w.amount);
        line!(out, "withdrawal {number} {signature:?} {release:?}");
    }
}

fn deposits(out: &mut String, views: &Views) {
    let deposits = views.deposits();
    for t in deposits.tokens() {
        let (address, numbers) = (hex(&t.address), (t.chain_id, t.asset, t.decimals, t.paused));
        line!(out, "token {address} {numbers:?} {}", t.minimum);
    }
    for (number, book) in (0..3).filter_map(|number| Some((number, deposits.vault(number)?))) {
        let counts = (book.deposits(), book.releases, book.last_block);
        line!(out, "book {number} {} {counts:?}", hex(&book.signer));
        if let Some(r) = &book.rewind {
            let texts = [hex(&r.hash), hex(&r.proposed_by), hex(&r.agreed_by)];
            line!(out, "book {number} goes back {} {} {texts:?} {}", r.stage, r.block, r.time_s);
        }
        for mark in book.marks() {
            line!(out, "book {number} mark {} {} {}", mark.block, hex(&mark.hash), mark.time_s);
        }
        for d in (1..=book.deposits()).filter_map(|deposit| deposits.get(number, deposit)) {
            let texts = [hex(&d.address), hex(&d.token), hex(&d.tx_hash)];
            let codes = (d.asset, d.status as u8, d.reason as u8);
            let times = (d.block, d.block_time_s, d.credited_at_s);
            line!(out, "deposit {} {texts:?} {} {} {codes:?} {times:?}", d.number, d.value, d.amount);
        }
    }
    deposits.held().for_each(|held| line!(out, "deposit {} is held", held.number));
}

fn log<T: Row>(out: &mut String, name: &str, log: &Log<T>) {
    line!(out, "{name} forgotten {}", log.archived_through());
    log.iter().for_each(|row| line!(out, "{name} {:?} {}", row.key(), hex_of(row)));
}

fn perpetuals(out: &mut String, views: &Perpetuals, now_ms: i64) {
    for number in 1..41 {
        let Some(parameter) = PerpetualParameter::from_code(number) else { continue };
        line!(out, "venue {number} {}", views.markets().venue(parameter));
    }
    for market in views.markets().all() {
        let id = market.market;
        line!(out, "perpetual {id} {} {} {}", market.symbol(), market.base(), market.quote());
        let times = (market.listed_ms, market.price_ms, market.book_ms);
        line!(out, "perpetual {id} {} {times:?} {}", market.state as u8, market.open_interest);
        if has(Kept::PerpetualMarkets, 2) {
            line!(out, "funding {id} {}", market.funding_set_ms);
        }
        for number in 1..41 {
            let Some(parameter) = PerpetualParameter::from_code(number) else { continue };
            line!(out, "setting {id} {number} {}", market.setting(parameter));
        }
        market.brackets.iter().for_each(|row| line!(out, "bracket {}", hex_of(row)));
        market.price.iter().for_each(|row| line!(out, "price {}", hex_of(row)));
        market.sources.iter().for_each(|row| line!(out, "source {}", hex_of(row)));
        market.last_trade().iter().for_each(|row| line!(out, "last {}", hex_of(*row)));
        line!(out, "holders {id} {:?}", market.holders());
        // Texts were written when it was called so.
        let day = format!("{:?}", views.day(market, now_ms)).replace("Ticker24h", "Day");
        line!(out, "day {id} {day}");
        if let Some(book) = views.book(id) {
            let (bids, asks): (Vec<_>, Vec<_>) = (book.bids().collect(), book.asks().collect());
            line!(out, "perpetual book {id} {} {bids:?} {asks:?}", book.update_id());
        }
        for source in [Source::Trades, Source::Mark, Source::Index, Source::Premium] {
            for (name, interval) in INTERVALS {
                let (start_ms, end_ms, limit) = (Some(0), None, usize::MAX);
                let asked = CandleQuery { source, market: id, interval, start_ms, end_ms, limit };
                let kept = views.series().kept(&asked, now_ms).0;
                kept.iter().for_each(|row| line!(out, "{source:?} {name} {id} {}", hex_of(row)));
            }
        }
    }
    if has(Kept::Changes, 1) {
        configured(out, views);
    }
    views.accounts().tiers().iter().for_each(|row| line!(out, "tier {}", hex_of(row)));
    for account in 0..ACCOUNTS {
        line!(out, "volumes {account} {:?}", views.volumes().of(account));
        views.orders().open_of(account).for_each(|row| line!(out, "open {}", hex_of(row)));
        let Some(known) = views.accounts().find(account) else { continue };
        line!(out, "wallet {account} {} {} {}", known.wallet, known.updated_ms, known.tier);
        line!(out, "terms {}", hex_of(&known.terms));
        known.vip.iter().for_each(|row| line!(out, "vip {}", hex_of(row)));
        known.holdings.iter().for_each(|row| line!(out, "holding {}", hex_of(row)));
    }
    line!(out, "pools {}", hex_of(views.pools()));
    log(out, "orders", views.orders().ended());
    log(out, "service", views.orders().service());
    log(out, "forced", views.orders().forced());
    log(out, "fills", views.fills());
    log(out, "income", views.income());
    log(out, "amendments", views.amendments());
    log(out, "margins", views.margins());
    log(out, "prevented", views.prevented());
    log(out, "trades", views.trades());
    log(out, "fundings", views.fundings());
    if has(Kept::Interest, 1) {
        log(out, "interest", views.interests());
    }
    log(out, "transfers", views.transfers());
    log(out, "operators", views.operators().log());
}

fn configured(out: &mut String, views: &Perpetuals) {
    let configured = views.configured();
    let markets = || views.markets().all().iter().map(|market| market.market).chain([ALL_MARKETS]);
    for market in markets() {
        configured.change(market).iter().for_each(|row| line!(out, "changed {market} {}", hex_of(*row)));
        (0..9)
            .for_each(|source| line!(out, "age {market} {source} {}", configured.source_age(market, source)));
    }
    configured.next_tiers().iter().for_each(|row| line!(out, "next tier {}", hex_of(row)));
    configured.order_rates().for_each(|(account, rates)| line!(out, "rates {account} {rates:?}"));
    for (account, market) in (0..ACCOUNTS).flat_map(|account| markets().map(move |market| (account, market)))
    {
        let orders = configured.own_limit(account, market, |limits| limits.open_orders);
        let notionals = [
            configured.own_limit(account, market, |limits| limits.max_position_notional),
            configured.own_limit(account, market, |limits| limits.max_order_notional),
        ];
        line!(out, "limits {account} {market} {orders:?} {notionals:?}");
    }
}

/// All entries of an owner's list, oldest first.
pub(crate) fn all_of(number: u16, owner: AccountId) -> EntriesAsked {
    EntriesAsked {
        list: rows::list_of(number),
        owner,
        market: None,
        tag: 0,
        ids: 0..=u64::MAX,
        times: i64::MIN..=i64::MAX,
        through: u64::MAX,
        is_oldest: true,
        facets: ALL_FACETS,
        limit: usize::MAX,
        work: usize::MAX,
    }
}

fn entries(out: &mut String, reader: &mut dyn ArchiveReader, number: u16, owner: AccountId) {
    let mut rows = Vec::new();
    reader.entries(&all_of(number, owner), &mut rows).expect("entries are read");
    for entry in &rows {
        let Entry { sequence, market, id, time_ms, tag, .. } = entry;
        let record = hex_of_entry(entry);
        line!(out, "list {number} {owner} {market} {sequence} {id} {time_ms} {tag} {record}");
    }
}

/// Rows of a list, newest first.
fn rows_of<T: Row>(reader: &mut dyn ArchiveReader, number: u16, owner: AccountId) -> Vec<T> {
    let mut entries = Vec::new();
    reader.entries(&all_of(number, owner), &mut entries).expect("entries are read");
    entries.iter().rev().map(|entry| row_of(entry).expect("an entry is a row of its list")).collect()
}

/// The archive.
pub(crate) fn archive(reader: &mut dyn ArchiveReader) -> String {
    let mut out = String::new();
    let out = &mut out;
    let mark = reader.mark().expect("a mark");
    line!(out, "archived {} {}", mark.sequence, mark.time_ns);
    // Fills were counted as their trades, owners of orders with them.
    let fills_of = |reader: &mut dyn ArchiveReader, account| -> Vec<FillRecord> {
        rows_of(reader, List::SpotFills as u16, account)
    };
    let count: usize = (0..ACCOUNTS).map(|account| fills_of(reader, account).len()).sum();
    let owners: Vec<OwnerRecord> = rows_of(reader, List::SpotOwners as u16, 0);
    let rows = reader.rows().expect("a number of rows");
    line!(out, "rows {}", rows - (count + owners.len()) as u64);
    if has(Kept::SpotOwners, 1) {
        owners.iter().for_each(|row| line!(out, "owner {} {} {}", row.order, row.created_ms, row.account));
    }
    for account in 0..ACCOUNTS {
        let mut orders: Vec<OrderRecord> = rows_of(reader, List::SpotOrders as u16, account);
        orders.sort_by_key(|row| std::cmp::Reverse(row.order));
        orders.iter().for_each(|row| order(out, "order", row));
        fills_of(reader, account).iter().for_each(|row| fill(out, "fill", account, row));
        let mut balances: Vec<BalanceRecord> = rows_of(reader, List::BalanceChanges as u16, account);
        // Of an event the quote was told last.
        balances.sort_by_key(|row| std::cmp::Reverse((row.sequence, row.index, row.asset)));
        for b in balances {
            let sizes = (b.available.get(), b.frozen.get());
            line!(out, "balance {} {} {} {} {sizes:?}", b.sequence, b.time_ns, b.account, b.asset);
        }
    }
    for market in 0..MARKETS {
        let trades: Vec<TradeRecord> = rows_of(reader, List::SpotTrades as u16, 0);
        let trades = trades.iter().filter(|row| row.market == market);
        trades.for_each(|row| trade(out, "trade", row));
        for interval in 0..SPOT_INTERVALS.len() {
            let candles: Vec<ClosedCandle<i128>> = rows_of(reader, kline::list_of(interval), 0);
            for row in candles.iter().rev().filter(|row| row.market == market) {
                candle(out, "candle", market, interval, &row.candle);
            }
        }
    }
    for c in rows_of::<CreditRecord>(reader, List::Credits as u16, 0) {
        let (reason, amount) = (hex(&c.reason), c.amount.get());
        line!(out, "credit {} {} {} {} {amount} {reason}", c.sequence, c.time_ns, c.account, c.asset);
    }
    let candles = FIRST_CANDLES..FIRST_CANDLES + 4 * INTERVALS.len() as u16;
    for number in (1..=12).chain([List::Interest as u16]).chain(candles) {
        (0..ACCOUNTS).for_each(|owner| entries(out, reader, number, owner));
    }
    std::mem::take(out)
}
