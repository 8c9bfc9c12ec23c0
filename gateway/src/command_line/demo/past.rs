//! What the demo's traders did before it opened, in a folder that has no journal yet: commands of that time, the same in every demo,
//! which the exchange replays at its start as it does any history. So the candles have trades behind them, and the trades accounts.

use super::{Random, STOCK, key_of};
use crate::boot::past::Past;
use crate::boot::{BootError, genesis};
use ringside_auth::typed_data::address_of_key;
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::command::{
    AdvanceTime, Body, Command, CreateAccount, Credit, CreditPerpetual, OrderType, PerpetualOrderType,
    PerpetualTimeInForce, PlaceOrder, PlacePerpetual, SelfTradePrevention, SetManualPrice, Side, TimeInForce,
};
use ringside_core::ids::{AccountId, FIRST_PERPETUAL, MarketId, padded};
use ringside_core::money::{AMOUNT_UNIT, MONEY_UNIT, Price, Quantity, UNIT};

/// How long they have traded, and how often.
const HOURS: i64 = 12;
const STEP_S: i64 = 10;
/// Accounts are numbered from 1 in order of creation.
const MAKER: AccountId = 1;
const TAKER: AccountId = 2;
/// A walk that ends where people would have it end is as good as any.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A market that ships, and how it is traded.
struct Walk {
    market: MarketId,
    tick: Price,
    lot: Quantity,
    /// The price that it leans towards, and what it changes by in a step.
    home: f64,
    wild: f64,
    /// What is mostly traded at once.
    quantity: f64,
    price: f64,
    trend: f64,
    /// What the taker holds, in usual trades.
    held: f64,
}

impl Walk {
    const fn new(market: MarketId, tick: Price, lot: Quantity, home: f64, wild: f64, quantity: f64) -> Walk {
        Walk { market, tick, lot, home, wild, quantity, price: home, trend: 0.0, held: 0.0 }
    }

    fn step(&mut self, random: &mut Random) {
        self.trend = 0.98 * self.trend + 0.06 * self.wild * random.normal();
        self.price *= 1.0 + self.trend + self.wild * random.normal() + 0.001 * (self.home / self.price - 1.0);
    }

    /// One trade near the price: the maker's order, and the taker's that meets it.
    fn trade(&mut self, random: &mut Random, number: u64) -> [Command; 2] {
        let near = self.price * (1.0 + 0.3 * self.wild * random.normal());
        let price = steps(near, self.tick);
        let size = 0.1 + 3.0 * random.uniform().powi(3);
        let quantity = steps(self.quantity * size, self.lot);
        let is_buy = random.uniform() < 0.5 - self.held / 40.0;
        self.held += if is_buy { size } else { -size };
        let (taken, made) = if is_buy { (Side::Buy, Side::Sell) } else { (Side::Sell, Side::Buy) };
        let of = |account, side, is_maker| match self.market < FIRST_PERPETUAL {
            true => spot(self.market, account, side, is_maker, price, quantity),
            false => perpetual(self.market, account, side, is_maker, price, quantity, number),
        };
        [of(MAKER, made, true), of(TAKER, taken, false)]
    }
}

/// Founds the journal with it, or leaves the one that is there.
pub(super) fn write(config: &Config, clock: &Clock) -> Result<(), BootError> {
    const S: i64 = 1_000_000_000;
    let end_s = clock.now_s();
    let begin_s = (end_s - HOURS * 3_600) / STEP_S * STEP_S;
    let Some(mut past) = Past::found(config, begin_s * S)? else { return Ok(()) };
    let mut refused = 0_u32;
    let mut tell = |time_s: i64, command: Command| -> Result<(), BootError> {
        if let Some(reject) = past.tell(time_s * S, command)? {
            refused += 1;
            tracing::debug!(?reject, ?command, "refused in the past");
        }
        Ok(())
    };
    tell(begin_s, Command::new(genesis::shipped_market()))?;
    for command in genesis::list_perpetuals() {
        tell(begin_s, command)?;
    }
    for command in ["maker", "first taker"].into_iter().flat_map(stock) {
        tell(begin_s, command)?;
    }
    tell(begin_s + 1, Command::new(AdvanceTime {}))?;
    for command in genesis::open_perpetuals() {
        tell(begin_s + 1, command)?;
    }
    let mut random = Random(SEED);
    let mut walks = [
        Walk::new(0, UNIT / 10_000, UNIT / 10, 0.25, 0.001_2, 120.0),
        Walk::new(FIRST_PERPETUAL, UNIT / 10, UNIT / 1_000, 60_000.0, 0.000_25, 0.05),
        Walk::new(FIRST_PERPETUAL + 1, UNIT / 100, UNIT / 1_000, 3_000.0, 0.000_3, 0.8),
        Walk::new(FIRST_PERPETUAL + 2, UNIT / 100, UNIT / 100, 150.0, 0.000_45, 12.0),
    ];
    let mut number = 0;
    for time_s in (begin_s + STEP_S..end_s).step_by(STEP_S as usize) {
        for walk in &mut walks {
            walk.step(&mut random);
            if walk.market >= FIRST_PERPETUAL {
                let price = steps(walk.price, UNIT / 100);
                tell(time_s, Command::new(SetManualPrice { market: walk.market, moves_band: 0, price }))?;
            }
        }
        tell(time_s, Command::new(AdvanceTime {}))?;
        for walk in &mut walks {
            for _ in 0..1 + (2.0 * random.uniform()) as u32 {
                number += 1;
                for command in walk.trade(&mut random, number) {
                    tell(time_s, command)?;
                }
            }
        }
    }
    past.close()?;
    if refused > 0 {
        tracing::warn!(refused, "some of the demo's past was refused");
    }
    Ok(())
}

/// A trader's account and its means.
fn stock(name: &str) -> Vec<Command> {
    let address = address_of_key(&key_of(name)).expect("a hash is a key");
    let reason = padded("demo").expect("a short word");
    let amount = (i128::from(STOCK) * AMOUNT_UNIT).into();
    let credit = |token| {
        let asset = padded(token).expect("a short name");
        Command::new(Credit { address, asset, reserved: 0, amount, reason })
    };
    vec![
        Command::new(CreateAccount { address, reserved: 0 }),
        credit("DF"),
        credit("USDT"),
        Command::new(CreditPerpetual { address, reserved: 0, amount: STOCK * MONEY_UNIT, reason }),
    ]
}

fn steps(value: f64, step: i64) -> i64 {
    (value * UNIT as f64 / step as f64).round().max(1.0) as i64 * step
}

fn spot(
    market: MarketId,
    account: AccountId,
    side: Side,
    is_maker: bool,
    price: Price,
    quantity: Quantity,
) -> Command {
    let time_in_force = if is_maker { TimeInForce::GoodTillCancel } else { TimeInForce::ImmediateOrCancel };
    Command::new(PlaceOrder {
        account,
        market,
        side: side as u8,
        order_type: OrderType::Limit as u8,
        time_in_force: time_in_force as u8,
        self_trade: SelfTradePrevention::RejectTaker as u8,
        price,
        quantity,
        ..empty()
    })
}

fn perpetual(
    market: MarketId,
    account: AccountId,
    side: Side,
    is_maker: bool,
    price: Price,
    quantity: Quantity,
    number: u64,
) -> Command {
    use PerpetualTimeInForce::{GoodTillCancel, ImmediateOrCancel};
    Command::new(PlacePerpetual {
        account,
        market,
        side: side as u8,
        order_type: PerpetualOrderType::Limit as u8,
        time_in_force: if is_maker { GoodTillCancel } else { ImmediateOrCancel } as u8,
        price,
        quantity,
        client_order: padded(&format!("demo-{market}-{number}")).expect("a short name"),
        ..empty()
    })
}

/// A body of zeros.
fn empty<B: Body>() -> B {
    B::new_zeroed()
}
