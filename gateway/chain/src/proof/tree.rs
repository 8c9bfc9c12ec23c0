//! A Merkle-sum tree of what one token's accounts are owed (`spot.md` 10.1).
//!
//! ```text
//! leaf  SHA-256(00 || salt 32 || account 20 || token 10, padded with zeros || amount 16)       sum: the amount
//! node  SHA-256(01 || hash of the left 32 || its sum 16 || hash of the right 32 || its sum 16)   sum: of both
//! root  SHA-256(02 || sequence 8 || block 8 || state hash 16 || for each token: name 10, sum 16, hash of its tree 32,
//!               owed 16, unbacked 16, held 16)                                  these three with a sign, -1 where nothing is known to be held
//! ```
//! Numbers are unsigned and big-endian, amounts in steps of 10^-18: no leaf is below zero and no sum wraps, so that a sum cannot be made
//! smaller. A node covers the sums of both its children, each in its place, and the first byte tells leaf, node and root apart. A
//! node without a neighbour goes up as it is; the tree of no leaf is 32 zero bytes and sum 0. Leaves lie in the order of their hashes,
//! which salts make random: a place tells nothing. A path shows one leaf's neighbour and sums of more and more others, none of them with a
//! name; without the salt nobody can try names.

use ringside_core::ids::{AccountId, Address, AssetName};
use sha2::{Digest, Sha256};

/// Of SHA-256.
pub type Hash = [u8; 32];

/// The hash and the sum of a leaf or of everything below a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// See the module.
    pub hash: Hash,
    /// In steps of 10^-18.
    pub sum: u128,
}

/// What one account is owed of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Random, and known to the account alone.
    pub salt: Hash,
    /// Its wallet.
    pub account: Address,
    /// Of what.
    pub token: AssetName,
    /// How much, in steps of 10^-18.
    pub amount: u128,
}

impl Leaf {
    /// See the module.
    pub fn node(&self) -> Node {
        let mut hash = Sha256::new();
        hash.update([0]);
        hash.update(self.salt);
        hash.update(self.account);
        hash.update(self.token);
        hash.update(self.amount.to_be_bytes());
        Node { hash: hash.finalize().into(), sum: self.amount }
    }
}

/// What stands above two nodes; `None` where the sum leaves its range.
pub fn join(left: &Node, right: &Node) -> Option<Node> {
    let mut hash = Sha256::new();
    hash.update([1]);
    for node in [left, right] {
        hash.update(node.hash);
        hash.update(node.sum.to_be_bytes());
    }
    Some(Node { hash: hash.finalize().into(), sum: left.sum.checked_add(right.sum)? })
}

/// A neighbour on the way from a leaf to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whether it is the left one of the two.
    pub is_left: bool,
    /// It.
    pub node: Node,
}

/// The root that a leaf and its path lead to; `None` where a sum leaves its range.
pub fn climb(leaf: &Leaf, path: &[Step]) -> Option<Node> {
    path.iter().try_fold(leaf.node(), |node, step| match step.is_left {
        true => join(&step.node, &node),
        false => join(&node, &step.node),
    })
}

/// See the module. Takes about 104 bytes for each leaf.
#[derive(Debug, Default)]
pub struct Tree {
    /// From the leaves up; the last is the root alone.
    levels: Vec<Vec<Node>>,
    /// Place of each account's leaf, by account.
    places: Vec<(AccountId, u32)>,
}

impl Tree {
    /// Of these leaves, at most one for each account; `None` where the sum leaves its range.
    pub fn new(leaves: impl Iterator<Item = (AccountId, Leaf)>) -> Option<Tree> {
        let mut all: Vec<(AccountId, Node)> = leaves.map(|(account, leaf)| (account, leaf.node())).collect();
        all.sort_unstable_by_key(|(_, node)| node.hash);
        let mut places: Vec<_> = (0..).zip(&all).map(|(place, (account, _))| (*account, place)).collect();
        places.sort_unstable();
        let mut level: Vec<Node> = all.into_iter().map(|(_, node)| node).collect();
        let mut levels = Vec::new();
        while level.len() > 1 {
            let above = level.chunks(2).map(|pair| match pair {
                [left, right] => join(left, right),
                _ => pair.first().copied(),
            });
            let above = above.collect::<Option<Vec<Node>>>()?;
            levels.push(std::mem::replace(&mut level, above));
        }
        levels.push(level);
        Some(Tree { levels, places })
    }

    /// The root.
    pub fn root(&self) -> Node {
        self.levels.last().and_then(|level| level.first()).copied().unwrap_or_default()
    }

    /// What an account's leaf says, and the way from it to the root; `None` where it has none.
    pub fn path(&self, account: AccountId) -> Option<(u128, Vec<Step>)> {
        let found = self.places.binary_search_by_key(&account, |(known, _)| *known).ok()?;
        let mut place = self.places[found].1 as usize;
        let amount = self.levels.first()?.get(place)?.sum;
        let mut path = Vec::with_capacity(self.levels.len());
        for level in &self.levels {
            if let Some(node) = level.get(place ^ 1) {
                path.push(Step { is_left: place & 1 == 1, node: *node });
            }
            place /= 2;
        }
        Some((amount, path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaf(number: u32, amount: u128) -> Leaf {
        let mut salt = [0; 32];
        salt[..4].copy_from_slice(&number.to_be_bytes());
        Leaf { salt, account: [number as u8; 20], token: *b"USDT\0\0\0\0\0\0", amount }
    }

    fn tree(amounts: &[u128]) -> (Vec<Leaf>, Tree) {
        let leaves: Vec<Leaf> = (0..).zip(amounts).map(|(number, amount)| leaf(number, *amount)).collect();
        let tree = Tree::new((0..).zip(leaves.iter().copied())).unwrap();
        (leaves, tree)
    }

    proptest! {
        /// Every leaf proves, the root is the sum, and whatever is altered proves nothing.
        #[test]
        fn what_is_in_it_proves_and_nothing_else(
            amounts in prop::collection::vec(0..u128::MAX >> 8, 0..70),
            flip in any::<prop::sample::Index>(),
        ) {
            let (leaves, tree) = tree(&amounts);
            prop_assert_eq!(tree.root().sum, amounts.iter().sum::<u128>());
            prop_assert_eq!(tree.path(amounts.len() as u32), None);
            for (account, leaf) in (0..).zip(&leaves) {
                let (amount, path) = tree.path(account).unwrap();
                prop_assert_eq!(amount, leaf.amount);
                prop_assert_eq!(climb(leaf, &path), Some(tree.root()));
                let proves = |leaf: &Leaf, path: &[Step]| climb(leaf, path) == Some(tree.root());
                let bit = |len: usize| (flip.index(len * 8) / 8, 1u8 << (flip.index(len * 8) % 8));
                let mut other = *leaf;
                other.salt[bit(32).0] ^= bit(32).1;
                prop_assert!(!proves(&other, &path));
                let mut other = *leaf;
                other.account[bit(20).0] ^= bit(20).1;
                prop_assert!(!proves(&other, &path));
                let mut other = *leaf;
                other.token[bit(10).0] ^= bit(10).1;
                prop_assert!(!proves(&other, &path));
                let mut other = *leaf;
                other.amount ^= 1 << flip.index(120);
                prop_assert!(!proves(&other, &path));
                for step in 0..path.len() {
                    let altered = |change: &dyn Fn(&mut Step)| {
                        let mut path = path.clone();
                        change(&mut path[step]);
                        path
                    };
                    prop_assert!(!proves(leaf, &altered(&|step| step.is_left ^= true)));
                    prop_assert!(!proves(leaf, &altered(&|step| step.node.hash[bit(32).0] ^= bit(32).1)));
                    prop_assert!(!proves(leaf, &altered(&|step| step.node.sum ^= 1 << flip.index(120))));
                    let mut shorter = path.clone();
                    shorter.remove(step);
                    prop_assert!(!proves(leaf, &shorter));
                }
            }
        }
    }

    /// A sum that is moved from one side to the other, or wraps, is not the same node.
    #[test]
    fn sums_are_part_of_what_is_hashed() {
        let (one, two) = (leaf(1, 5).node(), leaf(2, 7).node());
        let moved = [Node { sum: 4, ..one }, Node { sum: 8, ..two }];
        assert_eq!(join(&moved[0], &moved[1]).unwrap().sum, 12);
        assert_ne!(join(&moved[0], &moved[1]), join(&one, &two));
        assert_eq!(join(&Node { sum: u128::MAX, ..one }, &two), None);
        assert!(Tree::new([(1, leaf(1, u128::MAX)), (2, leaf(2, 1))].into_iter()).is_none());
        assert_eq!(Tree::new(std::iter::empty()).unwrap().root(), Node::default());
    }
}
