//! Accounts that a test deployment begins with, so that whoever starts it can trade at once: wallets whose keys everybody knows,
//! with money and an API key each.

use super::publish;
use crate::api::account::faucet::gift;
use ringside_auth::test_wallet::{TEST_WALLETS, TestWallet};
use ringside_commands::ingress::CommandProducer;
use ringside_core::ids::AccountId;
use ringside_edge::worker::Shared;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Sees to it that each has its account, money at the first start, and its API key; gives those that have.
pub(super) fn open(
    shared: &Shared,
    own: &mut CommandProducer,
    shutdown: &CancellationToken,
) -> &'static [TestWallet] {
    const PATIENCE: Duration = Duration::from_secs(30);
    let wallets = &TEST_WALLETS[..shared.config.test_accounts];
    let account = |wallet: &TestWallet| shared.views.read().accounts().of_address(&wallet.address());
    for wallet in wallets.iter().filter(|wallet| account(wallet).is_none()) {
        gift(wallet.address()).into_iter().for_each(|command| publish(own, command));
    }
    let begin = Instant::now();
    let mut opened = 0;
    while opened < wallets.len() && begin.elapsed() < PATIENCE && !shutdown.is_cancelled() {
        match account(&wallets[opened]) {
            Some(account) if let_in(shared, account, &wallets[opened]) => opened += 1,
            Some(_) => break,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    &wallets[..opened]
}

fn let_in(shared: &Shared, account: AccountId, wallet: &TestWallet) -> bool {
    let made = shared.edge.auth.keys.create_known(account, wallet, shared.clock.now_s());
    if let Err(error) = &made {
        tracing::warn!(%error, account, "a test account has no API key");
    }
    made.is_ok()
}
