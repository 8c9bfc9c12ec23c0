//! A map as a sorted list: obvious, and quick to scan.

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

impl<K: Ord + Copy, V> Index<&K> for Table<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key).expect("it is in the table")
    }
}
