//! No room: a quota that is used up is to the archive what a full disk is, which it waits for. A disk that fails is neither.
#![allow(unsafe_code)]

use crate::entries::EntryMaker;
use crate::{Folder, JOURNAL};
use ringside_persist::archive::{Archive, ArchiveError};

/// From now on every write of this thread fails with `error`, but to its standard streams. Whether the kernel lets it.
fn refuse_writes(error: i32) -> bool {
    const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const ABOVE: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let row = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        row(LOAD, 0, 0, 0),
        row(JUMP, 1, 0, libc::SYS_write as u32),
        row(JUMP, 0, 3, libc::SYS_pwrite64 as u32),
        // The descriptor.
        row(LOAD, 0, 0, 16),
        row(ABOVE, 0, 1, 2),
        row(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        row(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its rows outlive the calls, which copy them; only this thread is bound by it.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    }
}

#[test]
fn a_quota_that_is_used_up_is_no_room() {
    for (error, is_full) in [(libc::EDQUOT, true), (libc::ENOSPC, true), (libc::EIO, false)] {
        let folder = Folder::new(&format!("room-{error}"));
        let store = folder.store();
        let mut writer = store.writer(JOURNAL).unwrap();
        let mut maker = EntryMaker::new(3);
        let batch = maker.batch(500);
        let mark = maker.mark();
        let refused = std::thread::scope(|scope| {
            let refused = scope.spawn(|| refuse_writes(error).then(|| writer.commit(&batch, mark, true)));
            refused.join().unwrap()
        });
        let Some(refused) = refused else {
            eprintln!("skipped: this system lets no test refuse its own writes");
            return;
        };
        let refused = refused.unwrap_err();
        assert_eq!(refused.is_full(), is_full, "{error}: {refused}");
        assert!(is_full || matches!(refused, ArchiveError::Store { .. }), "{error}: {refused}");
        if is_full {
            // The same again, once there is room.
            writer.commit(&batch, mark, true).unwrap();
            assert_eq!(store.reader().unwrap().mark().unwrap(), mark);
        }
    }
}

/// The database writes on into a file that nobody will find again.
#[test]
fn history_is_not_written_into_a_file_that_is_gone() {
    type Take = fn(&std::path::Path);
    let takes: [Take; 3] = [
        |path| std::fs::remove_file(path).unwrap(),
        |path| std::fs::rename(path.parent().unwrap(), path.parent().unwrap().with_extension("old")).unwrap(),
        |path| {
            std::fs::copy(path, path.with_extension("copy")).unwrap();
            std::fs::rename(path.with_extension("copy"), path).unwrap();
        },
    ];
    for (index, take) in takes.into_iter().enumerate() {
        let folder = Folder::new(&format!("gone-{index}"));
        let store = folder.store();
        let mut writer = store.writer(JOURNAL).unwrap();
        let mut maker = EntryMaker::new(4);
        let batch = maker.batch(10);
        writer.commit(&batch, maker.mark(), true).unwrap();
        take(store.path());
        let batch = maker.batch(10);
        let refused = writer.commit(&batch, maker.mark(), true).unwrap_err();
        assert!(matches!(refused, ArchiveError::Gone { .. }), "{index}: {refused}");
    }
}
