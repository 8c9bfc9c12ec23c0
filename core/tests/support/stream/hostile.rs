//! Commands with something wrong in them, or plain noise.

use super::{Grid, Stream};
use ringside_core::command::*;
use ringside_core::ids::{ALL_MARKETS, AccountId, OrderId, padded};
use ringside_core::money::{Amount, FEE_RATE_ONE, MAX_ENTRY, UNIT};

impl Stream {
    /// A number that nobody should send.
    pub(super) fn wild(&mut self) -> i64 {
        match self.random.below(9) {
            0 => 0,
            1 => -1,
            2 => i64::MIN,
            3 => i64::MAX,
            4 => MAX_ENTRY,
            5 => MAX_ENTRY + 1,
            6 => 1,
            7 => -self.random.between(1, 1000) * UNIT,
            _ => self.random.next() as i64,
        }
    }

    pub(super) fn wild_amount(&mut self) -> Amount {
        match self.random.below(6) {
            0 => 0,
            1 => -1,
            2 => Amount::MIN,
            3 => Amount::MAX,
            4 => Amount::from(self.wild()) << 64,
            _ => 1,
        }
    }

    /// A command with something wrong in it, or plain noise.
    pub(super) fn hostile(&mut self) -> Command {
        let Some(grid) = self.grids.first().cloned() else { return self.list_market() };
        match self.random.below(12) {
            0..=3 => self.hostile_place(&grid),
            4 => {
                // Noise in the body of a kind that exists. Market kinds are left out: a market of noise would
                // pass every field with luck, and one without a grid is of no use.
                let kinds = [1, 2, 3, 4, 5, 17, 33, 34, 51];
                let mut command = Command::new(AdvanceTime {});
                command.kind = *self.random.pick(&kinds);
                command.body.iter_mut().for_each(|byte| *byte = self.random.next() as u8);
                if command.kind == Kind::VerifyHash as u16 {
                    command.kind = Kind::AdvanceTime as u16;
                }
                command
            }
            5 => {
                let mut command = Command::new(AdvanceTime {});
                command.kind = *self.random.pick(&[0, 6, 15, 18, 35, 53, u16::MAX]);
                command
            }
            6 => {
                let mut credit = self.credit_of(&grid, 0, grid.base);
                credit.amount = self.wild_amount().into();
                // The whole range of an asset may be given out once; then the stream is over for it.
                if credit.amount.get() > Amount::MAX / 2 && !self.profile.huge {
                    credit.asset = padded("NONE").expect("short");
                }
                Command::new(credit)
            }
            7 => self.hostile_list(),
            8 => self.hostile_update(&grid),
            9 => {
                let market = *self.random.pick(&[grid.market, ALL_MARKETS, 99, ALL_MARKETS - 1]);
                let status = *self.random.pick(&[0, 1, 3, 255]);
                Command::new(SetMarketStatus { market, status, reserved: [255; 3] })
            }
            10 => {
                let account = *self.random.pick(&[0, 1, 99, AccountId::MAX]);
                let market = *self.random.pick(&[grid.market, ALL_MARKETS, 99, ALL_MARKETS - 1]);
                Command::new(CancelAll { account, market })
            }
            _ => {
                let account = *self.random.pick(&[0, 1, 99, AccountId::MAX]);
                let order =
                    *self.random.pick(&[0, 1, self.orders_seen, self.orders_seen + 1, OrderId::MAX, 1 << 53]);
                let (price, quantity) = (self.wild(), self.wild());
                match self.random.below(3) {
                    0 => Command::new(CancelOrder { account, reserved: 0, order }),
                    1 => Command::new(AmendOrder { account, reserved: 0, order, quantity }),
                    _ => Command::new(ReplaceOrder { account, reserved: 0, order, price, quantity }),
                }
            }
        }
    }

    pub(super) fn hostile_place(&mut self, grid: &Grid) -> Command {
        let mut place = self.place(grid, false);
        match self.random.below(12) {
            0 => place.side = *self.random.pick(&[2, 255]),
            1 => place.order_type = *self.random.pick(&[2, 255]),
            2 => place.time_in_force = *self.random.pick(&[4, 255]),
            3 => place.self_trade = *self.random.pick(&[5, 255]),
            4 => place.flags = 1 << self.random.below(32),
            5 => place.account = *self.random.pick(&[0, 99, AccountId::MAX]),
            6 => place.market = *self.random.pick(&[99, ALL_MARKETS]),
            7 => place.price = self.wild(),
            8 => place.quantity = self.wild(),
            9 => place.quote_quantity = self.wild_amount().into(),
            10 => place.order_type = OrderType::Market as u8,
            _ => {
                place.price = self.wild();
                place.quantity = self.wild();
                place.quote_quantity = self.wild_amount().into();
            }
        }
        Command::new(place)
    }

    pub(super) fn hostile_list(&mut self) -> Command {
        let command = self.list_market();
        // Most of these are refused; one that is not opens a market that nobody trades in.
        self.listing = None;
        let mut list = *command.body::<ListMarket>();
        match self.random.below(13) {
            12 => list.max_open_orders = 0,
            0 => list.symbol = [b'A'; 20],
            1 => list.symbol = padded("A").expect("short"),
            2 => list.symbol[19] = b'A',
            3 => list.symbol[0] = b'a',
            4 => list.base = [0; 10],
            5 => list.quote = list.base,
            6 => list.tick = *self.random.pick(&[0, -1, i64::MIN, i64::MAX, MAX_ENTRY + 1]),
            7 => list.lot = *self.random.pick(&[0, -1, i64::MIN, i64::MAX, MAX_ENTRY + 1]),
            8 => list.min_notional = (*self.random.pick(&[0, -1, Amount::MIN])).into(),
            9 => list.maker_fee = *self.random.pick(&[FEE_RATE_ONE + 1, u32::MAX]),
            10 => list.taker_fee = *self.random.pick(&[FEE_RATE_ONE + 1, u32::MAX]),
            _ => list.kind = *self.random.pick(&[1, 255]),
        }
        Command::new(list)
    }

    pub(super) fn hostile_update(&mut self, grid: &Grid) -> Command {
        let command = self.update_market(grid);
        let mut update = *command.body::<UpdateMarket>();
        match self.random.below(6) {
            0 => update.mask = *self.random.pick(&[32, 63, u32::MAX]),
            1 => (update.mask, update.tick) = (update.mask | 1, *self.random.pick(&[0, -1, MAX_ENTRY + 1])),
            2 => (update.mask, update.lot) = (update.mask | 2, *self.random.pick(&[0, -1, MAX_ENTRY + 1])),
            3 => (update.mask, update.min_notional) = (update.mask | 4, (*self.random.pick(&[0, -1])).into()),
            4 => (update.mask, update.taker_fee) = (update.mask | 16, FEE_RATE_ONE + 1),
            _ => update.market = *self.random.pick(&[99, ALL_MARKETS]),
        }
        Command::new(update)
    }
}
