//! Orders that wait for a price, so that a price takes all whose time has come at once, however many, and of these the oldest is
//! found next without looking at the others.
//!
//! Search trees of keys over one slab. Each node knows the least id below it and how many there are, so that splitting off all keys
//! up to one, finding the least id, and taking any out cost the depth of the tree. Trees are balanced by hashes of the ids that
//! nobody outside knows (treaps); no result depends on their shape.

use crate::hash_seed::HashSeed;
use crate::ids::OrderId;

/// No node.
const NONE: u32 = u32::MAX;
/// Room that a slab is given at start.
const ROOM: usize = 256;

/// An order in a tree.
#[derive(Clone, Copy)]
struct Node {
    key: i64,
    id: OrderId,
    /// The least id of those below it and its own.
    least: OrderId,
    left: u32,
    right: u32,
    /// Those below it, and itself.
    count: u32,
    /// No smaller than those below it.
    weight: u32,
}

/// Nodes of all trees of a market.
pub(crate) struct Slab {
    nodes: Vec<Node>,
    free: Vec<u32>,
    seed: HashSeed,
}

/// A tree, by its root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tree(u32);

impl Default for Tree {
    fn default() -> Tree {
        Tree(NONE)
    }
}

impl Slab {
    pub(crate) fn new(seed: HashSeed) -> Slab {
        Slab { nodes: Vec::with_capacity(ROOM), free: Vec::with_capacity(ROOM), seed }
    }

    pub(crate) fn add(&mut self, tree: &mut Tree, key: i64, id: OrderId) {
        let weight = (self.seed.hash(id) >> 32) as u32;
        let node = Node { key, id, least: id, left: NONE, right: NONE, count: 1, weight };
        let place = match self.free.pop() {
            Some(place) => {
                self.nodes[place as usize] = node;
                place
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        tree.0 = self.insert(tree.0, place);
    }

    /// Takes an order out of a tree; whether it was in.
    pub(crate) fn remove(&mut self, tree: &mut Tree, key: i64, id: OrderId) -> bool {
        match self.cut(tree.0, (key, id)) {
            Some(root) => {
                tree.0 = root;
                true
            }
            None => false,
        }
    }

    /// Takes all whose keys are not above `key` out of a tree.
    pub(crate) fn split_off(&mut self, tree: &mut Tree, key: i64) -> Tree {
        if self.first(*tree).is_none_or(|first| first > key) {
            return Tree::default();
        }
        let (taken, left) = self.split(tree.0, (key, OrderId::MAX));
        tree.0 = left;
        Tree(taken)
    }

    /// The smallest key.
    pub(crate) fn first(&self, tree: Tree) -> Option<i64> {
        let mut node = self.nodes.get(tree.0 as usize)?;
        while let Some(left) = self.nodes.get(node.left as usize) {
            node = left;
        }
        Some(node.key)
    }

    pub(crate) fn count(&self, tree: Tree) -> u32 {
        self.nodes.get(tree.0 as usize).map_or(0, |node| node.count)
    }

    /// The least id.
    pub(crate) fn least(&self, tree: Tree) -> Option<OrderId> {
        self.nodes.get(tree.0 as usize).map(|node| node.least)
    }

    /// Takes the order with the least id out of a tree that has one.
    pub(crate) fn take_least(&mut self, tree: &mut Tree) {
        tree.0 = self.cut_least(tree.0);
    }

    /// Takes the order with the smallest key out of a tree.
    pub(crate) fn take_first(&mut self, tree: &mut Tree) -> Option<(i64, OrderId)> {
        let mut place = tree.0;
        let mut node = *self.nodes.get(place as usize)?;
        while let Some(left) = self.nodes.get(node.left as usize) {
            (place, node) = (node.left, *left);
        }
        debug_assert!(place != NONE);
        self.remove(tree, node.key, node.id);
        Some((node.key, node.id))
    }

    /// Adds the ids of a tree to a list.
    pub(crate) fn ids(&self, tree: Tree, ids: &mut Vec<OrderId>) {
        if let Some(node) = self.nodes.get(tree.0 as usize) {
            self.ids(Tree(node.left), ids);
            ids.push(node.id);
            self.ids(Tree(node.right), ids);
        }
    }

    fn pull(&mut self, place: u32) {
        let Node { id, left, right, .. } = self.nodes[place as usize];
        let (mut least, mut count) = (id, 1);
        for child in [left, right] {
            if let Some(child) = self.nodes.get(child as usize) {
                least = least.min(child.least);
                count += child.count;
            }
        }
        let node = &mut self.nodes[place as usize];
        (node.least, node.count) = (least, count);
    }

    fn insert(&mut self, root: u32, place: u32) -> u32 {
        let Some(&at) = self.nodes.get(root as usize) else { return place };
        let new = self.nodes[place as usize];
        if new.weight > at.weight {
            let (left, right) = self.split(root, (new.key, new.id));
            let node = &mut self.nodes[place as usize];
            (node.left, node.right) = (left, right);
            self.pull(place);
            return place;
        }
        if (new.key, new.id) < (at.key, at.id) {
            let left = self.insert(at.left, place);
            self.nodes[root as usize].left = left;
        } else {
            let right = self.insert(at.right, place);
            self.nodes[root as usize].right = right;
        }
        self.pull(root);
        root
    }

    /// Those not above `last`, and the others.
    fn split(&mut self, root: u32, last: (i64, OrderId)) -> (u32, u32) {
        let Some(&at) = self.nodes.get(root as usize) else { return (NONE, NONE) };
        if (at.key, at.id) <= last {
            let (left, right) = self.split(at.right, last);
            self.nodes[root as usize].right = left;
            self.pull(root);
            (root, right)
        } else {
            let (left, right) = self.split(at.left, last);
            self.nodes[root as usize].left = right;
            self.pull(root);
            (left, root)
        }
    }

    /// One tree of two of which all keys of the first are below those of the second.
    fn join(&mut self, one: u32, other: u32) -> u32 {
        let (Some(&left), Some(&right)) = (self.nodes.get(one as usize), self.nodes.get(other as usize))
        else {
            return if one == NONE { other } else { one };
        };
        if left.weight >= right.weight {
            let joined = self.join(left.right, other);
            self.nodes[one as usize].right = joined;
            self.pull(one);
            one
        } else {
            let joined = self.join(one, right.left);
            self.nodes[other as usize].left = joined;
            self.pull(other);
            other
        }
    }

    /// The root of a tree without an order; `None` where it is not in.
    fn cut(&mut self, root: u32, wanted: (i64, OrderId)) -> Option<u32> {
        let at = *self.nodes.get(root as usize)?;
        if (at.key, at.id) == wanted {
            self.free.push(root);
            return Some(self.join(at.left, at.right));
        }
        if wanted < (at.key, at.id) {
            self.nodes[root as usize].left = self.cut(at.left, wanted)?;
        } else {
            self.nodes[root as usize].right = self.cut(at.right, wanted)?;
        }
        self.pull(root);
        Some(root)
    }

    fn cut_least(&mut self, root: u32) -> u32 {
        let Some(&at) = self.nodes.get(root as usize) else { return NONE };
        if at.id == at.least {
            self.free.push(root);
            return self.join(at.left, at.right);
        }
        if self.least(Tree(at.left)) == Some(at.least) {
            let left = self.cut_least(at.left);
            self.nodes[root as usize].left = left;
        } else {
            let right = self.cut_least(at.right);
            self.nodes[root as usize].right = right;
        }
        self.pull(root);
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn gives_what_a_walk_over_all_gives() {
        let mut random = 5u64;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        let mut slab = Slab::new(HashSeed::default());
        let (mut tree, mut taken) = (Tree::default(), Tree::default());
        let (mut model, mut gone) = (BTreeSet::new(), BTreeSet::new());
        let mut split_count = 0;
        for id in 1..40_000u64 {
            match next(8) {
                0..5 => {
                    let key = next(1_000) as i64;
                    slab.add(&mut tree, key, id);
                    model.insert((key, id));
                }
                5 => {
                    let from = (next(1_000) as i64, next(id));
                    let wanted = model.range(from..).next().copied().unwrap_or(from);
                    assert_eq!(slab.remove(&mut tree, wanted.0, wanted.1), model.remove(&wanted));
                }
                6 if slab.count(taken) == 0 => {
                    let key = next(300) as i64;
                    taken = slab.split_off(&mut tree, key);
                    let left = model.split_off(&(key, u64::MAX));
                    gone = std::mem::replace(&mut model, left).into_iter().map(|(_, id)| id).collect();
                    split_count += usize::from(!gone.is_empty());
                }
                _ => {
                    assert_eq!(slab.least(taken), gone.first().copied());
                    if gone.pop_first().is_some() {
                        slab.take_least(&mut taken);
                    }
                }
            }
            assert_eq!(slab.first(tree), model.first().map(|first| first.0));
            assert_eq!(slab.count(tree) as usize, model.len());
            assert_eq!(slab.count(taken) as usize, gone.len());
        }
        assert!(split_count > 100, "{split_count}");
        let mut ids = Vec::new();
        slab.ids(tree, &mut ids);
        assert!(ids.into_iter().eq(model.iter().map(|&(_, id)| id)));
        while let Some(first) = slab.take_first(&mut tree) {
            assert_eq!(model.pop_first(), Some(first));
        }
        assert!(model.is_empty());
        assert!(slab.nodes.len() < 40_000, "slots are used again");
    }
}
