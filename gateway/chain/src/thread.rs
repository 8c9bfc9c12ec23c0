//! The thread of the chain: the signer's desk, the watches, tokens and the reader of discounts, with a lane of their own.

use super::discount::{Discounts, MakeReader};
use super::reserves::Guard;
use super::sink::{self, SeenEvents};
use super::tokens::Tokens;
use super::withdrawal_signing::{SigningQueue, WithdrawalSigning};
use super::{Signer, Watch};
use crate::Settings;
use crate::proof::Proofs;
use ringside_commands::ingress::{Ingress, ReplyQueue};
use ringside_core::ids::{Address, text};
use ringside_views::SharedViews;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What a deployment has of the chain.
#[derive(Default)]
pub struct Parts {
    /// Who signs.
    pub signer: Option<Box<dyn Signer>>,
    /// Who watches the vault.
    pub watch: Option<Box<dyn Watch>>,
    /// Who watches a vault, of this address and name, that was replaced by it.
    pub former: Option<MakeWatch>,
    /// Who knows what referrals are worth.
    pub referrals: Option<MakeReader>,
}

/// Makes the watch of a vault.
pub type MakeWatch = Box<dyn Fn(Address, &str) -> Box<dyn Watch> + Send>;

/// What the thread of the chain has of the process.
pub struct Context {
    /// What the deployment says of its chain.
    pub settings: Arc<Settings>,
    /// Everything that can be read.
    pub views: Arc<SharedViews>,
    /// The thread's way in. Its lane must be attached.
    pub port: Arc<ReplyQueue>,
    /// Where releases are signed.
    pub desk: Arc<SigningQueue>,
    /// What is not final yet.
    pub seen: Arc<SeenEvents>,
    /// Who wants to know what the vault holds.
    pub proofs: Arc<Proofs>,
}

/// Starts the thread of the chain. It ends with `shutdown`.
pub fn start(context: Context, parts: Parts, shutdown: CancellationToken) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Context { settings, views, port, desk, seen, proofs } = context;
    std::thread::Builder::new().name("chain".to_owned()).spawn(move || {
        let tasks = tokio::task::LocalSet::new();
        let ingress = Ingress::new(port);
        tasks.spawn_local(ingress.clone().run());
        let has_signer = parts.signer.is_some();
        if let Some(signer) = parts.signer {
            match WithdrawalSigning::new(
                desk.clone(),
                views.clone(),
                settings.clone(),
                ingress.clone(),
                signer,
            ) {
                Ok(signing) => drop(tasks.spawn_local(signing.run())),
                Err(error) => tracing::error!(%error, "no thread for the signer: nothing is signed"),
            }
        }
        if let Some(reader) = parts.referrals
            && let Some(reader) = reader()
        {
            let (views, ingress) = (views.clone(), ingress.clone());
            tasks.spawn_local(Discounts::new(reader, views, ingress, settings.referral_every).run());
        }
        let (Some(vault), Some(watch)) = (settings.vault, parts.watch) else {
            // Nobody tells of deposits.
            desk.know_deposits();
            proofs.unwatched();
            return tasks.block_on(&runtime, shutdown.cancelled());
        };
        let formers: Vec<_> = {
            let views = views.read();
            let known = views.withdrawals().vaults();
            let formers = known.filter(|known| known.chain_id == settings.chain_id && known.address != vault);
            let names = formers.map(|former| (former.address, text(&former.name).to_owned()));
            names.collect()
        };
        let shared = sink::Shared {
            ingress: ingress.clone(),
            views: views.clone(),
            seen,
            proofs: proofs.clone(),
            desk: has_signer.then_some(desk),
            stops: Rc::default(),
            behind: Rc::default(),
        };
        let mut watches =
            vec![(watch, sink::VaultEventSink::new(shared.clone(), vault, &settings.vault_name))];
        for (address, name) in formers {
            if let Some(make) = &parts.former {
                watches
                    .push((make(address, &name), sink::VaultEventSink::new(shared.clone(), address, &name)));
            }
        }
        tasks.spawn_local(Guard::new(ingress.clone(), views.clone(), proofs).run());
        tasks.spawn_local(async move {
            let tokens = Tokens::new(ingress, views, settings);
            tokens.make_known().await;
            let watches = watches.into_iter().map(|(watch, port)| watch.run(Box::new(port)));
            futures_util::future::join(tokens.run(), futures_util::future::join_all(watches)).await;
        });
        tasks.block_on(&runtime, shutdown.cancelled());
    })
}
