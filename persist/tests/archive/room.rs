//! What the archive does where its file is no longer its own.

use crate::{Folder, JOURNAL, Maker};
use ringside_persist::archive::{Archive, ArchiveError, Batch};

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
        let (mut maker, mut batch) = (Maker::new(4), Batch::default());
        maker.command(&mut batch);
        writer.commit(&batch, maker.mark(), true).unwrap();
        take(store.path());
        batch.clear();
        maker.command(&mut batch);
        let refused = writer.commit(&batch, maker.mark(), true).unwrap_err();
        assert!(matches!(refused, ArchiveError::Gone { .. }), "{index}: {refused}");
    }
}
