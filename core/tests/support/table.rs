//! Maps that are obvious and quick to scan: a sorted list, and a grid.

use ringside_core::ids::{AccountId, FIRST_PERPETUAL, MarketId};
use std::ops::Index;

/// Values by key, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<K, V>(Vec<(K, V)>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Table<K, V> {
        Table(Vec::new())
    }
}

impl<K: Ord + Copy, V> Table<K, V> {
    fn find(&self, key: &K) -> Result<usize, usize> {
        match self.0.last() {
            Some(last) if last.0 < *key => Err(self.0.len()),
            _ => self.0.binary_search_by(|(at, _)| at.cmp(key)),
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.find(key).ok().map(|at| &self.0[at].1)
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.find(key).ok().map(|at| &mut self.0[at].1)
    }

    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    pub fn insert(&mut self, key: K, value: V) {
        match self.find(&key) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The value, which begins as nothing.
    pub fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self.find(&key).unwrap_or_else(|at| {
            self.0.insert(at, (key, V::default()));
            at
        });
        &mut self.0[at].1
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

impl<K: Ord + Copy, V> FromIterator<(K, V)> for Table<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(values: T) -> Table<K, V> {
        let mut table = Table::default();
        values.into_iter().for_each(|(key, value)| table.insert(key, value));
        table
    }
}

impl<K: Ord + Copy, V> Index<&K> for Table<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key).expect("it is in the table")
    }
}

/// Values by account and perpetual market, ascending: a row for each account, a place in it for each market.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid<V>(Vec<Vec<Option<V>>>);

impl<V> Default for Grid<V> {
    fn default() -> Grid<V> {
        Grid(Vec::new())
    }
}

impl<V> Grid<V> {
    fn place(market: MarketId) -> usize {
        (market - FIRST_PERPETUAL) as usize
    }

    pub fn get(&self, account: AccountId, market: MarketId) -> Option<&V> {
        self.0.get(account as usize)?.get(Self::place(market))?.as_ref()
    }

    pub fn get_mut(&mut self, account: AccountId, market: MarketId) -> Option<&mut V> {
        self.0.get_mut(account as usize)?.get_mut(Self::place(market))?.as_mut()
    }

    /// Has the value be `value` from now on.
    pub fn set(&mut self, account: AccountId, market: MarketId, value: Option<V>) {
        let (account, place) = (account as usize, Self::place(market));
        if self.0.len() <= account {
            self.0.resize_with(account + 1, Vec::new);
        }
        let row = &mut self.0[account];
        if row.len() <= place {
            row.resize_with(place + 1, || None);
        }
        row[place] = value;
    }

    pub fn iter(&self) -> impl Iterator<Item = ((AccountId, MarketId), &V)> {
        let rows = (0..).zip(&self.0);
        let places = rows.flat_map(|(account, row)| {
            (FIRST_PERPETUAL..).zip(row).map(move |(market, value)| ((account, market), value))
        });
        places.filter_map(|(key, value)| Some((key, value.as_ref()?)))
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().flatten().flatten()
    }
}
