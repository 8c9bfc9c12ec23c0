//! Holders of one market by what does not move with its mark, each in a region of keys
//! (`risk/perpetual/adl_region.rs`): so that auto-deleveraging looks at those who can be first, not at all.
//!
//! Each side is a tree of sixteen branches a node, as deep as there is need of: at its ends lie lists of up to [`ROOM`]
//! accounts, one that is full becomes a node. Whoever has no key (several positions in one scope, dust) stands in a list beside
//! it. Not state: an engine restored from a snapshot enters everybody anew. Who comes before whom is decided in
//! `perpetual/adl_priority.rs`.

use crate::account::Sparse;
use crate::book::pool::{Chained, NONE, Pool};
use crate::ids::AccountId;
use crate::memory::Pages;
use crate::money::{Price, Rate};
use crate::prefetch::prefetch;
use crate::risk::perpetual::adl_region::{DEPTH_MAX, Key, PARTS, Paid, Region};
use zerocopy::FromZeros;

/// Accounts in one list.
const ROOM: usize = 30;
/// Marks a branch that is a list.
const LIST: u32 = 1 << 31;
/// Nodes and lists taken at once.
const CHUNK: usize = 1024;
/// Accounts without a key that there is memory for at start.
const LOOSE: usize = 1024;

/// Where a holder stands. All zeros: nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
struct Seat {
    entry: u32,
    rest: u32,
    /// The list it is in.
    list: u32,
    /// Its place there.
    place: u32,
    /// Which of the four groups it is in, + 1.
    group: u16,
    /// How many parts on the way to its list.
    depth: u16,
}

/// Which holders it stands among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// By its key.
    Keyed { is_long: bool, key: Key },
    /// Beside those with keys.
    Loose { is_long: bool },
}

impl Group {
    fn number(self) -> u16 {
        match self {
            Group::Keyed { is_long, .. } => 1 + u16::from(is_long),
            Group::Loose { is_long } => 3 + u16::from(is_long),
        }
    }
}

/// See the module.
pub(crate) struct AdlQueue {
    seats: Sparse<Seat, 1024>,
    /// Short holders, long holders.
    trees: [Tree; 2],
    loose: [Vec<AccountId>; 2],
    /// What funding took since the places of all were given: of short holders, of long ones.
    paid: [Paid; 2],
    /// Who is next in the walk that gives all of them anew, and what had been taken when it began.
    walk: Option<(AccountId, [Paid; 2])>,
}

impl AdlQueue {
    /// Nobody; memory for the seats of `accounts`.
    pub(crate) fn new(accounts: usize, pages: Pages) -> AdlQueue {
        AdlQueue {
            seats: Sparse::new(accounts, pages),
            trees: [(); 2].map(|()| Tree::new(accounts, pages)),
            loose: [(); 2].map(|()| Vec::with_capacity(LOOSE)),
            paid: [Paid::default(); 2],
            walk: None,
        }
    }

    /// Notes that all holders of a side paid a rate > 0 of their notional at a mark, without giving them other places.
    pub(crate) fn pay(&mut self, is_long: bool, mark: Price, rate: Rate) {
        let paid = &mut self.paid[usize::from(is_long)];
        *paid = paid.with(mark, rate);
    }

    /// What holders of a side may have paid since they were given their places.
    pub(crate) fn paid(&self, is_long: bool) -> Paid {
        self.paid[usize::from(is_long)]
    }

    /// Where the walk is that gives all their places anew; `None` while nobody has paid.
    pub(crate) fn walk(&mut self) -> Option<AccountId> {
        if self.walk.is_none() && self.paid != [Paid::default(); 2] {
            self.walk = Some((0, self.paid));
        }
        self.walk.map(|(next, _)| next)
    }

    /// The walk comes to `next`, or to its end.
    pub(crate) fn walk_on(&mut self, next: Option<AccountId>) {
        match (next, &mut self.walk) {
            (Some(next), Some(walk)) => walk.0 = next,
            (None, Some((_, before))) => {
                self.paid = [0, 1].map(|side| self.paid[side].since(before[side]));
                self.walk = None;
            }
            (_, None) => {}
        }
    }

    /// Gives an account its place, or none.
    pub(crate) fn set(&mut self, account: AccountId, group: Option<Group>) {
        let seat = *self.seats.get(account);
        let number = group.map_or(0, Group::number);
        if seat.group == number {
            let Some(Group::Keyed { key, .. }) = group else { return };
            if key.shares(key_of(&seat), seat.depth as u8) {
                // Its list holds both keys.
                let seat = self.seats.get_mut(account);
                (seat.entry, seat.rest) = (key.entry, key.rest);
                return;
            }
        }
        match seat.group {
            0 => {}
            group @ (1 | 2) => self.trees[group as usize - 1].remove(&mut self.seats, account),
            group => {
                let list = &mut self.loose[group as usize - 3];
                list.swap_remove(seat.place as usize);
                if let Some(&moved) = list.get(seat.place as usize) {
                    self.seats.get_mut(moved).place = seat.place;
                }
            }
        }
        let seat = self.seats.get_mut(account);
        *seat = Seat { group: number, ..Seat::default() };
        match group {
            None => {}
            Some(Group::Keyed { is_long, key }) => {
                (seat.entry, seat.rest) = (key.entry, key.rest);
                self.trees[usize::from(is_long)].insert(&mut self.seats, account);
            }
            Some(Group::Loose { is_long }) => {
                let list = &mut self.loose[usize::from(is_long)];
                seat.place = list.len() as u32;
                list.push(account);
            }
        }
    }

    /// Where an account stands.
    pub(crate) fn group(&self, account: AccountId) -> Option<Group> {
        let seat = self.seats.get(account);
        match seat.group {
            0 => None,
            group @ (1 | 2) => Some(Group::Keyed { is_long: group == 2, key: key_of(seat) }),
            group => Some(Group::Loose { is_long: group == 4 }),
        }
    }

    /// Holders of a side that have no key.
    pub(crate) fn loose(&self, is_long: bool) -> &[AccountId] {
        &self.loose[usize::from(is_long)]
    }

    /// What a region of holders of a side consists of: smaller regions, or accounts, some of which may be of regions beside it.
    pub(crate) fn open(&self, is_long: bool, region: Region, mut show: impl FnMut(Part)) {
        let tree = &self.trees[usize::from(is_long)];
        let mut branch = tree.root;
        for depth in 0..region.depth() {
            branch = tree.nodes.get(branch).branches[region.first().part(depth)];
            if branch == NONE {
                return;
            }
            if branch & LIST != 0 {
                break;
            }
        }
        if branch & LIST == 0 {
            let branches = &tree.nodes.get(branch).branches;
            let parts = (0..PARTS).filter(|&part| branches[part] != NONE);
            parts.for_each(|part| show(Part::Region(region.part(part))));
            return;
        }
        let mut slot = branch & !LIST;
        while slot != NONE {
            let list = tree.lists.get(slot);
            list.accounts[..list.count as usize].iter().for_each(|&account| show(Part::Account(account)));
            slot = list.next;
        }
    }

    /// Whether looks into a region of a side, and into the parts that it shows, come to an account.
    pub(crate) fn leads_to(&self, is_long: bool, region: Region, account: AccountId) -> bool {
        let seat = self.seats.get(account);
        let depth = region.depth().min(seat.depth as u8);
        seat.group == 1 + u16::from(is_long) && key_of(seat).shares(region.first(), depth)
    }

    /// Hints that an account is given another place soon.
    #[inline]
    pub(crate) fn hint(&self, account: AccountId) {
        prefetch(self.seats.get(account));
    }

    /// The same once its seat has come near: the list it leaves.
    #[inline]
    pub(crate) fn hint_list(&self, account: AccountId) {
        let seat = self.seats.get(account);
        if let 1 | 2 = seat.group {
            let list = self.trees[seat.group as usize - 1].lists.get(seat.list);
            prefetch(list);
            prefetch(&list.accounts[(seat.place as usize).min(ROOM - 1)]);
        }
    }

    /// Where the way to a group's list begins; `None` for those without keys. For hints.
    #[inline]
    pub(crate) fn way(&self, group: Group) -> Option<Way<'_>> {
        let Group::Keyed { is_long, key } = group else { return None };
        let tree = &self.trees[usize::from(is_long)];
        Some(Way { tree, node: tree.root, key })
    }

    /// Everybody of a side, in no order that means anything.
    #[cfg(test)]
    fn all(&self, is_long: bool) -> Vec<AccountId> {
        let (mut all, mut open) = (self.loose(is_long).to_vec(), vec![Region::ALL]);
        while let Some(region) = open.pop() {
            self.open(is_long, region, |part| match part {
                Part::Region(part) => open.push(part),
                Part::Account(account) => all.push(account),
            });
        }
        all
    }
}

/// How far somebody has come on the way down to its list.
pub(crate) struct Way<'a> {
    tree: &'a Tree,
    node: u32,
    key: Key,
}

/// Hints that accounts are entered soon. All go down in step, so that they wait for memory together.
pub(crate) fn hint_ways(ways: &mut [Option<Way<'_>>]) {
    for depth in 0..DEPTH_MAX {
        let mut go_on = false;
        for place in ways.iter_mut() {
            let Some(way) = place else { continue };
            let branch = way.tree.nodes.get(way.node).branches[way.key.part(depth)];
            if branch & LIST == 0 && branch != NONE {
                way.node = branch;
                go_on = true;
            } else {
                let list = way.tree.lists.get(branch & !LIST);
                prefetch(list);
                prefetch(&list.accounts[ROOM / 2]);
                *place = None;
            }
        }
        if !go_on {
            return;
        }
    }
}

/// A part of a region.
pub(crate) enum Part {
    /// Not looked into yet.
    Region(Region),
    /// One of those in it.
    Account(AccountId),
}

/// A part of a tree: a node or a list by the part of its region, lists marked [`LIST`].
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Node {
    branches: [u32; PARTS],
}

impl Chained for Node {
    fn chain(&mut self) -> &mut u32 {
        &mut self.branches[0]
    }
}

/// Accounts with keys of one region.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct List {
    count: u32,
    /// The list that goes on with it: only where digits of keys are at their end.
    next: u32,
    accounts: [AccountId; ROOM],
}

impl Chained for List {
    fn chain(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// Holders of one side.
struct Tree {
    nodes: Pool<Node, CHUNK>,
    lists: Pool<List, CHUNK>,
    /// The node that it begins at.
    root: u32,
}

impl Tree {
    fn new(accounts: usize, pages: Pages) -> Tree {
        // Memory comes with those who hold.
        let mut nodes = Pool::new(CHUNK, accounts.max(CHUNK), pages);
        let root = nodes.take();
        Tree { nodes, lists: Pool::new(CHUNK, accounts.max(CHUNK), pages), root }
    }

    /// An empty list, or one that goes on with another.
    fn new_list(&mut self, next: u32) -> u32 {
        let slot = self.lists.take();
        let list = self.lists.get_mut(slot);
        (list.count, list.next) = (0, next);
        slot
    }

    /// Puts an account at the end of a list with room.
    fn push(&mut self, seats: &mut Sparse<Seat, 1024>, (slot, depth): (u32, u8), account: AccountId) {
        let list = self.lists.get_mut(slot);
        let place = list.count;
        list.accounts[place as usize] = account;
        list.count += 1;
        let seat = seats.get_mut(account);
        (seat.list, seat.place, seat.depth) = (slot, place, depth.into());
    }

    /// Enters an account whose seat has its key.
    fn insert(&mut self, seats: &mut Sparse<Seat, 1024>, account: AccountId) {
        let key = key_of(seats.get(account));
        let mut node = self.root;
        for depth in 0..DEPTH_MAX {
            let part = key.part(depth);
            let branch = self.nodes.get(node).branches[part];
            if branch & LIST == 0 && branch != NONE {
                node = branch;
                continue;
            }
            let list = branch & !LIST;
            if list != NONE && (self.lists.get(list).count as usize) < ROOM {
                return self.push(seats, (list, depth + 1), account);
            }
            if list == NONE || depth + 1 == DEPTH_MAX {
                let first = self.new_list(list);
                self.nodes.get_mut(node).branches[part] = LIST | first;
                return self.push(seats, (first, depth + 1), account);
            }
            // Full: those in it are divided by their next digits.
            let divided = self.lists.get(list).accounts;
            // Their seats lie anywhere: they come all at once, not one after the other.
            divided.iter().for_each(|&moved| prefetch(seats.get(moved)));
            self.lists.give(list);
            let new = self.nodes.take();
            *self.nodes.get_mut(new) = Node::default();
            self.nodes.get_mut(node).branches[part] = new;
            for moved in divided {
                let part = key_of(seats.get(moved)).part(depth + 1);
                let mut list = self.nodes.get(new).branches[part] & !LIST;
                if list == NONE {
                    list = self.new_list(NONE);
                    self.nodes.get_mut(new).branches[part] = LIST | list;
                }
                self.push(seats, (list, depth + 2), moved);
            }
            node = new;
        }
    }

    /// Takes an account out, and what is empty then.
    fn remove(&mut self, seats: &mut Sparse<Seat, 1024>, account: AccountId) {
        let seat = *seats.get(account);
        if u16::from(DEPTH_MAX) != seat.depth && self.lists.get(seat.list).count > 1 {
            // Others stay in the one list of its region.
            return self.take_out(seats, &seat, seat.list, account);
        }
        let key = key_of(&seat);
        let mut path = [self.root; DEPTH_MAX as usize];
        let mut depth = 0;
        let first = loop {
            let branch = self.nodes.get(path[depth]).branches[key.part(depth as u8)];
            if branch & LIST != 0 {
                break branch & !LIST;
            }
            depth += 1;
            path[depth] = branch;
        };
        self.take_out(seats, &seat, first, account);
        let List { count, next, .. } = *self.lists.get(first);
        if count != 0 {
            return;
        }
        self.lists.give(first);
        let branch = if next == NONE { NONE } else { LIST | next };
        loop {
            let node = self.nodes.get_mut(path[depth]);
            node.branches[key.part(depth as u8)] = branch;
            if branch != NONE || depth == 0 || node.branches.iter().any(|&branch| branch != NONE) {
                return;
            }
            self.nodes.give(path[depth]);
            depth -= 1;
        }
    }

    /// Has the last of the first list take an account's place, so that all that go on are full.
    fn take_out(&mut self, seats: &mut Sparse<Seat, 1024>, seat: &Seat, first: u32, account: AccountId) {
        let list = self.lists.get_mut(first);
        list.count -= 1;
        let last = list.accounts[list.count as usize];
        if last != account {
            self.lists.get_mut(seat.list).accounts[seat.place as usize] = last;
            let moved = seats.get_mut(last);
            (moved.list, moved.place) = (seat.list, seat.place);
        }
    }
}

fn key_of(seat: &Seat) -> Key {
    Key { entry: seat.entry, rest: seat.rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn everybody_is_found_in_the_region_of_its_key() {
        let mut crowd = AdlQueue::new(100, Pages::Small);
        let mut model: BTreeMap<AccountId, Group> = BTreeMap::new();
        let mut random = 11u64;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        for step in 0..60_000 {
            let account = next(2_000) as AccountId;
            let is_long = next(3) == 0;
            // Many alike, some far apart, some close.
            let key = match next(3) {
                0 => Key { entry: 77, rest: 5 },
                1 => Key { entry: next(1 << 32) as u32, rest: next(1 << 32) as u32 },
                _ => Key { entry: 1 << 20 | next(40) as u32, rest: 9 << 24 | next(3) as u32 },
            };
            // It fills, then it empties.
            let group = match next(20) {
                0 => Some(Group::Loose { is_long }),
                number if number < if step < 40_000 { 16 } else { 3 } => Some(Group::Keyed { is_long, key }),
                _ => None,
            };
            crowd.set(account, group);
            match group {
                Some(group) => _ = model.insert(account, group),
                None => _ = model.remove(&account),
            }
            if step % 997 != 0 {
                continue;
            }
            for is_long in [false, true] {
                let mut all = crowd.all(is_long);
                all.sort_unstable();
                let expected = model.iter().filter(|(_, group)| match group {
                    Group::Keyed { is_long: side, .. } | Group::Loose { is_long: side } => *side == is_long,
                });
                assert_eq!(all, expected.map(|(&account, _)| account).collect::<Vec<_>>(), "{step}");
            }
            for (&account, group) in &model {
                let Group::Keyed { is_long, key } = *group else { continue };
                for depth in 0..DEPTH_MAX {
                    let region = (0..depth).fold(Region::ALL, |region, depth| region.part(key.part(depth)));
                    let mut is_there = false;
                    crowd.open(is_long, region, |part| {
                        is_there |= match part {
                            Part::Region(part) => part == region.part(key.part(depth)),
                            Part::Account(found) => found == account,
                        };
                    });
                    assert!(is_there, "{account} of {key:?} is not in {region:?}");
                    assert!(crowd.leads_to(is_long, region, account));
                    assert!(!crowd.leads_to(!is_long, region, account));
                }
            }
        }
        for account in 0..2_000 {
            crowd.set(account, None);
        }
        assert!(crowd.all(false).is_empty() && crowd.all(true).is_empty());
        // Nothing is kept by mistake: what was taken can be taken again.
        for tree in &crowd.trees {
            assert!(tree.nodes.get(tree.root).branches.iter().all(|&branch| branch == NONE));
            assert_eq!((tree.nodes.count(), tree.lists.count()), (Ok(1), Ok(0)));
        }
    }
}
