//! Tokens: those of the configuration are made known to the engine, and deposits that were held are credited once nothing holds
//! them any more, because their token was added or its pause taken back.

use crate::Settings;
use ringside_commands::ingress::{Ingress, Priority};
use ringside_core::command::{Body, Command, CreditHeldDeposit, HeldReason, SetToken, token_pause};
use ringside_core::ids::{Address, padded};
use ringside_core::money::{AMOUNT_UNIT, Amount};
use ringside_core::reject::Reject;
use ringside_views::SharedViews;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks at what is held.
const LOOK: Duration = Duration::from_millis(250);
/// Before what the engine did not take is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// See the module.
pub(super) struct Tokens {
    ingress: Ingress,
    views: Arc<SharedViews>,
    settings: Arc<Settings>,
}

impl Tokens {
    pub(super) fn new(ingress: Ingress, views: Arc<SharedViews>, settings: Arc<Settings>) -> Tokens {
        Tokens { ingress, views, settings }
    }

    /// Makes DF and USDT known where the configuration has them and the engine does not; returns once it does.
    pub(super) async fn make_known(&self) {
        let Settings { chain_id, df, usdt, usdt_decimals, .. } = *self.settings;
        let df = df.map(|at| ("DF", at, 18, AMOUNT_UNIT));
        let usdt = usdt.map(|at| ("USDT", at, usdt_decimals, 10 * AMOUNT_UNIT));
        for (asset, token, decimals, minimum) in df.into_iter().chain(usdt) {
            let known = self.views.read().deposits().token(chain_id, &token).copied();
            match known {
                None => self.set(chain_id, token, asset, decimals, minimum).await,
                Some(known) if known.decimals != decimals => {
                    tracing::error!(
                        asset,
                        known = known.decimals,
                        decimals,
                        "a token keeps the decimals it has"
                    );
                }
                Some(_) => {}
            }
        }
    }

    async fn set(&self, chain_id: u64, token: Address, asset: &str, decimals: u8, minimum: Amount) {
        let Some(name) = padded(asset) else { return };
        let set = SetToken { chain_id, token, asset: name, decimals, paused: 0, minimum: minimum.into() };
        loop {
            match self.submit(set).await {
                Some(None) => return,
                Some(Some(reject)) => {
                    // Its deposits are held, and said to be.
                    tracing::error!(asset, ?reject, "the configured contract is not taken as this token");
                    return;
                }
                None => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// Works for ever.
    pub(super) async fn run(self) {
        loop {
            for (chain_id, vault, number) in self.free() {
                let credit = CreditHeldDeposit { chain_id, vault, reserved: 0, number };
                if let Some(Some(reject)) = self.submit(credit).await {
                    tracing::warn!(number, ?reject, "a held deposit is not credited");
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Held deposits that nothing holds any more.
    fn free(&self) -> Vec<(u64, Address, u64)> {
        let views = self.views.read();
        let free = views.deposits().held().filter_map(|held| {
            let vault = views.withdrawals().vault(held.vault)?;
            let token = views.deposits().token(vault.chain_id, &held.token)?;
            let waits = matches!(held.reason, HeldReason::TokenUnknown | HeldReason::TokenPaused);
            let fits =
                i128::try_from(held.value).is_ok_and(|value| value.checked_mul(token.steps()).is_some());
            (waits && fits && token.paused & token_pause::DEPOSITS == 0).then_some((
                vault.chain_id,
                vault.address,
                held.number,
            ))
        });
        free.collect()
    }

    /// What the engine said: why not, or nothing; `None` where it could not be asked.
    async fn submit<B: Body>(&self, body: B) -> Option<Option<Reject>> {
        let reply = self.ingress.submit(Command::new(body), Priority::Internal).await.ok()?;
        Some(reply.done.rejected())
    }
}
