//! `ringside backup` and `ringside restore`: a copy of everything durable, taken while the exchange runs, and a data folder
//! made of one copy or several, as of their end or of an earlier command.
//!
//! ```text
//!   COPY/MANIFEST.json   what is in it, with lengths and BLAKE3 digests; written last
//!   COPY/journal/        snapshots, segments, epoch; API keys, keys of user streams and logouts stand in it, sealed
//!   COPY/archive/        history.db, at or before the end of the journal
//!   COPY/auth/           operators: hashes; the secrets only where asked for; of earlier versions keys.log, listen_keys.log, logouts.log
//! ```
//!
//! A copy is made under the name `COPY.partial` and renamed when it is complete and synced: whatever interrupts it, what
//! bears the name COPY is whole. The order matters: the archive before the end of the journal, which then reaches at least as far.
//!
//! Credentials are those of the last command that is restored. What was revoked after it stands there as good. So nothing of a copy opens
//! anything that its owner does not enable or make anew ([`Credentials`]), unless who restores says otherwise.

use crate::boot::{self, ViewFold};
use anyhow::{Context, Result, bail, ensure};
use ringside_auth::{former_files, key, listen_key, logout, operators};
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::Engine;
use ringside_core::engine::ENGINE_VERSION;
use ringside_core::ids::{AccountId, Sequence};
use ringside_core::side::SideStore;
use ringside_feed::registry;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::config::PersistConfig;
use ringside_persist::error::PersistError;
use ringside_persist::read::look::look;
use ringside_persist::read::verify::verify;
use ringside_persist::recover::backup::{self, Backup, Copied, Until, copy_file};
use ringside_persist::recover::follower::check_kept;
use ringside_persist::recover::side;
use ringside_persist::storage::disk::{Disk, make_folder};
use ringside_views::Views;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MANIFEST: &str = "MANIFEST.json";
const FORMAT: u32 = 1;
const ARCHIVE: &str = "history.db";
/// Secrets in the clear.
const SECRETS: [&str; 4] = ["admin_key", "jwt_secret", "key_encryption_key", registry::FILE];

/// Which of the credentials that were made before a restore are good after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    /// None: API keys are disabled until their owners enable them, logins and stream keys are over, operators get new keys.
    Ended,
    /// Those that were good when the newest copy was made.
    OfCopy,
    /// Those of a folder `auth` that is at least as new and of the journal beside it, such as those of the data folder that is given up.
    Of(PathBuf),
}

/// What a copy holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    /// Of the journal, hex.
    journal: String,
    /// The last command, and its time in UNIX milliseconds.
    sequence: Sequence,
    time_ms: i64,
    /// Through where history is archived; nothing where there was no archive.
    archived: Option<Sequence>,
    files: Vec<Entry>,
}

/// One file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// From the copy's folder.
    path: String,
    len: u64,
    #[serde(with = "const_hex::serde")]
    blake3: [u8; 32],
}

/// Copies the deployment in `data` to the folder `to`. Gives what to tell.
pub(super) fn backup(data: &Path, to: &Path, with_secrets: bool) -> Result<String> {
    ensure!(!to.exists(), "{} exists; a copy gets a folder of its own", to.display());
    let partial = beside(to, "partial")?;
    if partial.exists() {
        // What an interrupted copy has left.
        fs::remove_dir_all(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    for folder in ["journal", "archive", "auth"] {
        make_folder(&partial.join(folder)).with_context(|| format!("cannot make {}", partial.display()))?;
    }
    let mut files = Vec::new();
    let mut copy = Backup::begin(&data.join("journal"))?;
    let journal = partial.join("journal");
    files.extend(entries("journal", copy.copy_whole(&journal)?));
    let database = partial.join("archive").join(ARCHIVE);
    let mark = Sqlite::new(data.join("archive").join(ARCHIVE)).copy(&database)?;
    if mark.is_some() {
        files.push(entry_of(&partial, &format!("archive/{ARCHIVE}"))?);
    }
    let secrets: &[&str] = if with_secrets { &SECRETS } else { &[] };
    for name in former_files::FILES.iter().chain(&[operators::FILE]).chain(secrets) {
        let from = data.join("auth").join(name);
        if from.exists() {
            let copied = copy_file(&from, &partial.join("auth").join(name), name)?;
            files.extend(entries("auth", vec![copied]));
        }
    }
    let journal_id = const_hex::encode(copy.journal_id());
    let (rest, end) = copy.finish(&journal)?;
    files.extend(entries("journal", rest));
    let archived = mark.map(|mark| mark.sequence);
    ensure!(
        archived.is_none_or(|archived| archived <= end.sequence),
        "the copy of the journal ends at {}, before the archive: try again",
        end.sequence
    );
    let manifest = Manifest {
        format: FORMAT,
        journal: journal_id,
        sequence: end.sequence,
        time_ms: end.time_ns / 1_000_000,
        archived,
        files,
    };
    let verdict = verify(&journal)?;
    ensure!(verdict.is_sound(), "the copy is not sound: {verdict}");
    write_manifest(&partial, &manifest)?;
    sync_folders(&partial)?;
    rename(&partial, to)?;
    let len: u64 = manifest.files.iter().map(|file| file.len).sum();
    let secrets = if with_secrets {
        "its secrets are in it in the clear"
    } else {
        "without its secrets: the key-encryption key must be kept elsewhere"
    };
    Ok(format!(
        "ringside: copied through sequence {} of {} ms, {} files, {} MiB, {secrets}\n",
        manifest.sequence,
        manifest.time_ms,
        manifest.files.len(),
        len >> 20
    ))
}

/// Makes the data folder `to` of copies of one deployment, older ones first. Gives what to tell.
pub(super) fn restore(
    config: &Config,
    copies: &[PathBuf],
    to: &Path,
    until: Until,
    credentials: &Credentials,
) -> Result<String> {
    ensure!(!to.exists(), "{} exists; nothing is restored over something", to.display());
    let manifests: Vec<Manifest> = copies.iter().map(|copy| check(copy)).collect::<Result<_>>()?;
    let Some(newest) = manifests.last() else { bail!("name at least one copy") };
    if let Some(other) = manifests.iter().find(|manifest| manifest.journal != newest.journal) {
        bail!("the copies are of two journals, {} and {}", other.journal, newest.journal);
    }
    let partial = beside(to, "partial")?;
    if partial.exists() {
        fs::remove_dir_all(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    let journal = partial.join("journal");
    for folder in ["journal", "archive", "auth"] {
        make_folder(&partial.join(folder)).with_context(|| format!("cannot make {}", partial.display()))?;
    }
    let folders: Vec<PathBuf> = copies.iter().map(|copy| copy.join("journal")).collect();
    let end = backup::restore(&folders, &journal, until)?;

    // The newest archive that does not know what the journal will not hold.
    let fits = |manifest: &Manifest| manifest.archived.is_some_and(|archived| archived <= end.sequence);
    let archive = copies.iter().zip(&manifests).rev().find(|(_, manifest)| fits(manifest));
    let archived = match archive {
        Some((copy, manifest)) => {
            let from = copy.join("archive").join(ARCHIVE);
            copy_file(&from, &partial.join("archive").join(ARCHIVE), ARCHIVE)?;
            manifest.archived
        }
        None => None,
    };
    let verdict = verify(&journal)?;
    ensure!(verdict.is_sound(), "what was restored is not sound: {verdict}");
    let reaches_back = verdict.segments.first().is_some_and(|first| first.first_seq == 1);
    if archived.is_none() && !reaches_back {
        bail!(
            "no copy has an archive at or before sequence {}, and the segments do not reach back to the first command, so \
             that history would be missing: name an older copy first",
            end.sequence
        );
    }

    // The whole way once, so that what is handed over is known to start.
    let mut fold = ViewFold::new(config.history_window);
    let engine = look::<Engine>(
        &journal,
        &boot::engine_config(config),
        end.sequence.max(1),
        end.sequence,
        &mut fold,
        |_| {},
    )?;
    ensure!(engine.sequence() == end.sequence, "replay ends at sequence {}", engine.sequence());
    check_kept::<Engine>(&Disk::open_existing(&journal)?, archived.unwrap_or(0)).with_context(|| {
        format!(
            "no copy has an archive that this version can go on with to sequence {}: name a copy that was made between the \
             change of version and that sequence, or restore with the version before",
            end.sequence
        )
    })?;
    let is_whole = end.sequence == newest.sequence;
    let Some(copy) = copies.last() else { bail!("name at least one copy") };
    let keys = restore_auth(config, &copy.join("auth"), &partial, fold.views(), is_whole, credentials)?;
    sync_folders(&partial)?;
    rename(&partial, to)?;
    let hash = u128::from_be_bytes(engine.state_hash());
    let mut told = format!(
        "ringside: restored through sequence {} of {} ms, state {hash:032x}\n",
        end.sequence,
        end.time_ns / 1_000_000
    );
    if let Until::Time(time_ns) = until
        && is_whole
        && time_ns.div_euclid(1_000_000) > end.time_ns.div_euclid(1_000_000)
    {
        told += "ringside: the copies end before the time asked for; what came between is in none of them\n";
    }
    if keys.unknown > 0 {
        told += &format!("ringside: {} API keys left out, whose accounts did not exist yet\n", keys.unknown);
    }
    told += &match credentials {
        Credentials::Ended => format!(
            "ringside: what was revoked after that command is not in it, so {} API keys are disabled until their owners enable them, \
             all logins are over, and operators need new keys (`ringside operator NAME`). To take those of the copy as they were \
             then, restore with --enable-keys; those of a newer folder, with --auth FOLDER\n",
            keys.kept
        ),
        Credentials::OfCopy => format!(
            "ringside: {} API keys and all logins are as they were at that command, the operators' keys as when the copy was made: what \
             was revoked since is good again\n",
            keys.kept
        ),
        Credentials::Of(folder) => {
            format!(
                "ringside: {} API keys, logouts and operators' keys are those of {} and the journal beside it\n",
                keys.kept,
                folder.display()
            )
        }
    };
    let missing: Vec<&str> =
        SECRETS.into_iter().filter(|name| !to.join("auth").join(name).exists()).collect();
    if !to.join("auth").join("key_encryption_key").exists() && config.key_encryption_key.is_none() {
        told += &format!(
            "ringside: put the deployment's secrets into {} before the first start: {}\n",
            to.join("auth").display(),
            missing.join(", ")
        );
    }
    Ok(told)
}

/// API keys of a restored folder.
struct Keys {
    kept: usize,
    /// Left out: the journal does not know their accounts, whose numbers will be given anew.
    unknown: usize,
}

/// What stands beside the commands of a journal.
fn kept(journal: &Path) -> std::result::Result<SideStore, PersistError> {
    side::read(journal)?.ok_or_else(|| PersistError::Missing { reason: "there is no journal".to_owned() })
}

/// Makes the folder `auth` of the data folder `to` of a copy's, `copied`, or of a newer one, and has the journal there hold the
/// credentials that are good from now on. Keys of user streams live for an hour: an earlier moment has none.
fn restore_auth(
    config: &Config,
    copied: &Path,
    to: &Path,
    views: &Views,
    is_whole: bool,
    credentials: &Credentials,
) -> Result<Keys> {
    let is_ended = *credentials == Credentials::Ended;
    let journal = to.join("journal");
    let before = with_files(kept(&journal)?, copied)?;
    let (from, mut wanted) = match credentials {
        Credentials::Ended | Credentials::OfCopy => (copied, before),
        Credentials::Of(newer) => {
            let beside = newer.parent().map(|folder| folder.join("journal")).filter(|path| path.is_dir());
            let side = beside.map_or(Ok(SideStore::default()), |beside| kept(&beside))?;
            let side = with_files(side, newer)?;
            ensure!(
                is_later(&side, &before)?,
                "{} and the journal beside it do not go on where the copy's keys end: it is older, or of another deployment",
                newer.display()
            );
            (newer.as_path(), side)
        }
    };
    let secrets = SECRETS.iter().map(|name| (copied, *name));
    let operators = (!is_ended).then_some((from, operators::FILE));
    for (folder, name) in secrets.chain(operators) {
        if folder.join(name).exists() {
            copy_file(&folder.join(name), &to.join("auth").join(name), name)?;
        }
    }
    let (mut kept, mut unknown) = (0, 0);
    key::retain(&mut wanted, |key| {
        let is_known = views.accounts().address(key.account) == Some(&key.address);
        key.enabled &= !is_ended;
        kept += usize::from(is_known);
        unknown += usize::from(!is_known);
        is_known
    })?;
    if is_ended || !is_whole {
        listen_key::end_all(&mut wanted);
    }
    if is_ended {
        let accounts = 1..views.accounts().len() as AccountId;
        wanted = logout::end_all(wanted, accounts, Clock::SYSTEM.now_s())?;
    }
    let persist = PersistConfig { directory: journal, ..boot::persist_config(config, &Clock::SYSTEM) };
    let disk = Disk::open(&persist.directory, persist.method(), persist.any_file_system)?;
    let lock = disk.lock()?;
    side::change(Arc::new(disk), &lock, &persist, ENGINE_VERSION, |_| Ok::<_, PersistError>(wanted))?;
    Ok(Keys { kept, unknown })
}

/// What stands in a journal, and in the files of earlier versions in a folder `auth`.
fn with_files(mut side: SideStore, folder: &Path) -> Result<SideStore> {
    former_files::enter(folder, &mut side)?;
    Ok(side)
}

/// Whether keys are those of a later moment of the same deployment: each key that there ever was by then is still there, or gone.
fn is_later(now: &SideStore, then: &SideStore) -> Result<bool> {
    let hashes = |side: &SideStore| -> Result<BTreeMap<u64, [u8; 32]>> {
        Ok(key::records(side)?.into_iter().map(|key| (key.id, key.hash)).collect())
    };
    let (held, before) = (hashes(now)?, hashes(then)?);
    let is_whole = before.iter().all(|(id, hash)| held.get(id).is_none_or(|held| held == hash));
    Ok(is_whole && key::next_id(now)? >= key::next_id(then)?)
}

/// The manifest of a copy, every file compared with it.
fn check(copy: &Path) -> Result<Manifest> {
    let path = copy.join(MANIFEST);
    let text = fs::read(&path)
        .with_context(|| format!("{} is no complete copy: it has no {MANIFEST}", copy.display()))?;
    let manifest: Manifest = serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
    ensure!(manifest.format == FORMAT, "{} is of format {}", path.display(), manifest.format);
    for listed in &manifest.files {
        let relative = Path::new(&listed.path);
        let is_inside = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        ensure!(is_inside, "{} names {}", path.display(), listed.path);
        let found = entry_of(copy, &listed.path)?;
        ensure!(
            found.len == listed.len && found.blake3 == listed.blake3,
            "{} is not what was copied",
            copy.join(relative).display()
        );
    }
    Ok(manifest)
}

fn entries(folder: &str, copied: Vec<Copied>) -> Vec<Entry> {
    let entry =
        |file: Copied| Entry { path: format!("{folder}/{}", file.name), len: file.len, blake3: file.digest };
    copied.into_iter().map(entry).collect()
}

/// A file as it is.
fn entry_of(folder: &Path, path: &str) -> Result<Entry> {
    let (len, blake3) = backup::digest_of(&folder.join(path))?;
    Ok(Entry { path: path.to_owned(), len, blake3 })
}

fn write_manifest(folder: &Path, manifest: &Manifest) -> Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(folder.join(MANIFEST))?;
    file.write_all(&serde_json::to_vec_pretty(manifest)?)?;
    file.sync_all()?;
    Ok(())
}

/// The same name with an ending.
fn beside(path: &Path, ending: &str) -> Result<PathBuf> {
    let name = path.file_name().with_context(|| format!("{} is no name for a folder", path.display()))?;
    Ok(path.with_file_name(format!("{}.{ending}", name.to_string_lossy())))
}

fn sync_folders(path: &Path) -> Result<()> {
    for folder in ["journal", "archive", "auth", "."] {
        sync_folder(&path.join(folder))?;
    }
    Ok(())
}

/// Gives a folder that is complete its name, for good.
fn rename(partial: &Path, to: &Path) -> Result<()> {
    fs::rename(partial, to).with_context(|| format!("cannot rename {}", partial.display()))?;
    sync_folder(to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

fn sync_folder(path: &Path) -> Result<()> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.with_context(|| format!("cannot sync {}", path.display()))
}
