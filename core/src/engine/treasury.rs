//! Money that is the venue's own: how it moves between the insurance fund, the fee accounts and an account's spot balance, the only
//! ways into and out of both (`account.md` 13). Every move is judged whole before anything changes; nothing is made.

use super::{Engine, Outcome};
use crate::command::{MoveTreasury, TreasuryPlace};
use crate::emit::Emitter;
use crate::event::{Sink, TreasuryMoved};
use crate::ids::{AccountId, AssetId, FEE_ACCOUNT};
use crate::money::{AMOUNT_PER_MICRO, Amount, Money};
use crate::reject::Reject;

/// One end of a move.
#[derive(Clone, Copy)]
enum End {
    /// An available balance of the spot ledger.
    Spot(AccountId),
    /// The fund or the fees of the perpetual ledger.
    Pool(TreasuryPlace),
}

impl Engine {
    /// See [`MoveTreasury`].
    pub(super) fn move_treasury<S: Sink>(
        &mut self,
        asked: &MoveTreasury,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        match self.judge_treasury(asked) {
            Ok((from, to, asset)) => {
                self.carry_out_treasury(from, to, asset, asked.amount.get(), emitter);
                emitter.emit(TreasuryMoved {
                    amount: asked.amount,
                    from_account: asked.from_account,
                    to_account: asked.to_account,
                    asset,
                    from: asked.from,
                    to: asked.to,
                    reserved: [0; 4],
                });
                Outcome::default()
            }
            Err(reject) => Outcome::default().refused(reject),
        }
    }

    fn judge_treasury(&self, asked: &MoveTreasury) -> Result<(End, End, AssetId), Reject> {
        let from = end(asked.from, asked.from_account)?;
        let to = end(asked.to, asked.to_account)?;
        if (asked.from, asked.from_account) == (asked.to, asked.to_account) {
            return Err(Reject::Malformed);
        }
        let asset = self.asset(&asked.asset).ok_or(Reject::MarketNotFound)?;
        for (place, account) in [(asked.from, asked.from_account), (asked.to, asked.to_account)] {
            let is_named = place == TreasuryPlace::Account as u8;
            if is_named && (account == FEE_ACCOUNT || !self.accounts.exists(account)) {
                return Err(Reject::AccountNotFound);
            }
        }
        let amount = asked.amount.get();
        if amount <= 0 {
            return Err(Reject::InvalidAmount);
        }
        if let (End::Pool(_), _) | (_, End::Pool(_)) = (from, to) {
            if self.margin_asset() != Some(asset) || amount % AMOUNT_PER_MICRO != 0 {
                return Err(Reject::InvalidAmount);
            }
            let micros = Money::try_from(amount / AMOUNT_PER_MICRO).map_err(|_| Reject::InvalidAmount)?;
            let pool = |end| if let End::Pool(place) = end { Some(place) } else { None };
            self.judge_pools(pool(from), pool(to), micros)?;
        }
        if let (End::Pool(_), End::Spot(_)) = (from, to)
            && self.assets[asset as usize].credited.checked_add(amount).is_none()
        {
            return Err(Reject::InvalidAmount);
        }
        if let End::Spot(account) = from
            && self.balances.get(account, asset).available < amount
        {
            return Err(Reject::InsufficientBalance);
        }
        Ok((from, to, asset))
    }

    fn carry_out_treasury<S: Sink>(
        &mut self,
        from: End,
        to: End,
        asset: AssetId,
        amount: Amount,
        emitter: &mut Emitter<'_, S>,
    ) {
        let mut moves = Vec::with_capacity(2);
        for (end, signed) in [(from, -amount), (to, amount)] {
            if let End::Pool(place) = end {
                // Judged: it fits.
                moves.push((place, (signed / AMOUNT_PER_MICRO) as Money));
            }
        }
        self.move_pools(&moves, emitter);
        if let End::Spot(account) = from {
            self.balances.get_mut(account, asset).pay(amount);
            self.tell_balance(account, asset, emitter);
        }
        if let End::Spot(account) = to {
            self.balances.get_mut(account, asset).receive(amount);
            self.tell_balance(account, asset, emitter);
        }
        // What spot balances add up to.
        let credited = &mut self.assets[asset as usize].credited;
        match (from, to) {
            (End::Spot(_), End::Pool(_)) => *credited -= amount,
            (End::Pool(_), End::Spot(_)) => *credited += amount,
            _ => {}
        }
    }
}

/// An end as the command names it; an account at an end that is none is refused.
fn end(place: u8, account: AccountId) -> Result<End, Reject> {
    let place = TreasuryPlace::from_code(place).ok_or(Reject::Malformed)?;
    match place {
        TreasuryPlace::Account => Ok(End::Spot(account)),
        _ if account != 0 => Err(Reject::Malformed),
        TreasuryPlace::SpotFees => Ok(End::Spot(FEE_ACCOUNT)),
        TreasuryPlace::Fund | TreasuryPlace::PerpetualFees => Ok(End::Pool(place)),
    }
}
