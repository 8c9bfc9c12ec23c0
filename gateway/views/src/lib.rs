//! Everything that can be read, folded from the engine's events.
//!
//! Views do no I/O, ask no clock and never call the engine: the same events give the same views on every machine,
//! live, in replay and on the follower. They name nothing but the core; [`archive`] alone knows where rows go that leave memory.

pub mod account;
pub mod archive;
pub mod balance;
pub mod candle;
pub mod chunk_pool;
pub mod codec;
pub mod day;
pub mod dense_map;
pub mod deposit;
pub mod depth;
mod extremes;
pub mod hash;
pub mod history;
pub mod idempotency;
pub mod kept;
pub mod kline;
pub mod ledger;
pub mod log;
pub mod market;
pub mod order;
pub mod order_index;
mod owner_index;
pub mod perpetual;
pub mod queue;
pub mod segmented_vec;
mod shared;
mod stored;
pub mod ticker;
pub mod time;
pub mod unbacked;
pub mod withdrawal;

use account::AccountView;
use balance::{BalanceRow, BalanceView};
use chunk_pool::Refill;
pub use codec::LoadError;
use codec::{Reader, Writer};
use deposit::DepositView;
use depth::DepthView;
use history::{SpotHistory, TradeRecord};
use idempotency::IdempotencyView;
use kept::Kept;
use kline::KlineView;
use ledger::LedgerView;
use log::{Added, Adding, Retention};
use market::MarketView;
use order::{OpenOrders, OrderRecord};
use perpetual::Perpetuals;
use perpetual::account::PerpetualAccount;
use ringside_core::command::OrderStatus;
use ringside_core::event::{self, Event, Kind};
use ringside_core::ids::{AccountId, FIRST_PERPETUAL, OrderId, Sequence};
use ringside_core::money::{Amount, notional};
pub use shared::{MarketReader, SharedViews};
use std::sync::Arc;
use ticker::TickerView;
use unbacked::UnbackedView;
use withdrawal::WithdrawalView;

/// Version of the bytes of [`Views::save`]. The first that has a version for each list, so that another is needed only where the
/// order of the lists changes.
const FORMAT: u64 = 8;
/// Versions without: before there was a perpetual side, before volumes, transfers and operators' actions were kept, and the last.
/// They are read too; what they did not keep is missing.
const FORMATS_BEFORE: [u64; 3] = [3, 6, 7];

/// Histories that share a window: those of the spot side that grow with trading, and about as many of the perpetual side.
const SPOT_LOGS: usize = 3;
const PERPETUAL_LOGS: usize = 8;

/// All views of one deployment. The parts are public to read; only [`Views::fold`] changes them.
pub struct Views {
    accounts: AccountView,
    markets: MarketView,
    open: OpenOrders,
    depth: DepthView,
    balances: BalanceView,
    idempotency: IdempotencyView,
    klines: KlineView,
    tickers: TickerView,
    perpetuals: Perpetuals,
    ledger: LedgerView,
    withdrawals: WithdrawalView,
    deposits: DepositView,
    unbacked: UnbackedView,
    history: SpotHistory,
    sequence: Sequence,
    time_ns: i64,
    markets_changed: u64,
    running: Running,
}

/// What is known of the command whose events are arriving.
#[derive(Debug, Default)]
struct Running {
    order: Option<event::Order>,
    trades: Vec<event::Trade>,
    /// Quote the taker traded so far in this command.
    taken: Amount,
}

impl Default for Views {
    fn default() -> Views {
        Views::new(Retention::All)
    }
}

impl Views {
    /// Views of a deployment where nothing has happened yet, which keep so much of each history.
    pub fn new(keep: Retention) -> Views {
        Views {
            accounts: AccountView::default(),
            markets: MarketView::default(),
            open: OpenOrders::default(),
            depth: DepthView::default(),
            balances: BalanceView::default(),
            idempotency: IdempotencyView::new(keep != Retention::Nothing),
            klines: KlineView::default(),
            tickers: TickerView::default(),
            perpetuals: Perpetuals::new(keep.part(PERPETUAL_LOGS)),
            ledger: LedgerView::default(),
            withdrawals: WithdrawalView::default(),
            deposits: DepositView::default(),
            unbacked: UnbackedView::default(),
            history: SpotHistory::new(keep.part(SPOT_LOGS)),
            sequence: 0,
            time_ns: 0,
            markets_changed: 0,
            running: Running::default(),
        }
    }

    /// Accounts and wallets.
    pub fn accounts(&self) -> &AccountView {
        &self.accounts
    }

    /// Markets and assets.
    pub fn markets(&self) -> &MarketView {
        &self.markets
    }

    /// How many times a market, an asset or an account's own order rate changed: tells whether copies of those are still good.
    pub fn markets_changed(&self) -> u64 {
        self.markets_changed
    }

    /// Resting orders.
    pub fn open_orders(&self) -> &OpenOrders {
        &self.open
    }

    /// Levels.
    pub fn depth(&self) -> &DepthView {
        &self.depth
    }

    /// Balances.
    pub fn balances(&self) -> &BalanceView {
        &self.balances
    }

    /// Outcomes of placements with idempotency keys.
    pub fn idempotency(&self) -> &IdempotencyView {
        &self.idempotency
    }

    /// Candles.
    pub fn klines(&self) -> &KlineView {
        &self.klines
    }

    /// Rolling 24 hours.
    pub fn tickers(&self) -> &TickerView {
        &self.tickers
    }

    /// The perpetual side.
    pub fn perpetuals(&self) -> &Perpetuals {
        &self.perpetuals
    }

    /// The last proof of the ledgers.
    pub fn ledger(&self) -> &LedgerView {
        &self.ledger
    }

    /// Withdrawals.
    pub fn withdrawals(&self) -> &WithdrawalView {
        &self.withdrawals
    }

    /// Deposits, tokens and vaults.
    pub fn deposits(&self) -> &DepositView {
        &self.deposits
    }

    /// What was credited out of nothing.
    pub fn unbacked(&self) -> &UnbackedView {
        &self.unbacked
    }

    /// The spare memory of what grows with every trade.
    pub fn spares(&self) -> Vec<Arc<dyn Refill>> {
        let mut spares = self.perpetuals.spares();
        spares.extend(self.history.spares());
        spares
    }

    /// Ended orders, trades and credits of the spot side.
    pub fn history(&self) -> &SpotHistory {
        &self.history
    }

    /// The last command whose events are all folded.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Time of that command, nanoseconds of the UNIX epoch.
    pub fn time_ns(&self) -> i64 {
        self.time_ns
    }

    /// The order of an id, resting or ended, as far as memory has it.
    pub fn order(&self, account: AccountId, order: OrderId) -> Option<OrderRecord> {
        let open = self.open.get(order).filter(|open| open.account == account);
        open.or_else(|| self.history.order(account, order)).copied()
    }

    /// Everything of `archived` and before can be read elsewhere; what is not wanted here any more goes, a bounded number of
    /// rows at a time.
    pub fn forget(&mut self, archived: Sequence) {
        let archived = archived.min(self.sequence);
        self.forget_rows(archived);
        self.perpetuals.series.forget(archived);
    }

    /// Gives what the running command added to the histories, where the views keep none.
    pub fn take(&mut self, add: impl FnMut(Added<'_>)) {
        let mut adding = Adding::new(add);
        self.take_rows(&mut adding);
        let closed = self.klines.closed_by(self.sequence);
        closed.iter().for_each(|closed| adding.row(closed.list as u16, closed));
        let closed = self.perpetuals.series.take_closed();
        closed.for_each(|closed| adding.row(closed.list as u16, &closed));
    }

    /// Folds the next event. Events come in order, each command's whole; in between the views are not to be read.
    pub fn fold(&mut self, event: &Event) {
        self.perpetuals.fold(event, &self.markets);
        match Kind::from_code(event.kind) {
            Some(Kind::Trade) => self.each(event, Views::trade),
            Some(Kind::Order) => self.each(event, Views::changed_order),
            Some(Kind::Depth) => self.each(event, |views, _, depth: &event::Depth| {
                if depth.market < FIRST_PERPETUAL {
                    views.depth.changed(depth);
                }
            }),
            Some(Kind::Balances) => {
                self.each(event, |views, event, balances| {
                    views.balances.changed(balances, event.time_ns);
                    views.history.balances_changed(event, balances);
                });
            }
            Some(Kind::AccountCreated) => {
                self.each(event, |views, _, created| views.accounts.created(created))
            }
            Some(Kind::AssetCreated) => self.each(event, |views, _, created| {
                views.markets.asset_created(created);
                views.markets_changed += 1;
            }),
            Some(Kind::Credited) => {
                self.each(event, |views, event, credited| {
                    views.history.credited(event, credited);
                    views.unbacked.credited(credited);
                });
            }
            Some(Kind::Posting) => self.each(event, |views, _, posting| views.unbacked.posted(posting)),
            Some(Kind::Market) => self.each(event, |views, _, market| {
                views.markets.changed(market);
                views.markets_changed += 1;
            }),
            Some(Kind::StateHash) => self.each(event, |views, _, hash| views.ledger.hash(hash)),
            Some(Kind::SpotLedger) => self.each(event, |views, _, ledger| views.ledger.spot(ledger)),
            Some(Kind::PerpetualLedger) => {
                self.each(event, |views, _, ledger| {
                    views.ledger.perpetual(ledger, views.withdrawals.on_their_way());
                });
            }
            Some(
                Kind::Withdrawal
                | Kind::WithdrawalSigned
                | Kind::WithdrawalReleased
                | Kind::VaultOpened
                | Kind::ChainAdvanced
                | Kind::ReleaseAlarm
                | Kind::WithdrawalsPaused
                | Kind::ReleaseUndone
                | Kind::VaultRewind,
            ) => {
                self.withdrawals.fold(event);
                self.deposits.fold(event, &self.withdrawals);
            }
            Some(Kind::Token) => {
                self.deposits.fold(event, &self.withdrawals);
                self.markets_changed += 1;
                self.each(event, |views, _, token: &event::Token| views.markets.has_token(token.asset));
            }
            Some(Kind::Deposit | Kind::DepositBlock | Kind::VaultSigner) => {
                self.deposits.fold(event, &self.withdrawals);
            }
            Some(Kind::WithdrawalJudged) => self.each(event, |views, event, judged| {
                views.withdrawals.judge(&views.accounts, judged, event.time_ns);
            }),
            Some(Kind::AccountLimits) => self.markets_changed += 1,
            Some(Kind::Done) => self.each(event, Views::done),
            // Facts of the perpetual side: no view of spot holds them.
            Some(_) => {}
            None => panic!("views fold only events of their own version, not {event:?}"),
        }
    }

    fn each<P: event::Payload>(&mut self, event: &Event, fold: impl FnOnce(&mut Views, &Event, &P)) {
        if let Some(payload) = event.get::<P>() {
            fold(self, event, payload);
        }
    }

    fn trade(&mut self, event: &Event, trade: &event::Trade) {
        self.running.trades.push(*trade);
        self.running.taken += notional(trade.price, trade.quantity);
        if let Some(ended) = self.open.traded(trade, event.time_ns) {
            self.history.order_ended(ended, event.sequence);
        }
        self.history.traded(TradeRecord::of_event(trade, event.time_ns), event.sequence);
        self.klines.traded(event, trade);
        self.tickers.traded(event, trade);
    }

    fn changed_order(&mut self, event: &Event, order: &event::Order) {
        let taken = match self.running.trades.last() {
            Some(trade) if trade.taker_order == order.order => self.running.taken,
            _ => 0,
        };
        let (mut traded, mut created_ns) = (taken, event.time_ns);
        if order.is_new == 1 {
            self.running.order = Some(*order);
        } else if let Some(before) = self.open.get(order.order) {
            traded += before.traded;
            created_ns = before.created_ns;
        }
        let record = OrderRecord::of_event(order, traded, created_ns, event.time_ns);
        if record.status.is_resting() {
            self.open.put(record);
            return;
        }
        if order.is_new == 0 {
            self.open.remove(record.order);
        }
        if record.status == OrderStatus::Rejected && self.has_nothing(record.account) {
            self.history.order_refused(record, event.sequence);
        } else {
            self.history.order_ended(record, event.sequence);
        }
    }

    /// Whether an account has no money at all, of either side.
    fn has_nothing(&self, account: AccountId) -> bool {
        let is_empty = |row: &BalanceRow| row.available == 0 && row.frozen == 0;
        let is_flat = |account: &PerpetualAccount| {
            account.wallet == 0 && account.holdings.iter().all(|holding| holding.position.quantity == 0)
        };
        self.balances.rows(account).iter().all(is_empty)
            && self.perpetuals.accounts().find(account).is_none_or(is_flat)
    }

    fn done(&mut self, event: &Event, done: &event::Done) {
        let Running { order, trades, .. } = &self.running;
        if done.idempotency_key != 0 {
            let perpetual = self.perpetuals.orders().current(done.order);
            self.idempotency.done(event, done, (order.as_ref(), trades), perpetual);
        }
        self.idempotency.advance(event.time_ns);
        self.ledger.done(event, done);
        self.klines.advance(event);
        self.tickers.done(event);
        self.running.order = None;
        self.running.trades.clear();
        self.running.taken = 0;
        self.sequence = event.sequence;
        self.time_ns = event.time_ns;
    }

    /// Appends the views as bytes: versioned, compact, and equal for equal views. Only between commands.
    pub fn save(&self, bytes: &mut Vec<u8>) {
        assert!(self.running.trades.is_empty() && self.running.order.is_none(), "saved between commands");
        let writer = &mut Writer(bytes);
        writer.u64(FORMAT);
        writer.u64(self.sequence);
        writer.i64(self.time_ns);
        writer.versions();
        self.accounts.save(writer);
        self.markets.save(writer);
        self.open.save(writer);
        self.depth.save(writer);
        self.balances.save(writer);
        self.idempotency.save(writer);
        self.klines.save(writer);
        self.tickers.save(writer);
        self.perpetuals.save(writer);
        self.history.save(writer);
        self.withdrawals.save(writer);
        self.deposits.save(writer);
        self.unbacked.save(writer);
        self.idempotency.save_orders(writer);
    }

    /// Takes the place of everything held by what [`Views::save`] wrote; on an error nothing is
    /// changed. Bytes of any earlier format or version of a list are read; which those are
    /// is given back.
    pub fn load(&mut self, bytes: &[u8]) -> Result<Vec<Upgraded>, LoadError> {
        let mut reader = Reader::new(bytes);
        let found = reader.u64()?;
        let before = FORMATS_BEFORE.contains(&found).then_some(found);
        if found != FORMAT && before.is_none() {
            return Err(LoadError::Version { found, known: FORMAT });
        }
        let sequence = reader.u64()?;
        let time_ns = reader.i64()?;
        reader.versions(before)?;
        let accounts = AccountView::load(&mut reader)?;
        reader.limit_accounts(accounts.len());
        let markets = MarketView::load(&mut reader)?;
        let open = OpenOrders::load(&mut reader)?;
        let depth = DepthView::load(&mut reader)?;
        let balances = BalanceView::load(&mut reader)?;
        let is_asked = self.perpetuals.keep() != Retention::Nothing;
        let mut idempotency = IdempotencyView::load(&mut reader, is_asked)?;
        let credits = match reader.has(Kept::SpotOrders) {
            true => Vec::new(),
            false => SpotHistory::load_credits_before(&mut reader)?,
        };
        let klines = KlineView::load(&mut reader, time_ns)?;
        let tickers = TickerView::load(&mut reader, time_ns)?;
        let perpetuals = match reader.has(Kept::PerpetualMarkets) {
            true => Perpetuals::load(&mut reader, self.perpetuals.keep())?,
            false => Perpetuals::new(self.perpetuals.keep()),
        };
        let keep = self.history.keep();
        let history = match reader.has(Kept::SpotOrders) {
            true => SpotHistory::load(&mut reader, keep)?,
            false => SpotHistory::load_before(&mut reader, keep, credits)?,
        };
        let withdrawals = match reader.is_left_out() {
            true => WithdrawalView::default(),
            false => WithdrawalView::load(&mut reader)?,
        };
        let deposits = match reader.has(Kept::Deposits) {
            true => DepositView::load(&mut reader)?,
            false => DepositView::of(&withdrawals),
        };
        let unbacked = match reader.has(Kept::Unbacked) {
            true => UnbackedView::load(&mut reader)?,
            false => UnbackedView::of_rest(&balances, &perpetuals, &withdrawals, &deposits),
        };
        if reader.has(Kept::KeyedOrders) {
            idempotency.load_orders(&mut reader)?;
        }
        let upgraded = Upgraded::lists(found, &reader);
        reader.end()?;
        self.accounts = accounts;
        self.markets = markets;
        deposits.tokens().for_each(|token| self.markets.has_token(token.asset));
        self.deposits = deposits;
        self.unbacked = unbacked;
        self.open = open;
        self.depth = depth;
        self.balances = balances;
        self.idempotency = idempotency;
        self.history = history;
        self.klines = klines;
        self.tickers = tickers;
        self.perpetuals = perpetuals;
        self.withdrawals = withdrawals;
        self.sequence = sequence;
        self.time_ns = time_ns;
        self.markets_changed += 1;
        self.running = Running::default();
        Ok(upgraded)
    }
}

/// Something in loaded bytes that was of an earlier version than is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upgraded {
    /// What: the name of a list, or the format.
    pub what: &'static str,
    /// Its version in the bytes; 0 for a list that they do not have.
    pub from: u64,
    /// The version that is written.
    pub to: u64,
}

impl Upgraded {
    fn lists(format: u64, reader: &Reader<'_>) -> Vec<Upgraded> {
        let format = Upgraded { what: "format", from: format, to: FORMAT };
        let list = |list: &Kept| {
            let (from, to) = (reader.version(*list), list.newest());
            Upgraded { what: list.name(), from: from.into(), to: to.into() }
        };
        let all = std::iter::once(format).chain(Kept::ALL.iter().map(list));
        all.filter(|found| found.from != found.to).collect()
    }
}
