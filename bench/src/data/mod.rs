//! Readers of recorded order flow. The files stay where they are; nothing of them is kept in the project.

pub mod flow;

use std::path::PathBuf;

/// The folder of a data set, `None` when it is not on this machine.
pub fn folder(set: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")).join(set);
    path.is_dir().then_some(path)
}

/// Why a data set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The folder or file is not there or not readable.
    #[error("data set {0}: {1}")]
    Missing(String, std::io::Error),
    /// A row that is not as its README says.
    #[error("data set {file}, row {row}: {what}")]
    Row {
        /// Which file.
        file: String,
        /// Row, the header not counted, from 0.
        row: usize,
        /// What is wrong.
        what: &'static str,
    },
}
