//! A segment written by storing into the mapped file, and the handler for the fault that a store can raise.
//!
//! The only code of this crate that touches memory by address. Its invariants:
//! - a segment keeps its length for life (nothing here truncates one, the directory lock keeps other engines out),
//!   so no page of the map ever lies beyond the end of the file;
//! - every byte of it is allocated and was written before it is mapped, so a store needs no block;
//! - the map is private to [`MappedFile`] and only used under its mutex; readers use file reads.
//!
//! What is left is a device that fails under the map: the store raises SIGBUS, and the handler ends the process
//! after one line. Nothing was acknowledged then that was not synced before.
#![allow(unsafe_code)]

use crate::error::EXIT_JOURNAL;
use crate::storage::File;
use memmap2::{MmapMut, MmapOptions};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, Once, PoisonError};

/// A file whose bytes are stored through a map. The map covers the whole file and is populated when made.
pub(crate) struct MappedFile {
    file: fs::File,
    // One thread writes, so the mutex is never contended; it keeps the store safe to share.
    map: Mutex<MmapMut>,
}

impl MappedFile {
    pub(crate) fn new(file: fs::File) -> io::Result<MappedFile> {
        // SAFETY: the file keeps its length while it is mapped, and no other process stores into it: the caller
        // holds the directory's lock, and segments are never truncated (module header).
        let map = unsafe { MmapOptions::new().populate().map_mut(&file)? };
        Ok(MappedFile { file, map: Mutex::new(map) })
    }
}

impl File for MappedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut map = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        let start = usize::try_from(offset).ok();
        let room = start.and_then(|start| map.get_mut(start..start.checked_add(bytes.len())?));
        let room = room
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a store past the segment's end"))?;
        room.copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Installs the handler of SIGBUS, once per process.
pub(crate) fn install_fault_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: `on_fault` has the signature that SA_SIGINFO-less handlers have and calls only functions that are
        // safe in a handler; the action is fully initialised.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut())
        };
        assert_eq!(result, 0, "the handler of SIGBUS can be installed");
    });
}

extern "C" fn on_fault(_signal: libc::c_int) {
    const LINE: &[u8] =
        b"journal: a mapped page of a segment could not be read or written (SIGBUS); stopping\n";
    // SAFETY: write and _exit are async-signal-safe; LINE is static.
    unsafe {
        libc::write(libc::STDERR_FILENO, LINE.as_ptr().cast(), LINE.len());
        libc::_exit(EXIT_JOURNAL);
    }
}
