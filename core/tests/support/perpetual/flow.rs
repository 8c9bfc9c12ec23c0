//! A stream of perpetual commands that needs nothing but its seed and the events of what it gave: two markets, 42
//! accounts, a fund, every kind of order, jumps of the mark, hours and days that pass, and spot orders in between. Shared by
//! the tests of core and of persist; checks nothing itself.
#![allow(dead_code, unreachable_pub)]

use ringside_core::command::*;
use ringside_core::event::{self, Event};
use ringside_core::ids::{ALL_MARKETS, FIRST_PERPETUAL, padded};

pub(super) const ONE: i64 = 100_000_000;
/// One USDT.
pub(super) const USDT: i64 = 1_000_000;

/// A generator with one word of state.
pub struct Random(u64);

impl Random {
    /// A generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

const ACCOUNTS: u64 = 42;

/// What the generator knows of the venue.
pub struct Flow {
    /// Its chance, for the test to draw from as well.
    pub random: Random,
    marks: [i64; 2],
    orders: Vec<(u32, u32, u64)>,
    names: u64,
    time_ms: i64,
    /// Commands still to come before anything is drawn.
    opening: std::vec::IntoIter<Command>,
    sequence: u64,
}

impl Flow {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Flow {
        let fund = [0, 5, 500, 50_000][(seed % 4) as usize];
        Flow {
            random: Random::new(seed),
            marks: [60_000 * ONE, 3_000 * ONE],
            orders: Vec::new(),
            names: 0,
            time_ms: 1_700_000_000_000,
            opening: opening(fund).into_iter(),
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
        if let Some(order) = placed(events) {
            self.orders.push(order);
            if self.orders.len() > 200 {
                self.orders.remove(0);
            }
        }
    }

    fn tick_of(market: usize) -> i64 {
        [10_000_000, 1_000_000][market]
    }

    fn price(&mut self, market: usize, spread_bps: u64) -> i64 {
        let mark = self.marks[market];
        let offset = mark / 10_000 * (self.random.below(2 * spread_bps + 1) as i64 - spread_bps as i64);
        let tick = Flow::tick_of(market);
        ((mark + offset) / tick).max(1) * tick
    }

    fn place(&mut self) -> Command {
        let market = self.random.below(2) as usize;
        let account = 1 + self.random.below(ACCOUNTS) as u32;
        let side = self.random.below(2) as u8;
        self.names += 1;
        let order_type = match self.random.below(20) {
            0..=11 => 0,
            12..=14 => 1,
            _ => 2 + self.random.below(5) as u8,
        };
        let has_limit = matches!(order_type, 0 | 2 | 3);
        let time_in_force =
            if has_limit { self.random.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]) } else { 0 };
        let lot = 100_000;
        let largest = self.random.pick(&[20, 200, 3_000]);
        let quantity = (1 + self.random.below(largest) as i64) * lot + self.random.below(2) as i64 * 777;
        let mut flags = 0;
        if self.random.chance(25) {
            flags |= order_flag::REDUCE_ONLY;
        }
        let mut place = PlacePerpetual {
            account,
            market: FIRST_PERPETUAL + market as u32,
            side,
            order_type,
            time_in_force,
            self_trade: self.random.pick(&[0, 0, 2, 3, 4]),
            working_type: self.random.below(2) as u8,
            price_match: 0,
            flags,
            price: if has_limit { self.price(market, 80) } else { 0 },
            quantity,
            stop_price: 0,
            callback_rate: 0,
            leverage: if self.random.chance(10) { 1 + self.random.below(130) as u32 } else { 0 },
            good_till_ms: if time_in_force == 4 {
                self.time_ms + 601_000 + self.random.below(100_000) as i64
            } else {
                0
            },
            take_profit: 0,
            stop_loss: 0,
            client_order: padded(&format!(
                "o{}",
                self.names - self.random.below(2) * self.random.below(50).min(self.names - 1)
            ))
            .expect("short"),
            attached_working_type: self.random.below(2) as u8,
            reserved: [0; 3],
            idempotency_key: if self.random.chance(5) { 1 + self.random.below(400) } else { 0 },
            idempotency_body: 0,
        };
        match order_type {
            0 if self.random.chance(8) => {
                place.price_match = 1 + self.random.below(8) as u8;
                place.price = 0;
            }
            0 | 1 if self.random.chance(12) => {
                let up = self
                    .price(market, 200)
                    .max(self.marks[market] / Flow::tick_of(market) * Flow::tick_of(market));
                place.take_profit = up;
                place.stop_loss = self.price(market, 300);
            }
            2..=5 => {
                place.stop_price = self.price(market, 150);
                if order_type > 3 && self.random.chance(30) {
                    place.flags = order_flag::CLOSE_POSITION | self.random.pick(&[0, order_flag::GTE]);
                    place.quantity = 0;
                }
                if self.random.chance(20) {
                    place.flags |= order_flag::PRICE_PROTECT;
                }
                if self.random.chance(20) {
                    place.flags |= order_flag::CONDITIONAL_SERVICE;
                }
            }
            6 => {
                place.callback_rate = 100_000 * (1 + self.random.below(30) as u32);
                place.stop_price = if self.random.chance(50) { self.price(market, 60) } else { 0 };
            }
            _ => {}
        }
        Command::new(place)
    }

    /// An order beside, on the spot market that shares the ids.
    fn place_spot(&mut self, account: u32) -> Command {
        let side = if self.random.chance(50) { Side::Buy } else { Side::Sell };
        let price = ONE / 100 * (95 + self.random.below(10) as i64);
        Command::new(PlaceOrder::limit(account, 0, side, price, ONE * (1 + self.random.below(9) as i64)))
    }

    fn known(&mut self) -> (u32, u32, u64) {
        if self.orders.is_empty() {
            (1, FIRST_PERPETUAL, 1)
        } else {
            let place = self.random.below(self.orders.len() as u64) as usize;
            self.orders[place]
        }
    }

    fn draw(&mut self) -> Command {
        let account = 1 + self.random.below(ACCOUNTS) as u32;
        let index = self.random.below(2) as usize;
        let market = FIRST_PERPETUAL + index as u32;
        match self.random.below(1000) {
            0..=579 => self.place(),
            580..=589 => self.place_spot(account),
            590..=599 => {
                // Heard, and outvoted by the price that is set by hand.
                let (source, jitter) = (1 + self.random.below(3) as u32, self.random.below(1_000) as i64);
                let price = self.marks[1] / 1_000 * (999 + jitter / 500);
                if self.random.chance(20) {
                    let weight = self.random.below(4) as u32;
                    Command::new(SetSource { market: FIRST_PERPETUAL + 1, source, weight, stale_ms: 0 })
                } else {
                    Command::new(FeedPrice { market: FIRST_PERPETUAL + 1, source, price })
                }
            }
            600..=679 => {
                let (account, market, order) = self.known();
                Command::new(CancelPerpetual { account, market, order, client_order: [0; 36], classes: 3 })
            }
            680..=739 => {
                let (account, market, order) = self.known();
                let price = self.price((market - FIRST_PERPETUAL) as usize, 60);
                Command::new(ModifyPerpetual {
                    account,
                    market,
                    order,
                    price,
                    quantity: (1 + self.random.below(300) as i64) * 100_000,
                    side: 255,
                    price_match: 0,
                    flags: self.random.pick(&[0, 0, 0, order_flag::KEEP_PRIORITY]),
                    client_order: [0; 36],
                })
            }
            740..=749 => Command::new(CancelAllPerpetual {
                account,
                market: self.random.pick(&[market, ALL_MARKETS]),
                classes: 1 + self.random.below(3) as u32,
                reserved: 0,
            }),
            750..=769 => Command::new(SetLeverage {
                account,
                market,
                leverage: 1 + self.random.below(125) as u32,
                reserved: 0,
            }),
            770..=779 => Command::new(SetMarginMode {
                account,
                market: self.random.pick(&[market, ALL_MARKETS]),
                mode: self.random.below(2) as u32,
                reserved: 0,
            }),
            780..=794 => Command::new(AdjustIsolatedMargin {
                account,
                market,
                amount: (self.random.below(400) as i64 - 200) * USDT,
            }),
            795..=804 => Command::new(TransferPerpetual {
                account,
                reserved: 0,
                amount: (self.random.below(2_000) as i64 - 1_000) * USDT,
            }),
            805..=809 => Command::new(SetCountdown {
                account,
                market: self.random.pick(&[market, ALL_MARKETS]),
                countdown_ms: self.random.below(20_000) as i64,
                keep_reduce_only: self.random.below(2) as u32,
                reserved: 0,
            }),
            810..=814 => {
                let mut address = [9; 20];
                address[..4].copy_from_slice(&account.to_le_bytes());
                Command::new(CreditPerpetual {
                    address,
                    reserved: 0,
                    amount: self.random.below(3_000) as i64 * USDT,
                    reason: [0; 64],
                })
            }
            815..=819 => Command::new(SetPerpetualAccount {
                account,
                mask: self.random.below(32) as u32 & !account_mask::TRADING,
                trade_group: self.random.below(5) as i64 - 1,
                trading_enabled: 1,
                fee_burn: 1,
                referral_total_bps: 2_000,
                referral_share_bps: 5_000,
                promo_bps: 300,
                promo_until_ms: self.time_ms + 50_000,
                ..zerocopy::FromZeros::new_zeroed()
            }),
            820..=822 => Command::new(SetPerpetualState {
                market,
                state: self.random.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
                reserved: [0; 3],
            }),
            823..=825 => Command::new(SetVipTier {
                tier: 0,
                count: 6,
                volume: 0,
                maker_rate: self.random.pick(&[20_000, -5_000, 0]),
                taker_rate: 50_000,
            }),
            826..=829 => Command::new(SetPerpetualParameter {
                market,
                parameter: PerpetualParameter::TakeBound as u32,
                value: 5_000_000,
            }),
            830..=869 => {
                let jump = self.random.pick(&[30, 30, 120, 400, 900]) as i64;
                let signed = if self.random.chance(50) { jump } else { -jump };
                let mark = self.marks[index] + self.marks[index] / 10_000 * signed;
                self.marks[index] = mark.clamp(500 * ONE, 500_000 * ONE);
                Command::new(SetManualPrice { market, moves_band: 0, price: self.marks[index] })
            }
            _ => {
                self.time_ms += self.random.pick(&[200, 1_000, 1_000, 5_000, 30_000, 700_000]);
                Command::new(AdvanceTime {})
            }
        }
    }
}

/// A command as the next of one source.
pub(super) fn stamped(mut command: Command, last: &mut u64, time_ms: i64) -> Command {
    *last += 1;
    (command.sequence, command.time_ns) = (*last, time_ms * 1_000_000);
    (command.source, command.source_seq) = (1, *last);
    command
}

/// Account, market and id of the order that a command placed, as its events have it.
pub(super) fn placed(events: &[Event]) -> Option<(u32, u32, u64)> {
    let done = events.last()?.get::<event::Done>()?;
    let is_placed = done.order != 0 && done.command == Kind::PlacePerpetual as u16;
    is_placed.then_some((done.account, done.market, done.order))
}

/// Two markets, a fund of so many USDT, and accounts with money, ready to trade.
pub(super) fn opening(fund: i64) -> Vec<Command> {
    let mut commands = Vec::new();
    for (symbol, base, tick) in [("BTCUSDT", "BTC", ONE / 10), ("ETHUSDT", "ETH", ONE / 100)] {
        commands.push(Command::new(ListPerpetual {
            symbol: padded(symbol).expect("short"),
            base: padded(base).expect("short"),
            quote: padded("USDT").expect("short"),
            tick,
            lot: ONE / 1_000,
        }));
    }
    if fund > 0 {
        commands.push(Command::new(CreditPerpetual {
            address: [0; 20],
            reserved: 0,
            amount: fund * USDT,
            reason: [0; 64],
        }));
    }
    for account in 1..=ACCOUNTS as u32 {
        let mut address = [9; 20];
        address[..4].copy_from_slice(&account.to_le_bytes());
        commands.push(Command::new(CreditPerpetual {
            address,
            reserved: 0,
            amount: (500 + 400 * i64::from(account)) * USDT,
            reason: [0; 64],
        }));
    }
    for (index, price) in [60_000, 3_000].into_iter().enumerate() {
        let market = FIRST_PERPETUAL + index as u32;
        commands.push(Command::new(SetManualPrice { market, moves_band: 0, price: price * ONE }));
        for (parameter, value) in
            [(PerpetualParameter::MinNotional, 0), (PerpetualParameter::ImpactNotional, 2_000 * USDT)]
        {
            commands.push(Command::new(SetPerpetualParameter { market, parameter: parameter as u32, value }));
        }
    }
    commands.push(Command::new(ListMarket {
        symbol: padded("DFUSDT").expect("short"),
        base: padded("DF").expect("short"),
        quote: padded("USDT").expect("short"),
        tick: ONE / 100,
        lot: ONE,
        min_notional: 1.into(),
        maker_fee: 500,
        taker_fee: 1_000,
        max_open_orders: 20,
        kind: 0,
        reserved: [0; 3],
    }));
    for asset in ["DF", "USDT"] {
        for account in 1..=ACCOUNTS as u32 {
            let mut address = [9; 20];
            address[..4].copy_from_slice(&account.to_le_bytes());
            commands.push(Command::new(Credit {
                address,
                asset: padded(asset).expect("short"),
                reserved: 0,
                amount: 1_000_000_000_000_000_000_000_i128.into(),
                reason: [0; 64],
            }));
        }
    }
    commands.push(Command::new(AdvanceTime {}));
    for index in 0..2 {
        commands.push(Command::new(SetPerpetualState {
            market: FIRST_PERPETUAL + index,
            state: 0,
            reserved: [0; 3],
        }));
    }
    commands
}
