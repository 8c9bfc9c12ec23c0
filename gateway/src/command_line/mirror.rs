//! `ringside mirror-key` and `ringside promote`: how two hosts know each other, and how the second takes the place of the first.

use super::journal_of;
use anyhow::Context;
use ringside_config::Config;
use ringside_mirror::keys::Identity;
use ringside_persist::mirror::mark::promote as promote_journal;
use ringside_persist::storage::disk::Disk;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

/// How long the leader may take to show that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// The fingerprint of this side's key, which is made where there is none.
pub(super) fn key(config: &Config) -> anyhow::Result<String> {
    let data = &config.data_dir;
    ringside_persist::storage::disk::make_folder(data).with_context(|| format!("{}", data.display()))?;
    Ok(format!("{}\n", Identity::of(data)?.fingerprint()))
}

/// Makes a leader of a stopped mirror; says how far it came, and what may be missing.
pub(super) fn promote(config: &Config, directory: &Path) -> anyhow::Result<String> {
    if let Some(leader) = &config.mirror_of {
        anyhow::ensure!(
            !answers(leader),
            "the leader still answers at {leader}: two of them would part. Stop it first; where something else answers there, \
             unset `mirror_of`"
        );
    }
    let journal = journal_of(directory);
    let disk = Disk::open_existing(&journal)?;
    let _taken = disk.lock()?;
    let promoted = promote_journal(&disk)?;
    let ms = promoted.time_ns.div_euclid(1_000_000);
    let missing = match promoted.mark {
        Some(mark) if mark.is_awaited => format!(
            "when the leader was heard last ({} ms), its replies waited for this mirror: while that was so nothing was acknowledged that is \
             not here",
            mark.time_ns.div_euclid(1_000_000)
        ),
        Some(mark) => format!(
            "the leader did not wait for this mirror (`acknowledge_mirror`): what it acknowledged after sequence {} is not here. When \
             it was heard last ({} ms) it was at sequence {}",
            promoted.sequence,
            mark.time_ns.div_euclid(1_000_000),
            mark.leader
        ),
        None => format!(
            "whether the leader waited for this mirror is not known: what it acknowledged after sequence {} is not here",
            promoted.sequence
        ),
    };
    Ok(format!(
        "ringside: the last mirrored command is {} ({ms} ms)\n\
         ringside: {missing}\n\
         ringside: epoch {} is over. Unset `mirror_of` and start it: `ringside`. The old leader must not run again but as a mirror of \
         this one; one signer serves one venue, so point it at this one alone\n",
        promoted.sequence, promoted.epoch
    ))
}

fn answers(leader: &str) -> bool {
    let addresses = leader.to_socket_addrs().into_iter().flatten();
    addresses.into_iter().any(|address| TcpStream::connect_timeout(&address, PATIENCE).is_ok())
}
