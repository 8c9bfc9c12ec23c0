//! A segment written by storing into the mapped file, and the handler for the fault that a store can raise.
//!
//! The only code of this crate that touches memory by address. Its invariants:
//! - a segment keeps its length for life (nothing here truncates one, the directory lock keeps other engines out),
//!   so no page of the map ever lies beyond the end of the file;
//! - every byte of it is allocated and was written before it is mapped, so a store needs no block;
//! - the map is private to [`MappedFile`] and stored into only under its mutex; readers use file reads.
//!
//! What is left is a device that fails under the map: the store raises SIGBUS, and the handler ends the process
//! after one line. Nothing was acknowledged then that was not synced before.
#![allow(unsafe_code)]

use crate::error::EXIT_JOURNAL;
use crate::storage::File;
use memmap2::{Advice, MmapOptions, MmapRaw};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, Once, PoisonError};

/// A file whose bytes are stored through a map. The map covers the whole file and is populated when made.
pub(crate) struct MappedFile {
    file: fs::File,
    map: MmapRaw,
    // One thread writes, so the mutex is never contended; it keeps the store safe to share.
    storing: Mutex<()>,
}

impl MappedFile {
    pub(crate) fn new(file: fs::File) -> io::Result<MappedFile> {
        let map = MmapOptions::new().populate().map_raw(&file)?;
        Ok(MappedFile { file, map, storing: Mutex::new(()) })
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
        let start = usize::try_from(offset).ok();
        let start =
            start.filter(|start| start.checked_add(bytes.len()).is_some_and(|end| end <= self.map.len()));
        let start = start
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a store past the segment's end"))?;
        let _storing = self.storing.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the bytes from `start` on lie within the map, as was just seen, and the file behind it keeps its length
        // (module header). Nobody else stores or loads there: the mutex is held, the map is private, and `bytes`, a borrow of
        // other memory, cannot lie in it.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.map.as_mut_ptr().add(start), bytes.len())
        };
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Has the system make the pages writable now: the first store into each would wait for that, after every sync anew.
    fn expect(&self, offset: u64, len: u64) {
        let Ok(start) = usize::try_from(offset) else { return };
        let left = self.map.len().saturating_sub(start);
        let len = usize::try_from(len).map_or(left, |len| len.min(left));
        if len > 0 {
            // Where the system knows no such advice, stores wait as before.
            let _ = self.map.advise_range(Advice::PopulateWrite, start, len);
        }
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
