//! Random streams of perpetual commands: crowded books around a mark that jumps, wallets that cannot bear it, funds that
//! can pay for some of it or none, and values that nobody should send.
//!
//! A stream is a function of its seed and of the model that it looks at between commands, so that it can aim at orders
//! and positions that exist. Every seed draws its own profile.

use super::arithmetic::{E6, E8, E10};
use super::fees::{DAY_MS, HOUR_MS};
use super::{FUND, Model, Order, Stage};
use crate::support::random::Random;
use ringside_core::command::*;
use ringside_core::ids::{
    ALL_MARKETS, AccountId, Address, DRAFT_MARKET, FIRST_PERPETUAL, MarketId, OrderId, padded,
};

/// Funds of `risk.md` 21, in USDT.
const FUNDS: [i64; 4] = [0, 5, 500, 50_000];
/// Jumps of the index, in hundredths of a percent.
const JUMPS: [i64; 4] = [30, 120, 400, 900];
const MICRO: i64 = E6 as i64;

/// Name of the spot market of a base.
fn asset_name(base: &str) -> [u8; 20] {
    padded(&format!("{base}SPOT")).expect("short")
}

/// What one seed is like.
#[derive(Clone, Debug)]
pub struct Profile {
    pub accounts: u64,
    pub fund: i64,
    /// Permille of price moves that jump.
    jumps: u64,
    /// Permille of commands with something wrong in them.
    hostility: u64,
    /// Whether the index comes from sources, or is set by hand.
    sources: bool,
    /// Permille of accounts that begin isolated, and of changes of the mode that lead there.
    isolated: u64,
    /// Open orders from which on more are taken away.
    crowd: usize,
    /// Permille of placements that are conditional.
    conditional: u64,
    /// Small brackets, so that positions are cut down in steps.
    small_brackets: bool,
    rebates: bool,
    /// The second market stands at 0.00002, on a tick of 10^-8: a lot of 100 is worth what a lot of others is.
    cheap: bool,
    /// Hours pass in ticks, so that the settlements of funding have their samples; at rates that empty an isolated wallet.
    funding: bool,
    /// Units of work that a command has, where they are not those that ship.
    work: Option<u32>,
    /// Wallets and orders are so many times as large, up to the greatest value of an order and a position.
    scale: i64,
}

/// The generator.
pub struct Stream {
    random: Random,
    pub profile: Profile,
    time_ns: i64,
    sequence: u64,
    /// Published by one source, numbered.
    source_seq: u64,
    names: u64,
    /// Where the index of each market is headed, P8.
    prices: Vec<i64>,
    start: Vec<i64>,
    /// Commands to come before anything is drawn, the next one last.
    opening: Vec<Command>,
}

pub fn address(number: u64) -> Address {
    let mut address = [0; 20];
    address[12..].copy_from_slice(&(number + 1).to_be_bytes());
    address
}

impl Stream {
    pub fn new(seed: u64) -> Stream {
        let mut random = Random::new(seed ^ 0x5eed_0000_0000);
        let profile = Profile {
            accounts: 40 + random.below(9),
            fund: FUNDS[(seed % 4) as usize],
            jumps: *random.pick(&[20, 60, 150]),
            hostility: *random.pick(&[10, 30, 80]),
            sources: random.permille(500),
            isolated: *random.pick(&[0, 200, 500]),
            crowd: *random.pick(&[60, 120, 200]),
            conditional: *random.pick(&[60, 150, 300]),
            small_brackets: random.permille(700),
            rebates: random.permille(300),
            cheap: random.permille(200),
            funding: random.permille(250),
            work: random.permille(600).then(|| *random.pick(&[8, 8, 9, 11, 16, 40])),
            scale: *random.pick(&[1, 1, 1, 1, 5_000]),
        };
        let prices = vec![60_000 * E8 as i64, if profile.cheap { 2_000 } else { 2_500 * E8 as i64 }];
        let mut stream = Stream {
            random,
            profile,
            time_ns: 1_767_225_600_000_000_000,
            sequence: 0,
            source_seq: 0,
            names: 0,
            start: prices.clone(),
            prices,
            opening: Vec::new(),
        };
        stream.open();
        stream
    }

    /// Markets, accounts, money.
    fn open(&mut self) {
        let mut first: Vec<Command> = Vec::new();
        let second = if self.profile.cheap { (1, E10 as i64) } else { (1_000_000, 1_000_000) };
        for (symbol, base, (tick, lot)) in
            [("BTCUSDT", "BTC", (10_000_000, 100_000)), ("ETHUSDT", "ETH", second)]
        {
            first.push(Command::new(ListPerpetual {
                symbol: padded(symbol).expect("short"),
                base: padded(base).expect("short"),
                quote: padded("USDT").expect("short"),
                tick,
                lot,
            }));
        }
        for number in 0..self.profile.accounts {
            first.push(Command::new(CreateAccount { address: address(number), reserved: 0 }));
            let wallet = *self.random.pick(&[20, 200, 1_000, 5_000, 20_000, 200_000]);
            first.push(self.credit_to(address(number), wallet * MICRO * self.profile.scale));
            if self.random.permille(self.profile.isolated) {
                let (account, mode) = (number as AccountId + 1, MarginMode::Isolated as u32);
                first.push(Command::new(SetMarginMode { account, market: ALL_MARKETS, mode, reserved: 0 }));
            }
        }
        if self.profile.fund > 0 {
            first.push(self.credit_to([0; 20], self.profile.fund * MICRO * self.profile.scale));
        }
        for market in self.markets() {
            if self.profile.scale > 1 || self.profile.cheap {
                use PerpetualParameter::*;
                for (parameter, value) in [
                    (MinPrice, 1),
                    (MaxNotional, 1_000_000_000 * MICRO),
                    (MaxQuantity, 1_000_000_000_000_000_000),
                    (MaxMarketQuantity, 1_000_000_000_000_000_000),
                ] {
                    let parameter = parameter as u32;
                    first.push(Command::new(SetPerpetualParameter { market, parameter, value }));
                }
            }
            if self.profile.small_brackets {
                // They leave less room than the shipped ones.
                first.push(Command::new(SetPerpetualParameter { market, parameter: 17, value: 396_039 }));
                first.push(Command::new(self.small_brackets(market)));
            }
            if self.profile.funding {
                let interest = *self.random.pick(&[3_000_000, 3_000_000, 1_000_000, -3_000_000]);
                for (parameter, value) in [(22, 1), (24, 3_000_000), (25, 300_000), (23, interest)] {
                    first.push(Command::new(SetPerpetualParameter { market, parameter, value }));
                }
                for account in 1..=self.profile.accounts as AccountId {
                    let leverage = *self.random.pick(&[20, 50, 100, 125, 125]);
                    first.push(Command::new(SetLeverage { account, market, leverage, reserved: 0 }));
                }
            }
            if self.profile.sources {
                for source in 1..=3 {
                    let weight = self.random.between(1, 3) as u32;
                    first.push(Command::new(SetSource { market, source, weight, stale_ms: 0 }));
                }
            }
        }
        if let Some(value) = self.profile.work {
            first.push(Command::new(ActivateRule { rule: rule::WORK_MAX, value }));
        }
        if self.profile.rebates {
            first.push(Command::new(SetVipTier {
                tier: 0,
                count: 3,
                volume: 0,
                maker_rate: -5_000,
                taker_rate: 50_000,
            }));
        }
        first.extend(self.feeds(0));
        first.extend(self.feeds(1));
        first.push(Command::new(AdvanceTime {}));
        for market in self.markets() {
            first.push(Command::new(SetPerpetualState { market, state: 0, reserved: [0; 3] }));
        }
        first.reverse();
        self.opening = first;
    }

    fn markets(&self) -> [MarketId; 2] {
        [FIRST_PERPETUAL, FIRST_PERPETUAL + 1]
    }

    fn credit_to(&mut self, address: Address, amount: i64) -> Command {
        Command::new(CreditPerpetual { address, reserved: 0, amount, reason: [0; 64] })
    }

    fn small_brackets(&mut self, market: MarketId) -> SetBrackets {
        let mut caps = [0; 8];
        for (at, cap) in [5_000, 20_000, 100_000, 1_000_000, 20_000_000].into_iter().enumerate() {
            caps[at] = (cap * self.profile.scale).min(1_000_000_000 - 5 + at as i64) * MICRO;
        }
        SetBrackets {
            market,
            count: 5,
            caps,
            leverages: [125, 50, 20, 10, 2, 0, 0, 0],
            rates: [400_000, 1_000_000, 2_500_000, 5_000_000, 12_500_000, 0, 0, 0],
        }
    }

    /// The price of a market told by its sources, or by hand.
    fn feeds(&mut self, at: usize) -> Vec<Command> {
        let market = self.markets()[at];
        let price = self.prices[at];
        if !self.profile.sources {
            // As good as drawn.
            let moves_band = (price / 100_000_000 % 2) as u32;
            return vec![Command::new(SetManualPrice { market, moves_band, price })];
        }
        (1..=3)
            .map(|source| {
                let noise = self.random.between(-price / 2_000, price / 2_000);
                Command::new(FeedPrice { market, source, price: price + noise })
            })
            .collect()
    }

    /// The next command, sequenced.
    pub fn next(&mut self, model: &Model) -> Command {
        let starts = self.sequence < 200;
        let mut command = match self.opening.pop() {
            Some(command) => command,
            None => self.draw(model),
        };
        self.sequence += 1;
        command.sequence = self.sequence;
        let passed = if starts {
            1_000_000
        } else if command.time_ns != 0 {
            std::mem::take(&mut command.time_ns)
        } else {
            match self.random.weighted(&[400, 500, 60, 6, 1]) {
                0 => 0,
                1 => self.random.between(1, 300_000_000),
                2 => self.random.between(1, 4_000_000_000),
                3 => self.random.between(1, 1_000) * 1_000_000_000,
                _ => self.random.between(1, 40) * HOUR_MS * 1_000_000,
            }
        };
        if passed > 9_000_000_000 {
            // After a long silence the sources come back.
            let mut back = self.feeds(0);
            back.extend(self.feeds(1));
            back.push(Command::new(AdvanceTime {}));
            if self.random.permille(700) {
                self.opening.extend(back.into_iter().rev());
            }
        }
        command.time_ns = self.time_ns + passed;
        self.time_ns = command.time_ns;
        if command.source != 0 {
            // Somebody else, who does not number.
            return command;
        }
        command.source = 3;
        if self.random.permille(990) {
            self.source_seq += 1;
            command.source_seq = self.source_seq;
        } else {
            command.source_seq = self.random.below(self.source_seq.max(1));
        }
        command
    }

    fn draw(&mut self, model: &Model) -> Command {
        if self.profile.funding && self.random.permille(1) {
            return self.hours();
        }
        if self.random.permille(5) {
            return self.cornered(model);
        }
        if self.random.permille(6) {
            return self.cascade(model);
        }
        if self.random.permille(2) {
            return self.dates(model);
        }
        if self.random.permille(self.profile.hostility) {
            return self.hostile(model);
        }
        let crowded = model.orders.len() > self.profile.crowd;
        let weights: &[u64] = if crowded {
            &[350, 250, 8, 90, 120, 60, 12, 8, 8, 8, 6, 6, 14, 6, 3, 4]
        } else {
            &[600, 60, 2, 70, 120, 60, 12, 8, 8, 8, 6, 6, 14, 6, 3, 4]
        };
        match self.random.weighted(weights) {
            0 => Command::new(self.place(model)),
            1 => self.cancel(model),
            2 => self.cancel_all(),
            3 => self.modify(model),
            4 => Command::new(AdvanceTime {}),
            5 => self.move_price(model),
            6 => self.leverage(),
            7 => self.mode(),
            8 => self.isolated(model),
            9 => self.transfer(model),
            10 => self.countdown(),
            11 => self.credit(model),
            12 => self.administer(model),
            13 => self.terms(),
            14 => self.with_itself(model),
            _ => self.treasury(model),
        }
    }

    /// Some hours, with a premium sample in more than half of their slots.
    fn hours(&mut self) -> Command {
        for _ in 0..520 * *self.random.pick(&[1, 2, 4, 6]) {
            // Time that passes is told where a command has its own; of a few ticks nothing comes. Sources are silent for too long
            // otherwise.
            self.opening.push(Command { time_ns: 7_000_000_000, ..Command::new(AdvanceTime {}) });
            if self.profile.sources {
                let feeds = [self.feeds(0), self.feeds(1)].concat();
                self.opening.extend(feeds.into_iter().map(|feed| Command { time_ns: 1, ..feed }));
            }
        }
        Command::new(AdvanceTime {})
    }

    /// An isolated position with a stop behind the mark and somebody else's order to meet it, of which a tick finds less left than
    /// nothing: whatever the other asks for, the fund pays no more than that.
    fn cornered(&mut self, model: &Model) -> Command {
        let (account, market) = self.isolated_holder(model);
        let at = (market - FIRST_PERPETUAL) as usize;
        if account as usize >= model.accounts.len() || self.profile.sources || at >= model.markets.len() {
            return Command::new(AdvanceTime {});
        }
        let held = model.position(account, market).quantity as i64;
        let (mark, tick) = (self.mark(model, market), Stream::step(model, market, 1));
        let (closing, sign) = if held > 0 { (Side::Sell, -1) } else { (Side::Buy, 1) };
        let moved = |hundredths: i64| mark + sign * mark * hundredths / 10_000;
        let jump = *self.random.pick(&[30, 60, 90, 150, 300]);
        let on_tick = |price: i64| (price / tick * tick).max(tick);
        let quantity = *self.random.pick(&[held.abs(), held.abs() / 2]);
        let plain = |place: PlacePerpetual| PlacePerpetual {
            market,
            price_match: 0,
            self_trade: 0,
            callback_rate: 0,
            good_till_ms: 0,
            take_profit: 0,
            stop_loss: 0,
            time_in_force: 0,
            stop_price: 0,
            ..place
        };
        let stop = PlacePerpetual {
            account,
            side: closing as u8,
            order_type: PerpetualOrderType::StopMarket as u8,
            price: 0,
            quantity,
            stop_price: on_tick(moved(20)),
            working_type: WorkingType::MarkPrice as u8,
            flags: order_flag::REDUCE_ONLY,
            ..plain(self.place(model))
        };
        let bid = PlacePerpetual {
            account: self.trader(),
            side: closing.opposite() as u8,
            order_type: PerpetualOrderType::Limit as u8,
            price: on_tick(moved(jump + self.random.between(-30, 30))),
            quantity,
            flags: 0,
            ..plain(self.place(model))
        };
        self.prices[at] = moved(jump);
        let price = SetManualPrice { market, moves_band: 0, price: moved(jump) };
        let orders = [stop, bid].map(Command::new);
        self.opening.extend([Command::new(AdvanceTime {}), Command::new(price)].into_iter().chain(orders));
        self.clear_the_way(model, market, bid.price);
        self.opening.pop().expect("a stop at least")
    }

    /// Stops of many accounts behind one another, each moving the price to the next, among bids of others; some only reduce, or trail,
    /// or may be held back. Somebody sets them off, and others go on meanwhile.
    fn cascade(&mut self, model: &Model) -> Command {
        let market = self.market();
        let at = (market - FIRST_PERPETUAL) as usize;
        if at >= model.markets.len() {
            return Command::new(AdvanceTime {});
        }
        let (mark, tick) = (self.mark(model, market), Stream::step(model, market, 1));
        let falls = self.random.permille(500);
        let (closing, sign) = if falls { (Side::Sell, -1) } else { (Side::Buy, 1) };
        let span = *self.random.pick(&[20, 80, 200]);
        let mut orders = Vec::new();
        for number in 0..8 + self.random.below(24) as i64 {
            let stop = mark + sign * (mark * (3 + number % span) / 20_000).max(tick);
            let on_tick = |price: i64| (price / tick * tick).max(tick);
            let order_type = match self.random.below(8) {
                0 => PerpetualOrderType::Stop,
                1 => PerpetualOrderType::TrailingStopMarket,
                _ => PerpetualOrderType::StopMarket,
            };
            let flags = *self.random.pick(&[0, 0, order_flag::REDUCE_ONLY, order_flag::PRICE_PROTECT]);
            let working =
                if self.random.permille(500) { WorkingType::MarkPrice } else { WorkingType::ContractPrice };
            let trails = order_type == PerpetualOrderType::TrailingStopMarket;
            orders.push(PlacePerpetual {
                account: self.trader(),
                market,
                side: closing as u8,
                order_type: order_type as u8,
                price: if order_type == PerpetualOrderType::Stop { on_tick(stop) } else { 0 },
                stop_price: if trails { 0 } else { on_tick(stop) },
                callback_rate: if trails { 100_000 } else { 0 },
                working_type: working as u8,
                time_in_force: 0,
                price_match: 0,
                flags,
                ..self.place(model)
            });
            // Somebody to meet it, a little further on.
            let further = stop + sign * mark * self.random.between(0, 4) / 20_000;
            orders.push(PlacePerpetual {
                account: self.trader(),
                market,
                side: closing.opposite() as u8,
                order_type: PerpetualOrderType::Limit as u8,
                price: on_tick(further),
                stop_price: 0,
                callback_rate: 0,
                time_in_force: 0,
                price_match: 0,
                flags: 0,
                ..self.place(model)
            });
        }
        let sets_off = PlacePerpetual {
            account: self.trader(),
            market,
            side: closing as u8,
            order_type: PerpetualOrderType::Market as u8,
            price: 0,
            stop_price: 0,
            callback_rate: 0,
            good_till_ms: 0,
            time_in_force: 0,
            price_match: 0,
            flags: 0,
            ..self.place(model)
        };
        let mut rest: Vec<Command> = orders.into_iter().map(Command::new).collect();
        rest.extend((0..2).map(|_| Command::new(sets_off)));
        let moved = mark + sign * mark * span.min(40) / 20_000;
        self.prices[at] = moved;
        rest.extend(self.feeds(at));
        rest.push(Command::new(AdvanceTime {}));
        for _ in 0..self.random.below(12) {
            rest.push(match self.random.below(6) {
                0 => Command::new(AdvanceTime {}),
                1 => self.cancel(model),
                2 => self.modify(model),
                3 => self.cancel_all(),
                _ => Command::new(self.place(model)),
            });
        }
        self.opening.extend(rest.into_iter().rev());
        self.opening.pop().expect("an order at least")
    }

    /// Orders of many accounts that end at the same second, timers that end with it, and that second.
    fn dates(&mut self, model: &Model) -> Command {
        let (market, now_ms) = (self.market(), self.time_ns / 1_000_000);
        let at = (market - FIRST_PERPETUAL) as usize;
        if at >= model.markets.len() {
            return Command::new(AdvanceTime {});
        }
        let (mark, tick) = (self.mark(model, market), Stream::step(model, market, 1));
        let mut rest = Vec::new();
        for number in 0..8 + self.random.below(12) {
            let away = mark * self.random.between(10, 150) / 10_000;
            let (side, price) =
                if number % 2 == 0 { (Side::Buy, mark - away) } else { (Side::Sell, mark + away) };
            let order = PlacePerpetual {
                account: self.trader(),
                market,
                side: side as u8,
                order_type: PerpetualOrderType::Limit as u8,
                time_in_force: PerpetualTimeInForce::GoodTillDate as u8,
                good_till_ms: now_ms + 610_000,
                price: (price / tick * tick).max(tick),
                stop_price: 0,
                callback_rate: 0,
                price_match: 0,
                flags: 0,
                ..self.place(model)
            };
            rest.push(Command { time_ns: 1, ..Command::new(order) });
            if self.random.permille(300) {
                let market = *self.random.pick(&[market, market, ALL_MARKETS]);
                let account = order.account;
                let set =
                    SetCountdown { account, market, countdown_ms: 600_000, keep_reduce_only: 0, reserved: 0 };
                rest.push(Command { time_ns: 1, ..Command::new(set) });
            }
        }
        rest.push(Command { time_ns: 615_000_000_000, ..Command::new(AdvanceTime {}) });
        rest.push(Command { time_ns: 1, ..Command::new(self.place(model)) });
        rest.push(Command { time_ns: 1, ..self.cancel(model) });
        self.opening.extend(rest.into_iter().rev());
        self.opening.pop().expect("an order at least")
    }

    fn trader(&mut self) -> AccountId {
        1 + self.random.below(self.profile.accounts) as AccountId
    }

    fn market(&mut self) -> MarketId {
        *self.random.pick(&[FIRST_PERPETUAL, FIRST_PERPETUAL + 1])
    }

    fn move_price(&mut self, model: &Model) -> Command {
        let at = self.random.below(2) as usize;
        let hundredths = if self.random.permille(self.profile.jumps) {
            *self.random.pick(&JUMPS)
        } else {
            self.random.between(0, 8)
        };
        let (low, high) = (self.start[at] / 2, self.start[at] * 2);
        let up = match self.prices[at] {
            price if price < low => true,
            price if price > high => false,
            _ => self.random.permille(500),
        };
        let change = self.prices[at] * hundredths / 10_000;
        self.prices[at] += if up { change } else { -change };
        let mut feeds = Vec::new();
        if let Some(price) = model.too_high(self.markets()[at]).filter(|_| self.random.permille(20)) {
            // Whatever the noise of the sources.
            let meant = std::mem::replace(&mut self.prices[at], price + price / 1_000);
            feeds.extend(self.feeds(at));
            feeds.extend((0..1 + self.random.below(3)).map(|_| Command::new(AdvanceTime {})));
            self.prices[at] = meant;
        }
        feeds.extend(self.feeds(at));
        if self.random.permille(700) {
            feeds.push(Command::new(AdvanceTime {}));
        }
        let first = feeds.remove(0);
        self.opening.extend(feeds.into_iter().rev());
        first
    }

    /// Mark of a market, or where its price is headed before it has one.
    fn mark(&self, model: &Model, market: MarketId) -> i64 {
        let at = (market - FIRST_PERPETUAL) as usize;
        match model.markets.get(at) {
            // Near the greatest price there is no room for what is worked out of it.
            Some(known) if known.mark > 0 => known.mark.min(1_000_000_000_000_000) as i64,
            _ => self.prices[at],
        }
    }

    fn step(model: &Model, market: MarketId, parameter: u32) -> i64 {
        model
            .markets
            .iter()
            .find(|known| known.id == market)
            .map_or(100_000, |known| known.parameters[&parameter] as i64)
    }

    /// A limit price near the mark, on the tick.
    fn price(&mut self, model: &Model, market: MarketId, side: Side) -> i64 {
        let mark = self.mark(model, market);
        let tick = Stream::step(model, market, 1);
        let away = match self.random.weighted(&[500, 350, 120, 30]) {
            0 => self.random.between(-10, 60),
            1 => self.random.between(-60, 250),
            2 => self.random.between(-300, 500),
            _ => self.random.between(-700, 900),
        };
        let away = if side == Side::Buy { -away } else { away };
        // Few prices, so that levels fill up.
        let grid = tick * if self.random.permille(800) && mark > 10_000 * tick { 50 } else { 1 };
        ((mark + mark * away / 10_000) / grid * grid).max(tick)
    }

    fn quantity(&mut self, model: &Model, market: MarketId) -> i64 {
        let lot = Stream::step(model, market, 2);
        let usdt = match self.random.weighted(&[300, 400, 200, 80, 20]) {
            0 => self.random.between(5, 100),
            1 => self.random.between(50, 1_500),
            2 => self.random.between(500, 10_000),
            3 => self.random.between(5_000, 80_000),
            _ => self.random.between(50_000, 3_000_000),
        };
        let mark = self.mark(model, market).max(1);
        let quantity = i128::from(usdt * self.profile.scale) * E6 * E10 / i128::from(mark);
        let lots = (quantity as i64 / lot).max(1);
        lots * lot + if self.random.permille(100) { self.random.between(0, lot - 1) } else { 0 }
    }

    fn name(&mut self) -> ClientOrder {
        self.names += 1;
        let mut name = [0; 36];
        let some_time_ago = self.names.saturating_sub(self.random.below(60));
        let text = match self.random.below(200) {
            0..3 => format!("x-{some_time_ago}"),
            // As that of an attached order.
            3..6 => format!("x-{some_time_ago}{}", self.random.pick(&["_tp", "_sl"])),
            // So long that those of its attached orders are cut.
            6..16 => {
                format!("{:-<33}{}", some_time_ago / 20, self.random.pick(&["", "a", "abc", "_tp", "_sl"]))
            }
            _ => format!("x-{}", self.names),
        };
        name[..text.len()].copy_from_slice(text.as_bytes());
        name
    }

    fn place(&mut self, model: &Model) -> PlacePerpetual {
        use PerpetualOrderType::*;
        let (account, market) = (self.trader(), self.market());
        let side = *self.random.pick(Side::ALL);
        let mut place = PlacePerpetual {
            account,
            market,
            side: side as u8,
            order_type: Limit as u8,
            time_in_force: 0,
            self_trade: *self.random.pick(&[0, 0, 2, 3, 4]),
            working_type: self.random.below(2) as u8,
            price_match: 0,
            flags: 0,
            price: 0,
            quantity: self.quantity(model, market),
            stop_price: 0,
            callback_rate: 0,
            leverage: 0,
            good_till_ms: 0,
            take_profit: 0,
            stop_loss: 0,
            client_order: self.name(),
            attached_working_type: self.random.below(2) as u8,
            reserved: [0; 3],
            idempotency_key: 0,
            idempotency_body: 0,
        };
        let kind = if self.random.permille(self.profile.conditional) {
            *self.random.pick(&[Stop, TakeProfit, StopMarket, TakeProfitMarket, TrailingStopMarket])
        } else if self.random.permille(130) {
            Market
        } else {
            Limit
        };
        place.order_type = kind as u8;
        if matches!(kind, Limit | Stop | TakeProfit) {
            place.price = self.price(model, market, side);
            place.time_in_force = self.random.weighted(&[600, 140, 100, 100, 60]) as u8;
            if place.time_in_force == PerpetualTimeInForce::GoodTillDate as u8 {
                let seconds = self.time_ns / 1_000_000_000;
                place.good_till_ms = (seconds + self.random.between(598, 900)) * 1000;
            }
            if self.random.permille(60) {
                place.price_match = 1 + self.random.below(8) as u8;
                place.price = 0;
            }
        }
        if Order::is_conditional(kind) {
            self.condition(model, &mut place, kind, side);
        }
        if self.random.permille(150) && place.flags & order_flag::CLOSE_POSITION == 0 {
            place.flags |= order_flag::REDUCE_ONLY;
        }
        // Its creation may have been passed over.
        let exists = (account as usize) < model.accounts.len();
        if self.random.permille(250)
            && exists
            && let position = model.position(account, market)
            && position.quantity != 0
        {
            // Against the position, by part of it or more.
            let closing = if position.quantity > 0 { Side::Sell } else { Side::Buy };
            place.side = closing as u8;
            if place.quantity > 0 {
                let held = position.quantity.abs() as i64;
                place.quantity = *self.random.pick(&[held, held / 2, held / 10 * 15, held * 2]);
            }
            if place.price > 0 {
                place.price = self.price(model, market, closing);
            }
        }
        if matches!(kind, Limit | Market) && self.random.permille(60) {
            let (up, down) = (self.price(model, market, Side::Sell), self.price(model, market, Side::Buy));
            let (above, below) = (up.max(down), up.min(down));
            let buys = place.side == Side::Buy as u8;
            if self.random.permille(700) {
                place.take_profit = if buys { above } else { below };
            }
            if self.random.permille(700) {
                place.stop_loss = if buys { below } else { above };
            }
        }
        if self.random.permille(40) {
            place.leverage = self.random.between(1, 130) as u32;
        }
        if self.random.permille(20) {
            place.flags |= order_flag::TEST;
        }
        if self.random.permille(20) {
            place.idempotency_key = 1 + self.random.below(30);
            place.idempotency_body = self.random.below(2);
        }
        place
    }

    fn condition(&mut self, model: &Model, place: &mut PlacePerpetual, kind: PerpetualOrderType, side: Side) {
        use PerpetualOrderType::*;
        let (mark, tick) = (self.mark(model, place.market), Stream::step(model, place.market, 1));
        let away = mark * self.random.between(-10, 250) / 10_000;
        let above = match (kind, side) {
            (Stop | StopMarket, Side::Buy) | (TakeProfit | TakeProfitMarket, Side::Sell) => true,
            (TrailingStopMarket, side) => side == Side::Sell,
            _ => false,
        };
        let price = (if above { mark + away } else { mark - away }) / tick * tick;
        if kind == TrailingStopMarket {
            place.callback_rate = 100_000 * self.random.between(1, 30) as u32;
            if self.random.permille(500) {
                place.stop_price = price;
            }
        } else {
            place.stop_price = price;
        }
        if self.random.permille(200) {
            place.flags |= order_flag::PRICE_PROTECT;
        }
        if self.random.permille(200) {
            place.flags |= order_flag::CONDITIONAL_SERVICE;
        }
        if matches!(kind, StopMarket | TakeProfitMarket) && self.random.permille(250) {
            place.flags |= order_flag::CLOSE_POSITION;
            place.quantity = 0;
            if self.random.permille(400) {
                place.flags |= order_flag::GTE;
            }
        }
    }

    /// An open order, mostly.
    fn target(&mut self, model: &Model) -> Option<Order> {
        if model.orders.is_empty() {
            return None;
        }
        let at = self.random.below(model.orders.len() as u64) as usize;
        model.orders.values().nth(at).cloned()
    }

    fn cancel(&mut self, model: &Model) -> Command {
        let Some(order) = self.target(model) else { return Command::new(AdvanceTime {}) };
        let by_name = self.random.permille(300);
        let account = if self.random.permille(950) { order.account } else { self.trader() };
        let market = if self.random.permille(970) { order.market } else { self.market() };
        Command::new(CancelPerpetual {
            account,
            market,
            order: if by_name { 0 } else { order.id },
            client_order: if by_name { order.client } else { [0; 36] },
            classes: *self.random.pick(&[3, 3, 3, 1, 2]),
        })
    }

    fn cancel_all(&mut self) -> Command {
        let market = if self.random.permille(300) { ALL_MARKETS } else { self.market() };
        let classes = *self.random.pick(&[3, 1, 2]);
        Command::new(CancelAllPerpetual { account: self.trader(), market, classes, reserved: 0 })
    }

    fn modify(&mut self, model: &Model) -> Command {
        let resting: Vec<Order> =
            model.orders.values().filter(|order| order.stage == Stage::Resting).cloned().collect();
        let order = if resting.is_empty() || self.random.permille(40) {
            self.target(model)
        } else {
            Some(self.random.pick(&resting).clone())
        };
        let Some(order) = order else { return Command::new(AdvanceTime {}) };
        let lot = Stream::step(model, order.market, 2);
        let quantity = match self.random.below(6) {
            0 => order.quantity as i64,
            1 => (order.quantity as i64 / 2).max(lot),
            2 => order.quantity as i64 - lot,
            3 => order.filled as i64,
            _ => self.quantity(model, order.market),
        };
        let keeps = self.random.permille(150);
        let price = if keeps || self.random.permille(300) {
            order.price as i64
        } else {
            self.price(model, order.market, order.side)
        };
        let matches = self.random.permille(60);
        let price_match = if matches { 1 + self.random.below(8) as u8 } else { 0 };
        let by_name = self.random.permille(200);
        Command::new(ModifyPerpetual {
            account: if self.random.permille(980) { order.account } else { self.trader() },
            market: order.market,
            order: if by_name { 0 } else { order.id },
            price: if price_match == 0 { price } else { 0 },
            quantity,
            side: *self.random.pick(&[255, order.side as u8, order.side as u8, 255, 0]),
            price_match,
            flags: if keeps { order_flag::KEEP_PRIORITY } else { 0 },
            client_order: if by_name { order.client } else { [0; 36] },
        })
    }

    fn leverage(&mut self) -> Command {
        let any = [1, 2, 5, 10, 20, 50, 100, 125, 126, 0];
        let leverage = *self.random.pick(if self.profile.funding { &any[5..] } else { &any });
        Command::new(SetLeverage { account: self.trader(), market: self.market(), leverage, reserved: 0 })
    }

    fn mode(&mut self) -> Command {
        let market = if self.random.permille(150) { ALL_MARKETS } else { self.market() };
        let mode = u32::from(self.random.permille(self.profile.isolated));
        Command::new(SetMarginMode { account: self.trader(), market, mode, reserved: 0 })
    }

    /// Who holds an isolated position, mostly.
    fn isolated_holder(&mut self, model: &Model) -> (AccountId, MarketId) {
        let held: Vec<(AccountId, MarketId)> = model
            .positions
            .iter()
            .filter(|(key, at)| key.0 != FUND && at.mode == MarginMode::Isolated && at.quantity != 0)
            .map(|(key, _)| key)
            .collect();
        if held.is_empty() || self.random.permille(150) {
            (self.trader(), self.market())
        } else {
            *self.random.pick(&held)
        }
    }

    /// Two orders of one account meet far from the mark, at the expense of its position; what stands in the way is cancelled first.
    fn with_itself(&mut self, model: &Model) -> Command {
        let (account, market) = self.isolated_holder(model);
        if account as usize >= model.accounts.len() {
            return Command::new(AdvanceTime {});
        }
        let held = model.position(account, market).quantity;
        let (mark, tick) = (self.mark(model, market), Stream::step(model, market, 1));
        let away = mark * self.random.between(30, 480) / 10_000;
        let price = (if held >= 0 { mark - away } else { mark + away } / tick * tick).max(tick);
        let of = |place: PlacePerpetual, side: Side, quantity: i64, time_in_force: u8| PlacePerpetual {
            account,
            market,
            side: side as u8,
            order_type: PerpetualOrderType::Limit as u8,
            time_in_force,
            self_trade: 0,
            price_match: 0,
            flags: 0,
            price,
            quantity,
            stop_price: 0,
            callback_rate: 0,
            good_till_ms: 0,
            take_profit: 0,
            stop_loss: 0,
            ..place
        };
        let held = held.abs() as i64;
        let quantity = if held == 0 {
            self.quantity(model, market)
        } else {
            *self.random.pick(&[held, held / 2, held / 10 * 15])
        };
        let first = *self.random.pick(Side::ALL);
        let [maker, taker] = [(first, 0), (first.opposite(), PerpetualTimeInForce::ImmediateOrCancel as u8)]
            .map(|(side, time_in_force)| of(self.place(model), side, quantity, time_in_force));
        self.opening.extend([Command::new(taker), Command::new(maker)]);
        self.clear_the_way(model, market, price);
        self.opening.pop().expect("two orders at least")
    }

    /// Before what is to come, cancels every order that would trade with one at a price.
    fn clear_the_way(&mut self, model: &Model, market: MarketId, price: i64) {
        for order in model.orders.values().filter(|order| order.market == market && order.rests()) {
            let stands_in_the_way = match order.side {
                Side::Buy => order.price >= i128::from(price),
                Side::Sell => order.price <= i128::from(price),
            };
            if stands_in_the_way {
                self.opening.push(Command::new(CancelPerpetual {
                    account: order.account,
                    market,
                    order: order.id,
                    client_order: [0; 36],
                    classes: 3,
                }));
            }
        }
    }

    fn isolated(&mut self, model: &Model) -> Command {
        let (account, market) = self.isolated_holder(model);
        let amount = *self.random.pick(&[1, 10, 100, -1, -10, -100, -1_000, 0]) * MICRO;
        Command::new(AdjustIsolatedMargin { account, market, amount })
    }

    fn transfer(&mut self, model: &Model) -> Command {
        let account = self.trader();
        if self.random.permille(250) {
            return Command::new(Credit {
                address: address(u64::from(account) - 1),
                asset: padded("USDT").expect("short"),
                reserved: 0,
                amount: (i128::from(self.random.between(1, 5_000)) * 1_000_000_000_000_000_000).into(),
                reason: [0; 64],
            });
        }
        let withdrawable = (account as usize) < model.accounts.len() && self.random.permille(300);
        let amount = if withdrawable {
            -(model.withdrawable(account) as i64 + self.random.between(-1, 1))
        } else {
            *self.random.pick(&[1, 50, 1_000, -1, -50, -1_000]) * MICRO + self.random.between(-1, 1)
        };
        Command::new(TransferPerpetual { account, reserved: 0, amount })
    }

    /// Mostly what can be moved, between all places; at the edge of what is there; now and then what cannot be.
    fn treasury(&mut self, model: &Model) -> Command {
        let mut place = || {
            let place = self.random.between(0, 3) as u8;
            (place, if place == 0 { self.trader() } else { 0 })
        };
        let ((from, from_account), (to, to_account)) = (place(), place());
        let there = match from {
            1 => model.withdrawable(FUND),
            3 => model.fees,
            _ => 1_000_000_000,
        };
        let micros = *self.random.pick(&[1, 1_000_000, 250_000_000, there, there + 1, there / 2, 0, -1]);
        // Parts of a micro, where none can go.
        let parts = if self.random.permille(50) { 1 } else { 0 };
        let (from, to) = if self.random.permille(20) { (from + 3, to) } else { (from, to) };
        Command::new(MoveTreasury {
            from_account,
            to_account: if self.random.permille(20) { 999_999 } else { to_account },
            amount: (micros * 1_000_000_000_000 + parts).into(),
            asset: padded(if self.random.permille(50) { "DF" } else { "USDT" }).expect("short"),
            from,
            to,
            reserved: [0; 4],
        })
    }

    fn countdown(&mut self) -> Command {
        if self.random.permille(500) {
            return self.connection();
        }
        let market = if self.random.permille(300) { ALL_MARKETS } else { self.market() };
        Command::new(SetCountdown {
            account: self.trader(),
            market,
            countdown_ms: *self.random.pick(&[0, 1, 1_000, 30_000, 600_000]),
            keep_reduce_only: u32::from(self.random.permille(400)),
            reserved: 0,
        })
    }

    fn connection(&mut self) -> Command {
        let market = *self.random.pick(&[ALL_MARKETS, 0, 7]);
        let market = if self.random.permille(500) { self.market() } else { market };
        Command::new(SetDisconnect {
            account: self.trader(),
            market,
            session: self.random.below(2),
            grace_ms: *self.random.pick(&[0, 1, 1_000, 30_000, 60_000, 60_001]),
            act: *self.random.pick(&[1, 1, 1, 2, 3, 3, 3, 4]),
        })
    }

    fn credit(&mut self, model: &Model) -> Command {
        let account = self.trader();
        let mut amount = self.random.between(1, 2_000) * MICRO;
        if self.random.permille(200) && (account as usize) < model.accounts.len() {
            amount = -(model.withdrawable(account) as i64 - self.random.between(-1, 1));
        }
        let fund = self.random.permille(30) && self.profile.fund > 0;
        let to = if fund { [0; 20] } else { address(u64::from(account) - 1) };
        self.credit_to(to, amount)
    }

    fn terms(&mut self) -> Command {
        Command::new(SetPerpetualAccount {
            account: self.trader(),
            mask: self.random.below(32) as u32,
            trade_group: self.random.between(-1, 3),
            trading_enabled: u32::from(self.random.permille(900)),
            fee_burn: self.random.below(2) as u32,
            referral_total_bps: *self.random.pick(&[0, 1_000, 2_000, 10_000]),
            referral_share_bps: *self.random.pick(&[0, 2_500, 5_000, 10_000]),
            promo_bps: *self.random.pick(&[0, 500, 3_333]),
            promo_until_ms: self.time_ns / 1_000_000 + self.random.between(-DAY_MS, 2 * DAY_MS),
            ..zerocopy::FromZeros::new_zeroed()
        })
    }

    fn administer(&mut self, model: &Model) -> Command {
        let market = self.market();
        match self.random.below(16) {
            10..13 => self.draft(model, market),
            13 => self.schedule(),
            14..16 => self.limits(market),
            0 => {
                let set = Command::new(SetPerpetualState {
                    market,
                    state: self.random.below(5) as u8,
                    reserved: [0; 3],
                });
                let back = Command::new(SetPerpetualState { market, state: 0, reserved: [0; 3] });
                self.opening.push(back);
                for _ in 0..self.random.below(6) {
                    let place = self.place(model);
                    self.opening.push(Command::new(place));
                    self.opening.push(Command::new(AdvanceTime {}));
                }
                set
            }
            1 => Command::new(self.small_brackets(market)),
            2 if self.random.permille(200) => {
                let rule = if self.random.permille(700) { 1 } else { self.random.below(3) as u32 };
                let activate = Command::new(ActivateRule { rule, value: 0 });
                if self.random.permille(300) {
                    return activate;
                }
                // What is configured must fit it.
                let [first, second] = self.markets().map(|market| {
                    let value = *self.random.pick(&[100_000, 396_039, 398_009, 398_010]);
                    Command::new(SetPerpetualParameter { market, parameter: 17, value })
                });
                self.opening.extend([activate, second]);
                first
            }
            7 => Command::new(ProveLedger {}),
            2 => Command::new(SetPerpetualParameter {
                market: ALL_MARKETS,
                parameter: *self.random.pick(&[40, 40, 40, 41, 42]),
                value: self.random.between(0, 1_500),
            }),
            // Steps change while orders rest; some would leave values that are not exact.
            5 if self.random.permille(500) => {
                let parameter = 1 + self.random.below(2) as u32;
                let step = Stream::step(model, market, parameter);
                let value =
                    *self.random.pick(&[step * 2, step / 2, step * 5, step / 10, step + 1, 10_000_000]);
                let kept = [1_000_000, 100_000_000];
                let value =
                    if self.random.permille(800) { value.clamp(kept[0] / 10, kept[1]) } else { value };
                Command::new(SetPerpetualParameter { market, parameter, value })
            }
            6 => self.own_spot(model, market),
            3 => {
                let (tier, volume) = *self.random.pick(&[(0, 0), (1, 20_000), (2, 200_000)]);
                Command::new(SetVipTier {
                    tier,
                    count: 3,
                    volume: volume * MICRO + self.random.between(0, 1) * i64::from(tier),
                    maker_rate: self.random.between(0, 2) * 10_000,
                    taker_rate: self.random.between(2, 6) * 10_000,
                })
            }
            4 => {
                let (parameter, value) = *self.random.pick(&[
                    (8, 5_000_000),
                    (8, 20_000_000),
                    (10, 6),
                    (10, 200),
                    (11, 3),
                    (11, 100),
                    (14, 1_000_000),
                    (14, 5_000_000),
                    (15, 100_000),
                    (15, 5_000_000),
                    (16, 100_000),
                    (16, 250_000),
                    (17, 100_000),
                    (17, 396_039),
                    (17, 398_009),
                    (17, 398_010),
                    (21, 2_000_000_000),
                    (22, 1),
                    (22, 4),
                    (23, -20_000),
                    (23, 10_000),
                ]);
                Command::new(SetPerpetualParameter { market, parameter, value })
            }
            _ => Command::new(AdvanceTime {}),
        }
    }

    /// A market is changed as a whole, or listed: most are taken, some break a bound, a count or a state, or meet another draft.
    fn draft(&mut self, model: &Model, market: MarketId) -> Command {
        let is_new = self.random.permille(60) && model.markets.len() < 6;
        let name = format!("N{}USDT", model.markets.len());
        let symbol = if is_new { name.as_str() } else { "BTCUSDT" };
        let names = [symbol, "NEW", "USDT"];
        let mut commands = vec![Command::new(DraftPerpetual {
            symbol: padded(names[0]).expect("short"),
            base: padded(names[1]).expect("short"),
            quote: padded(names[if self.random.permille(50) { 1 } else { 2 }]).expect("short"),
            market: if is_new || self.random.permille(20) { 0 } else { market },
            reserved: 0,
        })];
        let market = DRAFT_MARKET;
        if is_new {
            for (parameter, value) in [(1, 1_000_000), (2, *self.random.pick(&[1_000_000, 1_000_000, 3]))] {
                commands.push(Command::new(SetPerpetualParameter { market, parameter, value }));
            }
        }
        for _ in 0..self.random.below(4) {
            let sound = [
                (8, 5_000_000),
                (9, 4_000_000_000_000),
                (10, 150),
                (16, 250_000),
                (16, 399_999),
                (17, 396_039),
                (17, 390_000),
                (22, 2),
                (25, 300_000),
            ];
            let broken =
                [(8, 4_000_000_000_000_000), (16, 400_000), (17, 398_010), (22, 3), (25, 300_001), (28, 9)];
            let (parameter, value) = if self.random.permille(100) {
                *self.random.pick(&broken)
            } else {
                *self.random.pick(&sound)
            };
            commands.push(Command::new(SetPerpetualParameter { market, parameter, value }));
        }
        if self.random.permille(200) {
            let mut brackets = self.small_brackets(market);
            if self.random.permille(300) {
                brackets.leverages[1] = *self.random.pick(&[0, 100, 125, 126]);
            }
            if self.random.permille(300) {
                // In two parts, the second of which alone is none.
                let (mut first, mut rest) = (brackets, brackets);
                for at in 0..8 {
                    (first.caps[at], rest.caps[at]) =
                        (brackets.caps[0] / 16 * (at as i64 + 1), brackets.caps[at]);
                    first.leverages[at] = 125 - at as u32;
                    first.rates[at] = 200_000 + at as u32 * 20_000;
                }
                (first.count, rest.count) = (*self.random.pick(&[8, 8, 8, 7]), brackets.count + (1 << 16));
                (rest.leverages[0], rest.rates[0]) = (100, 400_000);
                if self.random.permille(800) {
                    commands.push(Command::new(first));
                }
                commands.push(Command::new(rest));
            } else {
                commands.push(Command::new(brackets));
            }
        }
        if self.random.permille(500) && (self.profile.sources || is_new) {
            for source in 1..=*self.random.pick(&[0, 3, 3, 3, 3, 3, 17]) {
                let weight = *self.random.pick(&[0, 1, 1, 2, 2, 3]);
                let stale_ms = *self.random.pick(&[0, 3_000]);
                let source = if self.random.permille(50) { 1 } else { source };
                commands.push(Command::new(SetSource { market, source, weight, stale_ms }));
            }
        }
        let changes = commands.len() as u32 - 1 + u32::from(self.random.permille(40));
        let state = if self.random.permille(60) { *self.random.pick(&[5, 9]) } else { 255 };
        let state = if self.random.permille(100) { *self.random.pick(&[0, 3]) } else { state };
        commands.push(Command::new(ApplyDraft { changes, state, reserved: [0; 3] }));
        if self.random.permille(100) {
            let at = self.random.below(commands.len() as u64 - 1) as usize;
            commands[at].source = 8;
        }
        if self.random.permille(50) {
            commands.truncate(2);
        }
        commands.reverse();
        let first = commands.pop().expect("at least one");
        self.opening.extend(commands);
        first
    }

    /// A schedule of fees for the next midnight, which comes soon.
    fn schedule(&mut self) -> Command {
        let count = *self.random.pick(&[1, 2, 3, 3]);
        let step = *self.random.pick(&[0, 20_000, 100_000]);
        let mut rows: Vec<Command> = (0..count)
            .map(|tier| {
                Command::new(ScheduleVipTier {
                    tier,
                    count,
                    volume: i64::from(tier) * step * MICRO,
                    maker_rate: self.random.between(-1, 2) * 10_000,
                    taker_rate: self.random.between(1, 6) * 10_000,
                })
            })
            .collect();
        if self.random.permille(100) {
            rows.remove(0);
        }
        if rows.is_empty() {
            return Command::new(AdvanceTime {});
        }
        if self.random.permille(300) {
            rows.push(Command { time_ns: DAY_MS * 1_000_000, ..Command::new(AdvanceTime {}) });
        }
        rows.reverse();
        let first = rows.pop().expect("at least one");
        self.opening.extend(rows);
        first
    }

    /// Limits of an account's own: tight, wide, none.
    fn limits(&mut self, market: MarketId) -> Command {
        let account = self.trader();
        Command::new(SetAccountLimits {
            account: if self.random.permille(30) { 9_999 } else { account },
            market: *self.random.pick(&[market, market, ALL_MARKETS, ALL_MARKETS, 0, FIRST_PERPETUAL + 9]),
            mask: *self.random.pick(&[1, 8, 16, 25, 25, 31, 6, 0, 33]),
            open_orders: *self.random.pick(&[0, 2, 5, 300, 20_001]),
            order_rate_10s: *self.random.pick(&[0, 5, 1_000_001]),
            order_rate_1m: *self.random.pick(&[0, 7]),
            max_position_notional: *self.random.pick(&[0, 500, 5_000, 100_000, -1]) * MICRO,
            max_order_notional: *self.random.pick(&[0, 300, 3_000, 9_000_000]) * MICRO,
        })
    }

    /// The index comes from the own spot market for a while: both impact prices stand there, no source is fresh, nobody
    /// sets a price by hand. Or it may, and does not: another market, one side alone, sides too far apart.
    fn own_spot(&mut self, model: &Model, market: MarketId) -> Command {
        let at = (market - FIRST_PERPETUAL) as usize;
        let base = ["BTC", "ETH"][at];
        let asset = |name: &str| padded(name).expect("short");
        let Some(spot) = model.spot.markets.iter().position(|known| known.symbol == asset_name(base)) else {
            // Listed once, with two accounts that can quote on it.
            let trader = self.trader();
            for (name, amount) in [(base, 1_000_000), ("USDT", 100_000_000)] {
                self.opening.push(Command::new(Credit {
                    address: address(u64::from(trader) - 1),
                    asset: asset(name),
                    reserved: 0,
                    amount: (i128::from(amount) * 1_000_000_000_000_000_000).into(),
                    reason: [0; 64],
                }));
            }
            return Command::new(ListMarket {
                symbol: asset_name(base),
                base: asset(base),
                quote: asset("USDT"),
                tick: 1_000_000,
                lot: 100_000,
                min_notional: 1.into(),
                maker_fee: 0,
                taker_fee: 0,
                max_open_orders: 1_000,
                kind: 0,
                reserved: [0; 3],
            });
        };
        let spot = spot as u32;
        let mark = self.mark(model, market);
        let mut commands = Vec::new();
        commands.push(Command::new(SetPerpetualParameter { market, parameter: 28, value: spot.into() }));
        // Whoever has enough of both: the credits above went to one of them.
        let rich = (0..model.accounts.len() as AccountId).find(|&account| {
            let assets = model.spot.assets.len() as u16;
            (0..assets).all(|asset| {
                let name = model.spot.assets[usize::from(asset)];
                ![padded(base), padded("USDT")].contains(&Some(name))
                    || model.spot.balance(account, asset).0 > 10_000_000_000_000_000_000_000
            })
        });
        let apart = *self.random.pick(&[5, 20, 90, 300]);
        for (side, sign) in [(Side::Buy, -1), (Side::Sell, 1)] {
            let price = (mark + sign * (mark / 10_000) * apart) / 1_000_000 * 1_000_000;
            let mut place =
                PlaceOrder::limit(rich.unwrap_or(1), spot, side, price.max(1_000_000), 2_000_000_000);
            place.self_trade = SelfTradePrevention::ExpireMaker as u8;
            if self.random.permille(900) {
                commands.push(Command::new(place));
            }
        }
        commands.push(Command::new(SetManualPrice { market, moves_band: 0, price: 0 }));
        if self.profile.sources {
            // Sources of this market are silent from now on: the ages of their prices run out.
            for source in 1..=3 {
                commands.push(Command::new(SetSource { market, source, weight: 0, stale_ms: 0 }));
            }
        }
        for _ in 0..2 + self.random.below(6) {
            commands.push(Command::new(AdvanceTime {}));
            commands.push(Command::new(self.place(model)));
        }
        if self.profile.sources {
            for source in 1..=3 {
                let weight = self.random.between(1, 3) as u32;
                commands.push(Command::new(SetSource { market, source, weight, stale_ms: 0 }));
            }
        }
        commands.push(Command::new(CancelAll { account: rich.unwrap_or(1), market: spot }));
        commands.extend(self.feeds(at));
        commands.push(Command::new(AdvanceTime {}));
        let first = commands.remove(0);
        self.opening.extend(commands.into_iter().rev());
        first
    }

    /// A number that nobody should send.
    fn wild(&mut self) -> i64 {
        match self.random.below(8) {
            0 => 0,
            1 => -1,
            2 => i64::MIN,
            3 => i64::MAX,
            4 => 1,
            5 => 1_000_000_000_000_000_000,
            6 => -self.random.between(1, 1_000_000),
            _ => self.random.next() as i64,
        }
    }

    fn hostile(&mut self, model: &Model) -> Command {
        match self.random.below(14) {
            0..=5 => {
                let mut place = self.place(model);
                match self.random.below(16) {
                    0 => place.price = self.wild(),
                    1 => place.quantity = self.wild(),
                    2 => place.stop_price = self.wild(),
                    3 => place.callback_rate = self.random.next() as u32,
                    4 => place.good_till_ms = self.wild(),
                    5 => place.take_profit = self.wild(),
                    6 => place.stop_loss = self.wild(),
                    7 => place.side = 2 + self.random.below(254) as u8,
                    8 => place.order_type = self.random.below(256) as u8,
                    9 => place.time_in_force = self.random.below(256) as u8,
                    10 => place.self_trade = self.random.below(256) as u8,
                    11 => place.flags = self.random.next() as u16,
                    12 => place.client_order = *self.random.pick(&[[0; 36], [b'!'; 36], [b'a'; 36]]),
                    13 => place.account = *self.random.pick(&[0, 9_999, AccountId::MAX]),
                    14 => place.market = *self.random.pick(&[0, 7, ALL_MARKETS, FIRST_PERPETUAL + 2]),
                    _ => place.leverage = self.random.next() as u32,
                }
                Command::new(place)
            }
            6 => {
                let order: OrderId = *self.random.pick(&[0, 1, OrderId::MAX]);
                Command::new(CancelPerpetual {
                    account: *self.random.pick(&[0, 1, AccountId::MAX]),
                    market: self.market(),
                    order,
                    client_order: [0; 36],
                    classes: self.random.next() as u32,
                })
            }
            7 => {
                let mut command = self.modify(model);
                if command.kind == Kind::ModifyPerpetual as u16 {
                    let mut modify = *command.body::<ModifyPerpetual>();
                    match self.random.below(5) {
                        0 => modify.price = self.wild(),
                        1 => modify.quantity = self.wild(),
                        2 => modify.side = self.random.below(256) as u8,
                        3 => modify.flags = self.random.next() as u16,
                        _ => modify.price_match = self.random.below(256) as u8,
                    }
                    command = Command::new(modify);
                }
                command
            }
            8 => Command::new(TransferPerpetual {
                account: self.random.below(60) as AccountId,
                reserved: 0,
                amount: self.wild(),
            }),
            9 => {
                let market = *self.random.pick(&[FIRST_PERPETUAL, 0, ALL_MARKETS]);
                Command::new(FeedPrice {
                    market,
                    source: self.random.below(6) as u32,
                    price: -self.random.between(0, 9),
                })
            }
            10 => Command::new(SetPerpetualParameter {
                market: *self.random.pick(&[FIRST_PERPETUAL, 0, ALL_MARKETS]),
                parameter: self.random.below(45) as u32,
                value: *self.random.pick(&[-5, i64::MIN, i64::MAX]),
            }),
            11 => Command::new(SetMarginMode {
                account: self.random.below(60) as AccountId,
                market: *self.random.pick(&[FIRST_PERPETUAL, 3, ALL_MARKETS]),
                mode: self.random.below(4) as u32,
                reserved: 0,
            }),
            12 => Command::new(SetCountdown {
                account: self.random.below(60) as AccountId,
                market: *self.random.pick(&[FIRST_PERPETUAL, 3]),
                countdown_ms: self.wild(),
                keep_reduce_only: self.random.below(3) as u32,
                reserved: 0,
            }),
            _ => Command::new(AdjustIsolatedMargin {
                account: self.random.below(60) as AccountId,
                market: self.market(),
                amount: self.random.next() as i64 >> 8,
            }),
        }
    }
}
