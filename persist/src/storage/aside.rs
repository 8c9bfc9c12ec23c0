//! A directory within a directory: the files whose names begin with a prefix of its own. What is put together there comes into its
//! place by renames alone.

use crate::storage::disk::Lock;
use crate::storage::{Access, File, Storage};
use std::io;
use std::sync::Arc;

/// Files of `storage` under names that begin with `prefix`. Nothing else that lies there is looked at.
#[derive(Clone)]
pub struct Aside {
    storage: Arc<dyn Storage>,
    prefix: &'static str,
}

impl Aside {
    /// The files of that prefix.
    pub fn new(storage: Arc<dyn Storage>, prefix: &'static str) -> Aside {
        Aside { storage, prefix }
    }

    /// What a file of it is called in the directory around it.
    pub fn outer(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Removes everything in it.
    ///
    /// Errors: I/O.
    pub fn clear(&self) -> io::Result<()> {
        let names = self.list()?;
        for name in &names {
            self.remove(name)?;
        }
        if names.is_empty() { Ok(()) } else { self.sync_directory() }
    }
}

impl Storage for Aside {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = self.storage.list()?;
        Ok(names.iter().filter_map(|name| name.strip_prefix(self.prefix)).map(str::to_owned).collect())
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        self.storage.open(&self.outer(name), access)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.storage.create(&self.outer(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.storage.rename(&self.outer(from), &self.outer(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.storage.remove(&self.outer(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.storage.sync_directory()
    }

    fn identity(&self, name: &str) -> io::Result<u64> {
        self.storage.identity(&self.outer(name))
    }

    fn removal(&self) -> io::Result<Option<Lock>> {
        self.storage.removal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::Faulty;

    #[test]
    fn files_aside_are_apart_from_those_around_them() {
        let around: Arc<dyn Storage> = Arc::new(Faulty::new(1));
        let aside = Aside::new(around.clone(), "new.");
        around.create("one").unwrap().write_at(0, b"around").unwrap();
        aside.create("one").unwrap().write_at(0, b"aside").unwrap();
        aside.create("two").unwrap();
        aside.rename("two", "three").unwrap();
        let mut names = aside.list().unwrap();
        names.sort();
        assert_eq!(names, ["one", "three"]);
        let mut bytes = [0; 5];
        aside.open("one", Access::Repair).unwrap().read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"aside");
        aside.clear().unwrap();
        assert_eq!(around.list().unwrap(), ["one"]);
        assert_eq!(around.open("one", Access::Repair).unwrap().len().unwrap(), 6);
    }
}
