//! A workload as the flow of a perpetual market: the same orders, with margin in place of reservations.
//!
//! The market's bounds are as wide as they go, every account is rich and stays at the default leverage, and the mark
//! stands still, so that nothing is refused and the fills are those of the floor. What is measured is what margin
//! costs: buckets, positions, the check at the match, fees, tiers.

use crate::floor::Floor;
use crate::op::{FillSum, Op, OpKind, TakesFills};
use crate::workload::{CENTRE, LOT, TICK, Workload, address_of, price_of};
use ringside_core::command::{
    AdvanceTime, CancelPerpetual, ClientOrder, Command, CreditPerpetual, ListPerpetual, ModifyPerpetual,
    PerpetualParameter, PerpetualState, PerpetualTimeInForce, PlacePerpetual, SetManualPrice,
    SetPerpetualParameter, SetPerpetualState, Side, order_class,
};
use ringside_core::ids::{FIRST_PERPETUAL, MarketId, padded};
use ringside_core::money::Price;
use std::io::Write as _;
use zerocopy::FromZeros;

/// The market of every command here.
pub const MARKET: MarketId = FIRST_PERPETUAL;
/// Every account starts with this much, micro-quote: enough for any position that a flow comes to, and little enough
/// that a million accounts stay within the range of money.
pub const CREDIT: i64 = 1_000_000_000_000;

/// What lists the market, opens it with its index at `index` and widens its bounds as far as they go.
pub fn listing(index: Price) -> impl Iterator<Item = Command> {
    use PerpetualParameter as Parameter;
    let list = Command::new(ListPerpetual {
        symbol: name("BENCHQUOTE"),
        base: name("BENCH"),
        quote: name("QUOTE"),
        tick: TICK,
        lot: LOT,
    });
    let wide = [
        (Parameter::MinPrice, 0),
        (Parameter::MaxPrice, 100_000_000_000_000_000),
        (Parameter::MinQuantity, LOT),
        (Parameter::MaxQuantity, 1_000_000_000_000_000_000),
        (Parameter::MinNotional, 0),
        (Parameter::MaxNotional, 1_000_000_000_000_000),
        (Parameter::MaxOpenOrders, 10_000),
        (Parameter::BandUp, 1_000_000_000),
        (Parameter::BandDown, 0),
        (Parameter::TakeBound, 99_999_999),
        (Parameter::DynamicBand, 100_000_000),
    ];
    let wide = wide.map(|(parameter, value)| {
        Command::new(SetPerpetualParameter { market: MARKET, parameter: parameter as u32, value })
    });
    let open = [
        Command::new(SetManualPrice { market: MARKET, moves_band: 0, price: index }),
        Command::new(AdvanceTime {}),
        Command::new(SetPerpetualState {
            market: MARKET,
            state: PerpetualState::Trading as u8,
            reserved: [0; 3],
        }),
    ];
    std::iter::once(list).chain(wide).chain(open)
}

/// Gives every account its wallet, in the order of ids.
pub fn credits(accounts: u32, amount: i64) -> impl Iterator<Item = Command> {
    (1..=accounts).map(move |account| {
        Command::new(CreditPerpetual { address: address_of(account), reserved: 0, amount, reason: [0; 64] })
    })
}

/// A limit order of `account`, under the client's name `number`.
pub fn limit(
    account: u32,
    side: Side,
    price: Price,
    quantity: i64,
    time_in_force: PerpetualTimeInForce,
    number: u64,
) -> PlacePerpetual {
    PlacePerpetual {
        account,
        market: MARKET,
        side: side as u8,
        time_in_force: time_in_force as u8,
        price,
        quantity,
        client_order: client_order(number),
        ..PlacePerpetual::new_zeroed()
    }
}

/// The orders by which accounts 2 n + 1 and 2 n + 2 of pair n, from 0 on, go `quantity` long and short at `price`; the client's names
/// are their numbers.
pub fn opposite(pair: u32, price: Price, quantity: i64) -> [PlacePerpetual; 2] {
    [(1, Side::Buy), (2, Side::Sell)].map(|(place, side)| {
        let account = 2 * pair + place;
        let gtc = PerpetualTimeInForce::GoodTillCancel;
        limit(account, side, price, quantity, gtc, u64::from(account))
    })
}

const NO_NAME: ClientOrder = [0; size_of::<ClientOrder>()];

fn client_order(number: u64) -> ClientOrder {
    let mut text = NO_NAME;
    // 16 digits and a letter fit in 36 bytes.
    let _ = write!(&mut text[..], "b{number:016x}");
    text
}

/// A workload, and what of each replaced order was executed before: a modification names the whole quantity.
pub struct PerpetualFlow {
    /// The flow. A replace that would change nothing asks for one lot more, as a modification that changes nothing is
    /// refused; the fills expected are those of the flow so changed.
    pub workload: Workload,
    /// Executed lots, by replace, preload first.
    executed: Vec<u32>,
}

impl PerpetualFlow {
    /// From the flow of a spot market.
    pub fn new(mut workload: Workload) -> PerpetualFlow {
        let last =
            workload.preload.iter().chain(&workload.ops).map(|op| op.order).max().unwrap_or(0) as usize;
        let mut tracked =
            Tracked { filled: vec![0; last + 1], sum: FillSum::default(), whole: vec![(0, 0); last + 1] };
        let mut floor = Floor::new();
        let mut executed = Vec::new();
        for op in &mut workload.preload {
            tracked.carry_out(&mut floor, op, &mut executed);
        }
        tracked.sum = FillSum::default();
        for op in &mut workload.ops {
            tracked.carry_out(&mut floor, op, &mut executed);
        }
        workload.expected = tracked.sum;
        PerpetualFlow { workload, executed }
    }

    /// The index: the middle of the book.
    pub fn index() -> Price {
        price_of(CENTRE)
    }

    /// Commands that bring a fresh engine to where the preload can start.
    pub fn setup(&self) -> impl Iterator<Item = Command> + use<> {
        listing(Self::index()).chain(credits(self.workload.accounts, CREDIT))
    }

    /// The command of an instruction, not yet stamped. `replaces` counts those before it.
    pub fn command(&self, op: &Op, replaces: &mut usize) -> Command {
        let account = self.workload.owners[op.order as usize];
        let order = u64::from(op.order);
        let side = if op.is_buy { Side::Buy } else { Side::Sell };
        let (price, quantity) = (price_of(op.level), i64::from(op.quantity) * LOT);
        match op.kind {
            OpKind::New => Command::new(limit(
                account,
                side,
                price,
                quantity,
                PerpetualTimeInForce::GoodTillCancel,
                order,
            )),
            OpKind::ImmediateOrCancel => Command::new(limit(
                account,
                side,
                price,
                quantity,
                PerpetualTimeInForce::ImmediateOrCancel,
                order,
            )),
            OpKind::Cancel => Command::new(CancelPerpetual {
                account,
                market: MARKET,
                order,
                client_order: NO_NAME,
                classes: order_class::ORDINARY,
            }),
            OpKind::Replace => {
                let executed = i64::from(self.executed[*replaces]) * LOT;
                *replaces += 1;
                Command::new(ModifyPerpetual {
                    account,
                    market: MARKET,
                    order,
                    price,
                    quantity: quantity + executed,
                    side: u8::MAX,
                    price_match: 0,
                    flags: 0,
                    client_order: NO_NAME,
                })
            }
        }
    }
}

/// What has happened to each order.
struct Tracked {
    filled: Vec<u32>,
    sum: FillSum,
    /// Level and whole quantity of each, as last asked for.
    whole: Vec<(u32, u32)>,
}

impl Tracked {
    fn carry_out(&mut self, floor: &mut Floor, op: &mut Op, executed: &mut Vec<u32>) {
        let order = op.order as usize;
        match op.kind {
            OpKind::New => self.whole[order] = (op.level, op.quantity),
            OpKind::Replace => {
                let filled = self.filled[order];
                if self.whole[order] == (op.level, op.quantity + filled) {
                    op.quantity += 1;
                }
                self.whole[order] = (op.level, op.quantity + filled);
                executed.push(filled);
            }
            OpKind::ImmediateOrCancel | OpKind::Cancel => {}
        }
        floor.apply(op, self);
    }
}

impl TakesFills for Tracked {
    fn fill(&mut self, maker: u64, taker: u64, level: u64, quantity: u64) {
        self.filled[maker as usize] += quantity as u32;
        self.sum.fill(maker, taker, level, quantity);
    }
}

fn name<const N: usize>(text: &str) -> [u8; N] {
    padded(text).expect("names of workloads are shorter than their fields")
}
