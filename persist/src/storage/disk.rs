//! Real files. Decides by [`Method`] how a segment is written; refuses file systems that cannot keep an allocated
//! file in place; holds the lock that keeps a second engine out.

use crate::config::Method;
use crate::error::PersistError;
use crate::storage::mapped::MappedFile;
use crate::storage::{Access, BLOCK_LEN, File, Storage};
use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// File systems that write an allocated block where it stands. Copy-on-write ones allocate anew at each write, so a
/// full disk would hit in the middle of a mapped store; the rest keep nothing or were never tried.
const FILE_SYSTEMS: [&str; 2] = ["ext4", "xfs"];
/// Held by whoever may write to the directory.
const LOCK_NAME: &str = "lock";
/// Held together by those who read beside the engine, alone by whoever removes files.
const HOLD_NAME: &str = "hold";
/// So long a lock is waited for that another process may only be looking at.
const LOOKED_AT: Duration = Duration::from_millis(100);

/// The file system of a directory, where it is none that is known to keep what it synced.
///
/// Errors: I/O.
pub fn unsure_file_system(directory: &Path) -> Result<Option<String>, PersistError> {
    let shown = directory.display().to_string();
    let device = fs::metadata(directory).map_err(PersistError::io("inspect", &shown))?.dev();
    // Of this thread: `self` would be the first thread, whose mounts may be others.
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap_or_default();
    let file_system = file_system_of(device, &mounts).unwrap_or("an unknown file system");
    Ok((!FILE_SYSTEMS.contains(&file_system)).then(|| file_system.to_owned()))
}

/// A directory on a disk.
pub struct Disk {
    directory: PathBuf,
    method: Method,
    handle: fs::File,
}

impl Disk {
    /// Opens `directory`, which is made when it does not exist.
    ///
    /// Errors: [`PersistError::FileSystem`] unless `any_file_system`, I/O.
    pub fn open(directory: &Path, method: Method, any_file_system: bool) -> Result<Disk, PersistError> {
        let shown = directory.display().to_string();
        make_folder(directory).map_err(PersistError::io("create", &shown))?;
        let handle = fs::File::open(directory).map_err(PersistError::io("open", &shown))?;
        if !any_file_system && let Some(file_system) = unsure_file_system(directory)? {
            return Err(PersistError::FileSystem { directory: shown, file_system });
        }
        if method == Method::Mapped {
            crate::storage::mapped::install_fault_handler();
        }
        Ok(Disk { directory: directory.to_path_buf(), method, handle })
    }

    /// Opens a directory that exists, to read in it.
    ///
    /// Errors: I/O.
    pub fn open_existing(directory: &Path) -> Result<Disk, PersistError> {
        let shown = directory.display().to_string();
        let handle = fs::File::open(directory).map_err(PersistError::io("open", &shown))?;
        Ok(Disk { directory: directory.to_path_buf(), method: Method::Direct, handle })
    }

    /// Whether another process holds the lock. Makes nothing.
    ///
    /// Errors: I/O.
    pub fn is_locked(&self) -> Result<bool, PersistError> {
        let path = self.directory.join(LOCK_NAME);
        let shown = path.display().to_string();
        let file = match fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file.map_err(PersistError::io("open", &shown))?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(PersistError::io("lock", &shown)(error)),
        }
    }

    /// Keeps every snapshot and segment where it is until the lock is dropped, for whoever reads beside a running engine. Makes
    /// nothing: without the file for it no engine has removed anything here.
    ///
    /// Errors: I/O.
    pub fn hold(&self) -> Result<Lock, PersistError> {
        let file = match fs::File::open(self.directory.join(HOLD_NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Lock::default()),
            file => file.map_err(PersistError::io("open", HOLD_NAME))?,
        };
        file.lock_shared().map_err(PersistError::io("lock", HOLD_NAME))?;
        Ok(Lock { _file: Some(Arc::new(file)) })
    }

    /// Takes the directory for this process until the lock and all its clones are dropped.
    ///
    /// Errors: [`PersistError::Locked`], I/O.
    pub fn lock(&self) -> Result<Lock, PersistError> {
        let path = self.directory.join(LOCK_NAME);
        let shown = path.display().to_string();
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(PersistError::io("open", &shown))?;
        // Where a full disk has no room for it, nobody can hold it, and room is what removing files makes.
        let _ = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.directory.join(HOLD_NAME));
        let deadline = Instant::now() + LOOKED_AT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: Some(Arc::new(file)) }),
                // Whoever only looks whether it is held holds it for a moment.
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(LOOKED_AT / 20);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(PersistError::Locked { directory: self.directory.display().to_string() });
                }
                Err(TryLockError::Error(error)) => return Err(PersistError::io("lock", &shown)(error)),
            }
        }
    }
}

/// Makes a folder that only its owner can enter, and what is missing above it, so that no power failure takes the new names away.
/// One that exists is left as it is.
///
/// Errors: I/O.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    make(folder, &mut |above| fs::File::open(above)?.sync_all())
}

/// The same; `sync` makes the names in a folder durable.
fn make(folder: &Path, sync: &mut impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new(""));
    make(above, sync)?;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        // Somebody was faster, and may not have come to the next line.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        made => made?,
    }
    sync(if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

/// Keeps others out, or files where they are, while it or a clone of it lives.
#[derive(Clone, Debug, Default)]
pub struct Lock {
    _file: Option<Arc<fs::File>>,
}

/// Name of the file system on `device`, from the text of `mountinfo`: `id parent major:minor root point options
/// [fields] - type source options`.
fn file_system_of(device: u64, mounts: &str) -> Option<&str> {
    let wanted = format!("{}:{}", libc::major(device), libc::minor(device));
    mounts.lines().rev().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        (mount.split(' ').nth(2)? == wanted).then(|| file_system.split(' ').next())?
    })
}

impl Storage for Disk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        let path = self.directory.join(name);
        let mut options = OpenOptions::new();
        options.read(true);
        match (access, self.method) {
            (Access::Read, _) => match options.custom_flags(libc::O_DIRECT).open(&path) {
                // The file system does not write or read past the cache.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    Ok(Arc::new(DiskFile::new(options.custom_flags(0).open(path)?)))
                }
                file => Ok(Arc::new(DiskFile::new(file?))),
            },
            (Access::Fill, Method::Direct) => {
                match options.write(true).custom_flags(libc::O_DIRECT).open(&path) {
                    Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                        Ok(Arc::new(DiskFile::new(options.custom_flags(0).open(path)?)))
                    }
                    file => Ok(Arc::new(DiskFile::new(file?))),
                }
            }
            (Access::Fill, _) => Ok(Arc::new(DiskFile::new(options.write(true).open(path)?))),
            (Access::Repair, _) => Ok(Arc::new(DiskFile::new(options.write(true).open(path)?))),
            (Access::Append, method) => {
                options.write(true);
                if method == Method::Direct {
                    options.custom_flags(libc::O_DIRECT | libc::O_DSYNC);
                }
                let file = options.open(path)?;
                let metadata = file.metadata()?;
                // Allocated in units of 512 bytes; a hole would be a fault or ENOSPC in the middle of a batch.
                if metadata.blocks() * 512 < metadata.len() {
                    return Err(io::Error::new(io::ErrorKind::Unsupported, "the segment has holes"));
                }
                match method {
                    Method::Mapped => Ok(Arc::new(MappedFile::new(file)?)),
                    Method::Buffered => Ok(Arc::new(DiskFile::new(file))),
                    Method::Direct => Ok(Arc::new(DiskFile { file, is_write_durable: true })),
                }
            }
        }
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let path = self.directory.join(name);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Arc::new(DiskFile::new(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.directory.join(from), self.directory.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn identity(&self, name: &str) -> io::Result<u64> {
        Ok(fs::metadata(self.directory.join(name))?.ino())
    }

    fn removal(&self) -> io::Result<Option<Lock>> {
        let file = match fs::File::open(self.directory.join(HOLD_NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Lock::default())),
            file => file?,
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: Some(Arc::new(file)) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A file written with pwrite, through the page cache or past it, by the flags it was opened with.
struct DiskFile {
    file: fs::File,
    is_write_durable: bool,
}

impl DiskFile {
    fn new(file: fs::File) -> DiskFile {
        DiskFile { file, is_write_durable: false }
    }
}

impl File for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        debug_assert!(
            !self.is_write_durable
                || offset.is_multiple_of(BLOCK_LEN as u64) && bytes.len().is_multiple_of(BLOCK_LEN)
        );
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        if self.is_write_durable {
            return Ok(());
        }
        self.file.sync_data()
    }

    fn is_write_durable(&self) -> bool {
        self.is_write_durable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_system_is_found_by_device() {
        let mounts = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                      30 22 0:25 / /run rw shared:5 - tmpfs tmpfs rw\n\
                      31 22 0:31 / /data rw - overlay overlay rw,lowerdir=/a\n";
        let device = |major, minor| libc::makedev(major, minor);
        assert_eq!(file_system_of(device(254, 0), mounts), Some("ext4"));
        assert_eq!(file_system_of(device(0, 25), mounts), Some("tmpfs"));
        assert_eq!(file_system_of(device(0, 31), mounts), Some("overlay"));
        assert_eq!(file_system_of(device(8, 1), mounts), None);
    }

    /// Of each new folder the one above it, which holds its name, from above.
    #[test]
    fn the_names_of_new_folders_are_synced() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("ringside-folder-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut synced = Vec::new();
        let mut made = |path: &Path| {
            synced.clear();
            make(path, &mut |above| {
                synced.push(above.to_path_buf());
                Ok(())
            })
            .unwrap();
            synced.clone()
        };
        let (a, b) = (folder.join("a"), folder.join("a/b"));
        assert_eq!(made(&b), [std::env::temp_dir(), folder.clone(), a.clone()]);
        assert_eq!(made(&b), Vec::<PathBuf>::new());
        assert_eq!(made(&folder.join("a/c")), [a]);
        assert_eq!(fs::metadata(&b).unwrap().permissions().mode() & 0o777, 0o700);
        // Where that fails, nobody goes on as if it had not.
        let failed = make(&folder.join("d"), &mut |_| Err(io::Error::other("no")));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::Other);
        make_folder(&folder.join("e/f")).unwrap();
        assert!(folder.join("e/f").is_dir());
        fs::write(folder.join("g"), "no folder").unwrap();
        assert!(make_folder(&folder.join("g")).is_err() && make_folder(&folder.join("g/h")).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    /// What a write promises stands in the flags of the file: nothing syncs it afterwards.
    #[test]
    fn a_write_past_the_cache_returns_when_it_is_durable() {
        let folder = std::env::temp_dir().join(format!("ringside-disk-{}", std::process::id()));
        for (method, is_durable) in [(Method::Direct, true), (Method::Buffered, false)] {
            let disk = Disk::open(&folder, method, true).unwrap();
            disk.create("segment").unwrap().write_at(0, &[1; BLOCK_LEN]).unwrap();
            let file = disk.open("segment", Access::Append).unwrap();
            assert_eq!(file.is_write_durable(), is_durable, "{method:?}");
            let path = fs::canonicalize(folder.join("segment")).unwrap();
            let mut flags = Vec::new();
            for entry in fs::read_dir("/proc/self/fd").unwrap() {
                let entry = entry.unwrap();
                // Descriptors of other tests come and go.
                if fs::read_link(entry.path()).is_ok_and(|target| target == path) {
                    let info = Path::new("/proc/self/fdinfo").join(entry.file_name());
                    let info = fs::read_to_string(info).unwrap();
                    let text = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
                    flags.push(i32::from_str_radix(text.trim(), 8).unwrap());
                }
            }
            let [flags] = flags[..] else { panic!("{method:?}: {flags:?}") };
            assert_eq!(flags & libc::O_DSYNC != 0, is_durable, "{method:?}: {flags:o}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
