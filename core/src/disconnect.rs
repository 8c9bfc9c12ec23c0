//! Connections whose loss cancels orders: what is armed, by whom, and since when a connection is gone.
//!
//! An account arms one market, or all; the last connection that does owns it. Lost, it has a grace to come back in: whoever of the
//! account arms or disarms again within it keeps the orders. A new incarnation of the process is the loss of every
//! connection, and gives each the whole grace from then on. What ends the orders is the engine's.

use crate::command::{GRACE_MAX_MS, SetDisconnect};
use crate::ids::{AccountId, MarketId};
use crate::snapshot::{Reader, SnapshotError, ensure};
use crate::state_hash::Bytes;
use std::collections::{BTreeMap, BTreeSet};

const MAGIC: [u8; 4] = *b"DSCN";
const VERSION: u32 = 1;

/// See the module.
#[derive(Default)]
pub(crate) struct Disconnects {
    armed: BTreeMap<(AccountId, MarketId), Armed>,
    /// Those whose connection is gone, by deadline, ms: follows from the others.
    due: BTreeSet<(i64, AccountId, MarketId)>,
}

#[derive(Clone, Copy, Debug)]
struct Armed {
    /// The connection that owns it.
    session: u64,
    grace_ms: u32,
    /// When orders end, ms; 0 while it is connected.
    deadline_ms: i64,
}

impl Disconnects {
    /// Whether anything is armed.
    pub(crate) fn is_used(&self) -> bool {
        !self.armed.is_empty()
    }

    /// The connection is there: from now on its loss ends orders.
    pub(crate) fn arm(&mut self, set: &SetDisconnect) {
        let armed = Armed { session: set.session, grace_ms: set.grace_ms, deadline_ms: 0 };
        self.put((set.account, set.market), Some(armed));
    }

    /// No connection's loss does any more.
    pub(crate) fn disarm(&mut self, account: AccountId, market: MarketId) {
        self.put((account, market), None);
    }

    /// A connection is gone. What another has taken over since is not its own.
    pub(crate) fn lose(&mut self, account: AccountId, session: u64, now_ms: i64) {
        let of_account = self.armed.range((account, MarketId::MIN)..=(account, MarketId::MAX));
        let own = of_account.filter(|(_, armed)| armed.session == session && armed.deadline_ms == 0);
        let own: Vec<_> = own.map(|(place, armed)| (*place, *armed)).collect();
        for (place, armed) in own {
            self.put(place, Some(Armed { deadline_ms: now_ms + i64::from(armed.grace_ms), ..armed }));
        }
    }

    /// All connections are gone, and none could come back until now.
    pub(crate) fn lose_all(&mut self, now_ms: i64) {
        self.due.clear();
        for ((account, market), armed) in &mut self.armed {
            armed.deadline_ms = now_ms + i64::from(armed.grace_ms);
            self.due.insert((armed.deadline_ms, *account, *market));
        }
    }

    /// The first deadline, ms.
    pub(crate) fn first_ms(&self) -> Option<i64> {
        self.due.first().map(|(deadline_ms, ..)| *deadline_ms)
    }

    /// Takes out whose grace is over, by deadline, account, market, `most` of them.
    pub(crate) fn take_due(&mut self, now_ms: i64, most: u32) -> Vec<(AccountId, MarketId)> {
        let over = self.due.iter().take_while(|(deadline_ms, ..)| *deadline_ms <= now_ms).take(most as usize);
        let over: Vec<_> = over.map(|(_, account, market)| (*account, *market)).collect();
        over.iter().for_each(|place| self.put(*place, None));
        over
    }

    fn put(&mut self, place: (AccountId, MarketId), armed: Option<Armed>) {
        let before = match armed {
            Some(armed) => self.armed.insert(place, armed),
            None => self.armed.remove(&place),
        };
        let deadline = |armed: Option<Armed>| armed.map_or(0, |armed| armed.deadline_ms);
        if deadline(before) != 0 {
            self.due.remove(&(deadline(before), place.0, place.1));
        }
        if deadline(armed) != 0 {
            self.due.insert((deadline(armed), place.0, place.1));
        }
    }

    /// Writes the section of the state, behind that of deposits and only where something is armed: magic [4] "DSCN" | version u32 |
    /// count u64, by account and market, each: account u32, market u32, session u64, grace u32, deadline i64.
    pub(crate) fn write<B: Bytes>(&self, out: &mut B) {
        out.put(&MAGIC);
        out.put(&VERSION.to_le_bytes());
        out.put(&(self.armed.len() as u64).to_le_bytes());
        for ((account, market), armed) in &self.armed {
            out.put(&account.to_le_bytes());
            out.put(&market.to_le_bytes());
            out.put(&armed.session.to_le_bytes());
            out.put(&armed.grace_ms.to_le_bytes());
            out.put(&armed.deadline_ms.to_le_bytes());
        }
    }

    /// Whether the section comes next.
    pub(crate) fn is_next(reader: &Reader<'_>) -> bool {
        reader.peek() == Some(&MAGIC)
    }

    /// Reads the section. `exists` says which accounts and markets there are.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        exists: impl Fn(AccountId, MarketId) -> bool,
    ) -> Result<Disconnects, SnapshotError> {
        ensure(reader.array()? == MAGIC, "no section of connections")?;
        ensure(reader.u32()? == VERSION, "unknown version of the section of connections")?;
        let mut all = Disconnects::default();
        let mut last = None;
        for _ in 0..reader.count(28)? {
            let place = (reader.u32()?, reader.u32()?);
            ensure(exists(place.0, place.1), "a connection of nobody, or nowhere")?;
            ensure(last.is_none_or(|last| last < place), "connections out of order")?;
            last = Some(place);
            let (session, grace_ms, deadline_ms) = (reader.u64()?, reader.u32()?, reader.i64()?);
            ensure(grace_ms <= GRACE_MAX_MS && deadline_ms >= 0, "a grace out of range")?;
            all.put(place, Some(Armed { session, grace_ms, deadline_ms }));
        }
        ensure(all.is_used(), "a section of connections without any")?;
        Ok(all)
    }
}
