//! Events of the perpetual side as the engine would tell them, made by hand, and the views that fold them.

#![allow(dead_code, reason = "each test file uses its own part")]

use ringside_core::command::{self, PerpetualParameter, PerpetualStatus, Side};
use ringside_core::event::{self, Event, Execution};
use ringside_core::ids::{AccountId, FIRST_PERPETUAL, MarketId, OrderId};
use ringside_views::Views;

/// The market of the story.
pub(crate) const MARKET: MarketId = FIRST_PERPETUAL;
/// When it begins.
pub(crate) const START_NS: i64 = 1_700_000_000_000_000_000;
const UNIT: i64 = 100_000_000;
/// Settings of BTCUSDT, by number from 1.
const SETTINGS: [i64; 28] = [
    10_000_000,
    100_000,
    10_000_000,
    1_000_000_000_000_000,
    100_000,
    100_000_000_000,
    12_000_000_000,
    5_000_000,
    5_000_000_000_000,
    200,
    100,
    105_000_000,
    95_000_000,
    5_000_000,
    5_000_000,
    250_000,
    400_000,
    500_000,
    10_000,
    2,
    25_000_000_000,
    1,
    10_000,
    50_000,
    300_000,
    10_000_000,
    300,
    -1,
];
/// Cap in USDT, greatest leverage, maintenance rate, cum in USDT.
pub(crate) const BRACKETS: [(i64, u32, i64, i64); 7] = [
    (50_000, 125, 400_000, 0),
    (500_000, 100, 500_000, 50),
    (1_000_000, 50, 1_000_000, 2_550),
    (5_000_000, 20, 2_500_000, 17_550),
    (10_000_000, 10, 5_000_000, 142_550),
    (20_000_000, 5, 10_000_000, 642_550),
    (50_000_000, 2, 12_500_000, 1_142_550),
];

/// Views and what happened in them.
pub(crate) struct Story {
    pub(crate) views: Views,
    pub(crate) time_ns: i64,
    sequence: u64,
    index: u32,
    orders: OrderId,
    trades: u64,
    held: [i64; 3],
}

fn field<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [0; N];
    field[..text.len()].copy_from_slice(text.as_bytes());
    field
}

impl Story {
    /// BTCUSDT is listed and has a mark of 9100; accounts 1 and 2 have 1000 each.
    pub(crate) fn new() -> Story {
        let mut story = Story {
            views: Views::default(),
            time_ns: START_NS,
            sequence: 0,
            index: 0,
            orders: 0,
            trades: 0,
            held: [0; 3],
        };
        for account in 1..=2 {
            let mut address = [0xa1; 20];
            address[19] = account as u8;
            story.tell(event::AccountCreated { account, address });
        }
        story.tell(event::AssetCreated { asset: 0, name: field("BTC"), reserved: 0 });
        story.tell(event::AssetCreated { asset: 1, name: field("USDT"), reserved: 0 });
        story.tell(event::PerpetualListed {
            market: MARKET,
            base: 0,
            quote: 1,
            symbol: field("BTCUSDT"),
            reserved: 0,
        });
        for (parameter, value) in (1..).zip(SETTINGS) {
            story.tell(event::PerpetualSetting { market: MARKET, parameter, value });
        }
        story.tell(event::PerpetualSetting {
            market: u32::MAX,
            parameter: PerpetualParameter::FeeBurnBps as u32,
            value: 0,
        });
        for (number, (cap, leverage, rate, cumulated)) in (1..).zip(BRACKETS) {
            story.tell(event::PerpetualBracket {
                market: MARKET,
                bracket: number,
                count: BRACKETS.len() as u16,
                cap: cap * 1_000_000,
                rate,
                cumulated: cumulated * 1_000_000,
                leverage,
                reserved: 0,
            });
        }
        story.tell(event::VipTier { tier: 0, count: 2, volume: 0, maker_rate: 20_000, taker_rate: 50_000 });
        story.tell(event::VipTier {
            tier: 1,
            count: 2,
            volume: 1_000_000_000_000,
            maker_rate: 18_000,
            taker_rate: 45_000,
        });
        story.done();
        story.state(command::PerpetualState::Trading);
        story.mark(9_100);
        for account in 1..=2 {
            story.wallet(account, 1_000_000_000);
        }
        story
    }

    /// Folds one event.
    pub(crate) fn tell<P: event::Payload>(&mut self, payload: P) {
        let event = Event::new(self.sequence + 1, self.time_ns, self.index, payload);
        self.index += 1;
        self.views.fold(&event);
    }

    /// Ends the command.
    pub(crate) fn done(&mut self) {
        self.tell(event::Done { ..zerocopy::FromZeros::new_zeroed() });
        self.sequence += 1;
        self.index = 0;
    }

    /// A second passes.
    pub(crate) fn tick(&mut self) {
        let command = command::Kind::AdvanceTime as u16;
        self.tell(event::Done { command, ..zerocopy::FromZeros::new_zeroed() });
        self.sequence += 1;
        self.index = 0;
    }

    pub(crate) fn state(&mut self, state: command::PerpetualState) {
        let (state, set) = (state as u8, state as u8);
        self.tell(event::PerpetualStateChanged {
            market: MARKET,
            state,
            set,
            reserved: 0,
            settlement_price: 0,
        });
        self.done();
    }

    /// Mark and index, in USDT.
    pub(crate) fn mark(&mut self, price: i64) {
        self.tell(event::PerpetualPrice {
            market: MARKET,
            index_state: event::IndexState::Manual as u8,
            clamped: 0,
            reserved: 0,
            index: price * UNIT,
            mark: price * UNIT,
            basis: 0,
            impact_bid: 0,
            impact_ask: 0,
            funding_rate: 10_000,
            next_funding_ms: 1_700_002_800_000,
        });
        self.done();
    }

    pub(crate) fn wallet(&mut self, account: AccountId, wallet: i64) {
        self.tell(event::PerpetualWallet { account, reserved: 0, wallet });
        self.done();
    }

    fn placed(
        &mut self,
        account: AccountId,
        side: Side,
        name: &str,
        price: i64,
        quantity: i64,
    ) -> event::PerpetualOrder {
        self.orders += 1;
        self.tell(event::PerpetualPlaced {
            order: self.orders,
            account,
            market: MARKET,
            fired: 0,
            client_order: field(name),
            reserved: 0,
            reference: 0,
        });
        let order = event::PerpetualOrder {
            order: self.orders,
            account,
            market: MARKET,
            side: side as u8,
            price: price * UNIT,
            quantity,
            open: quantity,
            ..zerocopy::FromZeros::new_zeroed()
        };
        self.tell(order);
        order
    }

    /// Account 1 bids `thousandths` of a coin.
    pub(crate) fn rest(&mut self, name: &str, price: i64, thousandths: i64) -> OrderId {
        let order = self.placed(1, Side::Buy, name, price, thousandths * UNIT / 1000);
        self.tell(event::Depth {
            market: MARKET,
            price: price * UNIT,
            total: i128::from(order.quantity).into(),
            update: self.orders,
            side: Side::Buy as u8,
            ..zerocopy::FromZeros::new_zeroed()
        });
        self.done();
        order.order
    }

    pub(crate) fn cancel(&mut self, order: OrderId) {
        let told = self.views.perpetuals().orders().open(order).expect("it is there").told;
        let (status, execution) = (PerpetualStatus::Canceled as u8, Execution::Canceled as u8);
        self.tell(event::PerpetualOrder { status, execution, open: 0, ..told });
        self.done();
    }

    /// Account 1 bids a whole coin; account 2 sells `thousandths` of it to it.
    pub(crate) fn fill(&mut self, price: i64, thousandths: i64) -> (OrderId, OrderId) {
        let quantity = thousandths * UNIT / 1000;
        let maker = self.placed(1, Side::Buy, &format!("maker-{}", self.orders + 1), price, UNIT).order;
        self.done();
        let taker = self.placed(2, Side::Sell, &format!("taker-{}", self.orders + 1), price, quantity).order;
        self.trades += 1;
        let value = price * thousandths * 1000;
        self.tell(event::PerpetualTrade {
            trade: self.trades,
            maker_order: maker,
            taker_order: taker,
            price: price * UNIT,
            quantity,
            maker_account: 1,
            taker_account: 2,
            market: MARKET,
            taker_side: Side::Sell as u8,
            flags: if quantity == UNIT { 3 } else { 2 },
            cause: 0,
            reserved: 0,
            maker_fee: value / 5_000,
            taker_fee: value / 2_000,
            maker_realised: 0,
            taker_realised: 7_000_000,
            value,
        });
        for (account, sign) in [(1, 1), (2, -1)] {
            self.held[account as usize] += sign * quantity;
            let held = self.held[account as usize];
            self.tell(event::PerpetualPosition {
                account,
                market: MARKET,
                quantity: held,
                cost: held / UNIT * price * 1_000_000 + held % UNIT * price / 100,
                isolated_wallet: 0,
                open_fees: value / 5_000,
                realised: 0,
                leverage: 20,
                mode: 0,
            });
        }
        self.done();
        (maker, taker)
    }
}
