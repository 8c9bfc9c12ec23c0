//! Recorded order flow: files of data sets, and [`flow`], which is the one whose orders are carried out without an exchange.
//! The files stay where they are; nothing of them is kept in the project.

pub mod flow;

use std::io::{Error, ErrorKind, Read};
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
    Missing(String, Error),
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
    /// A journal that cannot be read, or does not hold what is wanted.
    #[error("journal {0}: {1}")]
    Journal(String, String),
}

/// The text of a file of a data set, unpacked by its ending.
pub fn read(set: &str, name: &str) -> Result<String, DataError> {
    let missing = |error: Error| DataError::Missing(format!("{set}/{name}"), error);
    let path = folder(set).ok_or_else(|| missing(ErrorKind::NotFound.into()))?.join(name);
    let packed = std::fs::read(path).map_err(missing)?;
    let mut text = String::new();
    if name.ends_with(".gz") {
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).map_err(missing)?;
    } else if name.ends_with(".zst") {
        ruzstd::decoding::StreamingDecoder::new(packed.as_slice())
            .map_err(|error| missing(Error::other(error)))?
            .read_to_string(&mut text)
            .map_err(missing)?;
    } else {
        text =
            String::from_utf8(packed).map_err(|error| missing(Error::new(ErrorKind::InvalidData, error)))?;
    }
    Ok(text)
}

/// The fields of one row of a file, for readers that name what they miss.
pub struct Row<'a> {
    file: &'a str,
    row: usize,
    /// What is left of it.
    pub fields: std::str::Split<'a, char>,
}

/// The rows of a file with a header.
pub fn rows<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Row<'a>> {
    text.lines().skip(1).enumerate().map(move |(row, line)| Row { file, row, fields: line.split(',') })
}

impl<'a> Row<'a> {
    /// What is wrong with this row.
    pub fn fault(&self, what: &'static str) -> DataError {
        DataError::Row { file: self.file.to_string(), row: self.row, what }
    }

    /// The next field; a row without it misses `what`.
    pub fn text(&mut self, what: &'static str) -> Result<&'a str, DataError> {
        self.fields.next().ok_or_else(|| self.fault(what))
    }

    /// The next field as a number; another has the fault `what`.
    pub fn number(&mut self, what: &'static str) -> Result<i64, DataError> {
        self.text(what)?.parse().map_err(|_| self.fault(what))
    }

    /// `None` for an empty field.
    pub fn number_if_any(&mut self, what: &'static str) -> Result<Option<i64>, DataError> {
        match self.text(what)? {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| self.fault(what)),
        }
    }

    /// Whether the order buys.
    pub fn is_buy(&mut self) -> Result<bool, DataError> {
        match self.text("no side")? {
            "B" => Ok(true),
            "S" => Ok(false),
            _ => Err(self.fault("a side is B or S")),
        }
    }
}
