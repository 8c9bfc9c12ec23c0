//! The state as canonical bytes, and their hash.
//!
//! The bytes say what the state is, not how it lies in memory: two engines that would answer every further command
//! alike have equal bytes. Little-endian; lists carry their length first; accounts, assets, markets and sources by
//! number, orders by priority, idempotency keys by age. The layout, in order:
//!
//! ```text
//! sequence u64 | time i64 | next order u64 | epoch u32
//! sources      count u64, each: source u32, last number u64
//! keys         count u64, each: account u32, key u64, body u64, sequence u64, time i64
//! assets       count u64, each: name [10], credited i128
//! accounts     count u64, each: address [20]
//! balances     per asset, count u64, each not zero: account u32, available i128, frozen i128
//! markets      count u64, each: symbol [20], base u16, quote u16, kind u8, status u8 (3: being delisted), tick i64, lot i64,
//!              min notional i128, maker fee u32, taker fee u32, max open orders u32, trades u64, last price i64,
//!              update u64, then buys and sells, each: count u64, and by priority:
//!              order u64, account u32, price i64, quantity i64, open i64, time in force u8, self trade u8, fee u32
//! perpetual    only where there is a perpetual side: see `perpetual/canonical.rs`
//! withdrawals  only where there were any: see `withdrawal/canonical.rs`
//! deposits     only where anything is known of them: see `deposit/canonical.rs`
//! connections  only where the loss of one ends orders: see `disconnect.rs`
//! ```
//!
//! The hash is XXH3 with 128 bits: it must tell accidents apart at the speed of memory, not withstand an adversary,
//! who could not choose the state without giving the commands.

use crate::command::Side;
use crate::engine::Engine;
use crate::money::kept_rate;
use xxhash_rust::xxh3::Xxh3;

/// Where canonical bytes go.
pub(crate) trait Bytes {
    fn put(&mut self, bytes: &[u8]);
}

impl Bytes for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// The hash of what is put, given to the hasher in long pieces: most of what is put is a word, and a word by itself takes it
/// several times as long as its share of a piece does.
struct Hashed {
    hasher: Xxh3,
    piece: [u8; 4096],
    len: usize,
}

impl Hashed {
    fn new() -> Hashed {
        Hashed { hasher: Xxh3::new(), piece: [0; 4096], len: 0 }
    }

    #[inline(never)]
    fn pass_on(&mut self, bytes: &[u8]) {
        self.hasher.update(&self.piece[..self.len]);
        self.hasher.update(bytes);
        self.len = 0;
    }

    fn digest(mut self) -> [u8; 16] {
        self.pass_on(&[]);
        self.hasher.digest128().to_le_bytes()
    }
}

impl Bytes for Hashed {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        match self.piece.get_mut(self.len..end) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.len = end;
            }
            None => self.pass_on(bytes),
        }
    }
}

/// The hash of bytes that are all there.
pub(crate) fn hash(bytes: &[u8]) -> [u8; 16] {
    xxhash_rust::xxh3::xxh3_128(bytes).to_le_bytes()
}

/// Status of a market that is halted until its last order is canceled, then delisted.
pub(crate) const DELISTS: u8 = 3;

impl Engine {
    /// Hash of the canonical bytes of the whole state. Walks all of it.
    pub fn state_hash(&self) -> [u8; 16] {
        let mut hashed = Hashed::new();
        self.write_state(&mut hashed);
        hashed.digest()
    }

    /// Writes the canonical bytes.
    pub(crate) fn write_state<B: Bytes>(&self, out: &mut B) {
        out.put(&self.sequence.to_le_bytes());
        out.put(&self.time.ns().to_le_bytes());
        out.put(&self.next_order.to_le_bytes());
        out.put(&self.sources.epoch().to_le_bytes());
        let sources = self.sources.sorted();
        count(out, sources.len());
        for (source, last) in sources {
            out.put(&source.to_le_bytes());
            out.put(&last.to_le_bytes());
        }
        count(out, self.idempotency.len());
        for key in self.idempotency.iter() {
            out.put(&key.account.to_le_bytes());
            out.put(&key.key.to_le_bytes());
            out.put(&key.body.to_le_bytes());
            out.put(&key.sequence.to_le_bytes());
            out.put(&key.time_ns.to_le_bytes());
        }
        count(out, self.assets.len());
        for asset in &self.assets {
            out.put(&asset.name);
            out.put(&asset.credited.to_le_bytes());
        }
        count(out, self.accounts.count() as usize);
        for account in 0..self.accounts.count() {
            out.put(self.accounts.address(account));
        }
        for asset in 0..self.assets.len() as u16 {
            let accounts = self.accounts.count();
            count(out, self.balances.iter(asset, accounts).count());
            for (account, balance) in self.balances.iter(asset, accounts) {
                out.put(&account.to_le_bytes());
                out.put(&balance.available.to_le_bytes());
                out.put(&balance.frozen.to_le_bytes());
            }
        }
        count(out, self.markets.len());
        for market in 0..self.markets.len() {
            self.write_market(market, out);
        }
        if let Some(perpetual) = &self.perpetual {
            perpetual.write(out, self.accounts.count());
        }
        if self.withdrawals.is_used() {
            self.withdrawals.write(out);
        }
        if self.deposits.is_used() {
            self.deposits.write(out);
        }
        if self.disconnects.is_used() {
            self.disconnects.write(out);
        }
    }

    fn write_market<B: Bytes>(&self, market: usize, out: &mut B) {
        let market = &self.markets[market];
        let rules = &market.rules;
        out.put(&rules.symbol);
        out.put(&rules.base.to_le_bytes());
        out.put(&rules.quote.to_le_bytes());
        out.put(&[rules.kind as u8, if rules.delists { DELISTS } else { rules.status as u8 }]);
        out.put(&rules.tick.value().to_le_bytes());
        out.put(&rules.lot.value().to_le_bytes());
        out.put(&rules.min_notional.to_le_bytes());
        out.put(&kept_rate(rules.maker_fee).to_le_bytes());
        out.put(&kept_rate(rules.taker_fee).to_le_bytes());
        out.put(&rules.max_open_orders.to_le_bytes());
        out.put(&market.trades.to_le_bytes());
        out.put(&market.last_price.to_le_bytes());
        out.put(&market.book.update.to_le_bytes());
        for side in [Side::Buy, Side::Sell] {
            count(out, market.book.slots(&self.orders, side).count());
            for slot in market.book.slots(&self.orders, side) {
                let order = self.orders.pool.get(slot);
                let mut record = [0; 42];
                record[..8].copy_from_slice(&order.id.to_le_bytes());
                record[8..12].copy_from_slice(&order.account.to_le_bytes());
                record[12..20].copy_from_slice(&order.price.to_le_bytes());
                record[20..28].copy_from_slice(&order.quantity.to_le_bytes());
                record[28..36].copy_from_slice(&order.remaining.to_le_bytes());
                record[36] = order.traits.time_in_force() as u8;
                record[37] = order.traits.self_trade() as u8;
                record[38..].copy_from_slice(&kept_rate(order.traits.maker_fee()).to_le_bytes());
                out.put(&record);
            }
        }
    }
}

fn count<B: Bytes>(out: &mut B, count: usize) {
    out.put(&(count as u64).to_le_bytes());
}
