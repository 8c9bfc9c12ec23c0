//! The whole state <-> bytes: a header, then the canonical bytes of `state_hash.rs`. Files are `persist`'s.
//!
//! ```text
//! magic [8] "ringside" | format u32 | engine version u32 | length of the state u64 | hash of the state [16]
//! checkpoint: 1 and its sequence u64 and hash [16], or 0 and as many zeros | hash of all that [16] | state
//! ```

use crate::account::{Accounts, Asset, Balance, Balances};
use crate::book::grid::{Step, gcd};
use crate::book::{Book, Orders};
use crate::command::{MarketKind, MarketStatus, SelfTradePrevention, Side, TimeInForce};
use crate::deposit::Deposits;
use crate::disconnect::Disconnects;
use crate::engine::idempotency::{Idempotency, Use};
use crate::engine::sources::Sources;
use crate::engine::{ENGINE_VERSION, Engine, EngineConfig};
use crate::ids::{MarketId, OrderId};
use crate::market::{Market, Rules};
use crate::money::{FeeRate, MAX_ENTRY, rate_of_kept};
use crate::order::{Order, Traits};
use crate::perpetual::Perpetual;
use crate::state_hash::{DELISTS, hash};
use crate::time::EngineTime;
use crate::withdrawal::Withdrawals;

const MAGIC: [u8; 8] = *b"ringside";
const FORMAT: u32 = 1;
/// Bytes of the header before its own hash.
const JUDGED_LEN: usize = 8 + 4 + 4 + 8 + 16 + 1 + 8 + 16;
const HEADER_LEN: usize = JUDGED_LEN + 16;

/// Why bytes are no snapshot that this version can use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// They do not begin as one.
    #[error("not a snapshot of the engine")]
    NotASnapshot,
    /// They are of a format that this version does not read.
    #[error("snapshot format {0} is unknown")]
    UnknownFormat(u32),
    /// There are fewer or more than the header says.
    #[error("snapshot has {found} bytes of state, its header says {expected}")]
    WrongLength {
        /// What the header says.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// They are not what was written.
    #[error("snapshot is damaged: its hash does not match")]
    Damaged,
    /// They were written so, but they are no state.
    #[error("snapshot holds no valid state: {0}")]
    Invalid(String),
}

impl Engine {
    /// Appends the whole state.
    pub fn save(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + HEADER_LEN, 0);
        self.write_state(out);
        let state = &out[start + HEADER_LEN..];
        let (len, digest) = (state.len() as u64, hash(state));
        let mut header = Vec::with_capacity(HEADER_LEN);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&FORMAT.to_le_bytes());
        header.extend_from_slice(&ENGINE_VERSION.to_le_bytes());
        header.extend_from_slice(&len.to_le_bytes());
        header.extend_from_slice(&digest);
        let (sequence, checkpoint) = self.checkpoint.unwrap_or((0, [0; 16]));
        header.push(u8::from(self.checkpoint.is_some()));
        header.extend_from_slice(&sequence.to_le_bytes());
        header.extend_from_slice(&checkpoint);
        header.extend_from_slice(&hash(&header));
        out[start..start + HEADER_LEN].copy_from_slice(&header);
    }

    /// The engine that was saved. It goes on exactly as the saved one would have.
    ///
    /// # Errors
    /// [`SnapshotError`]; never a panic, whatever the bytes.
    pub fn load(config: &EngineConfig, bytes: &[u8]) -> Result<Engine, SnapshotError> {
        let mut header = Reader { bytes: bytes.get(..HEADER_LEN).ok_or(SnapshotError::NotASnapshot)? };
        if header.array()? != MAGIC {
            return Err(SnapshotError::NotASnapshot);
        }
        let format = header.u32()?;
        if format != FORMAT {
            return Err(SnapshotError::UnknownFormat(format));
        }
        // State written by other versions reads alike as long as the format is the same.
        header.u32()?;
        let expected = header.u64()?;
        let digest: [u8; 16] = header.array()?;
        let has_checkpoint = header.u8()?;
        let checkpoint = (header.u64()?, header.array()?);
        if header.array()? != hash(&bytes[..JUDGED_LEN]) {
            return Err(SnapshotError::Damaged);
        }
        let state = &bytes[HEADER_LEN..];
        if state.len() as u64 != expected {
            return Err(SnapshotError::WrongLength { expected, found: state.len() as u64 });
        }
        if hash(state) != digest {
            return Err(SnapshotError::Damaged);
        }
        let mut reader = Reader { bytes: state };
        let mut engine = read_state(config, &mut reader)?;
        if !reader.bytes.is_empty() {
            return Err(invalid("bytes follow the state"));
        }
        engine.checkpoint = (has_checkpoint != 0).then_some(checkpoint);
        engine.check_invariants().map_err(SnapshotError::Invalid)?;
        Ok(engine)
    }
}

pub(crate) fn invalid(what: &str) -> SnapshotError {
    SnapshotError::Invalid(what.into())
}

pub(crate) fn ensure(holds: bool, what: &str) -> Result<(), SnapshotError> {
    if holds { Ok(()) } else { Err(invalid(what)) }
}

/// Takes fields off the front.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    /// The next bytes, which stay to be read.
    pub(crate) fn peek<const N: usize>(&self) -> Option<&[u8; N]> {
        self.bytes.first_chunk()
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let (field, rest) = self.bytes.split_first_chunk::<N>().ok_or_else(|| invalid("it ends early"))?;
        self.bytes = rest;
        Ok(*field)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, SnapshotError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, SnapshotError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, SnapshotError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn fee_rate(&mut self) -> Result<FeeRate, SnapshotError> {
        rate_of_kept(self.u32()?).ok_or_else(|| invalid("a fee rate out of range"))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, SnapshotError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, SnapshotError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i128(&mut self) -> Result<i128, SnapshotError> {
        Ok(i128::from_le_bytes(self.array()?))
    }

    /// A length of a list whose entries have at least `least` bytes.
    pub(crate) fn count(&mut self, least: usize) -> Result<usize, SnapshotError> {
        let count = self.u64()?;
        ensure(count <= (self.bytes.len() / least) as u64, "a list is longer than the bytes left")?;
        Ok(count as usize)
    }
}

fn read_state(config: &EngineConfig, reader: &mut Reader<'_>) -> Result<Engine, SnapshotError> {
    let mut engine = Engine::new(config);
    engine.sequence = reader.u64()?;
    let time_ns = reader.i64()?;
    ensure(time_ns >= 0, "time before the epoch")?;
    engine.time = EngineTime::from_ns(time_ns);
    engine.next_order = reader.u64()?;
    let epoch = reader.u32()?;
    let mut sources = Vec::new();
    for _ in 0..reader.count(12)? {
        sources.push((reader.u32()?, reader.u64()?));
    }
    engine.sources = Sources::restore(epoch, &sources, &config.hash_seed);
    let keys = reader.count(36)?;
    engine.idempotency = Idempotency::new(config.idempotency_keys.max(keys), config.hash_seed);
    for _ in 0..keys {
        engine.idempotency.restore(Use {
            account: reader.u32()?,
            key: reader.u64()?,
            body: reader.u64()?,
            sequence: reader.u64()?,
            time_ns: reader.i64()?,
        });
    }
    let assets = reader.count(26)?;
    ensure(assets < usize::from(u16::MAX), "too many assets")?;
    for _ in 0..assets {
        engine.assets.push(Asset { name: reader.array()?, credited: reader.i128()? });
    }
    let accounts = reader.count(20)?;
    ensure(accounts > 0 && accounts < u32::MAX as usize, "impossible count of accounts")?;
    engine.accounts = Accounts::new(config.accounts.max(accounts), config.hash_seed);
    for account in 0..accounts as u32 {
        let (found, is_new) = engine.accounts.find_or_make(reader.array()?);
        ensure(found == account && is_new == (account != 0), "an address occurs twice")?;
    }
    engine.balances = read_balances(config, reader, &engine)?;
    for id in 0..reader.count(110)? {
        let market = read_rules(config, reader, id as MarketId, assets)?;
        engine.delisting += u32::from(market.rules.delists);
        engine.markets.push(market);
        read_book(reader, &mut engine)?;
    }
    link(&mut engine)?;
    let has_other = Withdrawals::is_next(reader) || Deposits::is_next(reader) || Disconnects::is_next(reader);
    if !reader.bytes.is_empty() && !has_other {
        let accounts = engine.accounts.count();
        let perpetual = Perpetual::read(config, reader, accounts, assets, engine.next_order)?;
        engine.has_limits = !perpetual.state.limits.is_empty();
        engine.perpetual = Some(Box::new(perpetual));
    }
    if Withdrawals::is_next(reader) {
        let holds = |account| engine.accounts.exists(account).then(|| *engine.accounts.address(account));
        engine.withdrawals = Withdrawals::read(reader, assets, holds)?;
    }
    if Deposits::is_next(reader) {
        let vaults = engine.withdrawals.vaults.len();
        engine.deposits = Deposits::read(reader, assets, vaults, |account| engine.accounts.exists(account))?;
    }
    if Disconnects::is_next(reader) {
        let exists = |account, market| engine.accounts.exists(account) && engine.has_market(market);
        engine.disconnects = Disconnects::read(reader, exists)?;
    }
    Ok(engine)
}

fn read_balances(
    config: &EngineConfig,
    reader: &mut Reader<'_>,
    engine: &Engine,
) -> Result<Balances, SnapshotError> {
    let mut balances = Balances::new(config.accounts, config.pages);
    balances.ensure(engine.assets.len());
    for asset in 0..engine.assets.len() as u16 {
        let mut sum = 0i128;
        for _ in 0..reader.count(36)? {
            let account = reader.u32()?;
            ensure(engine.accounts.exists(account), "a balance without account")?;
            let balance = Balance { available: reader.i128()?, frozen: reader.i128()? };
            ensure(balance.available >= 0 && balance.frozen >= 0, "a negative balance")?;
            sum = sum
                .checked_add(balance.available)
                .and_then(|sum| sum.checked_add(balance.frozen))
                .ok_or_else(|| invalid("balances leave the range"))?;
            *balances.get_mut(account, asset) = balance;
        }
    }
    Ok(balances)
}

fn read_rules(
    config: &EngineConfig,
    reader: &mut Reader<'_>,
    id: MarketId,
    assets: usize,
) -> Result<Market, SnapshotError> {
    let symbol = reader.array()?;
    let (base, quote) = (reader.u16()?, reader.u16()?);
    ensure(
        (base as usize) < assets && (quote as usize) < assets && base != quote,
        "a market without assets",
    )?;
    let kind = MarketKind::from_code(reader.u8()?).ok_or_else(|| invalid("unknown kind of market"))?;
    let code = reader.u8()?;
    let delists = code == DELISTS;
    let status = if delists { Some(MarketStatus::Halted) } else { MarketStatus::from_code(code) };
    let status = status.ok_or_else(|| invalid("unknown market status"))?;
    let (tick, lot) = (reader.i64()?, reader.i64()?);
    ensure((1..=MAX_ENTRY).contains(&tick) && (1..=MAX_ENTRY).contains(&lot), "tick or lot out of range")?;
    let min_notional = reader.i128()?;
    let (maker_fee, taker_fee) = (reader.fee_rate()?, reader.fee_rate()?);
    let max_open_orders = reader.u32()?;
    let rules = Rules {
        id,
        base,
        quote,
        kind,
        status,
        delists,
        tick: Step::new(tick),
        lot: Step::new(lot),
        min_notional,
        maker_fee,
        taker_fee,
        max_open_orders,
        symbol,
    };
    let mut market = Market::new(rules, config);
    market.trades = reader.u64()?;
    market.last_price = reader.i64()?;
    market.book.update = reader.u64()?;
    Ok(market)
}

/// Fills the book of the last market.
fn read_book(reader: &mut Reader<'_>, engine: &mut Engine) -> Result<(), SnapshotError> {
    let id = (engine.markets.len() - 1) as MarketId;
    let market = &mut engine.markets[id as usize];
    let mut slots = Vec::new();
    let mut grid = market.rules.tick.value();
    for side in [Side::Buy, Side::Sell] {
        for _ in 0..reader.count(42)? {
            let order = read_order(reader, id, side)?;
            ensure(engine.accounts.exists(order.account), "an order without account")?;
            grid = gcd(grid, order.price);
            let slot = engine.orders.pool.take();
            *engine.orders.pool.get_mut(slot) = order;
            slots.push(slot);
        }
    }
    let update = market.book.update;
    market.book = Book::new(grid, &engine.config.hash_seed);
    for &slot in &slots {
        market.book.rest(&mut engine.orders, slot);
    }
    market.book.update = update;
    Ok(())
}

fn read_order(reader: &mut Reader<'_>, market: MarketId, side: Side) -> Result<Order, SnapshotError> {
    let (id, account) = (reader.u64()?, reader.u32()?);
    let (price, quantity, remaining) = (reader.i64()?, reader.i64()?, reader.i64()?);
    ensure((1..=MAX_ENTRY).contains(&price), "an order's price is out of range")?;
    ensure(
        0 < remaining && remaining <= quantity && quantity <= MAX_ENTRY,
        "an order's quantity is out of range",
    )?;
    ensure(
        crate::money::checked_notional(price, remaining).is_some(),
        "an order's notional is out of range",
    )?;
    let time_in_force =
        TimeInForce::from_code(reader.u8()?).ok_or_else(|| invalid("unknown time in force"))?;
    let self_trade =
        SelfTradePrevention::from_code(reader.u8()?).ok_or_else(|| invalid("unknown self-trade mode"))?;
    ensure(Traits::may_rest(time_in_force), "an order in the book that may not rest")?;
    let fee = reader.fee_rate()?;
    Ok(Order {
        id,
        remaining,
        price,
        quantity,
        account,
        market,
        traits: Traits::new(side, time_in_force, self_trade, fee),
        ..Order::default()
    })
}

/// Enters all orders into the index and their accounts' lists, oldest first.
fn link(engine: &mut Engine) -> Result<(), SnapshotError> {
    let Engine { orders, markets, next_order, .. } = engine;
    let mut all: Vec<(OrderId, u32)> = Vec::new();
    for market in markets.iter() {
        for side in [Side::Buy, Side::Sell] {
            all.extend(market.book.slots(orders, side).map(|slot| (orders.pool.get(slot).id, slot)));
        }
    }
    all.sort_unstable();
    ensure(all.windows(2).all(|pair| pair[0].0 != pair[1].0), "an order occurs twice")?;
    ensure(all.last().is_none_or(|last| last.0 < *next_order), "an order from the future")?;
    for (id, slot) in all {
        orders.index.insert(&orders.pool, id, slot);
        let market = orders.pool.get(slot).market;
        link_one(orders, &mut markets[market as usize], slot);
    }
    Ok(())
}

fn link_one(orders: &mut Orders, market: &mut Market, slot: u32) {
    market.by_account.link(orders, slot);
}
