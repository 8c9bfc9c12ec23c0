//! The thread of the chain: the signer's desk, the watch and the reader of discounts, with a lane of their own.

use super::desk::{Clerk, Desk};
use super::discount::{Discounts, MakeReader};
use super::port::{self, SeenReleases};
use super::{Signer, Watch};
use crate::config::Config;
use crate::ingress::{Ingress, Port};
use crate::view::SharedViews;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What a deployment has of the chain.
#[derive(Default)]
pub struct Parts {
    /// Who signs.
    pub signer: Option<Box<dyn Signer>>,
    /// Who watches.
    pub watch: Option<Box<dyn Watch>>,
    /// Who knows what referrals are worth.
    pub referrals: Option<MakeReader>,
}

/// What the thread of the chain has of the process.
pub struct Context {
    /// Settings of the process.
    pub config: Arc<Config>,
    /// Everything that can be read.
    pub views: Arc<SharedViews>,
    /// The thread's way in. Its lane must be attached.
    pub port: Arc<Port>,
    /// Where releases are signed.
    pub desk: Arc<Desk>,
    /// Releases that are not final yet.
    pub seen: Arc<SeenReleases>,
}

/// Starts the thread of the chain. It ends with `shutdown`.
pub fn start(context: Context, parts: Parts, shutdown: CancellationToken) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Context { config, views, port, desk, seen } = context;
    std::thread::Builder::new().name("chain".to_owned()).spawn(move || {
        let tasks = tokio::task::LocalSet::new();
        let ingress = Ingress::new(port);
        tasks.spawn_local(ingress.clone().run());
        let has_signer = parts.signer.is_some();
        if let Some(signer) = parts.signer {
            match Clerk::new(desk.clone(), views.clone(), config.clone(), ingress.clone(), signer) {
                Ok(clerk) => drop(tasks.spawn_local(clerk.run())),
                Err(error) => tracing::error!(%error, "no thread for the signer: nothing is signed"),
            }
        }
        if let Some(reader) = parts.referrals
            && let Some(reader) = reader()
        {
            let (views, ingress) = (views.clone(), ingress.clone());
            tasks.spawn_local(Discounts::new(reader, views, ingress, config.referral_every).run());
        }
        if let Some(watch) = parts.watch {
            let port = port::Port::new(ingress, views, seen);
            tasks.spawn_local(async move {
                if has_signer {
                    desk.reconciled().await;
                }
                watch.run(Box::new(port)).await;
            });
        }
        tasks.block_on(&runtime, shutdown.cancelled());
    })
}
