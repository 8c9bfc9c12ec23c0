//! Entries, packed: what one commit adds to a list of an owner in a market goes into one row, or a few.
//!
//! A row per entry and a tree per way to find it came to thirteen insertions for a perpetual order. A pack is found by the id
//! and by the time of its last entry, and by the tags of its entries, those that are hashes apart ([`names`]); what a page needs
//! of it is picked out when it is read ([`walk`]). So all insertions are shared by the entries of the pack.
//!
//! Entries of a pack are in order of time and id, and their records of one version. Packs of a list follow each other, but in lists whose entries may come late
//! they overlap: no pack of those spans more than [`SPAN_MS`], so that whoever reads knows how far to look.

mod bytes;
pub(super) mod heads;
mod names;
pub(super) mod walk;

use super::super::FacetOf;
use super::super::row::Entry;
use super::schema;
use super::value::unsigned;
use bytes::Encoder;
use ringside_core::ids::Sequence;
use rusqlite::{CachedStatement, Transaction, params};

/// Milliseconds from the first to the last entry of a pack at most, where entries may come late.
const SPAN_MS: i64 = 4_096;
/// Low bits of tags that make no difference to where a pack is found.
const NEAR_BITS: u32 = 10;
/// Bytes from which on a pack takes no more: with its columns, and an entry more, most fit a page of 4 KiB.
const FULL: usize = 3_600;

/// What packs are found by for a tag of an entry. Most tags are numbers that rise, those of orders, so that entries of one pack
/// have tags that lie close together: a thousand of them count as one, and whoever reads picks out which are meant. Small
/// tags are kinds, and stay what they are.
fn coarse(tag: u64) -> u64 {
    match tag >> NEAR_BITS {
        0 => tag,
        near => near | 1 << (63 - NEAR_BITS),
    }
}

/// What the records of a list are filtered by, where they are.
pub(super) type FacetsOf = fn(u16) -> Option<FacetOf>;

/// A pack under way.
#[derive(Default)]
struct Open {
    encoder: Encoder,
    first: (i64, u64),
    last: (i64, u64),
    commands: (Sequence, Sequence),
    version: u16,
    count: u64,
    tags: Vec<u64>,
    names: Vec<u64>,
    facets: heads::Counts,
}

impl Open {
    /// Whether another entry goes into it.
    fn takes(&self, entry: &Entry) -> bool {
        let is_near = !entry.list.is_late || entry.time_ms.saturating_sub(self.first.0) <= SPAN_MS;
        self.encoder.bytes().len() < FULL && is_near && self.version == entry.version
    }

    fn add(&mut self, entry: &Entry, facet_of: Option<FacetOf>) -> rusqlite::Result<()> {
        if let Some(facet_of) = facet_of {
            self.facets.add(heads::facet(facet_of, entry.list.number, entry.version, &entry.bytes)?);
        }
        let too_long = || rusqlite::Error::ToSqlConversionFailure("a record is too long for a pack".into());
        self.encoder.add(entry).ok_or_else(too_long)?;
        if self.count == 0 {
            self.first = (entry.time_ms, entry.id);
            self.commands = (entry.sequence, entry.sequence);
            self.version = entry.version;
        }
        // Of ids the smallest and largest: a note may be told of after another that was made later.
        self.first.1 = self.first.1.min(entry.id);
        self.last = (entry.time_ms, if self.count == 0 { entry.id } else { self.last.1.max(entry.id) });
        let (first, last) = self.commands;
        self.commands = (first.min(entry.sequence), last.max(entry.sequence));
        self.count += 1;
        let (tags, tag) = match names::is_hash(entry.tag) {
            true => (&mut self.names, entry.tag),
            false => (&mut self.tags, coarse(entry.tag)),
        };
        if tag != 0 && tags.last() != Some(&tag) {
            tags.push(tag);
        }
        Ok(())
    }
}

/// Writes packs and what finds them.
struct Packer<'a> {
    transaction: &'a Transaction<'a>,
    pack: CachedStatement<'a>,
    head: CachedStatement<'a>,
    tag: CachedStatement<'a>,
    open: Open,
    /// Tags of a list's packs, their last ids and numbers.
    tags: Vec<(u64, u64, i64)>,
    /// Names of all lists.
    names: Vec<(u64, u64)>,
}

impl Packer<'_> {
    /// Entries of one owner's list in a market, in order of time and id.
    fn list<'e>(
        &mut self,
        entries: impl Iterator<Item = &'e Entry>,
        facet_of: Option<FacetOf>,
    ) -> rusqlite::Result<()> {
        let mut of = None;
        for entry in entries {
            if self.open.count > 0 && !self.open.takes(entry) {
                self.close(entry)?;
            }
            self.open.add(entry, facet_of)?;
            of = Some(entry);
        }
        let Some(of) = of else { return Ok(()) };
        self.close(of)?;
        // In the order of their tree.
        self.tags.sort_unstable();
        self.tags.dedup();
        for (tag, last_id, pack) in self.tags.drain(..) {
            let (tag, last_id) = (unsigned(tag)?, unsigned(last_id)?);
            self.tag.execute(params![of.list.number, of.owner, of.market, tag, last_id, pack])?;
        }
        Ok(())
    }

    /// Inserts the pack that is under way and begins the next, of the same list.
    fn close(&mut self, of: &Entry) -> rusqlite::Result<()> {
        let open = &mut self.open;
        let ((first_ms, first_id), (last_ms, last_id)) = (open.first, open.last);
        self.pack.execute(params![
            of.list.number,
            of.owner,
            of.market,
            first_ms,
            unsigned(first_id)?,
            last_ms,
            unsigned(last_id)?,
            unsigned(open.commands.0)?,
            unsigned(open.commands.1)?,
            unsigned(open.count)?,
            open.encoder.bytes(),
            open.version,
        ])?;
        let number = self.transaction.last_insert_rowid();
        self.head.execute(params![
            of.list.number,
            of.owner,
            of.market,
            unsigned(last_id)?,
            first_ms,
            unsigned(first_id)?,
            last_ms,
            unsigned(open.commands.0)?,
            unsigned(open.commands.1)?,
            unsigned(open.count)?,
            open.facets.take(),
            number,
        ])?;
        self.tags.extend(open.tags.drain(..).map(|tag| (tag, last_id, number)));
        self.names.extend(open.names.drain(..).map(|name| names::pair(of, name, last_id)));
        open.encoder.clear();
        open.count = 0;
        Ok(())
    }
}

/// Adds entries to their lists, whatever order they are in.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    rows: &[Entry],
    facets: FacetsOf,
) -> rusqlite::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    // List, owner, market and place in one number, which is quick to sort by.
    let place = |(index, row): (usize, &Entry)| {
        let list =
            u128::from(row.list.number) << 96 | u128::from(row.owner) << 64 | u128::from(row.market) << 32;
        list | index as u128
    };
    let mut places: Vec<u128> = rows.iter().enumerate().map(place).collect();
    places.sort_unstable();
    let row = |place: &u128| &rows[*place as u32 as usize];
    let mut packer = Packer {
        transaction,
        pack: transaction.prepare_cached(schema::INSERT_PACK)?,
        head: transaction.prepare_cached(schema::INSERT_HEAD)?,
        tag: transaction.prepare_cached(schema::INSERT_TAG)?,
        open: Open::default(),
        tags: Vec::new(),
        names: Vec::new(),
    };
    for list in places.chunk_by_mut(|one, next| *one >> 32 == *next >> 32) {
        let order = |place: &u128| (row(place).time_ms, row(place).id);
        if !list.is_sorted_by_key(order) {
            list.sort_unstable_by_key(order);
        }
        packer.list(list.iter().map(row), facets(row(&list[0]).list.number))?;
    }
    names::insert(transaction, packer.names)
}
