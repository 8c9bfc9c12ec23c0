//! What can be read of the perpetual side, folded from its events (`core/src/event/perpetual.rs`).
//!
//! Values come as the engine told them: margins, prices to show and quantiles are computed by whoever reads. History is the
//! newest rows in memory; an archive of the perpetual side is not here yet.

pub mod account;
pub mod day;
pub mod market;
pub mod order;
pub mod recent;
pub mod rows;
pub mod series;

use super::codec::{LoadError, Reader, Writer};
use super::depth::{Book, DepthView};
use super::market::MarketView;
use account::AccountTable;
use market::MarketTable;
use order::OrderTable;
use recent::Recent;
use ringside_core::command::{ClientOrder, PerpetualOrderType, Side};
use ringside_core::event::{self, Event, Kind};
use ringside_core::ids::{AccountId, FEE_ACCOUNT, FIRST_PERPETUAL, MarketId, OrderId};
use rows::{AmendRecord, FillRecord, IncomeKind, IncomeRecord};
use series::{Series, Source};

/// Rows of each history kept in memory.
const HISTORY: usize = 200_000;

/// Everything of the perpetual side.
pub struct Perpetuals {
    markets: MarketTable,
    depth: DepthView,
    accounts: AccountTable,
    orders: OrderTable,
    fills: Recent<FillRecord>,
    income: Recent<IncomeRecord>,
    amendments: Recent<AmendRecord>,
    series: Series,
    pools: event::PerpetualPools,
    /// Number of the last row of income.
    income_count: u64,
    /// Names of orders that the running command placed.
    placed: Vec<event::PerpetualPlaced>,
    /// Whether the next event begins a command.
    is_between: bool,
}

impl Default for Perpetuals {
    fn default() -> Perpetuals {
        Perpetuals {
            markets: MarketTable::default(),
            depth: DepthView::default(),
            accounts: AccountTable::default(),
            orders: OrderTable::new(HISTORY),
            fills: Recent::new(HISTORY),
            income: Recent::new(HISTORY),
            amendments: Recent::new(HISTORY),
            series: Series::default(),
            pools: event::PerpetualPools { fees: 0, affiliates: 0, deposits: 0, deficit: 0 },
            income_count: 0,
            placed: Vec::new(),
            is_between: true,
        }
    }
}

/// Place of a perpetual market among them.
fn place(market: MarketId) -> usize {
    (market - FIRST_PERPETUAL) as usize
}

impl Perpetuals {
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

    /// Fills, by account.
    pub fn fills(&self) -> &Recent<FillRecord> {
        &self.fills
    }

    /// Changes of wallets, by account.
    pub fn income(&self) -> &Recent<IncomeRecord> {
        &self.income
    }

    /// Modifications, by account.
    pub fn amendments(&self) -> &Recent<AmendRecord> {
        &self.amendments
    }

    /// Candles of trades, mark, index and premium.
    pub fn series(&self) -> &Series {
        &self.series
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
        }
        let Some(kind) = Kind::from_code(event.kind) else { return };
        match kind {
            Kind::PerpetualListed => each(event, |listed| self.markets.listed(listed, spot, time_ms)),
            Kind::PerpetualSetting => each(event, |setting| self.markets.set(setting)),
            Kind::PerpetualBracket => each(event, |bracket| self.markets.bracket(bracket)),
            Kind::PerpetualStateChanged => each(event, |state| self.markets.state(state)),
            Kind::PerpetualSource => each(event, |source| self.markets.source(source)),
            Kind::PerpetualPrice => each(event, |price| self.price(price, time_ms)),
            Kind::FundingSettled => each(event, |settled| self.markets.funding(settled)),
            Kind::VipTier => each(event, |tier| self.accounts.tier(tier)),
            Kind::VipChanged => each(event, |changed| self.accounts.vip(changed)),
            Kind::AccountTerms => each(event, |terms| self.accounts.terms(terms)),
            Kind::PerpetualWallet => each(event, |wallet| self.accounts.wallet(wallet, time_ms)),
            Kind::PerpetualPosition => each(event, |position| self.position(position, time_ms)),
            Kind::PerpetualExposure => each(event, |exposure| self.accounts.exposure(exposure)),
            Kind::PerpetualPools => each(event, |pools: &event::PerpetualPools| self.pools = *pools),
            Kind::PerpetualPlaced => each(event, |placed: &event::PerpetualPlaced| self.placed.push(*placed)),
            Kind::PerpetualOrder => each(event, |order| self.order(order, time_ms)),
            Kind::PerpetualTrade => each(event, |trade| self.trade(trade, time_ms)),
            Kind::PerpetualAmended => each(event, |amended| self.amended(amended, time_ms)),
            Kind::PositionMoved => each(event, |moved| self.moved(moved, time_ms)),
            Kind::Posting => each(event, |posting| self.posting(posting, time_ms)),
            Kind::Depth => each(event, |depth: &event::Depth| {
                if depth.market >= FIRST_PERPETUAL {
                    self.markets.book_changed(depth.market, time_ms);
                    self.depth.changed(&event::Depth { market: depth.market - FIRST_PERPETUAL, ..*depth });
                }
            }),
            Kind::Done => {
                self.placed.clear();
                self.is_between = true;
            }
            _ => {}
        }
    }

    fn price(&mut self, price: &event::PerpetualPrice, time_ms: i64) {
        self.markets.price(price, time_ms);
        self.series.sample(Source::Mark, price.market, price.mark, time_ms);
        self.series.sample(Source::Index, price.market, price.index, time_ms);
        if let Some(premium) = market::premium(price) {
            self.series.sample(Source::Premium, price.market, premium, time_ms);
        }
    }

    fn position(&mut self, position: &event::PerpetualPosition, time_ms: i64) {
        let before = self.accounts.position(position, time_ms);
        self.markets.interest(position.market, before, position.quantity);
    }

    fn order(&mut self, told: &event::PerpetualOrder, time_ms: i64) {
        let placed = self.placed.iter().find(|placed| placed.order == told.order);
        if let Some(placed) = placed
            && placed.fired != 0
        {
            self.orders.fired(placed.fired, told.order, time_ms);
        }
        self.orders.told(told, placed, time_ms);
    }

    fn name(&self, order: OrderId) -> ClientOrder {
        self.orders.get(order).map_or([0; 36], |order| order.client_order)
    }

    fn trade(&mut self, trade: &event::PerpetualTrade, time_ms: i64) {
        let value = ringside_core::risk::perpetual::units::floor_value(trade.quantity, trade.price)
            .unwrap_or(i64::MAX);
        self.markets.traded(trade, value, time_ms);
        self.series.traded(trade, value, time_ms);
        let taker_side = Side::from_code(trade.taker_side).expect("the engine emits known sides");
        let maker_side = match taker_side {
            Side::Buy => Side::Sell,
            Side::Sell => Side::Buy,
        };
        let is_liquidation = trade.flags & 4 != 0;
        let maker = FillRecord {
            trade: trade.trade,
            order: trade.maker_order,
            price: trade.price,
            quantity: trade.quantity,
            value,
            fee: trade.maker_fee,
            realised: trade.maker_realised,
            time_ms,
            account: trade.maker_account,
            market: trade.market,
            side: maker_side as u8,
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
            is_liquidation: is_liquidation.into(),
            ..maker
        };
        for (fill, is_filled) in [(maker, trade.flags & 1 != 0), (taker, trade.flags & 2 != 0)] {
            let info = self.name(fill.order);
            self.orders.traded(&fill, is_filled);
            self.fills.push(fill);
            self.earned(
                fill.account,
                fill.market,
                IncomeKind::RealizedPnl,
                fill.realised,
                time_ms,
                fill.trade,
                info,
            );
            match fill {
                FillRecord { is_liquidation: 1, .. } => {
                    let info = padded(b"LIQUIDATION");
                    self.earned(
                        fill.account,
                        fill.market,
                        IncomeKind::InsuranceClear,
                        -fill.fee,
                        time_ms,
                        fill.trade,
                        info,
                    );
                }
                FillRecord { fee: ..0, .. } => {
                    self.earned(
                        fill.account,
                        fill.market,
                        IncomeKind::CommissionRebate,
                        -fill.fee,
                        time_ms,
                        fill.trade,
                        info,
                    );
                }
                _ => self.earned(
                    fill.account,
                    fill.market,
                    IncomeKind::Commission,
                    -fill.fee,
                    time_ms,
                    fill.trade,
                    info,
                ),
            }
        }
    }

    fn amended(&mut self, amended: &event::PerpetualAmended, time_ms: i64) {
        let client_order = self.name(amended.order);
        self.amendments.push(AmendRecord { told: *amended, client_order, reserved: 0, time_ms });
    }

    fn moved(&mut self, moved: &event::PositionMoved, time_ms: i64) {
        let order = self.name(moved.from_order);
        self.earned(
            moved.from,
            moved.market,
            IncomeKind::RealizedPnl,
            moved.from_realised,
            time_ms,
            0,
            order,
        );
        let order = self.name(moved.to_order);
        self.earned(moved.to, moved.market, IncomeKind::RealizedPnl, moved.to_realised, time_ms, 0, order);
    }

    fn posting(&mut self, posting: &event::Posting, time_ms: i64) {
        let Some(reason) = event::PostingReason::from_code(posting.reason) else { return };
        let (kind, info): (_, &[u8]) = match reason {
            event::PostingReason::Transfer => (IncomeKind::Transfer, b"TRANSFER"),
            event::PostingReason::FundingFee => (IncomeKind::FundingFee, b"FUNDING_FEE"),
            event::PostingReason::InsuranceClear => (IncomeKind::InsuranceClear, b"LIQUIDATION"),
            event::PostingReason::Settlement => (IncomeKind::RealizedPnl, b""),
            event::PostingReason::Adjustment => (IncomeKind::InternalTransfer, b""),
            event::PostingReason::FundingResidue
            | event::PostingReason::Affiliate
            | event::PostingReason::IsolatedMargin => return,
        };
        self.earned(
            posting.account,
            posting.market,
            kind,
            posting.amount,
            time_ms,
            posting.trade,
            padded(info),
        );
    }

    #[expect(clippy::too_many_arguments, reason = "they are the columns of one row")]
    fn earned(
        &mut self,
        account: AccountId,
        market: MarketId,
        kind: IncomeKind,
        amount: i64,
        time_ms: i64,
        trade: u64,
        info: ClientOrder,
    ) {
        // The fund's own flows are no one's income.
        if amount == 0 || account == FEE_ACCOUNT {
            return;
        }
        self.income_count += 1;
        let (tran, kind) = (self.income_count, kind as u32);
        self.income.push(IncomeRecord { tran, amount, time_ms, trade, account, market, kind, info });
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        self.markets.save(writer);
        self.depth.save(writer);
        self.accounts.save(writer);
        self.orders.save(writer);
        self.fills.save(writer);
        self.income.save(writer);
        self.amendments.save(writer);
        self.series.save(writer);
        writer.record(&self.pools);
        writer.u64(self.income_count);
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<Perpetuals, LoadError> {
        Ok(Perpetuals {
            markets: MarketTable::load(reader)?,
            depth: DepthView::load(reader)?,
            accounts: AccountTable::load(reader)?,
            orders: OrderTable::load(reader, HISTORY)?,
            fills: Recent::load(reader, HISTORY)?,
            income: Recent::load(reader, HISTORY)?,
            amendments: Recent::load(reader, HISTORY)?,
            series: Series::load(reader)?,
            pools: reader.record()?,
            income_count: reader.u64()?,
            placed: Vec::new(),
            is_between: true,
        })
    }
}

fn each<P: event::Payload>(event: &Event, fold: impl FnOnce(&P)) {
    if let Some(payload) = event.get::<P>() {
        fold(payload);
    }
}

fn padded(text: &[u8]) -> ClientOrder {
    let mut field = [0; 36];
    field[..text.len()].copy_from_slice(text);
    field
}

/// Whether an order is the engine's own, of a liquidation.
pub fn is_liquidation(order: &event::PerpetualOrder) -> bool {
    order.order_type == PerpetualOrderType::Liquidation as u8
}
