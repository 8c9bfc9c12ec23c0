//! What can be read of the perpetual side, folded from its events (`core/src/event/perpetual.rs`).
//!
//! Values come as the engine told them: margins, prices to show and quantiles are computed by whoever reads. Of each history
//! ([`log`]) what is not archived stands here, and a window of what came last.

pub mod account;
pub mod configured;
mod days;
pub(crate) mod histories;
pub mod interest;
pub mod market;
pub mod operator;
pub mod order;
pub mod rows;
pub mod series;
pub mod volume;

use super::chunk_pool::Refill;
use super::codec::{LoadError, Reader, Writer};
use super::depth::{Book, DepthView};
use super::kept::Kept;
use super::log::Retention;
use super::market::MarketView;
use account::AccountTable;
use configured::Configured;
use days::Days;
use histories::Histories;
use interest::{InterestRecord, STEP_MS};
use market::MarketTable;
use operator::Operators;
use order::OrderTable;
use ringside_core::command::{
    ClientOrder, Kind as CommandKind, MarginMode, PerpetualOrderType, PerpetualState, Side, TreasuryPlace,
};
use ringside_core::event::{self, Event, Kind};
use ringside_core::ids::{ALL_MARKETS, FEE_ACCOUNT, FIRST_PERPETUAL, MarketId, Sequence};
use ringside_core::money::AMOUNT_PER_MICRO;
use rows::{AmendRecord, FillRecord, IncomeKind, IncomeRecord, MarginRecord, TransferRecord};
use series::{Series, Source};
use std::sync::Arc;
use volume::Volumes;

/// Part of a snapshot that histories stand in which come from here on, in the order of the table.
const NEWEST_PART: u8 = 3;
/// Funding tells of each position that something was paid, and what it left.
const EVENTS_OF_A_POSITION: usize = 2;

/// Everything of the perpetual side.
pub struct Perpetuals {
    markets: MarketTable,
    depth: DepthView,
    accounts: AccountTable,
    orders: OrderTable,
    histories: Histories,
    pub(super) series: Series,
    days: Days,
    volumes: Volumes,
    operators: Operators,
    /// Start of the step of which open interest was sampled last, UNIX milliseconds.
    interest_ms: i64,
    configured: Configured,
    /// The transfer that the running command made.
    transferred: Option<TransferRecord>,
    /// The credit of an operator that the running command is.
    credited: Option<IncomeRecord>,
    pools: event::PerpetualPools,
    /// Number of the last row of income, of amendments, of margin changes.
    numbers: [u64; 3],
    keep: Retention,
    positions: usize,
    /// Names of the order that is told next.
    placed: Option<event::PerpetualPlaced>,
    /// Whether the next event begins a command.
    is_between: bool,
}

/// Place of a perpetual market among them.
fn place(market: MarketId) -> usize {
    (market - FIRST_PERPETUAL) as usize
}

impl Perpetuals {
    /// Nothing yet, with histories of that length.
    pub(super) fn new(keep: Retention) -> Perpetuals {
        Perpetuals {
            markets: MarketTable::default(),
            depth: DepthView::default(),
            accounts: AccountTable::default(),
            orders: OrderTable::new(keep),
            histories: Histories::new(keep),
            series: Series::new(keep),
            days: Days::default(),
            volumes: Volumes::default(),
            operators: Operators::new(keep),
            interest_ms: 0,
            configured: Configured::default(),
            transferred: None,
            credited: None,
            pools: event::PerpetualPools { fees: 0, affiliates: 0, deposits: 0, deficit: 0 },
            numbers: [0; 3],
            keep,
            positions: 0,
            placed: None,
            is_between: true,
        }
    }

    /// How much of its histories it keeps.
    pub(super) fn keep(&self) -> Retention {
        self.keep
    }

    /// The spare memory of the histories that grow with every trade.
    pub(super) fn spares(&self) -> Vec<Arc<dyn Refill>> {
        let Histories { fills, income, trades, .. } = &self.histories;
        vec![self.orders.ended().spares(), fills.spares(), income.spares(), trades.spares()]
    }

    /// Markets: rules, states, prices, newest trades.
    pub fn markets(&self) -> &MarketTable {
        &self.markets
    }

    /// The book of a market; `None` when it never had an order.
    pub fn book(&self, market: MarketId) -> Option<&Book> {
        self.depth.book(market.checked_sub(FIRST_PERPETUAL)?)
    }

    /// Wallets, positions, terms.
    pub fn accounts(&self) -> &AccountTable {
        &self.accounts
    }

    /// Orders, open and ended.
    pub fn orders(&self) -> &OrderTable {
        &self.orders
    }

    /// Candles of trades, mark, index and premium.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// What operators did, on either side of the venue: histories that are archived stand here.
    pub fn operators(&self) -> &Operators {
        &self.operators
    }

    /// What operators configured beside the markets' own figures.
    pub fn configured(&self) -> &Configured {
        &self.configured
    }

    /// How many events the next hour's funding has, by the positions that were open when time last advanced.
    pub fn events_expected(&self) -> usize {
        EVENTS_OF_A_POSITION * self.positions
    }

    /// Traded value of accounts.
    pub fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// Fees, affiliates, deposits.
    pub fn pools(&self) -> &event::PerpetualPools {
        &self.pools
    }

    /// Folds the next event; events of spot alone change nothing. `spot` knows the names of assets.
    pub(super) fn fold(&mut self, event: &Event, spot: &MarketView) {
        let time_ms = event.time_ns.div_euclid(1_000_000);
        if std::mem::take(&mut self.is_between) {
            self.accounts.found_mut().clear();
            self.orders.begin();
        }
        let Some(kind) = Kind::from_code(event.kind) else { return };
        self.histories.fold(kind, event);
        match kind {
            Kind::PerpetualListed => each(event, |listed| self.markets.listed(listed, spot, time_ms)),
            Kind::PerpetualSetting => each(event, |setting| self.markets.set(setting, time_ms)),
            Kind::PerpetualBracket => each(event, |bracket| self.markets.bracket(bracket)),
            Kind::PerpetualStateChanged => each(event, |state| self.markets.state(state)),
            Kind::PerpetualSource => each(event, |source| {
                self.markets.source(source);
                self.configured.source(source);
            }),
            Kind::PerpetualSourceAge => each(event, |age| self.configured.age(age)),
            Kind::VipTierScheduled => each(event, |tier| self.configured.scheduled(tier)),
            Kind::AccountLimits => each(event, |limits| self.configured.limit(limits)),
            Kind::PerpetualPrice => each(event, |price| self.price(price, event.sequence, time_ms)),
            Kind::VipTier => each(event, |tier| {
                self.accounts.tier(tier);
                self.configured.tier(time_ms);
            }),
            Kind::VipChanged => each(event, |changed| self.accounts.vip(changed)),
            Kind::AccountTerms => each(event, |terms| self.accounts.terms(terms)),
            Kind::PerpetualWallet => each(event, |wallet| self.accounts.wallet(wallet, time_ms)),
            Kind::PerpetualPosition => each(event, |position| self.position(position, time_ms)),
            Kind::PerpetualExposure => each(event, |exposure| self.accounts.exposure(exposure)),
            Kind::PerpetualPools => each(event, |pools: &event::PerpetualPools| self.pools = *pools),
            Kind::PerpetualPlaced => {
                each(event, |placed: &event::PerpetualPlaced| self.placed = Some(*placed))
            }
            Kind::PerpetualOrder => each(event, |order| self.order(order, event.sequence, time_ms)),
            Kind::PerpetualTrade => each(event, |trade| self.trade(trade, event.sequence, time_ms)),
            Kind::PerpetualAmended => each(event, |amended| self.amended(amended, event.sequence, time_ms)),
            Kind::Posting => each(event, |posting| self.posting(posting, event.sequence, time_ms)),
            Kind::TriggerRefused => each(event, |refused| self.orders.refused(refused)),
            Kind::Depth => each(event, |depth: &event::Depth| {
                if depth.market >= FIRST_PERPETUAL {
                    self.markets.book_changed(depth.market, time_ms);
                    self.depth.changed(&event::Depth { market: depth.market - FIRST_PERPETUAL, ..*depth });
                }
            }),
            Kind::TreasuryMoved => each(event, |moved| self.treasury(moved, spot, event.sequence, time_ms)),
            Kind::OperatorNoted => each(event, |noted| self.operators.noted(noted, time_ms)),
            Kind::OperatorReason => each(event, |told| self.operators.told(told)),
            Kind::Done => each(event, |done: &event::Done| {
                self.accounts.found_mut().arrange();
                if done.command == CommandKind::AdvanceTime as u16 {
                    self.volumes.tick(time_ms);
                    self.expect_funding();
                    self.sample_prices(event.sequence, time_ms);
                }
                if let Some(row) = self.credited.take() {
                    let info = padded(self.operators.reason(done));
                    self.earned(event.sequence, IncomeRecord { info, ..row });
                }
                self.configured.done(done, self.operators.author(done), time_ms);
                self.operators.done(done, event.sequence);
                let is_transfer = [CommandKind::TransferPerpetual as u16, CommandKind::TransferOnce as u16]
                    .contains(&done.command);
                // Withdrawals move money between the ledgers as well, and have a list of their own.
                if let Some(row) = self.transferred.take().filter(|_| is_transfer) {
                    self.histories.transfers.push(event.sequence, row);
                }
                self.is_between = true;
            }),
            _ => {}
        }
    }

    fn price(&mut self, price: &event::PerpetualPrice, sequence: Sequence, time_ms: i64) {
        self.markets.price(price, time_ms);
        self.days.advance(place(price.market), time_ms);
        self.series.told(Source::Mark, price.market, price.mark, sequence, time_ms);
        self.series.told(Source::Index, price.market, price.index, sequence, time_ms);
    }

    /// What stands after a tick.
    fn sample_prices(&mut self, sequence: Sequence, time_ms: i64) {
        self.markets.stood(time_ms);
        for market in self.markets.all() {
            let Some(price) = market.price.filter(|_| market.state != PerpetualState::Closed) else {
                continue;
            };
            self.series.sample(Source::Mark, market.market, price.mark, sequence, time_ms);
            self.series.sample(Source::Index, market.market, price.index, sequence, time_ms);
            if let Some(premium) = market::premium(&price) {
                self.series.sample(Source::Premium, market.market, premium, sequence, time_ms);
            }
        }
        self.sample_interest(sequence, time_ms);
    }

    fn sample_interest(&mut self, sequence: Sequence, time_ms: i64) {
        let step_ms = time_ms - time_ms.rem_euclid(STEP_MS);
        if step_ms <= self.interest_ms {
            return;
        }
        self.interest_ms = step_ms;
        for market in self.markets.all().iter().filter(|market| market.state != PerpetualState::Closed) {
            self.histories.interests.push(sequence, InterestRecord::of(market, step_ms));
        }
    }

    /// Funding is a row of income for every position.
    fn expect_funding(&mut self) {
        self.positions = self.markets.all().iter().map(|market| market.holders().len()).sum();
        if self.keep != Retention::Nothing {
            self.histories.income.expect(self.positions);
        }
    }

    fn position(&mut self, position: &event::PerpetualPosition, time_ms: i64) {
        let before = self.accounts.position(position, time_ms);
        self.markets.interest(position.market, position.account, before, position.quantity);
    }

    fn order(&mut self, told: &event::PerpetualOrder, sequence: Sequence, time_ms: i64) {
        let placed = self.placed.take_if(|placed| placed.order == told.order);
        if let Some(placed) = &placed
            && placed.fired != 0
        {
            self.orders.fired(placed.fired, told.order, sequence, time_ms);
        }
        self.orders.told(told, placed.as_ref(), sequence, time_ms);
    }

    fn trade(&mut self, trade: &event::PerpetualTrade, sequence: Sequence, time_ms: i64) {
        let taker_side = Side::from_code(trade.taker_side).expect("the engine emits known sides");
        let cause = event::TradeCause::from_code(trade.cause).expect("the engine emits known causes");
        if trade.is_in_book() {
            if let Some(row) = self.markets.traded(trade, time_ms) {
                self.histories.trades.push(sequence, row);
            }
            self.series.traded(trade, sequence, time_ms);
            self.days.traded(trade, time_ms);
        }
        if cause == event::TradeCause::Book {
            self.volumes.traded(trade.maker_account, trade.value);
            self.volumes.traded(trade.taker_account, trade.value);
        }
        let maker = FillRecord {
            trade: trade.trade,
            order: trade.maker_order,
            price: trade.price,
            quantity: trade.quantity,
            value: trade.value,
            fee: trade.maker_fee,
            realised: trade.maker_realised,
            time_ms,
            account: trade.maker_account,
            market: trade.market,
            side: taker_side.opposite() as u8,
            is_maker: 1,
            is_liquidation: 0,
            reserved: [0; 5],
        };
        let taker = FillRecord {
            order: trade.taker_order,
            fee: trade.taker_fee,
            realised: trade.taker_realised,
            account: trade.taker_account,
            side: taker_side as u8,
            is_maker: 0,
            is_liquidation: (cause == event::TradeCause::Liquidation).into(),
            ..maker
        };
        let sides = [(maker, trade.flags & 1 != 0), (taker, trade.flags & 2 != 0)];
        // A settlement has nobody on its other side.
        let first = usize::from(cause == event::TradeCause::Settlement);
        for (fill, is_filled) in sides.into_iter().skip(first) {
            let info = self.orders.open(fill.order).map_or([0; 36], |order| order.client_order);
            self.orders.traded(&fill, is_filled, sequence);
            self.histories.fills.push(sequence, fill);
            let row = IncomeRecord {
                tran: 0,
                amount: fill.realised,
                time_ms,
                trade: fill.trade,
                account: fill.account,
                market: fill.market,
                kind: IncomeKind::RealizedPnl as u32,
                info,
            };
            self.earned(sequence, row);
            let (kind, info) = match fill {
                FillRecord { is_liquidation: 1, .. } => (IncomeKind::InsuranceClear, padded("LIQUIDATION")),
                FillRecord { fee: ..0, .. } => (IncomeKind::CommissionRebate, info),
                _ => (IncomeKind::Commission, info),
            };
            self.earned(sequence, IncomeRecord { amount: -fill.fee, kind: kind as u32, info, ..row });
        }
    }

    fn amended(&mut self, amended: &event::PerpetualAmended, sequence: Sequence, time_ms: i64) {
        let client_order = self.orders.open(amended.order).map_or([0; 36], |order| order.client_order);
        self.numbers[1] += 1;
        let number = self.numbers[1];
        // Of the running command alone.
        let told = event::PerpetualAmended { reference: 0, ..*amended };
        let row = AmendRecord { told, client_order, reserved: 0, time_ms, number };
        self.histories.amendments.push(sequence, row);
    }

    fn posting(&mut self, posting: &event::Posting, sequence: Sequence, time_ms: i64) {
        let Some(reason) = event::PostingReason::from_code(posting.reason) else { return };
        if reason == event::PostingReason::Transfer {
            let (account, amount) = (posting.account, posting.amount);
            self.transferred =
                Some(TransferRecord { number: sequence, amount, time_ms, account, reserved: 0 });
        }
        let (kind, info): (_, &str) = match reason {
            event::PostingReason::Transfer => (IncomeKind::Transfer, "TRANSFER"),
            event::PostingReason::FundingFee => (IncomeKind::FundingFee, "FUNDING_FEE"),
            event::PostingReason::InsuranceClear => (IncomeKind::InsuranceClear, "LIQUIDATION"),
            event::PostingReason::RealisedProfit => (IncomeKind::RealizedPnl, ""),
            // What it was for is known when it is done.
            event::PostingReason::Adjustment => (IncomeKind::InternalTransfer, ""),
            event::PostingReason::IsolatedMargin => {
                self.numbers[2] += 1;
                let row = MarginRecord {
                    number: self.numbers[2],
                    amount: posting.amount,
                    time_ms,
                    account: posting.account,
                    market: posting.market,
                    kind: if posting.wallet == MarginMode::Isolated as u8 { 1 } else { 2 },
                };
                self.histories.margins.push(sequence, row);
                return;
            }
            event::PostingReason::FundingResidue
            | event::PostingReason::Settlement
            | event::PostingReason::Affiliate
            | event::PostingReason::Treasury
            | event::PostingReason::TreasuryFees => return,
        };
        let row = IncomeRecord {
            tran: 0,
            amount: posting.amount,
            time_ms,
            trade: posting.trade,
            account: posting.account,
            market: posting.market,
            kind: kind as u32,
            info: padded(info),
        };
        match reason {
            event::PostingReason::Adjustment => self.credited = Some(row),
            _ => self.earned(sequence, row),
        }
    }

    /// What an operator moved from or to an account. It changes the spot balance, and so it is beside the kinds whose sum is the wallet.
    /// Income is told in micros of the margin asset: what is something else has no row.
    fn treasury(
        &mut self,
        moved: &event::TreasuryMoved,
        spot: &MarketView,
        sequence: Sequence,
        time_ms: i64,
    ) {
        let margin_asset = self.markets.all().first().and_then(|market| spot.asset(market.quote()));
        let amount = moved.amount.get();
        let micros = (amount % AMOUNT_PER_MICRO == 0).then_some(amount / AMOUNT_PER_MICRO);
        let Some(micros) = micros.and_then(|micros| i64::try_from(micros).ok()) else { return };
        if margin_asset != Some(moved.asset) {
            return;
        }
        for (place, account, amount) in
            [(moved.from, moved.from_account, -micros), (moved.to, moved.to_account, micros)]
        {
            if place == TreasuryPlace::Account as u8 {
                let row = IncomeRecord {
                    tran: 0,
                    amount,
                    time_ms,
                    trade: 0,
                    account,
                    market: ALL_MARKETS,
                    kind: IncomeKind::Treasury as u32,
                    info: padded("TREASURY"),
                };
                self.earned(sequence, row);
            }
        }
    }

    /// Adds a row of income, which gets its number here. The fund's own flows are no one's income.
    fn earned(&mut self, sequence: Sequence, row: IncomeRecord) {
        if row.amount != 0 && row.account != FEE_ACCOUNT {
            self.numbers[0] += 1;
            self.histories.income.push(sequence, IncomeRecord { tran: self.numbers[0], ..row });
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        self.markets.save(writer);
        self.depth.save(writer);
        self.accounts.save(writer);
        self.orders.save(writer);
        self.histories.save(0, writer);
        self.series.save(writer);
        self.days.save(writer);
        writer.record(&self.pools);
        self.numbers.iter().for_each(|number| writer.u64(*number));
        self.volumes.save(writer);
        self.histories.save(1, writer);
        self.operators.save(writer);
        self.configured.save(writer);
        self.histories.save(2, writer);
        writer.i64(self.interest_ms);
        self.histories.save(NEWEST_PART, writer);
    }

    pub(super) fn load(reader: &mut Reader<'_>, keep: Retention) -> Result<Perpetuals, LoadError> {
        let mut loaded = Perpetuals::new(keep);
        loaded.markets = MarketTable::load(reader)?;
        loaded.depth = DepthView::load(reader)?;
        loaded.accounts = AccountTable::load(reader)?;
        loaded.orders = OrderTable::load(reader, keep)?;
        loaded.histories.load(0, reader, keep)?;
        loaded.series = Series::load(reader, keep)?;
        loaded.days = Days::load(reader)?;
        loaded.pools = reader.record()?;
        loaded.numbers = [reader.u64()?, reader.u64()?, reader.u64()?];
        if reader.has(Kept::Volumes) {
            loaded.volumes = Volumes::load(reader)?;
        }
        loaded.histories.load(1, reader, keep)?;
        if reader.has(Kept::Operators) {
            loaded.operators = Operators::load(reader, keep)?;
        }
        if reader.has(Kept::Changes) {
            loaded.configured = Configured::load(reader)?;
        }
        loaded.histories.load(2, reader, keep)?;
        if reader.has(Kept::Interest) {
            loaded.interest_ms = reader.i64()?;
        }
        loaded.histories.load(NEWEST_PART, reader, keep)?;
        Ok(loaded)
    }
}

fn each<P: event::Payload>(event: &Event, fold: impl FnOnce(&P)) {
    if let Some(payload) = event.get::<P>() {
        fold(payload);
    }
}

/// What does not fit goes, whole characters at a time.
fn padded(text: &str) -> ClientOrder {
    let mut field = [0; 36];
    let text = &text[..text.floor_char_boundary(field.len())];
    field[..text.len()].copy_from_slice(text.as_bytes());
    field
}

/// Whether an order is the engine's own.
pub fn is_liquidation(order: &event::PerpetualOrder) -> bool {
    order.order_type == PerpetualOrderType::Liquidation as u8
}
