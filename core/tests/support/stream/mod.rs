//! Random streams of commands: dense books that cross often, and values that nobody should send.
//!
//! A stream is a function of its seed and of the events it is shown, so that it can aim at orders that rest. Every
//! seed draws its own profile (accounts, markets, grids, fees, wealth, hostility); over many seeds each pairing of
//! features comes up.

mod hostile;
mod profile;
mod values;

use super::random::Random;
use profile::Profile;
use ringside_core::command::*;
use ringside_core::event::{self, Event};
use ringside_core::ids::{ALL_MARKETS, AccountId, Address, AssetName, MarketId, OrderId, padded};
use ringside_core::money::{Amount, MAX_ENTRY, UNIT, checked_notional};

/// A market as the generator sees it.
#[derive(Clone, Debug)]
struct Grid {
    market: MarketId,
    base: AssetName,
    quote: AssetName,
    /// The tick and lot it was listed with; patches are multiples.
    step: (i64, i64),
    tick: i64,
    lot: i64,
    /// Middle of the band.
    center: i64,
    status: u8,
}

/// A resting order as the generator sees it.
#[derive(Clone, Copy, Debug)]
struct Live {
    order: OrderId,
    account: AccountId,
    market: MarketId,
    price: i64,
    open: i64,
}

/// The generator.
pub struct Stream {
    random: Random,
    pub profile: Profile,
    time_ns: i64,
    sequence: u64,
    sources: Vec<(u32, u64)>,
    next_source: u32,
    epoch: u32,
    /// Who publishes once the epoch asked for is open.
    new_sources: Vec<(u32, u64)>,
    grids: Vec<Grid>,
    /// The market listed last, until its event shows its id.
    listing: Option<Grid>,
    listed: u64,
    live: Vec<Live>,
    orders_seen: OrderId,
    checkpoint: Option<(u64, [u8; 16])>,
    /// An order with an idempotency key and its time, to be sent again when the key is a day old.
    keyed: Option<(PlaceOrder, i64)>,
    opening: Vec<Command>,
}

impl Stream {
    pub fn new(seed: u64) -> Stream {
        let mut random = Random::new(seed);
        let profile = Profile::draw(&mut random);
        let mut stream = Stream {
            random,
            profile,
            time_ns: 1_675_000_000_000_000_000,
            sequence: 0,
            sources: vec![(1, 0), (2, 0), (7, 0)],
            next_source: 8,
            epoch: 0,
            new_sources: Vec::new(),
            grids: Vec::new(),
            listing: None,
            listed: 0,
            live: Vec::new(),
            orders_seen: 0,
            checkpoint: None,
            keyed: None,
            opening: Vec::new(),
        };
        for account in 0..stream.profile.accounts {
            let address = address(account);
            stream.opening.push(Command::new(CreateAccount { address, reserved: 0 }));
        }
        stream
    }

    /// The next command, sequenced. Its events must be shown before the one after.
    pub fn next(&mut self) -> Command {
        let mut command = self.opening.pop().unwrap_or_else(|| self.draw());
        self.sequence += 1;
        command.sequence = self.sequence;
        self.number(&mut command);
        let passed = match self.random.weighted(&[300, 600, 60, 20, 10, 1]) {
            0 => 0,
            1 => self.random.between(1, 1_000_000),
            2 => self.random.between(1, 3_600_000_000_000),
            3 => -self.random.between(1, 1_000_000_000),
            4 => self.random.between(1, 100_000_000_000_000),
            _ => *self.random.pick(&[86_399_999_999_999, 86_400_000_000_000, 86_400_000_000_001]),
        };
        command.time_ns = self.time_ns + passed;
        if self.keyed.is_some() && self.random.permille(100) {
            self.send_again(&mut command);
        }
        self.time_ns = self.time_ns.max(command.time_ns);
        let place = command.body::<PlaceOrder>();
        if command.kind == Kind::PlaceOrder as u16 && place.idempotency_key != 0 && self.random.permille(60) {
            self.keyed = Some((*place, self.time_ns));
        }
        command
    }

    /// Puts the keyed order in the place of `command`, at the nanosecond that its key is forgotten or the one before.
    fn send_again(&mut self, command: &mut Command) {
        let Some((place, time_ns)) = self.keyed.take() else { return };
        let forgotten_ns = time_ns + 86_400_000_000_000;
        if forgotten_ns > self.time_ns {
            let Command { sequence, source, source_seq, .. } = *command;
            let time_ns = forgotten_ns - self.random.between(0, 1);
            *command = Command { sequence, source, source_seq, time_ns, ..Command::new(place) };
        }
    }

    /// Fills in source and its number: mostly new, sometimes seen before, sometimes none.
    fn number(&mut self, command: &mut Command) {
        let index = self.random.below(self.sources.len() as u64) as usize;
        let (source, last) = &mut self.sources[index];
        command.source = *source;
        command.source_seq = match self.random.weighted(&[950, 20, 10, 15]) {
            0 => *last + 1,
            1 => 1 + self.random.below((*last).max(1)),
            2 => *last + 1 + self.random.below(5),
            _ => 0,
        };
        *last = (*last).max(command.source_seq);
    }

    /// Learns from the events of the command given last.
    pub fn observe(&mut self, events: &[Event]) {
        for event in events {
            if let Some(trade) = event.get::<event::Trade>() {
                if let Some(index) = self.live.iter().position(|live| live.order == trade.maker_order) {
                    self.live[index].open -= trade.quantity;
                    if trade.maker_filled == 1 {
                        self.live.swap_remove(index);
                    }
                }
            } else if let Some(order) = event.get::<event::Order>() {
                self.orders_seen = self.orders_seen.max(order.order);
                if let Some(index) = self.live.iter().position(|live| live.order == order.order) {
                    self.live.swap_remove(index);
                }
                if order.open > 0 {
                    self.live.push(Live {
                        order: order.order,
                        account: order.account,
                        market: order.market,
                        price: order.price,
                        open: order.open,
                    });
                }
            } else if let Some(market) = event.get::<event::Market>() {
                self.see_market(market);
            } else if let Some(state) = event.get::<event::StateHash>() {
                self.checkpoint = Some((event.sequence, state.hash));
            } else if let Some(done) = event.get::<event::Done>()
                && done.command == Kind::OpenEpoch as u16
                && done.reject == 0
            {
                self.sources = std::mem::take(&mut self.new_sources);
            }
        }
    }

    fn see_market(&mut self, market: &event::Market) {
        if let Some(grid) = self.grids.iter_mut().find(|grid| grid.market == market.market) {
            grid.tick = market.tick;
            grid.lot = market.lot;
            grid.status = market.status;
        } else if let Some(mut grid) = self.listing.take() {
            grid.market = market.market;
            self.fund(&grid);
            self.grids.push(grid);
        }
        self.grids.retain(|grid| grid.status != MarketStatus::Delisted as u8);
    }

    /// Puts credits for everybody before what comes next.
    fn fund(&mut self, grid: &Grid) {
        for account in 0..self.profile.accounts {
            for asset in [grid.base, grid.quote] {
                if self.random.permille(850) {
                    let credit = self.credit_of(grid, account, asset);
                    self.opening.push(Command::new(credit));
                }
            }
        }
    }

    // ---- what is drawn ----

    fn draw(&mut self) -> Command {
        if self.random.permille(self.profile.hostility) {
            return self.hostile();
        }
        if (self.grids.len() as u64) < self.profile.markets && self.random.permille(400) {
            return self.list_market();
        }
        if self.grids.is_empty() {
            return self.list_market();
        }
        let grid = self.random.pick(&self.grids).clone();
        if grid.status == MarketStatus::Halted as u8 && self.random.permille(60) {
            return self.set_status(&grid, MarketStatus::Listed as u8);
        }
        let crowded = self.live.len() > self.profile.resting;
        let weights: &[u64] = if crowded {
            &[450, 300, 60, 70, 8, 10, 4, 1, 5, 2, 3, 1, 2, 2, 1]
        } else {
            &[700, 90, 60, 80, 2, 20, 4, 1, 5, 2, 3, 1, 2, 2, 1]
        };
        match self.random.weighted(weights) {
            0 => Command::new(self.place(&grid, crowded)),
            1 => self.cancel(),
            2 => self.amend(),
            3 => self.replace(),
            4 => self.cancel_all(&grid),
            5 => {
                let account = self.random.below(self.profile.accounts);
                let asset = *self.random.pick(&[grid.base, grid.quote]);
                Command::new(self.credit_of(&grid, account, asset))
            }
            6 => {
                let account = self.random.below(self.profile.accounts + 2);
                Command::new(CreateAccount { address: address(account), reserved: 0 })
            }
            7 => self.list_market(),
            8 => self.update_market(&grid),
            9 => {
                let status = *self.random.pick(&[0, 1, 1, 1, 1, 1, 1, 2]);
                self.set_status(&grid, status)
            }
            10 => Command::new(AdvanceTime {}),
            11 => self.open_epoch(),
            12 => Command::new(Checkpoint {}),
            13 => match self.checkpoint {
                Some((checkpoint, hash)) => Command::new(VerifyHash { checkpoint, hash }),
                None => Command::new(Checkpoint {}),
            },
            _ => Command::new(SkipCommand {
                skipped: self.sequence,
                operators: [[65; 24]; 2],
                reason: [66; 64],
            }),
        }
    }

    fn place(&mut self, grid: &Grid, crowded: bool) -> PlaceOrder {
        let account = self.account();
        let side = *self.random.pick(Side::ALL);
        let price = self.price(grid, side, crowded);
        let quantity = self.quantity(grid);
        let mut place = match self.random.weighted(if crowded { &[60, 20, 20] } else { &[88, 6, 6] }) {
            0 => PlaceOrder::limit(account, grid.market, side, price, quantity),
            1 => PlaceOrder::market_buy(account, grid.market, self.quote(grid)),
            _ => PlaceOrder::market_sell(account, grid.market, quantity),
        };
        if place.order_type == OrderType::Limit as u8 {
            let tifs = [
                TimeInForce::GoodTillCancel,
                TimeInForce::ImmediateOrCancel,
                TimeInForce::PostOnly,
                TimeInForce::FillOrKill,
            ];
            let weights = if crowded { [30, 40, 10, 20] } else { [75, 8, 10, 7] };
            place.time_in_force = tifs[self.random.weighted(&weights)] as u8;
        }
        place.self_trade = *self.random.pick(self.profile.self_trade) as u8;
        if self.random.permille(10) {
            // Any market, delisted ones too.
            place.market = self.random.below(self.listed + 1) as MarketId;
        }
        if self.random.permille(30) {
            place.idempotency_key = 1 + self.random.below(12);
            place.idempotency_body = self.random.below(2);
        }
        if self.random.permille(20) {
            // What the order's kind ignores.
            place.quote_quantity = Amount::from(self.wild()).into();
            if place.order_type == OrderType::Market as u8 && side == Side::Buy {
                place.quote_quantity = self.quote(grid).into();
            }
        }
        if self.random.permille(20) && place.order_type == OrderType::Market as u8 {
            place.price = self.wild();
        }
        if self.random.permille(15) {
            // Off the grid.
            if self.random.permille(500) {
                place.price = place.price.saturating_add(self.random.between(1, 3));
            } else {
                place.quantity = place.quantity.saturating_add(self.random.between(1, 3));
            }
        }
        place
    }

    fn cancel(&mut self) -> Command {
        let (account, order) = self.target();
        Command::new(CancelOrder { account, reserved: 0, order })
    }

    fn amend(&mut self) -> Command {
        let (account, order) = self.target();
        let open = self.live.iter().find(|live| live.order == order).map_or(10, |live| live.open);
        let quantity = match self.random.below(10) {
            0 => open,
            1 => 0,
            2 => self.wild(),
            _ => self.random.between(0, open),
        };
        Command::new(AmendOrder { account, reserved: 0, order, quantity })
    }

    fn replace(&mut self) -> Command {
        let (account, order) = self.target();
        let live = self.live.iter().find(|live| live.order == order).copied();
        let market = live.map_or(0, |live| live.market);
        let grid = self.grids.iter().find(|grid| grid.market == market).unwrap_or(&self.grids[0]).clone();
        let side = *self.random.pick(Side::ALL);
        let price = match live {
            Some(live) if self.random.permille(300) => live.price,
            _ => self.price(&grid, side, false),
        };
        let quantity = match live {
            Some(live) if self.random.permille(300) => live.open,
            _ => self.quantity(&grid),
        };
        Command::new(ReplaceOrder { account, reserved: 0, order, price, quantity })
    }

    fn cancel_all(&mut self, grid: &Grid) -> Command {
        let market = if self.random.permille(400) { ALL_MARKETS } else { grid.market };
        Command::new(CancelAll { account: self.account(), market })
    }

    fn list_market(&mut self) -> Command {
        self.listed += 1;
        let names = ["AAA", "B", "USD", "EUR0"].map(|name| padded::<10>(name).expect("short"));
        let assets = &names[..self.profile.assets as usize];
        let base = *self.random.pick(assets);
        let quote = *self.random.pick(assets);
        let symbol = padded(&format!("M{:02}", self.listed)).expect("short");
        let (tick, lot, center) = if self.profile.huge {
            *self.random.pick(&[
                (MAX_ENTRY / 64, 1, 32),
                (MAX_ENTRY / 64, UNIT, 32),
                (MAX_ENTRY / 64, MAX_ENTRY / 256, 32),
                (1, MAX_ENTRY / 4, 25),
                (UNIT, MAX_ENTRY / 3, 25),
            ])
        } else {
            let tick = *self.random.pick(&[1, 100, 10_000, UNIT, 7 * UNIT]);
            (tick, *self.random.pick(&[1, 1000, 10_000_000, UNIT]), *self.random.pick(&[25, 400]))
        };
        let least = checked_notional(center * tick, lot).unwrap_or(1);
        let grid = Grid {
            market: 0,
            base,
            quote,
            step: (tick, lot),
            tick,
            lot,
            center: center * tick,
            status: MarketStatus::Listed as u8,
        };
        if base != quote {
            self.listing = Some(grid);
        }
        Command::new(ListMarket {
            symbol,
            base,
            quote,
            tick,
            lot,
            min_notional: (*self.random.pick(&[1, least, least.saturating_mul(3).max(1)])).into(),
            maker_fee: *self.random.pick(self.profile.fees),
            taker_fee: *self.random.pick(self.profile.fees),
            max_open_orders: self.profile.max_open_orders,
            kind: 0,
            reserved: [0; 3],
        })
    }

    fn update_market(&mut self, grid: &Grid) -> Command {
        let least = checked_notional(grid.center, grid.step.1).unwrap_or(1);
        Command::new(UpdateMarket {
            market: grid.market,
            mask: self.random.below(32) as u32,
            tick: self.tick(grid),
            lot: (grid.step.1 * self.random.pick(&[1, 1, 2, 3])).min(MAX_ENTRY),
            min_notional: (*self.random.pick(&[1, 1, least])).into(),
            maker_fee: *self.random.pick(self.profile.fees),
            taker_fee: *self.random.pick(self.profile.fees),
        })
    }

    fn set_status(&mut self, grid: &Grid, status: u8) -> Command {
        Command::new(SetMarketStatus { market: grid.market, status, reserved: [0; 3] })
    }

    fn open_epoch(&mut self) -> Command {
        self.epoch += self.random.below(3) as u32;
        // New incarnations publish from now on, or an old number comes again and must count as new.
        if self.random.permille(500) {
            self.new_sources = (0..3).map(|index| (self.next_source + index, 0)).collect();
            self.next_source += 3;
        } else {
            self.new_sources = self.sources.iter().map(|&(source, _)| (source, 0)).collect();
        }
        Command::new(OpenEpoch { epoch: self.epoch, reserved: 0 })
    }
}

/// The address of the account that is made as number `index`.
pub fn address(index: u64) -> Address {
    let mut address = [0xaa; 20];
    address[..8].copy_from_slice(&(index + 1).to_le_bytes());
    address
}
