//! The invariants of `risk.md` 20, over the whole perpetual side, and those of what is kept beside it. Slow; names the first fault.

use crate::book::pool::NONE;
use crate::command::{MarginMode, Side, order_flag};
use crate::ids::FEE_ACCOUNT;
use crate::perpetual::order::Stage;
use crate::perpetual::{Perpetual, id_of};
use crate::risk::perpetual::bankruptcy::is_due;
use crate::risk::perpetual::order_margin::Bucket;

impl Perpetual {
    /// Checks everything, for accounts below `accounts`.
    pub(crate) fn check(&self, accounts: u32) -> Result<(), String> {
        self.check_orders(accounts)?;
        self.check_money(accounts)?;
        self.check_scopes(accounts)?;
        self.state.check_rankings()
    }

    /// I-5, I-6, I-7: books, lists, buckets, reduce-only orders.
    fn check_orders(&self, accounts: u32) -> Result<(), String> {
        let (mut open, mut leaves) = (0, 0);
        for (index, book) in self.books.iter().enumerate() {
            let fault = |fault: String| format!("market {}: {fault}", id_of(index));
            let find = |id| self.state.order_index.find(id).unwrap_or(NONE);
            let (in_book, found) = book.check(&self.orders, find).map_err(fault)?;
            leaves += found;
            let (mut resting, mut reducing) = (0, [0u32; 2]);
            for account in 0..accounts {
                let holding = self.state.holding(account, index);
                open += holding.orders.check(&self.orders, find, (id_of(index), account)).map_err(fault)?;
                let own = self.check_orders_of(account, index).map_err(fault)?;
                resting += own.0;
                reducing = [0, 1].map(|side| reducing[side] + own.1[side]);
            }
            let triggers = &self.state.triggers[index];
            let is_open = |id| self.state.slot_of(id).is_some();
            let due: usize = triggers.batches(is_open).map(|(_, ids)| ids.len()).sum();
            if due != triggers.due_count as usize {
                return Err(fault(format!("{due} triggers are due, {} count", triggers.due_count)));
            }
            if resting != in_book || reducing != self.state.symbols[index].reducing {
                return Err(fault(format!("{in_book} in the book, {resting} rest, {reducing:?} reduce")));
            }
        }
        let (indexed, slots) = (self.state.order_index.len(), self.orders.pool.count()?);
        if indexed != open || slots != open || self.orders.index.len() != 0 {
            return Err(format!("{open} open orders, {indexed} are indexed, {slots} hold slots"));
        }
        if self.orders.levels.used() != leaves || self.state.order_index.find(u64::from(NONE)).is_some() {
            return Err(format!("{} leaves are used, books have {leaves}", self.orders.levels.used()));
        }
        Ok(())
    }

    /// The same of an account's orders in a market: how many rest, and how many of those reduce only, by side.
    fn check_orders_of(&self, account: u32, index: usize) -> Result<(usize, [u32; 2]), String> {
        let holding = self.state.holding(account, index);
        let (mut resting, mut reducing, mut buckets) = (0, [0; 2], [Bucket::default(); 2]);
        let (mut waiting, mut bound) = (0, 0);
        for slot in self.open_orders(account, index) {
            let (order, details) = (self.orders.pool.get(slot), &self.state.details[slot as usize]);
            if details.id != order.id || self.state.order_index.find(order.id) != Some(slot) {
                return Err(format!("order {} is not where it is said to be", order.id));
            }
            match details.stage {
                Stage::Resting => resting += 1,
                Stage::Running => return Err(format!("order {} still runs", order.id)),
                Stage::Waiting | Stage::Dormant => {
                    waiting += 1;
                    bound += u32::from(details.is(order_flag::GTE));
                    continue;
                }
            }
            let open = self.orders.open(slot);
            if details.filled + open > details.quantity {
                return Err(format!("order {} has more than it was given", order.id));
            }
            let side = details.side as usize;
            if details.is(order_flag::REDUCE_ONLY) {
                reducing[side] += 1;
                bound += 1;
                let closable = if details.side == Side::Buy { -holding.quantity } else { holding.quantity };
                let waits = self.state.work.trims.iter().any(|trim| (trim.0, trim.1) == (index, account));
                if open > closable && !waits {
                    return Err(format!("order {} reduces more than there is", order.id));
                }
                continue;
            }
            let part = details.reservation.scaled(open, details.reserved_quantity);
            let sum = part.and_then(|part| buckets[side].with(open, part));
            buckets[side] = sum.ok_or("a bucket leaves its range")?;
        }
        if holding.is_resized != 0 {
            return Err(format!("orders of account {account} are not trimmed to its position"));
        }
        let told = [holding.bucket(Side::Buy), holding.bucket(Side::Sell)];
        if buckets != told || (waiting, bound) != (holding.waiting, holding.bound) {
            return Err(format!("buckets or counts of account {account} are wrong"));
        }
        Ok((resting, reducing))
    }

    /// I-1, I-2, I-3, I-8: the ledger.
    fn check_money(&self, accounts: u32) -> Result<(), String> {
        let state = &self.state;
        let mut sum = i128::from(state.ledger.fees) + i128::from(state.ledger.affiliates);
        for account in 0..accounts {
            sum += i128::from(state.wallet(account));
        }
        for index in 0..state.symbols.len() {
            let unpaid = state.symbols[index].unpaid.as_ref();
            sum -= i128::from(unpaid.map_or(0, |unpaid| unpaid.received));
            let closing = state.symbols[index].closing.as_ref();
            sum += i128::from(closing.map_or(0, |closing| closing.residue));
            if closing.is_some() != (state.work.closing >> index & 1 != 0) {
                return Err(format!("{} closes, or does not", id_of(index)));
            }
            if unpaid.is_some() != (state.work.unpaid >> index & 1 != 0) {
                return Err(format!("funding of {} waits, or does not", id_of(index)));
            }
            let (mut quantities, mut longs, mut holders) = (0i128, 0i128, 0);
            for account in 0..accounts {
                let holding = state.holding(account, index);
                if (holding.quantity == 0) != (holding.cost == 0) {
                    return Err(format!("account {account} has quantity or cost alone in {}", id_of(index)));
                }
                if holding.isolated < 0
                    || (holding.isolated != 0
                        && (holding.quantity == 0 || state.mode(account, index) != MarginMode::Isolated))
                {
                    return Err(format!("isolated wallet of account {account} in {}", id_of(index)));
                }
                quantities += i128::from(holding.quantity);
                longs += i128::from(holding.quantity.max(0));
                sum += i128::from(holding.isolated) - i128::from(holding.cost);
                holders += usize::from(holding.quantity != 0);
                if state.symbols[index].holders.contains(account) != (holding.quantity != 0) {
                    return Err(format!("account {account} is not listed as it holds in {}", id_of(index)));
                }
                if !state.is_ranked(account, index) {
                    return Err(format!("account {account} is not ranked as it holds in {}", id_of(index)));
                }
            }
            if (quantities != 0 && closing.is_none()) || holders != state.symbols[index].holders.len() {
                return Err(format!("longs and shorts of {} differ by {quantities}", id_of(index)));
            }
            let open = state.symbols[index].open_interest;
            if open != longs {
                return Err(format!("{open} counts as open in {}, longs hold {longs}", id_of(index)));
            }
        }
        if sum != i128::from(state.ledger.net_deposits) {
            return Err(format!("the ledger holds {sum}, deposits are {}", state.ledger.net_deposits));
        }
        if state.ledger.fees < 0 || state.ledger.affiliates < 0 {
            return Err("a pool is below zero".into());
        }
        Ok(())
    }

    /// I-8, I-9: no scope rests below its maintenance margin but those left over for the next commands, which the scan will
    /// find; none is left in liquidation.
    fn check_scopes(&self, accounts: u32) -> Result<(), String> {
        let state = &self.state;
        for account in 0..accounts {
            let range = || format!("sums of account {account} leave their range");
            state.sums(account).and_then(|sums| sums.free()).ok_or_else(range)?;
            let cross = state.cross_with(account, state.wallet(account), None).ok_or_else(range)?;
            if account == FEE_ACCOUNT {
                if (state.wallet(account) < 0 || cross.equity < 0) != state.ledger.deficit {
                    return Err("the deficit flag is wrong".into());
                }
                continue;
            }
            if cross.positions == 0 && state.wallet(account) < 0 {
                return Err(format!("account {account} owes without a position"));
            }
            let mut is_found = false;
            let mut is_due_now =
                !cross.suspended && cross.positions > 0 && is_due(cross.equity, cross.maintenance);
            let mut liquidating = state.accounts.get(account).liquidating;
            for index in 0..state.symbols.len() {
                let holding = state.holding(account, index);
                liquidating |= holding.liquidating;
                is_found |= state.alert & (1 << index) != 0
                    && state.liquidation_index.is_passed(index, account, state.mark(index));
                if holding.quantity == 0 || state.mode(account, index) != MarginMode::Isolated {
                    continue;
                }
                let (equity, maintenance) = state.isolated(index, holding).ok_or_else(range)?;
                is_due_now |= !state.symbols[index].is_suspended() && is_due(equity, maintenance);
            }
            if is_due_now && !is_found {
                return Err(format!("account {account} rests below maintenance, and nothing will find it"));
            }
            let is_paused = state.work.paused.is_some_and(|scope| scope.account == account);
            if liquidating != 0 && !is_paused {
                return Err(format!("account {account} rests in liquidation"));
            }
        }
        Ok(())
    }
}
