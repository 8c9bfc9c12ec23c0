//! A stream of perpetual commands as most are: limit and market orders of a dozen accounts in one market, cancels and changes,
//! and now and then what makes them go the long way: a trigger, a date, an order that only reduces, a mark that moves, another
//! leverage. Needs nothing but its seed and the events of what it gave; checks nothing itself.
#![allow(dead_code, unreachable_pub)]

use super::flow::{ONE, Random, USDT, opening, placed, stamped};
use ringside_core::command::*;
use ringside_core::event::Event;
use ringside_core::ids::{FIRST_PERPETUAL, padded};

const ACCOUNTS: u64 = 12;
const MARKET: u32 = FIRST_PERPETUAL;
const TICK: i64 = 10_000_000;
const LOT: i64 = 100_000;

/// What the generator knows of the venue.
pub struct Plain {
    random: Random,
    mark: i64,
    orders: Vec<(u32, u64)>,
    names: u64,
    time_ms: i64,
    opening: std::vec::IntoIter<Command>,
    sequence: u64,
}

impl Plain {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Plain {
        Plain {
            random: Random::new(seed ^ 0x7a),
            mark: 60_000 * ONE,
            orders: Vec::new(),
            names: 0,
            time_ms: 1_700_000_000_000,
            opening: opening(50_000).into_iter(),
            sequence: 0,
        }
    }

    /// The next command, sequenced from 1.
    pub fn command(&mut self) -> Command {
        let command = self.opening.next().unwrap_or_else(|| self.draw());
        stamped(command, &mut self.sequence, self.time_ms)
    }

    /// Takes in what the last command came to.
    pub fn observe(&mut self, events: &[Event]) {
        if let Some((account, _, order)) = placed(events) {
            self.orders.push((account, order));
            if self.orders.len() > 60 {
                self.orders.remove(0);
            }
        }
    }

    fn price(&mut self) -> i64 {
        let ticks = self.mark / TICK;
        (ticks + self.random.below(400) as i64 - 200) * TICK
    }

    fn known(&mut self) -> (u32, u64) {
        match self.orders.len() as u64 {
            0 => (1, 1),
            len => self.orders[self.random.below(len) as usize],
        }
    }

    fn place(&mut self) -> Command {
        self.names += 1;
        let account = 1 + self.random.below(ACCOUNTS) as u32;
        let is_market = self.random.below(8) == 0;
        // Good till canceled, immediate or cancel, fill or kill, post-only, till a date.
        let time_in_force =
            if is_market { 0 } else { self.random.pick(&[0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4]) };
        let largest = self.random.pick(&[5, 40, 400]);
        let has_stop = !is_market && time_in_force == 0 && self.random.below(60) == 0;
        let price = if is_market { 0 } else { self.price() };
        Command::new(PlacePerpetual {
            account,
            market: MARKET,
            side: self.random.below(2) as u8,
            order_type: if has_stop { 2 } else { u8::from(is_market) },
            time_in_force,
            self_trade: self.random.pick(&[0, 0, 0, 2, 3, 4]),
            working_type: self.random.below(2) as u8,
            price_match: 0,
            flags: if self.random.below(40) == 0 { order_flag::REDUCE_ONLY } else { 0 },
            price,
            quantity: (1 + self.random.below(largest) as i64) * LOT,
            stop_price: if has_stop { self.price() } else { 0 },
            callback_rate: 0,
            leverage: 0,
            good_till_ms: if time_in_force == 4 { self.time_ms + 700_000 } else { 0 },
            take_profit: if self.random.below(80) == 0 { self.price() } else { 0 },
            stop_loss: 0,
            client_order: padded(&format!("p{}", self.names)).expect("short"),
            attached_working_type: 0,
            reserved: [0; 3],
            idempotency_key: 0,
            idempotency_body: 0,
        })
    }

    fn draw(&mut self) -> Command {
        let account = 1 + self.random.below(ACCOUNTS) as u32;
        match self.random.below(1_000) {
            0..=749 => self.place(),
            750..=869 => {
                let (account, order) = self.known();
                let classes = order_class::ORDINARY;
                Command::new(CancelPerpetual {
                    account,
                    market: MARKET,
                    order,
                    client_order: [0; 36],
                    classes,
                })
            }
            870..=969 => {
                let (account, order) = self.known();
                Command::new(ModifyPerpetual {
                    account,
                    market: MARKET,
                    order,
                    price: self.price(),
                    quantity: (1 + self.random.below(100) as i64) * LOT,
                    side: 255,
                    price_match: 0,
                    flags: 0,
                    client_order: [0; 36],
                })
            }
            970..=974 => {
                let leverage = self.random.pick(&[5, 20, 50, 125]);
                Command::new(SetLeverage { account, market: MARKET, leverage, reserved: 0 })
            }
            975..=977 => {
                // Tiers that are soon earned.
                let tier = 1 + self.random.below(3) as u32;
                let volume = i64::from(tier) * 200_000 * USDT;
                let maker_rate = self.random.pick(&[15_000, -5_000]);
                Command::new(SetVipTier { tier, count: 6, volume, maker_rate, taker_rate: 45_000 })
            }
            978..=979 => Command::new(SetPerpetualAccount {
                account,
                mask: account_mask::TRADE_GROUP,
                trade_group: self.random.below(3) as i64 - 1,
                trading_enabled: 1,
                ..zerocopy::FromZeros::new_zeroed()
            }),
            980..=984 => {
                let jump = self.random.pick(&[5, 10, 40, 150, 300]) as i64;
                let signed = if self.random.below(2) == 0 { jump } else { -jump };
                self.mark = (self.mark + self.mark / 10_000 * signed).clamp(30_000 * ONE, 90_000 * ONE);
                Command::new(SetManualPrice { market: MARKET, moves_band: 0, price: self.mark })
            }
            _ => {
                self.time_ms += self.random.pick(&[200, 1_000, 70_000]);
                Command::new(AdvanceTime {})
            }
        }
    }
}
