//! `ringside backup` and `ringside restore`: a copy of everything durable, taken while the exchange runs, and a data folder
//! made of one copy or several, as of their end or of an earlier command.
//!
//! ```text
//!   COPY/MANIFEST.json   what is in it, with lengths and BLAKE3 digests; written last
//!   COPY/journal/        snapshots, segments, epoch
//!   COPY/archive/        history.db, at or before the end of the journal
//!   COPY/auth/           keys.log, listen_keys.log: sealed; logouts.log; operators: hashes; the secrets only where asked for
//! ```
//!
//! A copy is made under the name `COPY.partial` and renamed when it is complete and synced: whatever interrupts it, what
//! bears the name COPY is whole. The order matters: the archive before the end of the journal, which then reaches at least as
//! far, and the keys before it too, so that no key belongs to an account that the journal does not know.
//!
//! What was revoked after a copy stands in it as good. So of a copy's own folder `auth` nothing opens anything that its owner does not
//! enable or make anew ([`Credentials`]), unless who restores says otherwise.

use crate::boot::{self, ViewFold};
use crate::config::Config;
use crate::feed::registry;
use anyhow::{Context, Result, bail, ensure};
use ringside_auth::key_log::{KeyLog, Record};
use ringside_auth::{logout, operators};
use ringside_commands::clock::Clock;
use ringside_core::Engine;
use ringside_core::ids::{AccountId, Sequence};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::read::look::look;
use ringside_persist::read::verify::verify;
use ringside_persist::recover::backup::{self, Backup, Copied, Until, copy_file};
use ringside_persist::recover::follower::check_kept;
use ringside_persist::storage::disk::{Disk, make_folder};
use ringside_views::Views;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const MANIFEST: &str = "MANIFEST.json";
const FORMAT: u32 = 1;
const ARCHIVE: &str = "history.db";
/// Sealed keys.
const KEYS: &str = "keys.log";
const LISTEN_KEYS: &str = "listen_keys.log";
/// Secrets in the clear.
const SECRETS: [&str; 4] = ["admin_key", "jwt_secret", "key_encryption_key", registry::FILE];

/// Which of the credentials that were made before a restore are good after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    /// None: API keys are disabled until their owners enable them, logins and stream keys are over, operators get new keys.
    Ended,
    /// Those that were good when the newest copy was made.
    OfCopy,
    /// Those of a folder `auth` that is at least as new, such as that of the data folder whose journal was lost.
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
    for name in [KEYS, LISTEN_KEYS, logout::FILE, operators::FILE].iter().chain(secrets) {
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
    let keys = restore_auth(&copy.join("auth"), &partial.join("auth"), fold.views(), is_whole, credentials)?;
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
            "ringside: what was revoked after the copy is not in it, so {} API keys are disabled until their owners enable them, \
             all logins are over, and operators need new keys (`ringside operator NAME`). To take those of the copy as they were \
             then, restore with --enable-keys; those of a newer folder, with --auth FOLDER\n",
            keys.kept
        ),
        Credentials::OfCopy => format!(
            "ringside: {} API keys, all logins and the operators' keys are as they were when the copy was made: what was revoked \
             since is good again\n",
            keys.kept
        ),
        Credentials::Of(folder) => {
            format!(
                "ringside: {} API keys, logouts and operators' keys are those of {}\n",
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

/// Makes the folder `to` of a copy's, `copied`, or of a newer one. Keys of user streams live for an hour: an earlier moment has
/// none.
fn restore_auth(
    copied: &Path,
    to: &Path,
    views: &Views,
    is_whole: bool,
    credentials: &Credentials,
) -> Result<Keys> {
    let from = match credentials {
        Credentials::Of(newer) => newer,
        Credentials::Ended | Credentials::OfCopy => copied,
    };
    let is_ended = *credentials == Credentials::Ended;
    let (records, _) = KeyLog::<Record>::read(&from.join(KEYS))?;
    if from != copied {
        let (before, _) = KeyLog::<Record>::read(&copied.join(KEYS))?;
        ensure!(
            is_later(&records, &before),
            "{} does not go on where the copy's keys end: it is older, or of another deployment",
            from.display()
        );
    }
    for name in SECRETS {
        if copied.join(name).exists() {
            copy_file(&copied.join(name), &to.join(name), name)?;
        }
    }
    let revocable = [logout::FILE].into_iter().chain((!is_ended).then_some(operators::FILE));
    for name in revocable.chain((is_whole && !is_ended).then_some(LISTEN_KEYS)) {
        if from.join(name).exists() {
            copy_file(&from.join(name), &to.join(name), name)?;
        }
    }
    let is_known = |record: &Record| match record {
        Record::Put(key) => views.accounts().address(key.account) == Some(&key.address),
        Record::Deleted { .. } | Record::Used(_) | Record::NextId(_) => true,
    };
    let unknown = records.iter().filter(|record| !is_known(record));
    let unknown: BTreeSet<u64> = unknown.filter_map(Record::put_id).collect();
    let mut kept: Vec<Record> = records.into_iter().filter(is_known).collect();
    let mut alive = BTreeSet::new();
    for record in &mut kept {
        match record {
            Record::Put(key) => {
                key.enabled &= !is_ended;
                alive.insert(key.id);
            }
            Record::Deleted { id } => drop(alive.remove(id)),
            Record::Used(_) | Record::NextId(_) => {}
        }
    }
    if !kept.is_empty() {
        KeyLog::rewrite(&to.join(KEYS), &kept)?;
    }
    if is_ended {
        let accounts = 1..views.accounts().len() as AccountId;
        logout::end_all(&to.join(logout::FILE), accounts, Clock::SYSTEM.now_s())?;
    }
    Ok(Keys { kept: alive.len(), unknown: unknown.len() })
}

/// Whether keys are those of a later moment of the same deployment: each key that there ever was by then is still there, or gone.
fn is_later(records: &[Record], before: &[Record]) -> bool {
    let key = |record: &Record| match record {
        Record::Put(key) => Some((key.id, key.hash)),
        _ => None,
    };
    let (now, then): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (records.iter().filter_map(key).collect(), before.iter().filter_map(key).collect());
    let next = |records: &[Record]| records.iter().map(Record::next_id).max().unwrap_or(1);
    next(records) >= next(before) && then.iter().all(|(id, hash)| now.get(id).is_none_or(|now| now == hash))
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
