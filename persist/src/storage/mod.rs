//! The file operations that journal and snapshots stand on, behind two traits, so that tests can fail each of them.
//!
//! - [`disk`]: real files; three ways to write a segment ([`Method`](crate::config::Method)).
//! - [`mapped`]: the third of them, and the only code that touches mapped memory.
//! - [`ahead`]: reading from front to back.
//! - [`Buffer`]: memory that a disk reads and writes directly.
//! - `streamed`: copies into it past the caches.
//! - [`faulty`]: a double that keeps what is live apart from what is durable, and breaks on request.
//!
//! Which way is the default was measured (ext4 on a virtio disk, Linux 6.18, zero-written file, bytes per second of
//! 1 MiB commits; the `journal` report in `bench/results/` has the current figures): `O_DIRECT | O_DSYNC` and `pwrite` +
//! `fdatasync` 1.3 to 2.2 GB/s, mapped store + `msync` or `fdatasync` 0.4 GB/s. The mapped store is slow before the
//! sync: the kernel write-protects each page it has cleaned, so the first store into each 4 KiB page is a fault of
//! some 6 us. So the default where replies wait for the disk is direct, whose errors also come truthfully, call by
//! call; where they do not wait, the mapped file.
//!
//! Nothing here retries. A failed sync is final: the kernel reports it once, marks the pages clean and would answer
//! the next sync with success, while the disk holds none of it.

pub mod ahead;
pub mod aside;
mod buffer;
pub mod disk;
pub mod faulty;
pub mod mapped;
pub(crate) mod streamed;

pub use buffer::Buffer;
use disk::Lock;
use std::io;
use std::sync::Arc;

/// Unit of durable writing: a block that was synced is never written again.
pub const BLOCK_LEN: usize = 4096;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading what the disk holds, past the page cache where possible: after a failed sync the cache lies.
    Read,
    /// Reading and rewriting parts of it, by way of the page cache. Recovery only.
    Repair,
    /// Writing a new file full of zeros, past the page cache where its records will be: pages left there would have
    /// to be dropped one by one in front of every batch.
    Fill,
    /// Appending records to a segment by the configured method.
    Append,
}

/// A directory of files.
pub trait Storage: Send + Sync {
    /// Names of the files in it, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens a file that exists.
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>>;
    /// Makes a new, empty file, or empties the one of that name, and opens it for writing by way of the page cache.
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>>;
    /// Gives a file another name, replacing what had it. Durable after [`Storage::sync_directory`].
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file. Durable after [`Storage::sync_directory`].
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes names durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// A number that the file of that name keeps and no other has. Where names are never taken away by others: none is needed.
    fn identity(&self, name: &str) -> io::Result<u64> {
        let _ = name;
        Ok(0)
    }
    /// The right to remove what somebody beside the engine may be reading, until the lock is dropped; nothing while somebody is.
    fn removal(&self) -> io::Result<Option<Lock>> {
        Ok(Some(Lock::default()))
    }
}

/// An open file. At most one thread writes; any may sync.
pub trait File: Send + Sync {
    /// Its length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether it has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Fills `buffer` from `offset` on. With [`Access::Read`] offset and length are multiples of [`BLOCK_LEN`] and
    /// the buffer is a [`Buffer`].
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all of `bytes`. With [`Access::Append`] and a direct method offset and length are multiples of
    /// [`BLOCK_LEN`] and the bytes are a [`Buffer`]'s.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes everything written durable, length included.
    fn sync(&self) -> io::Result<()>;
    /// Says that `len` bytes from `offset` on are written next. Any thread may, also while another writes; changes no byte.
    fn expect(&self, offset: u64, len: u64) {
        let _ = (offset, len);
    }
    /// Whether [`File::write_at`] returns only when the bytes are durable.
    fn is_write_durable(&self) -> bool {
        false
    }
}

/// The whole file `name`, as the disk holds it. Its length is a multiple of [`BLOCK_LEN`].
pub fn read_whole(storage: &dyn Storage, name: &str) -> io::Result<Buffer> {
    let file = storage.open(name, Access::Read)?;
    let len = file.len()?;
    if !len.is_multiple_of(BLOCK_LEN as u64) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{len} bytes are not whole blocks")));
    }
    let mut bytes = Buffer::zeroed(len as usize);
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Writes the file `name` aside, syncs it, renames it into place and syncs the directory: after a crash there is
/// the old file or the new one, whole. The parts together are a multiple of [`BLOCK_LEN`].
pub fn write_whole(storage: &dyn Storage, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    write_whole_unless(storage, name, parts, &|| false)
}

/// The same, unless it is given up on the way.
///
/// Errors: I/O; [`io::ErrorKind::Interrupted`] where it was given up.
pub(crate) fn write_whole_unless(
    storage: &dyn Storage,
    name: &str,
    parts: &[&[u8]],
    is_given_up: &dyn Fn() -> bool,
) -> io::Result<()> {
    /// Whole blocks, and few enough that nobody waits long for one.
    const PIECE_LEN: usize = 8 << 20;
    let aside = format!("{name}.tmp");
    let file = storage.create(&aside)?;
    let mut offset = 0;
    for piece in parts.iter().flat_map(|part| part.chunks(PIECE_LEN)) {
        if is_given_up() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        file.write_at(offset, piece)?;
        offset += piece.len() as u64;
    }
    file.sync()?;
    storage.rename(&aside, name)?;
    storage.sync_directory()
}
