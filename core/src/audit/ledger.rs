//! Wallets, positions and pools, and what the running command owes them.

use super::Balance;
use crate::command::{MarginMode, Side};
use crate::engine::Engine;
use crate::event::{
    FundingSettled, PerpetualPools, PerpetualPosition, PerpetualTrade, PerpetualWallet, Posting,
    PostingReason, TradeCause,
};
use crate::ids::{AccountId, FEE_ACCOUNT, MarketId, TradeId};
use crate::money::{Price, Quantity, Rate};
use crate::risk::perpetual::funding::payment;
use crate::risk::perpetual::units;
use std::collections::{BTreeMap, BTreeSet};

/// A position as it was told.
#[derive(Clone, Copy, Default)]
struct Held {
    quantity: i128,
    cost: i128,
    isolated: i128,
    is_isolated: bool,
    /// Takeovers or auto-deleveraging had a part in it, or its history is not known: its cost may have any sign.
    is_moved: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Pools {
    fees: i128,
    affiliates: i128,
    deposits: i128,
}

/// An hour's funding that is not paid to the end.
struct Funding {
    positions: u64,
    /// What each position is still to receive, below 0 to pay.
    owed: BTreeMap<AccountId, i128>,
    /// What positions received, less what they paid.
    received: i128,
}

/// A market that closes.
#[derive(Default)]
struct Settlement {
    /// Positions settled.
    count: u64,
    /// What they brought, less what they cost.
    values: i128,
    /// What the fund was told to have received.
    residue: i128,
}

/// What the running command has said so far.
#[derive(Default)]
struct Running {
    /// What each account must gain, wallets of both kinds together.
    due: BTreeMap<AccountId, i128>,
    /// What it gained.
    gained: BTreeMap<AccountId, i128>,
    pools_due: Pools,
    pools_gained: Pools,
    /// Positions that changed hands outside the book.
    moved: BTreeSet<(MarketId, AccountId)>,
    /// The last trade, and what of its fees no reward was paid of.
    last: Option<(MarketId, TradeId, i128)>,
    /// Isolated wallets below zero, which something that follows must make up for.
    below: BTreeSet<(MarketId, AccountId)>,
    /// How each position must change.
    fills: BTreeMap<(MarketId, AccountId), i128>,
    markets: BTreeSet<MarketId>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Ledger {
    wallets: BTreeMap<AccountId, i128>,
    holdings: BTreeMap<(MarketId, AccountId), Held>,
    /// Markets in which an account has a cross position.
    crosses: BTreeMap<AccountId, u32>,
    /// By market: sum of quantities, and positions.
    interest: BTreeMap<MarketId, (i128, u64)>,
    /// By market: the last trade that was seen.
    trades: BTreeMap<MarketId, TradeId>,
    fundings: BTreeMap<MarketId, Funding>,
    settlements: BTreeMap<MarketId, Settlement>,
    balance: Balance,
    deficit: bool,
    running: Running,
}

impl Ledger {
    pub(super) fn of(engine: &Engine) -> Ledger {
        let mut ledger = Ledger::default();
        for account in 0..engine.accounts() as AccountId {
            ledger.put_wallet(account, engine.perpetual_wallet(account).into());
            for market in engine.perpetual_markets() {
                if let Some(position) = engine.perpetual_position(account, market) {
                    ledger.put_held(market, account, Held { is_moved: true, ..held(&position) });
                }
            }
        }
        for market in engine.perpetual_markets() {
            let Some((rate, mark, received, owing)) = engine.perpetual_unpaid(market) else { continue };
            let owed = owing.into_iter().map(|account| (account, ledger.held(market, account).quantity));
            let owed = owed_of(owed.collect(), mark, rate);
            let positions = ledger.interest.get(&market).map_or(0, |interest| interest.1);
            ledger.balance.fund -= i128::from(received);
            ledger.fundings.insert(market, Funding { positions, owed, received: received.into() });
        }
        for market in engine.perpetual_markets() {
            let Some(left) = engine.perpetual_closing(market) else { continue };
            let settlement = Settlement { count: u64::MAX, values: -i128::from(left), residue: 0 };
            ledger.balance.fund += i128::from(left);
            ledger.settlements.insert(market, settlement);
        }
        if let Some(pools) = engine.perpetual_pools() {
            ledger.put_pools(&pools);
        }
        ledger.running = Running::default();
        ledger
    }

    pub(super) fn balance(&self) -> Balance {
        self.balance
    }

    fn put_wallet(&mut self, account: AccountId, wallet: i128) {
        let before = self.wallets.insert(account, wallet).unwrap_or(0);
        *self.running.gained.entry(account).or_default() += wallet - before;
        let sum = if account == FEE_ACCOUNT { &mut self.balance.fund } else { &mut self.balance.wallets };
        *sum += wallet - before;
    }

    fn put_held(&mut self, market: MarketId, account: AccountId, held: Held) {
        let before = self.holdings.insert((market, account), held).unwrap_or_default();
        *self.running.gained.entry(account).or_default() += held.isolated - before.isolated;
        self.balance.isolated += held.isolated - before.isolated;
        self.balance.costs += held.cost - before.cost;
        let interest = self.interest.entry(market).or_default();
        interest.0 += held.quantity - before.quantity;
        interest.1 += u64::from(held.quantity != 0);
        interest.1 -= u64::from(before.quantity != 0);
        let is_cross = |held: &Held| u32::from(held.quantity != 0 && !held.is_isolated);
        let crosses = self.crosses.entry(account).or_default();
        *crosses = *crosses + is_cross(&held) - is_cross(&before);
        if held.quantity == 0 && held.isolated == 0 {
            self.holdings.remove(&(market, account));
        }
    }

    fn put_pools(&mut self, told: &PerpetualPools) {
        let balance = &mut self.balance;
        let before = Pools { fees: balance.fees, affiliates: balance.affiliates, deposits: balance.deposits };
        (balance.fees, balance.affiliates) = (told.fees.into(), told.affiliates.into());
        balance.deposits = told.deposits.into();
        self.deficit = told.deficit != 0;
        let gained = &mut self.running.pools_gained;
        gained.fees += balance.fees - before.fees;
        gained.affiliates += balance.affiliates - before.affiliates;
        gained.deposits += balance.deposits - before.deposits;
    }

    fn owe(&mut self, account: AccountId, amount: impl Into<i128>) {
        *self.running.due.entry(account).or_default() += amount.into();
    }

    fn held(&self, market: MarketId, account: AccountId) -> Held {
        self.holdings.get(&(market, account)).copied().unwrap_or_default()
    }

    /// The position of an account as the running command has left it so far.
    fn position_now(&self, market: MarketId, account: AccountId) -> i128 {
        let filled = self.running.fills.get(&(market, account)).copied().unwrap_or(0);
        self.held(market, account).quantity + filled
    }

    /// Positions of a market as the running command has left them so far.
    fn positions_now(&self, market: MarketId) -> BTreeMap<AccountId, i128> {
        let of_market = (market, 0)..=(market, AccountId::MAX);
        let held = self.holdings.range(of_market.clone()).map(|(of, _)| of.1);
        let filled = self.running.fills.range(of_market).map(|(of, _)| of.1);
        let now = held.chain(filled).map(|account| (account, self.position_now(market, account)));
        now.filter(|&(_, quantity)| quantity != 0).collect()
    }

    fn fill(&mut self, market: MarketId, account: AccountId, quantity: i128) {
        *self.running.fills.entry((market, account)).or_default() += quantity;
        self.running.markets.insert(market);
    }

    pub(super) fn traded(&mut self, trade: &PerpetualTrade) -> Result<(), String> {
        let (maker, taker, market) = (trade.maker_account, trade.taker_account, trade.market);
        let cause = TradeCause::from_code(trade.cause).ok_or("a trade without cause")?;
        let sign = if trade.taker_side == Side::Buy as u8 { 1 } else { -1 };
        let (quantity, value) = (i128::from(trade.quantity), i128::from(trade.value));
        // I-14: whatever their cause, trades of a market count up.
        let before = self.trades.insert(market, trade.trade);
        if quantity <= 0 || before.is_some_and(|before| before + 1 != trade.trade) {
            return Err(format!("no next trade of {market}, or of nothing"));
        }
        let is_in_book = matches!(cause, TradeCause::Book | TradeCause::Liquidation);
        if is_in_book {
            if value <= 0 || units::value(trade.price, trade.quantity) != Some(trade.value) {
                return Err("a trade without value, or with another".into());
            }
        } else {
            self.taken_over(trade, cause, sign)?;
        }
        let owes =
            |account| self.fundings.get(&market).is_some_and(|funding| funding.owed.contains_key(&account));
        if owes(taker) || (cause != TradeCause::Settlement && owes(maker)) {
            return Err("a position trades with an hour unpaid".into());
        }
        self.fill(market, taker, sign * quantity);
        self.owe(taker, i128::from(trade.taker_realised) - i128::from(trade.taker_fee));
        if cause != TradeCause::Settlement {
            self.fill(market, maker, -sign * quantity);
            self.owe(maker, i128::from(trade.maker_realised) - i128::from(trade.maker_fee));
        }
        // I-11.
        let (maker_fee, taker_fee) = (i128::from(trade.maker_fee), i128::from(trade.taker_fee));
        if taker_fee < 0 || maker_fee < -taker_fee {
            return Err("a rebate above the other side's fee".into());
        }
        if cause == TradeCause::Liquidation {
            self.owe(FEE_ACCOUNT, taker_fee);
            self.running.pools_due.fees += maker_fee;
        } else {
            self.running.pools_due.fees += maker_fee + taker_fee;
        }
        self.running.last = Some((market, trade.trade, maker_fee.max(0) + taker_fee));
        Ok(())
    }

    /// A trade that was not made in the book. I-13: who gives up holds it, and who takes it, if not the fund, closes one of its own.
    fn taken_over(&mut self, trade: &PerpetualTrade, cause: TradeCause, sign: i128) -> Result<(), String> {
        let (maker, taker, market) = (trade.maker_account, trade.taker_account, trade.market);
        let quantity = i128::from(trade.quantity);
        let held = -sign * self.position_now(market, taker);
        if held < quantity {
            return Err("more is given up than is held".into());
        }
        if (trade.maker_fee, trade.taker_fee) != (0, 0) {
            return Err("a fee outside the book".into());
        }
        // A position that the running command changed before has no cost that was told.
        let has_cost = !self.running.fills.contains_key(&(market, taker));
        self.running.moved.insert((market, taker));
        match cause {
            TradeCause::Settlement => {
                let received = -sign * i128::from(trade.value);
                let settlement = self.settlements.entry(market).or_default();
                settlement.count += 1;
                settlement.values += received;
                // Held by the fund until the last is settled.
                self.balance.fund -= received;
                let cost = self.held(market, taker).cost;
                // All of it at once, at what it cost and brings.
                if held != quantity
                    || trade.maker_order != 0
                    || (has_cost && received - cost != i128::from(trade.taker_realised))
                {
                    return Err(format!("a settlement of {held} that cost {cost}"));
                }
                // The price, down for a long and up for a short: less than a micro beside.
                let exact = i128::from(trade.price) * quantity;
                let least = 10_000_000_000 * i128::from(trade.value) - exact;
                if !(0..10_000_000_000).contains(&(sign * least)) {
                    return Err("a settlement at another price".into());
                }
            }
            TradeCause::Takeover if maker != FEE_ACCOUNT => {
                return Err("another than the fund takes over".into());
            }
            _ => {
                let opposite = sign * self.position_now(market, maker);
                if (maker != FEE_ACCOUNT || cause == TradeCause::Deleveraging) && opposite < quantity {
                    return Err("an account without the opposite position takes one over".into());
                }
                if trade.price != units::average_price(trade.value, trade.quantity) {
                    return Err("a price that is not the value's".into());
                }
                self.running.moved.insert((market, maker));
            }
        }
        Ok(())
    }

    pub(super) fn posted(&mut self, posting: &Posting) -> Result<(), String> {
        let amount = i128::from(posting.amount);
        let account = posting.account;
        let reason = PostingReason::from_code(posting.reason).ok_or("a posting without reason")?;
        match reason {
            PostingReason::TreasuryFees => {
                self.running.pools_due.fees += amount;
                self.running.pools_due.deposits += amount;
                if account != FEE_ACCOUNT {
                    return Err("fees that are moved for an account".into());
                }
            }
            PostingReason::Transfer | PostingReason::Adjustment | PostingReason::Treasury => {
                self.owe(account, amount);
                self.running.pools_due.deposits += amount;
            }
            PostingReason::FundingFee => {
                self.owe(account, amount);
                self.funding_paid(posting.market, account, amount)?;
            }
            PostingReason::FundingResidue => {
                self.owe(account, amount);
                self.funding_ended(posting.market, amount)?;
                if account != FEE_ACCOUNT {
                    return Err("a residue that the fund does not get".into());
                }
            }
            PostingReason::InsuranceClear => {
                self.owe(account, amount);
                self.owe(FEE_ACCOUNT, -amount);
                // Above 0 the fund pays; below it is paid back, by who has it.
                if amount == 0 || account == FEE_ACCOUNT {
                    return Err("the fund pays nothing, or itself".into());
                }
            }
            PostingReason::RealisedProfit => {
                self.owe(account, amount);
                if amount <= 0 || self.position_now(posting.market, account) == 0 {
                    return Err("profit without a position that has one".into());
                }
            }
            PostingReason::Affiliate => {
                self.running.pools_due.fees -= amount;
                self.running.pools_due.affiliates += amount;
                let left = self
                    .running
                    .last
                    .as_mut()
                    .filter(|last| (last.0, last.1) == (posting.market, posting.trade));
                let (.., left) = left.ok_or("a reward without its trade")?;
                *left -= amount;
                // I-11.
                if amount <= 0 || *left < 0 {
                    return Err("an affiliate's reward above the fees".into());
                }
            }
            PostingReason::Settlement => {
                self.owe(account, amount);
                self.settlements.entry(posting.market).or_default().residue += amount;
                self.balance.fund -= amount;
                if account != FEE_ACCOUNT {
                    return Err("a residue that the fund does not get".into());
                }
            }
            PostingReason::IsolatedMargin => {}
        }
        Ok(())
    }

    /// An account pays or receives its part of an hour, which the fund holds until the last has paid.
    fn funding_paid(&mut self, market: MarketId, account: AccountId, amount: i128) -> Result<(), String> {
        let funding = self.fundings.get_mut(&market).ok_or("a payment without settlement")?;
        let owed = funding.owed.remove(&account);
        if owed != Some(amount) {
            return Err(format!("{amount} of funding where {owed:?} is owed"));
        }
        funding.received += amount;
        self.balance.fund -= amount;
        Ok(())
    }

    /// I-10: everybody has paid, and what rounding leaves is less than a micro each.
    fn funding_ended(&mut self, market: MarketId, amount: i128) -> Result<(), String> {
        let funding = self.fundings.remove(&market).ok_or("a residue without settlement")?;
        let Funding { positions, owed, received } = funding;
        if !owed.is_empty() || amount != -received || !(0..i128::from(positions)).contains(&amount) {
            return Err(format!("{amount} of funding is left, received {received}, owed {owed:?}"));
        }
        self.balance.fund -= amount;
        Ok(())
    }

    pub(super) fn funding(&mut self, told: &FundingSettled) -> Result<(), String> {
        let now = self.positions_now(told.market);
        let positions = now.len() as u64;
        if told.positions != positions {
            return Err(format!("funding of {} positions where there are {positions}", told.positions));
        }
        let owed = owed_of(now, told.mark, told.rate);
        let before = self.fundings.insert(told.market, Funding { positions, owed, received: 0 });
        if before.is_some() {
            return Err("an hour begins before the last is paid".into());
        }
        Ok(())
    }

    /// A market was settled.
    pub(super) fn settled(&mut self, market: MarketId) -> Result<(), String> {
        let left = self.positions_now(market).len();
        let Settlement { count, values, residue } = self.settlements.remove(&market).unwrap_or_default();
        // I-10: what rounding left of the values, and no more than a micro of each.
        if left != 0 || residue != -values || !(0..=i128::from(count)).contains(&residue) {
            return Err(format!(
                "{count} positions are settled, {left} are left, they leave {} and a residue of {residue}",
                -values
            ));
        }
        Ok(())
    }

    pub(super) fn position(&mut self, told: &PerpetualPosition) -> Result<(), String> {
        let (market, account) = (told.market, told.account);
        let before = self.held(market, account);
        let mut now = held(told);
        let filled = self.running.fills.remove(&(market, account)).unwrap_or(0);
        // I-4, I-12: a position is what its fills made it.
        if now.quantity - before.quantity != filled {
            return Err(format!("it was {}, and {filled} was filled", before.quantity));
        }
        let has_turned = now.quantity.signum() != before.quantity.signum();
        now.is_moved = (before.is_moved && !has_turned) || self.running.moved.contains(&(market, account));
        // I-3.
        if (now.quantity == 0) != (now.cost == 0) {
            return Err("quantity or cost alone".into());
        }
        if !now.is_moved && now.cost.signum() != now.quantity.signum() {
            return Err("the cost of trades has the other sign".into());
        }
        // I-8.
        if now.isolated != 0 && (now.quantity == 0 || !now.is_isolated) {
            return Err("an isolated wallet that cannot be".into());
        }
        if now.isolated < 0 {
            self.running.below.insert((market, account));
        } else {
            self.running.below.remove(&(market, account));
        }
        self.put_held(market, account, now);
        self.running.markets.insert(market);
        Ok(())
    }

    pub(super) fn wallet(&mut self, told: &PerpetualWallet) -> Result<(), String> {
        self.put_wallet(told.account, told.wallet.into());
        Ok(())
    }

    pub(super) fn pools(&mut self, told: &PerpetualPools) -> Result<(), String> {
        self.put_pools(told);
        if told.fees < 0 || told.affiliates < 0 {
            return Err("a pool below zero".into());
        }
        Ok(())
    }

    /// The end of a command.
    pub(super) fn done(&mut self) -> Result<(), String> {
        let running = std::mem::take(&mut self.running);
        // I-4.
        let accounts: BTreeSet<AccountId> =
            running.due.keys().chain(running.gained.keys()).copied().collect();
        for account in accounts {
            let of = |sums: &BTreeMap<AccountId, i128>| sums.get(&account).copied().unwrap_or(0);
            let (due, gained) = (of(&running.due), of(&running.gained));
            if due != gained {
                return Err(format!("account {account} gained {gained}, its postings come to {due}"));
            }
            let wallet = self.wallets.get(&account).copied().unwrap_or(0);
            let crosses = self.crosses.get(&account).copied().unwrap_or(0);
            if wallet < 0 && if account == FEE_ACCOUNT { !self.deficit } else { crosses == 0 } {
                return Err(format!("account {account} owes {wallet}"));
            }
        }
        if running.pools_due != running.pools_gained {
            let Pools { fees, affiliates, deposits } = running.pools_due;
            return Err(format!("pools should have gained {fees}, {affiliates} and {deposits}"));
        }
        if let Some(of) = running.below.first() {
            return Err(format!("the isolated wallet of {of:?} is below zero"));
        }
        if let Some((of, filled)) = running.fills.iter().find(|(_, filled)| **filled != 0) {
            return Err(format!("{filled} was filled for {of:?}, and no position told"));
        }
        // Nothing is left of those that have been paid to the end.
        if let Some((market, _)) = self.fundings.iter().find(|(_, of)| of.owed.is_empty() && of.received != 0)
        {
            return Err(format!("what funding of {market} left is not told"));
        }
        self.fundings.retain(|_, funding| !funding.owed.is_empty());
        for market in &running.markets {
            let (sum, _) = self.interest.get(market).copied().unwrap_or_default();
            if sum != 0 && !self.settlements.contains_key(market) {
                return Err(format!("longs and shorts of {market} differ by {sum}"));
            }
        }
        self.judge()
    }

    /// I-1.
    pub(super) fn judge(&self) -> Result<(), String> {
        let (held, deposits) = (self.balance.held(), self.balance.deposits);
        if held == deposits { Ok(()) } else { Err(format!("{held} is held, deposits are {deposits}")) }
    }
}

/// What positions receive of funding, below 0 pay; those alone that do either.
fn owed_of(positions: BTreeMap<AccountId, i128>, mark: Price, rate: Rate) -> BTreeMap<AccountId, i128> {
    let owed = |(account, quantity): (AccountId, i128)| {
        let amount = Quantity::try_from(quantity).ok().and_then(|quantity| payment(quantity, mark, rate))?;
        Some((account, i128::from(amount))).filter(|owed| owed.1 != 0)
    };
    positions.into_iter().filter_map(owed).collect()
}

fn held(position: &PerpetualPosition) -> Held {
    Held {
        quantity: position.quantity.into(),
        cost: position.cost.into(),
        isolated: position.isolated_wallet.into(),
        is_isolated: position.mode == MarginMode::Isolated as u32,
        is_moved: false,
    }
}
