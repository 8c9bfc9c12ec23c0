//! A directory in memory that keeps what the process sees apart from what the disk holds, and breaks on request.
//!
//! Its disk is as bad as disks are: a power cut keeps or loses every unsynced sector of 512 bytes by itself, keeps
//! some first part of the unsynced renames and removals, and a failed sync drops data while the process goes on
//! seeing it. It does not model time, or a disk that changes what it once held: tests do that with
//! [`Faulty::tamper`].

use crate::storage::{Access, File, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that a disk writes whole or not at all.
pub const SECTOR_LEN: usize = 512;

/// A directory in memory. Clones share it.
#[derive(Clone)]
pub struct Faulty {
    state: Arc<Mutex<State>>,
}

/// What goes wrong, and when. Calls are counted from 1 over all operations.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// This call fails with an I/O error, half done.
    pub fail_at: Option<u64>,
    /// The power goes in the middle of this call: it and all later ones fail.
    pub cut_at: Option<u64>,
    /// The first sync from this call on says yes and does nothing, and what it should have written never is.
    pub lie_at: Option<u64>,
    /// Most bytes that all files may have together.
    pub capacity: Option<u64>,
    /// Each write and sync takes up to so long.
    pub delay: Duration,
}

#[derive(Default)]
struct State {
    inodes: Vec<Inode>,
    /// What the process sees.
    live: BTreeMap<String, usize>,
    /// What the disk holds; `pending` leads from it to `live`.
    durable: BTreeMap<String, usize>,
    pending: Vec<NameChange>,
    calls: u64,
    plan: Plan,
    is_off: bool,
    is_write_durable: bool,
    random: Random,
}

#[derive(Clone, Default)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors of `live` that are not on the disk yet.
    dirty: BTreeSet<usize>,
}

#[derive(Clone)]
enum NameChange {
    Add(String, usize),
    Rename(String, String),
    Remove(String),
}

impl Faulty {
    /// An empty directory. `seed` decides everything that chance decides in it.
    pub fn new(seed: u64) -> Faulty {
        let state = State { random: Random::new(seed), ..State::default() };
        Faulty { state: Arc::new(Mutex::new(state)) }
    }

    /// The same, whose segments are durable when a write returns, as [`crate::config::Method::Direct`] has it.
    pub fn with_durable_writes(self) -> Faulty {
        self.lock().is_write_durable = true;
        self
    }

    /// Sets what goes wrong from now on.
    pub fn plan(&self, plan: Plan) {
        self.lock().plan = plan;
    }

    /// Operations so far.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Whether the power has gone.
    pub fn is_off(&self) -> bool {
        self.lock().is_off
    }

    /// What the disk holds after a power cut now: another directory, with nothing planned.
    pub fn power_cut(&self, seed: u64) -> Faulty {
        let state = self.lock();
        let mut random = Random::new(seed);
        let mut durable = state.durable.clone();
        let kept = random.below(state.pending.len() as u64 + 1) as usize;
        for change in &state.pending[..kept] {
            change.apply(&mut durable);
        }
        let inodes = state.inodes.iter().map(|inode| inode.after_cut(&mut random)).collect();
        let state = State {
            inodes,
            live: durable.clone(),
            durable,
            is_write_durable: state.is_write_durable,
            random,
            ..State::default()
        };
        Faulty { state: Arc::new(Mutex::new(state)) }
    }

    /// What the disk holds if the machine stays up and only the process dies: all of it. Nothing planned.
    pub fn process_end(&self) -> Faulty {
        let state = self.lock();
        let state = State {
            inodes: state.inodes.clone(),
            live: state.live.clone(),
            durable: state.durable.clone(),
            pending: state.pending.clone(),
            is_write_durable: state.is_write_durable,
            random: Random::new(state.calls),
            ..State::default()
        };
        Faulty { state: Arc::new(Mutex::new(state)) }
    }

    /// The bytes of a file as the process sees them.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        Some(state.inodes[*state.live.get(name)?].live.clone())
    }

    /// Changes a file behind everybody's back, on the disk and in the cache.
    pub fn tamper(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.lock();
        let Some(&index) = state.live.get(name) else { return };
        let inode = &mut state.inodes[index];
        change(&mut inode.live);
        inode.durable.clone_from(&inode.live);
        inode.dirty.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call. The guard is given back when the call goes ahead; `torn` may do half of it when it does not.
    fn enter(&self, torn: impl FnOnce(&mut State)) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        if state.is_off {
            return Err(io::Error::other("the power is off"));
        }
        state.calls += 1;
        if state.plan.cut_at == Some(state.calls) {
            torn(&mut state);
            state.is_off = true;
            return Err(io::Error::other("the power goes"));
        }
        if state.plan.fail_at == Some(state.calls) {
            torn(&mut state);
            let call = state.calls;
            return Err(io::Error::other(format!("call {call} fails as planned")));
        }
        Ok(state)
    }

    fn delay(&self) {
        let delay = {
            let mut state = self.lock();
            let longest = state.plan.delay.as_micros() as u64;
            if longest == 0 { 0 } else { state.random.below(longest + 1) }
        };
        if delay > 0 {
            std::thread::sleep(Duration::from_micros(delay));
        }
    }
}

impl State {
    fn index(&self, name: &str) -> io::Result<usize> {
        self.live.get(name).copied().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, name.to_string()))
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.live);
        self.pending.push(change);
    }

    /// Stores `bytes` in what the process sees; `keep` says of each sector whether it was reached.
    fn store(
        &mut self,
        index: usize,
        offset: usize,
        bytes: &[u8],
        mut keep: impl FnMut(&mut Random) -> bool,
    ) {
        let inode = &mut self.inodes[index];
        if inode.live.len() < offset + bytes.len() {
            inode.live.resize(offset + bytes.len(), 0);
        }
        let mut at = offset;
        while at < offset + bytes.len() {
            let end = ((at / SECTOR_LEN + 1) * SECTOR_LEN).min(offset + bytes.len());
            if keep(&mut self.random) {
                inode.live[at..end].copy_from_slice(&bytes[at - offset..end - offset]);
                inode.dirty.insert(at / SECTOR_LEN);
            }
            at = end;
        }
    }

    fn used(&self) -> u64 {
        self.live.values().map(|&index| self.inodes[index].live.len() as u64).sum()
    }
}

impl Inode {
    /// Puts sector `sector` of `live` on the disk.
    fn persist(&mut self, sector: usize) {
        let start = sector * SECTOR_LEN;
        let end = (start + SECTOR_LEN).min(self.live.len());
        if self.durable.len() < end {
            self.durable.resize(end, 0);
        }
        self.durable[start..end].copy_from_slice(&self.live[start..end]);
    }

    fn persist_all(&mut self) {
        while let Some(sector) = self.dirty.pop_first() {
            self.persist(sector);
        }
        self.durable.resize(self.live.len(), 0);
    }

    /// The kernel gives up on the dirty sectors: some reach the disk, none is dirty any more.
    fn abandon(&mut self, random: &mut Random) {
        while let Some(sector) = self.dirty.pop_first() {
            if random.below(2) == 0 {
                self.persist(sector);
            }
        }
    }

    fn after_cut(&self, random: &mut Random) -> Inode {
        let mut inode = self.clone();
        // All, none, or each by itself: the mixed case alone would rarely show the two clean ones.
        let odds = random.below(4);
        for &sector in &self.dirty {
            if match odds {
                0 => false,
                1 => true,
                _ => random.below(2) == 0,
            } {
                inode.persist(sector);
            }
        }
        inode.live.clone_from(&inode.durable);
        inode.dirty.clear();
        inode
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Add(name, index) => {
                names.insert(name.clone(), *index);
            }
            NameChange::Rename(from, to) => {
                if let Some(index) = names.remove(from) {
                    names.insert(to.clone(), index);
                }
            }
            NameChange::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl Storage for Faulty {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.enter(|_| ())?.live.keys().cloned().collect())
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        let state = self.enter(|_| ())?;
        let index = state.index(name)?;
        let is_write_durable = state.is_write_durable && access == Access::Append;
        let reads_disk = access == Access::Read;
        Ok(Arc::new(FaultyFile { storage: self.clone(), index, is_write_durable, reads_disk }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut state = self.enter(|_| ())?;
        let index = state.inodes.len();
        state.inodes.push(Inode::default());
        state.change_names(NameChange::Add(name.to_string(), index));
        Ok(Arc::new(FaultyFile { storage: self.clone(), index, is_write_durable: false, reads_disk: false }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.enter(|_| ())?;
        state.index(from)?;
        state.change_names(NameChange::Rename(from.to_string(), to.to_string()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.enter(|_| ())?;
        state.index(name)?;
        state.change_names(NameChange::Remove(name.to_string()));
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.enter(|_| ())?;
        state.pending.clear();
        state.durable = state.live.clone();
        Ok(())
    }
}

struct FaultyFile {
    storage: Faulty,
    index: usize,
    is_write_durable: bool,
    /// Reads past the page cache: dirty sectors go to the disk first, all else is as the disk holds it.
    reads_disk: bool,
}

impl File for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.storage.enter(|_| ())?.inodes[self.index].live.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.storage.enter(|_| ())?;
        let inode = &state.inodes[self.index];
        let range = offset as usize..offset as usize + buffer.len();
        let bytes = inode.live.get(range.clone()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        if self.reads_disk {
            for sector in range.start / SECTOR_LEN..range.end.div_ceil(SECTOR_LEN) {
                let start = (sector * SECTOR_LEN).max(range.start);
                let end = ((sector + 1) * SECTOR_LEN).min(range.end);
                if !inode.dirty.contains(&sector) {
                    let held = inode.durable.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
                    buffer[start - range.start..end - range.start].copy_from_slice(held);
                }
            }
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.storage.delay();
        let torn = |state: &mut State| {
            state.store(self.index, offset as usize, bytes, |random| random.below(2) == 0);
            let is_cut = state.plan.cut_at == Some(state.calls);
            if self.is_write_durable && !is_cut {
                let State { inodes, random, .. } = state;
                inodes[self.index].abandon(random);
            }
        };
        let mut state = self.storage.enter(torn)?;
        let growth = (offset + bytes.len() as u64).saturating_sub(state.inodes[self.index].live.len() as u64);
        if state.plan.capacity.is_some_and(|capacity| growth > 0 && state.used() + growth > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.store(self.index, offset as usize, bytes, |_| true);
        if self.is_write_durable {
            state.sync(self.index);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        if self.is_write_durable {
            return Ok(());
        }
        self.storage.delay();
        let torn = |state: &mut State| {
            let is_cut = state.plan.cut_at == Some(state.calls);
            let State { inodes, random, .. } = state;
            // Of a sync that the power cuts, `power_cut` decides what reached the disk.
            if !is_cut {
                inodes[self.index].abandon(random);
            }
        };
        self.storage.enter(torn)?.sync(self.index);
        Ok(())
    }

    fn is_write_durable(&self) -> bool {
        self.is_write_durable
    }
}

impl State {
    fn sync(&mut self, index: usize) {
        if self.plan.lie_at.is_some_and(|call| self.calls >= call) {
            self.plan.lie_at = None;
            self.inodes[index].dirty.clear();
        } else {
            self.inodes[index].persist_all();
        }
    }
}

/// Numbers that a seed decides (splitmix64). For tests; not for secrets.
#[derive(Clone, Debug, Default)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed ^ 0x5bf0_3635_ab12_9d1f)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `limit`, which is not 0. Even enough for tests.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(limit)) >> 64) as u64
    }
}
