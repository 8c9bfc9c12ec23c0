//! The newest rows of a history, in the order of the events and by account. What is older than the window is gone.

use super::super::codec::{LoadError, Reader, Writer};
use ringside_core::ids::AccountId;
use std::collections::{HashMap, VecDeque};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A row that one account owns.
pub trait Owned: FromBytes + IntoBytes + Immutable + Copy {
    /// Whose it is.
    fn owner(&self) -> AccountId;
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Recent<T> {
    rows: VecDeque<T>,
    /// Place of the first row; places grow by one and are never given twice.
    first: u64,
    by_account: HashMap<AccountId, VecDeque<u64>>,
    max: usize,
}

impl<T: Owned> Recent<T> {
    /// Nothing yet; at most `max` rows.
    pub fn new(max: usize) -> Recent<T> {
        Recent { rows: VecDeque::new(), first: 0, by_account: HashMap::new(), max }
    }

    /// Adds a row. Gives its place, and the row that had to go for it.
    pub fn push(&mut self, row: T) -> (u64, Option<T>) {
        let gone = if self.rows.len() >= self.max { self.pop() } else { None };
        let place = self.first + self.rows.len() as u64;
        self.rows.push_back(row);
        self.by_account.entry(row.owner()).or_default().push_back(place);
        (place, gone)
    }

    fn pop(&mut self) -> Option<T> {
        let row = self.rows.pop_front()?;
        self.first += 1;
        if let Some(places) = self.by_account.get_mut(&row.owner()) {
            // Its places stand in the order of the rows, so the oldest goes first.
            places.pop_front();
            if places.is_empty() {
                self.by_account.remove(&row.owner());
            }
        }
        Some(row)
    }

    /// Place of the oldest row.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The row of a place.
    pub fn get(&self, place: u64) -> Option<&T> {
        self.rows.get(usize::try_from(place.checked_sub(self.first)?).ok()?)
    }

    /// All rows, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter()
    }

    /// The rows of an account, oldest first.
    pub fn of_account(&self, account: AccountId) -> impl DoubleEndedIterator<Item = &T> {
        self.by_account.get(&account).into_iter().flatten().filter_map(|place| self.get(*place))
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.u64(self.first);
        writer.count(self.rows.len());
        self.rows.iter().for_each(|row| writer.record(row));
    }

    pub(super) fn load(reader: &mut Reader<'_>, max: usize) -> Result<Recent<T>, LoadError> {
        let mut loaded = Recent::new(max);
        loaded.first = reader.u64()?;
        if loaded.first > u64::MAX / 2 {
            return Err(reader.bad("place"));
        }
        for _ in 0..reader.count()? {
            loaded.push(reader.record()?);
        }
        Ok(loaded)
    }
}
