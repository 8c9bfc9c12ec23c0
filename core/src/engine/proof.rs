//! Every ledger added up from what it holds: both sides of each, for `GET /admin/ledger/proof` (`risk.md` 20).
//!
//! The sums are made anew from every account, never from a total that is kept; what they must equal is counted apart.

use super::{Engine, Outcome};
use crate::emit::Emitter;
use crate::event::{Sink, SpotLedger, StateHash};
use crate::ids::AssetId;
use crate::perpetual::State;

impl Engine {
    /// See [`crate::command::ProveLedger`].
    pub(super) fn prove_ledger<S: Sink>(&self, emitter: &mut Emitter<'_, S>) -> Outcome {
        let accounts = self.accounts.count();
        for (number, asset) in self.assets.iter().enumerate() {
            let number = number as AssetId;
            let (mut available, mut frozen) = (0, 0);
            for (_, balance) in self.balances.iter(number, accounts) {
                available += balance.available;
                frozen += balance.frozen;
            }
            emitter.emit(SpotLedger {
                asset: number,
                reserved: [0; 6],
                available: available.into(),
                frozen: frozen.into(),
                credited: asset.credited.into(),
            });
        }
        if let Some(perpetual) = &self.perpetual
            && let Some(ledger) = perpetual.state.ledger(accounts)
        {
            emitter.emit(ledger);
        }
        emitter.emit(StateHash { hash: self.state_hash() });
        Outcome::default()
    }
}

impl State {
    /// Both sides of I-1; `None` without a margin asset.
    fn ledger(&self, accounts: u32) -> Option<crate::event::PerpetualLedger> {
        let asset = self.margin_asset?;
        let (mut wallets, mut isolated, mut costs) = (0i128, 0i128, 0i128);
        for account in 0..accounts {
            if account != crate::ids::FEE_ACCOUNT {
                wallets += i128::from(self.wallet(account));
            }
            for index in self.markets_of(account) {
                let holding = self.holding(account, index);
                isolated += i128::from(holding.isolated);
                costs += i128::from(holding.cost);
            }
        }
        // Of hours that are not paid to the end, and markets that close.
        let unpaid = self.symbols.iter().filter_map(|symbol| symbol.unpaid.as_ref());
        let closing = self.symbols.iter().filter_map(|symbol| symbol.closing.as_ref());
        let collected = closing.map(|closing| closing.residue).sum::<i64>()
            - unpaid.map(|unpaid| unpaid.received).sum::<i64>();
        Some(crate::event::PerpetualLedger {
            wallets: wallets.into(),
            isolated: isolated.into(),
            costs: costs.into(),
            fund: self.wallet(crate::ids::FEE_ACCOUNT) + collected,
            fees: self.ledger.fees,
            affiliates: self.ledger.affiliates,
            deposits: self.ledger.net_deposits,
            asset,
            reserved: [0; 6],
        })
    }
}
