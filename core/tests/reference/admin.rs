//! Accounts, credits and markets.

use super::output::Output;
use super::{MAX_ENTRY, Market, Outcome, Reference};
use ringside_core::command::{self, MarketStatus, OrderStatus, Side, update_mask};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, Address, AssetId, AssetName, MarketId, OrderId};
use ringside_core::money::{Amount, FeeRate, Price};
use ringside_core::reject::Reject;

impl Reference {
    pub(super) fn find_or_make(&mut self, address: Address, output: &mut Output) -> AccountId {
        if let Some(index) = self.accounts.iter().position(|&known| known == address) {
            return index as AccountId;
        }
        self.accounts.push(address);
        let account = (self.accounts.len() - 1) as AccountId;
        output.fact(event::AccountCreated { address, account });
        account
    }

    pub(super) fn credit(
        &mut self,
        credit: &command::Credit,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        let asset =
            self.assets.iter().position(|&name| name == credit.asset).ok_or(Reject::MarketNotFound)?;
        let asset = asset as AssetId;
        let amount = credit.amount.get();
        let issued: Amount =
            self.owned.iter().filter(|((_, of), _)| *of == asset).map(|(_, owned)| owned).sum();
        if amount <= 0 || issued.checked_add(amount).is_none() {
            return Err(Reject::InvalidAmount);
        }
        let account = self.find_or_make(credit.address, output);
        *self.owned.entry((account, asset)) += amount;
        let (available, frozen) = self.balance(account, asset);
        output.balances(event::Balances {
            account,
            base: asset,
            quote: asset,
            changed: 1,
            base_available: available.into(),
            base_frozen: frozen.into(),
            quote_available: 0.into(),
            quote_frozen: 0.into(),
        });
        output.fact(event::Credited {
            account,
            asset,
            reserved: 0,
            amount: credit.amount,
            reason: credit.reason,
        });
        Ok(Outcome { account: Some(account), ..Outcome::default() })
    }

    pub(super) fn list(
        &mut self,
        list: &command::ListMarket,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        if self.markets.iter().any(|market| market.symbol == list.symbol) {
            return Err(Reject::MarketExists);
        }
        let well_formed = is_name(&list.symbol, 2)
            && is_name(&list.base, 1)
            && is_name(&list.quote, 1)
            && list.base != list.quote
            && command::MarketKind::from_code(list.kind).is_some();
        if !well_formed
            || !is_step(list.tick)
            || !is_step(list.lot)
            || list.min_notional.get() <= 0
            || !is_rate(list.maker_fee)
            || !is_rate(list.taker_fee)
            || list.max_open_orders == 0
        {
            return Err(Reject::Malformed);
        }
        let base = self.find_or_make_asset(list.base, output);
        let quote = self.find_or_make_asset(list.quote, output);
        self.markets.push(Market {
            symbol: list.symbol,
            base,
            quote,
            tick: list.tick,
            lot: list.lot,
            min_notional: list.min_notional.get(),
            maker_fee: list.maker_fee,
            taker_fee: list.taker_fee,
            max_open_orders: list.max_open_orders,
            kind: list.kind,
            status: MarketStatus::Listed,
            delists: false,
            update: 0,
            trades: 0,
            last_price: None,
        });
        let id = (self.markets.len() - 1) as MarketId;
        self.tell_market(id, output);
        Ok(Outcome { market: Some(id), ..Outcome::default() })
    }

    pub(super) fn find_or_make_asset(&mut self, name: AssetName, output: &mut Output) -> AssetId {
        if let Some(index) = self.assets.iter().position(|&known| known == name) {
            return index as AssetId;
        }
        self.assets.push(name);
        let asset = (self.assets.len() - 1) as AssetId;
        output.fact(event::AssetCreated { name, asset, reserved: 0 });
        asset
    }

    pub(super) fn update(
        &mut self,
        update: &command::UpdateMarket,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        self.known_market(update.market)?;
        let counts = |bit: u32| update.mask & bit != 0;
        let bad = update.mask >= 32
            || (counts(update_mask::TICK) && !is_step(update.tick))
            || (counts(update_mask::LOT) && !is_step(update.lot))
            || (counts(update_mask::MIN_NOTIONAL) && update.min_notional.get() <= 0)
            || (counts(update_mask::MAKER_FEE) && !is_rate(update.maker_fee))
            || (counts(update_mask::TAKER_FEE) && !is_rate(update.taker_fee));
        if bad {
            return Err(Reject::Malformed);
        }
        let market = &mut self.markets[update.market as usize];
        if counts(update_mask::TICK) {
            market.tick = update.tick;
        }
        if counts(update_mask::LOT) {
            market.lot = update.lot;
        }
        if counts(update_mask::MIN_NOTIONAL) {
            market.min_notional = update.min_notional.get();
        }
        if counts(update_mask::MAKER_FEE) {
            market.maker_fee = update.maker_fee;
        }
        if counts(update_mask::TAKER_FEE) {
            market.taker_fee = update.taker_fee;
        }
        self.tell_market(update.market, output);
        Ok(Outcome { market: Some(update.market), ..Outcome::default() })
    }

    pub(super) fn set_status(
        &mut self,
        set: &command::SetMarketStatus,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        self.known_market(set.market)?;
        let at = &self.markets[set.market as usize];
        if at.status == MarketStatus::Delisted || at.delists {
            return Err(Reject::MarketDelisted);
        }
        let status = MarketStatus::from_code(set.status).ok_or(Reject::Malformed)?;
        if status == MarketStatus::Delisted {
            // One unit is for the command itself.
            self.delist(set.market, self.units_max() - 1, output);
        } else {
            self.markets[set.market as usize].status = status;
        }
        self.tell_market(set.market, output);
        Ok(Outcome { market: Some(set.market), ..Outcome::default() })
    }
}

impl Reference {
    pub fn units_max(&self) -> usize {
        self.units_max.unwrap_or(256)
    }

    /// What a tick of the whole exchange, which has so many units left, tells of that.
    pub fn delisted_on(&mut self, units: usize) -> Vec<Event> {
        let mut output = Output::new(self.sequence, self.time_ns);
        self.delist_on(units, &mut output);
        output.unfinished()
    }

    /// A tick goes on with what is being delisted.
    pub fn delist_on(&mut self, units: usize, output: &mut Output) {
        let mut left = units;
        for market in 0..self.markets.len() as MarketId {
            if self.markets[market as usize].delists {
                left -= self.delist(market, left, output);
                if !self.markets[market as usize].delists {
                    self.tell_market(market, output);
                }
            }
        }
    }

    /// Cancels up to so many orders of a market, buys by priority, then sells; how many. It is halted until none is left.
    fn delist(&mut self, market: MarketId, most: usize, output: &mut Output) -> usize {
        let before = self.balances();
        let mut chosen: Vec<(bool, Price, u64, OrderId, AccountId)> = self
            .orders
            .values()
            .filter(|order| order.market == market)
            .map(|order| {
                let is_sell = order.side == Side::Sell;
                let price = if is_sell { order.price } else { -order.price };
                (is_sell, price, order.arrival, order.order, order.account)
            })
            .collect();
        chosen.sort_unstable();
        let is_last = chosen.len() <= most;
        chosen.truncate(most);
        let owners: Vec<AccountId> = chosen.iter().map(|chosen| chosen.4).collect();
        for &(.., order, _) in &chosen {
            self.end(order, OrderStatus::Canceled, output);
        }
        self.tell_balances(market, None, &owners, &before, output);
        let at = &mut self.markets[market as usize];
        (at.delists, at.status) =
            if is_last { (false, MarketStatus::Delisted) } else { (true, MarketStatus::Halted) };
        chosen.len()
    }
}

/// At least `least` of `[A-Z0-9]`, then zeros to the end of the field.
pub fn is_name(field: &[u8], least: usize) -> bool {
    let text: Vec<u8> = field.iter().copied().take_while(|&byte| byte != 0).collect();
    let zeros = field[text.len()..].iter().all(|&byte| byte == 0);
    let letters = text.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    zeros && letters && text.len() >= least
}

fn is_step(step: i64) -> bool {
    (1..=MAX_ENTRY).contains(&step)
}

fn is_rate(rate: FeeRate) -> bool {
    rate <= 100_000_000
}
