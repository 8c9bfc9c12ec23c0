//! Memory of a ring: where it comes from, how it is handed over, what is checked before it is believed.
//!
//! Knows bytes, files and seals; how they are laid out is `buffer.rs`.
#![allow(unsafe_code)]

use crate::ring::RingError;
use memmap2::{MmapOptions, MmapRaw};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What memory a new ring is to lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping(pub(super) Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `foreign`: to be read and written as if another process could do so too.
    Heap {
        foreign: bool,
    },
    Anonymous,
    Memfd,
    File(PathBuf),
}

impl Mapping {
    /// Memory of this process; both sides are its threads. The fastest: payloads are read where they lie.
    pub fn anonymous() -> Mapping {
        Mapping(if cfg!(any(loom, miri)) { Kind::Heap { foreign: false } } else { Kind::Anonymous })
    }

    /// Memory to be handed to another process by file descriptor, sealed so that nobody can change its size.
    /// Consumers take nothing in it on trust.
    pub fn memfd() -> Mapping {
        Mapping(Kind::Memfd)
    }

    /// A file at `path`, replaced where it exists, readable by its owner alone. For processes that trust each
    /// other: whoever shortens the file kills all who use it.
    pub fn file(path: impl Into<PathBuf>) -> Mapping {
        Mapping(Kind::File(path.into()))
    }

    /// Ordinary memory, for checkers that cannot map. `foreign` has it treated like memory of another process.
    #[doc(hidden)]
    pub fn heap(foreign: bool) -> Mapping {
        Mapping(Kind::Heap { foreign })
    }
}

/// Seals that a joined memfd must carry: without them the peer could cut the mapping short under us.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// A mapping and, where it can be handed over, its file.
pub(super) struct Mapped {
    pub(super) map: MmapRaw,
    pub(super) file: Option<File>,
}

impl Mapped {
    /// `len` zero bytes, all of them backed by memory before the call returns.
    pub(super) fn create(kind: &Kind, len: usize) -> Result<Mapped, RingError> {
        match kind {
            Kind::Heap { .. } => unreachable!("heap rings are not mapped"),
            Kind::Anonymous => {
                let map = MmapOptions::new().len(len).populate().map_anon()?;
                Ok(Mapped { map: map.into(), file: None })
            }
            Kind::Memfd => {
                let file = memfd(len)?;
                Ok(Mapped { map: map_file(&file, len)?, file: Some(file) })
            }
            Kind::File(path) => {
                match std::fs::remove_file(path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                    _ => {}
                }
                let file =
                    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
                // SAFETY: the descriptor is open; the call takes no pointer.
                let failure = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len as libc::off_t) };
                if failure != 0 {
                    return Err(std::io::Error::from_raw_os_error(failure).into());
                }
                Ok(Mapped { map: map_file(&file, len)?, file: Some(file) })
            }
        }
    }

    /// Accepts what another process made, after checking that its size can no longer change.
    pub(super) fn open_fd(fd: OwnedFd) -> Result<File, RingError> {
        // SAFETY: the descriptor is open; the call takes no pointer.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & SEALS != SEALS {
            return Err(RingError::NotSealed);
        }
        Ok(File::from(fd))
    }

    /// Opens a file that another process made.
    pub(super) fn open_file(path: &Path) -> Result<File, RingError> {
        Ok(OpenOptions::new().read(true).write(true).open(path)?)
    }

    /// Maps all of a joined file, whose size the caller has checked.
    pub(super) fn map(file: File, len: usize) -> Result<Mapped, RingError> {
        Ok(Mapped { map: map_file(&file, len)?, file: Some(file) })
    }

    /// The descriptor to hand over.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(|file| file.as_fd())
    }
}

fn map_file(file: &File, len: usize) -> Result<MmapRaw, RingError> {
    Ok(MmapOptions::new().len(len).populate().map_raw(file)?)
}

fn memfd(len: usize) -> Result<File, RingError> {
    // SAFETY: the name is a live C string; the result is a descriptor that nobody else owns, or -1.
    let fd =
        unsafe { libc::memfd_create(c"ringside-ring".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: `fd` was just opened and is owned by nobody else.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.set_len(len as u64)?;
    // SAFETY: the descriptor is open; the call takes no pointer.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(file)
}
