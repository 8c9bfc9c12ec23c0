//! Every output of the engine: fixed-size, plain old data. Views, replies and pushes are folds of events.
//!
//! A command's events come together, `index` from 0; the last is [`Done`]. Their order within a command:
//! 1. [`Trade`] for each fill in turn.
//! 2. [`Order`] of each order whose state the command changed other than by being the maker of a trade (a maker's
//!    new state follows from the trade): first the makers that self-trade prevention ended, as they were met, then
//!    the order of the command. Cancel-all and delisting give one per order ended, in ascending order id.
//! 3. [`Depth`] of each level touched, in the order of the mutations.
//! 4. [`Balances`] of each account of which a value differs from before the command: the acting account, then the
//!    others in the order they were first touched, then the fee account. Each comes once. Cancel-all tells the account
//!    once per market, in the order of the orders ended, each judged against before its first order there ended.
//! 5. Facts: [`AssetCreated`] (base, then quote), [`Market`], [`AccountCreated`], [`Credited`], [`StateHash`].
//! 6. [`Done`].
//!
//! Events of perpetual commands and their order: `event/perpetual.rs`; of withdrawals and deposits:
//! `event/withdrawal.rs`, `event/deposit.rs`. Every command ends with [`Done`].
//!
//! A refusal gives [`Done`] alone, preceded by one [`Order`] where [`crate::reject::Reject::stores_order`] says so.

use crate::command::byte_enum;
use crate::ids::{
    AccountId, Address, AssetId, AssetName, MarketId, OrderId, Sequence, Symbol, TradeId, WithdrawalId,
};
use crate::money::{FeeRate, Price, Quantity, RawAmount};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of the longest payload.
pub const PAYLOAD_LEN: usize = 96;

/// Words of it.
pub const WORDS: usize = PAYLOAD_LEN / 8;

/// One fact. 120 bytes: with the ring's 8-byte stamp, two cache lines.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Event {
    /// Sequence of the command that caused it.
    pub sequence: Sequence,
    /// Engine time at that command, nanoseconds of the UNIX epoch: the largest `time_ns` of any command so far, at
    /// least 0.
    pub time_ns: i64,
    /// Place among the command's events, from 0.
    pub index: u32,
    /// Which payload: one of [`Kind`].
    pub kind: u16,
    /// Reserved: zero.
    pub reserved: u16,
    /// The payload of `kind`, then zeros.
    pub payload: [u8; PAYLOAD_LEN],
}

const _: () = assert!(size_of::<Event>() == 120 && align_of::<Event>() == 8);

/// A type that can stand in [`Event::payload`].
pub trait Payload: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Stored {
    /// Its tag.
    const KIND: Kind;
}

/// How a payload goes to memory.
pub trait Stored: Sized {
    /// Its bytes, little-endian, eight to a word, and zeros behind them, where whole words are to be stored: small fields then go
    /// together. 2 to 4 % of the spot engine's time; in the perpetual engine, which has no registers to spare, it costs.
    #[inline(always)]
    fn words(&self) -> Option<[u64; WORDS]> {
        None
    }
}

/// A field of a payload that is stored as words.
trait Field: Copy {
    /// Puts it into words that are 0 where it stands: `at` bytes from the first.
    fn put(self, at: usize, words: &mut [u64; WORDS]);
}

macro_rules! number_fields {
    ($($number:ty as $bits:ty,)*) => { $(impl Field for $number {
        #[inline(always)]
        fn put(self, at: usize, words: &mut [u64; WORDS]) {
            words[at / 8] |= u64::from(self as $bits) << (at % 8 * 8);
        }
    })* };
}

number_fields! { u8 as u8, u16 as u16, u32 as u32, u64 as u64, i64 as u64, }

impl Field for RawAmount {
    #[inline(always)]
    fn put(self, at: usize, words: &mut [u64; WORDS]) {
        let amount = self.get();
        words[at / 8] = amount as u64;
        words[at / 8 + 1] = (amount >> 64) as u64;
    }
}

impl Event {
    /// All zeros: no event, but a place for one.
    pub const EMPTY: Event =
        Event { sequence: 0, time_ns: 0, index: 0, kind: 0, reserved: 0, payload: [0; PAYLOAD_LEN] };

    /// Becomes the event of a payload.
    #[inline(always)]
    pub fn write<P: Payload>(&mut self, sequence: Sequence, time_ns: i64, index: u32, payload: P) {
        const { assert!(size_of::<P>() <= PAYLOAD_LEN && size_of::<P>().is_multiple_of(8)) };
        self.sequence = sequence;
        self.time_ns = time_ns;
        self.index = index;
        self.kind = P::KIND as u16;
        self.reserved = 0;
        // 24 bytes of header keep the payload aligned to 8, and it is never shorter than `P`.
        if let Some(words) = payload.words() {
            match <[u64; WORDS]>::mut_from_bytes(&mut self.payload) {
                Ok(place) => *place = words,
                Err(_) => unreachable!("a payload is words"),
            }
            return;
        }
        match P::mut_from_prefix(&mut self.payload) {
            Ok((place, rest)) => {
                *place = payload;
                rest.fill(0);
            }
            Err(_) => unreachable!("a payload fits in an event"),
        }
    }

    /// The event of a payload.
    #[inline]
    pub fn new<P: Payload>(sequence: Sequence, time_ns: i64, index: u32, payload: P) -> Event {
        const { assert!(size_of::<P>() <= PAYLOAD_LEN && size_of::<P>().is_multiple_of(8)) };
        let mut event =
            Event { sequence, time_ns, index, kind: P::KIND as u16, reserved: 0, payload: [0; PAYLOAD_LEN] };
        event.payload[..size_of::<P>()].copy_from_slice(payload.as_bytes());
        event
    }

    /// The payload read as `P` when the tag says so.
    #[inline]
    pub fn get<P: Payload>(&self) -> Option<&P> {
        const { assert!(size_of::<P>() <= PAYLOAD_LEN && align_of::<P>() <= 8) };
        if self.kind != P::KIND as u16 {
            return None;
        }
        P::ref_from_prefix(&self.payload).ok().map(|(payload, _)| payload)
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}.{} ", self.sequence, self.index)?;
        kinds_debug(self, f)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// The tag of an event's payload. Numbers are persisted: append, never renumber.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Kind { $($(#[$doc])* $name = $code,)* }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];
            /// The kind of a tag, if this version knows it.
            pub const fn from_code(code: u16) -> Option<Kind> {
                match code { $($code => Some(Kind::$name),)* _ => None }
            }
        }
        $(impl Payload for $name { const KIND: Kind = Kind::$name; })*

        fn kinds_debug(event: &Event, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match Kind::from_code(event.kind) {
                $(Some(Kind::$name) => write!(f, "{:?}", event.get::<$name>()),)*
                None => write!(f, "kind {}", event.kind),
            }
        }
    };
}

kinds! {
    /// One match.
    Trade = 1,
    /// State of one order.
    Order = 2,
    /// New total of one level.
    Depth = 3,
    /// Both balances of an account in a market's two assets.
    Balances = 4,
    /// A new account.
    AccountCreated = 16,
    /// A new asset.
    AssetCreated = 17,
    /// A balance raised by the administrator, for the audit.
    Credited = 18,
    /// A market as it now is.
    Market = 32,
    /// The state hash at this sequence.
    StateHash = 48,
    /// Both sides of an asset's ledger on the spot side.
    SpotLedger = 49,
    /// End of the command.
    Done = 64,
    /// What happened to a perpetual order other than by a trade.
    PerpetualOrder = 80,
    /// The names of a new perpetual order.
    PerpetualPlaced = 81,
    /// One match of a perpetual market.
    PerpetualTrade = 82,
    /// Self-trade prevention kept two orders apart.
    PreventedMatch = 83,
    /// A modification, for the record.
    PerpetualAmended = 84,
    /// Price protection holds a trigger back.
    TriggerDeferred = 85,
    /// A fired order is refused.
    TriggerRefused = 86,
    /// A position as it now is.
    PerpetualPosition = 96,
    /// Order margin buckets as they now are.
    PerpetualExposure = 97,
    /// A cross wallet as it now is.
    PerpetualWallet = 98,
    /// Fee pool, affiliates, deposits, deficit flag as they now are.
    PerpetualPools = 99,
    /// Money moved outside a trade.
    Posting = 100,
    // 101 was a takeover while those were no trades.
    /// A step of a liquidation.
    Liquidation = 102,
    /// A scope comes near its liquidation.
    MarginCall = 103,
    /// Trade group, permission and fee terms of an account as they now are.
    AccountTerms = 104,
    /// A fee tier changed or will.
    VipChanged = 105,
    /// A new perpetual market.
    PerpetualListed = 112,
    /// A parameter of a perpetual market as it now is.
    PerpetualSetting = 113,
    /// A notional bracket as it now is.
    PerpetualBracket = 114,
    /// What a perpetual market takes now.
    PerpetualStateChanged = 115,
    /// Index, mark and funding rate as they now are.
    PerpetualPrice = 116,
    /// A source of the index as it now is.
    PerpetualSource = 117,
    /// A funding settlement.
    FundingSettled = 118,
    /// A fee tier as it now is.
    VipTier = 119,
    /// A rule change is on.
    RuleActivated = 120,
    /// Both sides of the perpetual ledger.
    PerpetualLedger = 121,
    /// The insurance pool has fallen into deficit, or is out of it.
    PoolDeficit = 122,
    /// A fee tier as it will be.
    VipTierScheduled = 123,
    /// Limits of an account's own as they now are.
    AccountLimits = 124,
    /// From which age on a source of the index is not fresh.
    PerpetualSourceAge = 125,
    /// Money of the venue's own was moved by an operator.
    TreasuryMoved = 127,
    /// Who is about to act as an operator, and on what.
    OperatorNoted = 130,
    /// Why, and what exactly.
    OperatorReason = 131,
    /// A withdrawal as it now is.
    Withdrawal = 140,
    /// The signature of a withdrawal.
    WithdrawalSigned = 141,
    /// What the vault paid for a withdrawal.
    WithdrawalReleased = 142,
    /// A vault is used for the first time.
    VaultOpened = 143,
    /// The last final block known.
    ChainAdvanced = 144,
    /// A release that must be impossible.
    ReleaseAlarm = 145,
    /// Which pauses of withdrawals are in force.
    WithdrawalsPaused = 146,
    /// What operators decide about a disputed withdrawal.
    WithdrawalJudged = 147,
    /// A deposit as it now is.
    Deposit = 148,
    /// Where on the chain a deposit is.
    DepositBlock = 149,
    /// A token as it now is.
    Token = 150,
    /// A vault has another signer.
    VaultSigner = 151,
    /// A vault goes back to an earlier block, or is about to.
    VaultRewind = 152,
    /// A release that had counted has not happened.
    ReleaseUndone = 153,
}

macro_rules! payload {
    ($($(#[$doc:meta])* pub struct $name:ident { $($(#[$fdoc:meta])* pub $field:ident : $ty:ty,)* })*) => {
        $($(#[$doc])*
        // Fields of ids, and `reserved`, which is zero, say what they are by name and type.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }

        impl Stored for $name {})*
    };
    (stored as words: $($(#[$doc:meta])* pub struct $name:ident { $($(#[$fdoc:meta])* pub $field:ident : $ty:ty,)* })*) => {
        $($(#[$doc])*
        // Fields of ids, and `reserved`, which is zero, say what they are by name and type.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }

        impl Stored for $name {
            #[inline(always)]
            fn words(&self) -> Option<[u64; WORDS]> {
                let mut words = [0; WORDS];
                $(self.$field.put(std::mem::offset_of!($name, $field), &mut words);)*
                Some(words)
            }
        })*
    };
}

mod perpetual;
pub use perpetual::*;
mod treasury;
pub use treasury::*;
mod withdrawal;
pub use withdrawal::*;
mod deposit;
pub use deposit::*;

payload! { stored as words:
    /// See [`Kind::Trade`]. The price is the maker's. Each side pays its fee out of what it receives.
    pub struct Trade {
        /// Ascending per market.
        pub trade: TradeId,
        /// The resting order.
        pub maker_order: OrderId,
        /// The arriving order.
        pub taker_order: OrderId,
        /// The maker's price.
        pub price: Price,
        /// How much base.
        pub quantity: Quantity,
        /// The maker's fee, in the asset it receives.
        pub maker_fee: RawAmount,
        /// The taker's fee, in the asset it receives.
        pub taker_fee: RawAmount,
        /// Owner of the resting order.
        pub maker_account: AccountId,
        /// Owner of the arriving order.
        pub taker_account: AccountId,
        pub market: MarketId,
        /// A [`crate::command::Side`]: the taker's.
        pub taker_side: u8,
        /// 1 when the maker is filled by this.
        pub maker_filled: u8,
        pub reserved: u16,
    }

    /// See [`Kind::Order`]. State after the command (of a maker that a self-trade rule ended: its end).
    pub struct Order {
        pub order: OrderId,
        pub account: AccountId,
        pub market: MarketId,
        /// A [`crate::command::Side`].
        pub side: u8,
        /// A [`crate::command::OrderType`].
        pub order_type: u8,
        /// A [`crate::command::TimeInForce`].
        pub time_in_force: u8,
        /// A [`crate::command::OrderStatus`].
        pub status: u8,
        /// 1 when this command placed it.
        pub is_new: u8,
        /// 1 when this command gave it a new price or quantity.
        pub is_amended: u8,
        /// The [`crate::reject::Reject`] of a rejected order, else 0.
        pub reject: u16,
        /// Limit price, 0 for market orders.
        pub price: Price,
        /// As ordered (amended: filled + open); 0 for a market buy sized in quote.
        pub quantity: Quantity,
        /// As ordered, 0 unless a market buy.
        pub quote_quantity: RawAmount,
        /// Traded so far.
        pub filled: Quantity,
        /// In the book after the command, 0 unless resting.
        pub open: Quantity,
    }

    /// See [`Kind::Balances`]. Final values; `base == quote` means that one asset changed outside any market, and
    /// the `base_` fields hold it (the `quote_` fields are 0).
    pub struct Balances {
        pub account: AccountId,
        /// First asset.
        pub base: AssetId,
        /// Second asset.
        pub quote: AssetId,
        /// Bit 0: a value of the base row differs from before the command; bit 1: of the quote row.
        pub changed: u64,
        /// Free amount, 10^-18.
        pub base_available: RawAmount,
        /// Reserved amount, 10^-18.
        pub base_frozen: RawAmount,
        /// Free amount, 10^-18.
        pub quote_available: RawAmount,
        /// Reserved amount, 10^-18.
        pub quote_frozen: RawAmount,
    }
}

payload! {
    /// See [`Kind::Depth`]. Absolute, in the order of the mutations. Mutations of one level that follow each other
    /// make one event, that of the last; a level that is left and touched again comes again.
    pub struct Depth {
        /// The market's update id after this mutation. Ids grow by one per mutation (an order rests, leaves, shrinks,
        /// trades; a fill that empties the maker is one), so a command's diff covers (previous command's last, its
        /// own last]. A replace is one mutation for leaving, one per fill, one for resting again.
        pub update: u64,
        /// The level.
        pub price: Price,
        /// Sum of open quantities at that update id, 0 when the level is gone.
        pub total: RawAmount,
        pub market: MarketId,
        /// A [`crate::command::Side`].
        pub side: u8,
        pub reserved: [u8; 3],
    }

    /// See [`Kind::Done`].
    pub struct Done {
        /// The publisher's number of the command.
        pub source_seq: u64,
        /// The publisher.
        pub source: u32,
        /// Tag of the command.
        pub command: u16,
        /// 0 accepted, else a [`crate::reject::Reject`].
        pub reject: u16,
        /// The order placed, canceled, amended, replaced or stored as rejected, or the withdrawal requested, changed or
        /// adopted; else 0.
        pub order: OrderId,
        /// As named in the command; the account found, made or credited; 0 where the command names none, for an
        /// unknown tag, a refused credit and [`crate::reject::Reject::Duplicate`].
        pub account: AccountId,
        /// The market acted on, made or changed (that of the order, for an order); 0 for every market at once, for
        /// no market, and for a refusal that stores no order.
        pub market: MarketId,
        /// As in the command, 0 for none and for [`crate::reject::Reject::Duplicate`].
        pub idempotency_key: u64,
        /// For [`crate::reject::Reject::IdempotencyReplay`]: sequence of the first command with this key.
        pub replayed: Sequence,
        /// Update id of `market` after the command, 0 where `market` names none.
        pub update: u64,
    }

    /// See [`Kind::AccountCreated`].
    pub struct AccountCreated {
        /// Its wallet.
        pub address: Address,
        /// Its id.
        pub account: AccountId,
    }

    /// See [`Kind::AssetCreated`].
    pub struct AssetCreated {
        /// Its name.
        pub name: AssetName,
        /// Its id.
        pub asset: AssetId,
        pub reserved: u32,
    }

    /// See [`Kind::Credited`].
    pub struct Credited {
        pub account: AccountId,
        /// Of what.
        pub asset: AssetId,
        pub reserved: u16,
        /// How much.
        pub amount: RawAmount,
        /// Audit note, padded with zeros.
        pub reason: [u8; 64],
    }

    /// See [`Kind::OperatorNoted`]. Fields as in [`crate::command::OperatorNote`].
    pub struct OperatorNoted {
        /// Name, padded with zeros.
        pub operator: [u8; 16],
        /// Address of the client, IPv4 mapped into IPv6.
        pub ip: [u8; 16],
        /// A wallet, or the name of a market padded with zeros.
        pub subject: [u8; 20],
        /// Tag of the command that follows.
        pub action: u16,
        /// As in the command.
        pub part: u8,
        /// As in the command.
        pub proven: u8,
    }

    /// See [`Kind::OperatorReason`]. Follows [`OperatorNoted`].
    pub struct OperatorReason {
        /// Why, padded with zeros.
        pub reason: [u8; 64],
        /// What exactly, in short, padded with zeros.
        pub detail: [u8; 32],
    }

    /// See [`Kind::Market`].
    pub struct Market {
        pub market: MarketId,
        /// What is traded.
        pub base: AssetId,
        /// What is paid.
        pub quote: AssetId,
        /// Price step.
        pub tick: Price,
        /// Quantity step.
        pub lot: Quantity,
        /// Least notional.
        pub min_notional: RawAmount,
        /// Fee of the resting side.
        pub maker_fee: FeeRate,
        /// Fee of the arriving side.
        pub taker_fee: FeeRate,
        /// Most open orders of one account.
        pub max_open_orders: u32,
        /// Name.
        pub symbol: Symbol,
        /// A [`crate::command::MarketKind`].
        pub kind: u8,
        /// A [`crate::command::MarketStatus`].
        pub status: u8,
        pub reserved: [u8; 6],
    }

    /// See [`Kind::StateHash`].
    pub struct StateHash {
        /// Hash of the whole state after this command, this hash itself excepted.
        pub hash: [u8; 16],
    }

    /// See [`Kind::SpotLedger`]. Sums over all accounts; available + frozen = credited.
    pub struct SpotLedger {
        pub asset: AssetId,
        pub reserved: [u8; 6],
        /// Free amount, 10^-18.
        pub available: RawAmount,
        /// Reserved for open orders.
        pub frozen: RawAmount,
        /// Credits, less what went to the perpetual ledger, plus what came back.
        pub credited: RawAmount,
    }
}

/// Where events go. Implementations must not fail and should not allocate when warm.
pub trait Sink {
    /// Takes the next event of the running command.
    fn event(&mut self, event: &Event);

    /// The same by its parts: a sink that keeps events may write them where they stay.
    #[inline(always)]
    fn emit<P: Payload>(&mut self, sequence: Sequence, time_ns: i64, index: u32, payload: P) {
        self.event(&Event::new(sequence, time_ns, index, payload));
    }

    /// Takes several at once.
    #[inline]
    fn batch(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.event(event));
    }

    /// Exchanges the outbox that the sink keeps its events in for `other`, where it keeps them in one, so that others may write
    /// theirs where they stay. Whoever called it calls it again, with the same one, before anything else.
    fn exchange(&mut self, _other: &mut Outbox) -> bool {
        false
    }

    /// Places for the next `N` events of the running command, where it keeps events. All are written before anything else is
    /// asked of it, and none is a trade.
    #[inline(always)]
    fn places<const N: usize>(&mut self) -> Option<&mut [Event; N]> {
        None
    }
}

impl Sink for Vec<Event> {
    #[inline]
    fn event(&mut self, event: &Event) {
        self.push(*event);
    }
}

/// Events in memory that is used again: the quickest sink. It grows past its capacity when a command needs more.
#[derive(Clone, Debug)]
pub struct Outbox {
    /// No shorter than `len`: what is behind that is room for the next.
    events: Vec<Event>,
    len: usize,
}

impl Outbox {
    /// Room for `capacity` events, all of it touched.
    pub fn new(capacity: usize) -> Outbox {
        Outbox { events: vec![Event::EMPTY; capacity + 1], len: 0 }
    }

    /// The same with address space for `reserve` events: up to there it grows without being moved.
    pub fn reserved(capacity: usize, reserve: usize) -> Outbox {
        let mut events = Vec::new();
        // Refused, it grows by moving: slower, and no less right.
        let _ = events.try_reserve_exact(reserve.max(capacity) + 1);
        events.resize(capacity + 1, Event::EMPTY);
        Outbox { events, len: 0 }
    }

    /// What is in it, oldest first.
    #[inline]
    pub fn events(&self) -> &[Event] {
        &self.events[..self.len]
    }

    /// Empties it.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The next `N` places, which count as filled.
    #[inline(always)]
    fn next<const N: usize>(&mut self) -> &mut [Event; N] {
        let start = self.len;
        if self.events.len().wrapping_sub(start) <= N {
            self.grow(N);
        }
        self.len = start.wrapping_add(N);
        match self.events.get_mut(start..).and_then(|rest| rest.first_chunk_mut()) {
            Some(places) => places,
            None => unreachable!("there is room"),
        }
    }

    /// Has `write` write the next event.
    #[inline(always)]
    fn put(&mut self, write: impl FnOnce(&mut Event)) {
        let place = match self.events.get_mut(self.len) {
            Some(place) => place,
            None => more(&mut self.events),
        };
        write(place);
        self.len = self.len.wrapping_add(1);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        self.events.resize(self.events.len() * 2 + more, Event::EMPTY);
    }
}

/// A place behind all of them.
#[cold]
#[inline(never)]
fn more(events: &mut Vec<Event>) -> &mut Event {
    let full = events.len();
    events.resize(full * 2 + 1, Event::EMPTY);
    &mut events[full]
}

impl Sink for Outbox {
    #[inline]
    fn exchange(&mut self, other: &mut Outbox) -> bool {
        // Swapped it would go word by word.
        let none = Outbox { events: Vec::new(), len: 0 };
        *self = std::mem::replace(other, std::mem::replace(self, none));
        true
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        self.put(|place| *place = *event);
    }

    #[inline]
    fn batch(&mut self, events: &[Event]) {
        let start = self.len;
        let end = start + events.len();
        if self.events.len() <= end {
            self.grow(events.len());
        }
        self.events[start..end].copy_from_slice(events);
        self.len = end;
    }

    #[inline(always)]
    fn emit<P: Payload>(&mut self, sequence: Sequence, time_ns: i64, index: u32, payload: P) {
        self.put(|place| place.write(sequence, time_ns, index, payload));
    }

    #[inline(always)]
    fn places<const N: usize>(&mut self) -> Option<&mut [Event; N]> {
        Some(self.next())
    }
}

/// Takes nothing down: for replay that only wants the state.
impl Sink for () {
    #[inline]
    fn event(&mut self, _event: &Event) {}
}

impl PerpetualTrade {
    /// Whether it was made in the book: what is public, and what last prices, candles and volumes count.
    pub const fn is_in_book(&self) -> bool {
        self.cause <= TradeCause::Liquidation as u8
    }
}

impl Done {
    /// The refusal, if it was one.
    pub fn rejected(&self) -> Option<crate::reject::Reject> {
        crate::reject::Reject::from_code(self.reject)
    }
}
