//! Queries. Each names the index that answers it, so that the planner cannot take a worse one however its statistics look;
//! a query whose index were gone would fail to prepare.

use super::super::row::Entry;
use super::super::{ArchiveError, ArchiveReader, EntriesAsked, Looked, Mark, Passed, Removed};
use super::column::unsigned;
use super::entries::heads::Queries;
use super::entries::{FacetsOf, walk};
use super::prune;
use ringside_core::ids::{AccountId, MarketId};
use rusqlite::{Connection, Row};
use std::path::PathBuf;

/// What the database would do for each list query.
pub(super) fn plans(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let queries = Queries::new(|_| None).named();
    let mut plans = Vec::new();
    for (name, sql) in queries {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        // Parameters stay unbound: a plan does not depend on them.
        let mut steps = explain.raw_query();
        let mut plan = Vec::new();
        while let Some(step) = steps.next()? {
            plan.push(step.get::<_, String>(3)?);
        }
        plans.push((name, plan.join("; ")));
    }
    Ok(plans)
}

pub(super) struct Reader {
    connection: Connection,
    path: PathBuf,
    entries: Queries,
}

impl Reader {
    pub(super) fn new(connection: Connection, path: PathBuf, facets: FacetsOf) -> Reader {
        Reader { connection, path, entries: Queries::new(facets) }
    }

    fn failed(&self, what: &'static str, error: rusqlite::Error) -> ArchiveError {
        match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..) => {
                let place = self.path.display().to_string();
                ArchiveError::Row { what, place, reason: error.to_string() }
            }
            error => super::failed(&self.path, "read from", error),
        }
    }
}

impl ArchiveReader for Reader {
    fn mark(&mut self) -> Result<Mark, ArchiveError> {
        let read = |row: &Row<'_>| Ok(Mark { sequence: unsigned(row, 0)?, time_ns: row.get(1)? });
        let found = self.connection.query_row("SELECT sequence, time_ns FROM meta", [], read);
        found.map_err(|error| self.failed("the mark", error))
    }

    fn rows(&mut self) -> Result<u64, ArchiveError> {
        let sql = "SELECT coalesce(sum(count), 0) FROM packs";
        let found = self.connection.query_row(sql, [], |row| unsigned(row, 0));
        found.map_err(|error| self.failed("the number of rows", error))
    }

    fn entries(&mut self, asked: &EntriesAsked, rows: &mut Vec<Entry>) -> Result<Looked, ArchiveError> {
        let listed = walk::list(&self.connection, &self.entries, asked, rows);
        listed.map_err(|error| self.failed("an entry", error))
    }

    fn pass_entries(
        &mut self,
        asked: &EntriesAsked,
        beside: &[i64],
        most: u64,
    ) -> Result<Passed, ArchiveError> {
        let passed = walk::pass(&self.connection, &self.entries, asked, beside, most);
        passed.map_err(|error| self.failed("a number of entries", error))
    }

    fn removed(
        &mut self,
        list: u16,
        owner: AccountId,
        market: Option<MarketId>,
    ) -> Result<Option<Removed>, ArchiveError> {
        let removed = prune::removed(&self.connection, list, owner, market);
        removed.map_err(|error| self.failed("what was removed", error))
    }
}
