//! Accounts, credits and markets: what administrators and logins ask for.

use super::{Engine, Outcome};
use crate::account::Asset;
use crate::book::grid::Step;
use crate::command::{
    CreateAccount, Credit, ListMarket, MarketKind, MarketStatus, OperatorNote, SetMarketStatus, UpdateMarket,
    update_mask,
};
use crate::emit::Emitter;
use crate::event::{self, Sink};
use crate::ids::{Address, AssetId, AssetName, MarketId};
use crate::market::{Market, Rules};
use crate::money::{Amount, FEE_RATE_ONE, FeeRate, MAX_ENTRY};
use crate::perpetual::work::WORK_MAX;
use crate::reject::Reject;

impl Engine {
    /// See [`CreateAccount`].
    pub(super) fn create_account<S: Sink>(
        &mut self,
        create: &CreateAccount,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let (account, is_new) = self.accounts.find_or_make(create.address);
        if is_new {
            emitter.emit(event::AccountCreated { address: create.address, account });
        }
        Outcome { account, ..Outcome::default() }
    }

    /// See [`Credit`].
    pub(super) fn credit<S: Sink>(&mut self, credit: &Credit, emitter: &mut Emitter<'_, S>) -> Outcome {
        let outcome = Outcome::default();
        let amount = credit.amount.get();
        let Some(asset) = self.asset(&credit.asset) else {
            return outcome.refused(Reject::MarketNotFound);
        };
        let credited = &mut self.assets[asset as usize].credited;
        *credited = match credited.checked_add(amount) {
            Some(sum) if amount > 0 => sum,
            _ => return outcome.refused(Reject::InvalidAmount),
        };
        let (account, is_new) = self.accounts.find_or_make(credit.address);
        self.balances.get_mut(account, asset).receive(amount);
        self.tell_balance(account, asset, emitter);
        if is_new {
            let address: Address = credit.address;
            emitter.emit(event::AccountCreated { address, account });
        }
        emitter.emit(event::Credited {
            account,
            asset,
            reserved: 0,
            amount: credit.amount,
            reason: credit.reason,
        });
        Outcome { account, ..outcome }
    }

    /// Tells what an operator is about to do; nothing changes.
    pub(super) fn note<S: Sink>(&mut self, note: &OperatorNote, emitter: &mut Emitter<'_, S>) -> Outcome {
        let OperatorNote { operator, ip, subject, action, part, proven, reason, detail } = *note;
        emitter.emit(event::OperatorNoted { operator, ip, subject, action, part, proven });
        emitter.emit(event::OperatorReason { reason, detail });
        Outcome::default()
    }

    /// The asset of a name, made where it is new.
    pub(super) fn find_or_make_asset<S: Sink>(
        &mut self,
        name: AssetName,
        emitter: &mut Emitter<'_, S>,
    ) -> AssetId {
        if let Some(asset) = self.asset(&name) {
            return asset;
        }
        let asset = self.add_asset(name);
        emitter.emit(event::AssetCreated { name, asset, reserved: 0 });
        asset
    }

    /// Makes an asset.
    pub(super) fn add_asset(&mut self, name: AssetName) -> AssetId {
        let asset = self.assets.len() as AssetId;
        self.assets.push(Asset { name, credited: 0 });
        self.balances.ensure(self.assets.len());
        asset
    }

    /// See [`ListMarket`].
    pub(super) fn list_market<S: Sink>(
        &mut self,
        list: &ListMarket,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let outcome = Outcome::default();
        if self.markets.iter().any(|market| market.rules.symbol == list.symbol) {
            return outcome.refused(Reject::MarketExists);
        }
        let kind = MarketKind::from_code(list.kind);
        let valid = is_name(&list.symbol, 2)
            && is_name(&list.base, 1)
            && is_name(&list.quote, 1)
            && list.base != list.quote
            && is_step(list.tick)
            && is_step(list.lot)
            && is_minimum(list.min_notional.get())
            && is_rate(list.maker_fee)
            && is_rate(list.taker_fee)
            && list.max_open_orders > 0
            // Ids of assets have 16 bits, and two may be new.
            && self.assets.len() < AssetId::MAX as usize - 2
            && self.markets.len() < u32::MAX as usize - 1;
        let (Some(kind), true) = (kind, valid) else {
            return outcome.refused(Reject::Malformed);
        };
        let base = self.find_or_make_asset(list.base, emitter);
        let quote = self.find_or_make_asset(list.quote, emitter);
        let id = self.markets.len() as MarketId;
        let rules = Rules {
            id,
            base,
            quote,
            kind,
            status: MarketStatus::Listed,
            delists: false,
            tick: Step::new(list.tick),
            lot: Step::new(list.lot),
            min_notional: list.min_notional.get(),
            maker_fee: list.maker_fee,
            taker_fee: list.taker_fee,
            max_open_orders: list.max_open_orders,
            symbol: list.symbol,
        };
        let market = Market::new(rules, &self.config);
        emitter.emit(market.event());
        self.markets.push(market);
        Outcome { market: Some(id), ..outcome }
    }

    /// See [`UpdateMarket`].
    pub(super) fn update_market<S: Sink>(
        &mut self,
        update: &UpdateMarket,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let outcome = Outcome::default();
        let Some(market) = self.markets.get_mut(update.market as usize) else {
            return outcome.refused(Reject::MarketNotFound);
        };
        let counts = |bit: u32| update.mask & bit != 0;
        let valid = update.mask & !update_mask::ALL == 0
            && (!counts(update_mask::TICK) || is_step(update.tick))
            && (!counts(update_mask::LOT) || is_step(update.lot))
            && (!counts(update_mask::MIN_NOTIONAL) || is_minimum(update.min_notional.get()))
            && (!counts(update_mask::MAKER_FEE) || is_rate(update.maker_fee))
            && (!counts(update_mask::TAKER_FEE) || is_rate(update.taker_fee));
        if !valid {
            return outcome.refused(Reject::Malformed);
        }
        if counts(update_mask::TICK) {
            market.rules.tick = Step::new(update.tick);
            market.book.fit(&mut self.orders, update.tick);
        }
        if counts(update_mask::LOT) {
            market.rules.lot = Step::new(update.lot);
        }
        if counts(update_mask::MIN_NOTIONAL) {
            market.rules.min_notional = update.min_notional.get();
        }
        if counts(update_mask::MAKER_FEE) {
            market.rules.maker_fee = update.maker_fee;
        }
        if counts(update_mask::TAKER_FEE) {
            market.rules.taker_fee = update.taker_fee;
        }
        emitter.emit(market.event());
        Outcome { market: Some(update.market), update: market.book.update, ..outcome }
    }

    /// See [`SetMarketStatus`].
    pub(super) fn set_market_status<S: Sink>(
        &mut self,
        set: &SetMarketStatus,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let outcome = Outcome::default();
        let Some(market) = self.markets.get(set.market as usize) else {
            return outcome.refused(Reject::MarketNotFound);
        };
        if market.rules.status == MarketStatus::Delisted || market.rules.delists {
            return outcome.refused(Reject::MarketDelisted);
        }
        let Some(status) = MarketStatus::from_code(set.status) else {
            return outcome.refused(Reject::Malformed);
        };
        if status == MarketStatus::Delisted {
            // One unit is for what the command asks for itself.
            let mut left = self.work_max() - 1;
            self.delist(set.market, &mut left, emitter);
        } else {
            self.markets[set.market as usize].rules.status = status;
        }
        let market = &self.markets[set.market as usize];
        emitter.emit(market.event());
        Outcome { market: Some(set.market), update: market.book.update, ..outcome }
    }
}

impl Engine {
    /// Units of work that one command has (`risk.md` 19).
    pub(super) fn work_max(&self) -> u32 {
        self.perpetual.as_ref().map_or(WORK_MAX, |perpetual| perpetual.state.work.most)
    }

    /// Goes on with markets that are being delisted, with the units that a tick has left; `taken` were for lost connections.
    pub(super) fn delist_on<S: Sink>(&mut self, taken: u32, emitter: &mut Emitter<'_, S>) {
        if self.delisting == 0 {
            return;
        }
        let mut left =
            self.perpetual.as_ref().map_or(WORK_MAX - taken, |perpetual| perpetual.state.work.left);
        for market in 0..self.markets.len() {
            if self.markets[market].rules.delists && self.delist(market as MarketId, &mut left, emitter) {
                emitter.emit(self.markets[market].event());
            }
        }
    }

    /// Cancels orders of a market, as far as there are units: it is halted until none is left, then delisted. Whether that is so.
    fn delist<S: Sink>(&mut self, market: MarketId, left: &mut u32, emitter: &mut Emitter<'_, S>) -> bool {
        self.changes.start(None);
        let is_empty = self.end_market(market, left, emitter);
        self.changes.flush(&self.balances, emitter);
        let rules = &mut self.markets[market as usize].rules;
        self.delisting -= u32::from(rules.delists);
        rules.delists = !is_empty;
        self.delisting += u32::from(rules.delists);
        rules.status = if is_empty { MarketStatus::Delisted } else { MarketStatus::Halted };
        is_empty
    }
}

/// `least` or more of `[A-Z0-9]`, then zeros.
pub(super) fn is_name(field: &[u8], least: usize) -> bool {
    let len = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at(len);
    len >= least
        && text.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && rest.iter().all(|&byte| byte == 0)
}

pub(super) fn is_step(step: i64) -> bool {
    (1..=MAX_ENTRY).contains(&step)
}

fn is_minimum(amount: Amount) -> bool {
    amount > 0
}

fn is_rate(rate: FeeRate) -> bool {
    rate <= FEE_RATE_ONE
}
