//! `ringside cluster init`: makes a data folder that of a member.

use super::mirror::key;
use crate::config::Config;
use anyhow::Context;
use ringside_persist::quorum::vote;
use ringside_persist::storage::disk::{Disk, make_folder};

/// Makes the data folder of the settings that of the member they name; says what the other hosts are given.
pub(super) fn init(config: &Config, cluster: Option<&str>) -> anyhow::Result<String> {
    let member = config.cluster_member.context("set `cluster_member`: which of the members is this host?")?;
    let wanted = cluster.map(id).transpose()?;
    // The key is made with the folder.
    let key = key(config)?;
    let journal = config.data_dir.join("journal");
    make_folder(&journal).with_context(|| format!("{}", journal.display()))?;
    let disk = Disk::open_existing(&journal)?;
    let _taken = disk.lock()?;
    let cluster: String =
        vote::init(&disk, member, wanted)?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!(
        "ringside: member {member} of cluster {cluster}; its key is {}\n\
         ringside: on each of the other hosts: `ringside cluster init --cluster {cluster}`. Where this one has a journal, they need a copy \
         of it first\n",
        key.trim()
    ))
}

/// The id of a cluster: 32 hex digits.
fn id(text: &str) -> anyhow::Result<[u8; 16]> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32 && !text.starts_with('+'));
    let number = number.with_context(|| format!("{text} is no id of a cluster: it has 32 hex digits"))?;
    Ok(number.to_be_bytes())
}
