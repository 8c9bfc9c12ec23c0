//! Every input of the engine: fixed-size, plain old data, the same bytes in a ring slot and in the journal.
//!
//! A [`Command`] is a header and one body; the tag in the header names the body's type. Every field is raw
//! (integers, padding named), so any bytes are a `Command`; `Engine::apply` validates what it uses and answers
//! [`crate::reject::Reject::Malformed`] otherwise. Bytes are little-endian. Tags and layouts are persisted: a changed layout is
//! a new tag.
//!
//! Whatever the kind, [`crate::reject::Reject::Duplicate`] is judged first, an unknown tag next, then what the kind lists, in
//! its order. `reserved` fields are not looked at; `flags` other than zero are `Malformed`.

use crate::ids::{AccountId, Address, AssetName, MarketId, OrderId, Sequence, Symbol, WithdrawalId};
use crate::money::{Amount, FeeRate, Price, Quantity, RawAmount};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[cfg(not(target_endian = "little"))]
compile_error!("records are little-endian in memory and in files");

/// Bytes of the longest body.
pub const BODY_LEN: usize = 152;

/// Longest grace of [`SetDisconnect`], in milliseconds.
pub const GRACE_MAX_MS: u32 = 60_000;

/// One request to change state. 184 bytes: with the ring's 8-byte stamp, three cache lines.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Command {
    /// Position in the stream, stamped by the matcher; 0 before that.
    pub sequence: Sequence,
    /// Nanoseconds of the UNIX epoch, stamped by the matcher, never decreasing.
    pub time_ns: i64,
    /// Position in the stream of `source`, from 1, dense. Not above the last one applied of that source: a
    /// duplicate. 0: the command is not numbered and never a duplicate (the matcher's own, tests).
    pub source_seq: u64,
    /// Who published it: an incarnation of a gateway worker or feed, never reused.
    pub source: u32,
    /// Which body: one of [`Kind`].
    pub kind: u16,
    /// Reserved: zero.
    pub reserved: u16,
    /// The body of `kind`, then zeros.
    pub body: [u8; BODY_LEN],
}

const _: () = assert!(size_of::<Command>() == 184 && align_of::<Command>() == 8);

/// A type that can stand in [`Command::body`].
pub trait Body: FromBytes + IntoBytes + Immutable + KnownLayout + Copy {
    /// Its tag.
    const KIND: Kind;
}

impl Command {
    /// A command as a publisher makes it: not yet sequenced, source not yet filled in.
    #[inline]
    pub fn new<B: Body>(body: B) -> Command {
        const { assert!(size_of::<B>() <= BODY_LEN && size_of::<B>().is_multiple_of(8)) };
        let mut command = Command {
            sequence: 0,
            time_ns: 0,
            source_seq: 0,
            source: 0,
            kind: B::KIND as u16,
            reserved: 0,
            body: [0; BODY_LEN],
        };
        command.body[..size_of::<B>()].copy_from_slice(body.as_bytes());
        command
    }

    /// The body read as `B`; whether the tag says so is for the caller to know.
    #[inline]
    pub fn body<B: Body>(&self) -> &B {
        const { assert!(size_of::<B>() <= BODY_LEN && align_of::<B>() <= 8) };
        match B::ref_from_prefix(&self.body) {
            Ok((body, _)) => body,
            // 32 bytes of header keep the body aligned to 8, and it is never shorter than `B`.
            Err(_) => unreachable!("a body fits in a command"),
        }
    }

    /// Bytes of the body that matter: those of the kind's type, or all for an unknown kind.
    pub fn body_len(&self) -> usize {
        Kind::from_code(self.kind).map_or(BODY_LEN, Kind::body_len)
    }
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{} t={} {}/{} ", self.sequence, self.time_ns, self.source, self.source_seq)?;
        kinds_debug(self, f)
    }
}

/// The account of a command whose kind says `of account`.
macro_rules! account_of {
    ($command:ident $name:ident account $($market:ident)?) => {
        Some($command.body::<$name>().account)
    };
    ($command:ident $name:ident $($other:ident)*) => {
        None
    };
}

/// The market of a command whose kind says `of market`.
macro_rules! market_of {
    ($command:ident $name:ident $(account)? market) => {
        Some($command.body::<$name>().market)
    };
    ($command:ident $name:ident $($other:ident)*) => {
        None
    };
}

/// Declares [`Kind`], the tag of each body and everything that must list them all. `of`: which of its fields say whose it is and
/// where, as its [`crate::event::Done`] says.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal $(of $($field:ident)+)?,)*) => {
        /// The tag of a command's body. Numbers are persisted: append, never renumber.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Kind { $($(#[$doc])* $name = $code,)* }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];
            /// The kind of a tag, if this version knows it.
            #[inline]
            pub const fn from_code(code: u16) -> Option<Kind> {
                match code { $($code => Some(Kind::$name),)* _ => None }
            }
            /// Size of its body.
            pub const fn body_len(self) -> usize {
                match self { $(Kind::$name => size_of::<$name>(),)* }
            }
        }
        $(impl Body for $name { const KIND: Kind = Kind::$name; })*

        impl Command {
            /// Whose it is, of a perpetual command that names an account.
            pub fn account(&self) -> Option<AccountId> {
                match Kind::from_code(self.kind)? { $(Kind::$name => account_of!(self $name $($($field)+)?),)* }
            }

            /// Where it is, of a perpetual command that names a market.
            pub fn market(&self) -> Option<MarketId> {
                match Kind::from_code(self.kind)? { $(Kind::$name => market_of!(self $name $($($field)+)?),)* }
            }
        }

        fn kinds_debug(command: &Command, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match Kind::from_code(command.kind) {
                $(Some(Kind::$name) => write!(f, "{:?}", command.body::<$name>()),)*
                None => write!(f, "kind {}", command.kind),
            }
        }
    };
}

impl Kind {
    /// Whether the engine carries it out on its quickest way: a spot order is placed, canceled or replaced.
    pub const fn is_placing(self) -> bool {
        matches!(self, Kind::PlaceOrder | Kind::CancelOrder | Kind::ReplaceOrder)
    }

    /// Whether it places, changes or cancels one perpetual order: most perpetual commands do, and have a way of their own.
    pub const fn is_of_one_order(tag: u16) -> bool {
        const PLACE: u16 = Kind::PlacePerpetual as u16;
        const MODIFY: u16 = Kind::ModifyPerpetual as u16;
        const CANCEL: u16 = Kind::CancelPerpetual as u16;
        matches!(tag, PLACE | MODIFY | CANCEL)
    }

    /// Tags of what the venue says to itself: its stages make these commands, and recovery; no publisher may.
    pub const OWN: std::ops::Range<u16> = 48..64;
}

kinds! {
    /// A new order.
    PlaceOrder = 1,
    /// Ends one resting order.
    CancelOrder = 2,
    /// Ends all resting orders of an account, in one market or all.
    CancelAll = 3,
    /// Lowers the open quantity of a resting order, in place.
    AmendOrder = 4,
    /// Takes a resting order out and enters it again at a new price and quantity, as a new arrival with the same id.
    ReplaceOrder = 5,
    /// Makes the account of an address, or finds it.
    CreateAccount = 16,
    /// Adds to an account's available balance.
    Credit = 17,
    /// Who is about to act as an operator, from where and why: stands before the command that does it.
    OperatorNote = 19,
    /// Opens a market.
    ListMarket = 32,
    /// Changes entry rules or fees of a market.
    UpdateMarket = 33,
    /// Halts, lists again or delists a market.
    SetMarketStatus = 34,
    /// Lets time pass when nobody trades.
    AdvanceTime = 48,
    /// Starts an incarnation of the process.
    OpenEpoch = 49,
    /// Has the engine compute its state hash.
    Checkpoint = 50,
    /// The state hash that the live engine computed at an earlier checkpoint; replay compares.
    VerifyHash = 51,
    /// Declares that an earlier command is to be passed over in replay.
    SkipCommand = 52,
    /// Opens a perpetual market.
    ListPerpetual = 64,
    /// Changes one parameter of a perpetual market.
    SetPerpetualParameter = 65 of market,
    /// Gives a perpetual market its notional brackets.
    SetBrackets = 66 of market,
    /// Changes what a perpetual market takes, or settles it.
    SetPerpetualState = 67 of market,
    /// Sets one tier of the fee schedule.
    SetVipTier = 68,
    /// Sets trade group, permission and fee terms of an account.
    SetPerpetualAccount = 69 of account,
    /// Adds, weighs or removes a source of the index.
    SetSource = 70 of market,
    /// A price of a source.
    FeedPrice = 71 of market,
    /// Pins the index of a market, or frees it.
    SetManualPrice = 72 of market,
    /// An operator's deposit to, or withdrawal from, a perpetual wallet or the insurance fund.
    CreditPerpetual = 73,
    /// Has the engine add up every ledger.
    ProveLedger = 74,
    /// Switches a rule change on, for good.
    ActivateRule = 75,
    /// Begins to collect what is to be configured of a perpetual market, existing or not.
    DraftPerpetual = 76,
    /// Makes all of a draft so at once.
    ApplyDraft = 77,
    /// One tier of the fee schedule that holds from the next midnight on.
    ScheduleVipTier = 78,
    /// Limits that an account has of its own.
    SetAccountLimits = 79 of account,
    /// A new perpetual order.
    PlacePerpetual = 80 of account market,
    /// Changes a resting perpetual limit order.
    ModifyPerpetual = 81 of account market,
    /// Ends one open perpetual order.
    CancelPerpetual = 82 of account market,
    /// Ends open perpetual orders of an account, in one market or all.
    CancelAllPerpetual = 83 of account market,
    /// Starts or stops the timer that cancels an account's orders.
    SetCountdown = 84 of account market,
    /// Changes the leverage of an account in a market.
    SetLeverage = 85 of account market,
    /// Changes the margin mode of an account in a market, or in all.
    SetMarginMode = 86 of account market,
    /// Moves margin between the cross wallet and an isolated position.
    AdjustIsolatedMargin = 87 of account market,
    /// Moves the margin asset between the spot and the perpetual ledger.
    TransferPerpetual = 88 of account,
    /// The same with an idempotency key.
    TransferOnce = 89 of account,
    /// Takes an amount out for a withdrawal.
    RequestWithdrawal = 90,
    /// The signature of a withdrawal.
    RecordSignature = 91,
    /// The signer gave no signature: the amount goes back.
    ReturnWithdrawal = 92,
    /// The vault has paid, and it is final.
    RecordRelease = 93,
    /// A final block up to which every release was told: what is past its deadline expires.
    AdvanceChain = 94,
    /// Pauses withdrawals, or lets them go on.
    PauseWithdrawals = 95,
    /// Takes over a release that only the signer remembers.
    AdoptWithdrawal = 96,
    /// Decides, by two operators, what becomes of a withdrawal for whose nonce the vault paid something else.
    SettleWithdrawal = 97,
    /// A deposit into a vault that is final.
    RecordDeposit = 98,
    /// Adds a token, or changes its least withdrawal and its pauses.
    SetToken = 99,
    /// What a vault is found to be: it is opened where it is new, and a replaced signer's work goes back.
    ObserveVault = 100,
    /// Credits a deposit that was held, once nothing holds it.
    CreditHeldDeposit = 101,
    /// Goes back to an earlier final block, by two operators, where the chain undid what was final.
    RewindVault = 102,
    /// Takes back a release or a deposit that the chain undid.
    UndoEvent = 103,
    /// Moves money between the fund, the fee accounts and an account's spot balance.
    MoveTreasury = 104,
    /// Has the loss of a connection end an account's orders, or no longer; tells that one is lost.
    SetDisconnect = 105,
}

/// Flags of [`PlaceOrder`].
pub mod place_flag {
    /// The price was sent finer than 10^-8, so that it is a multiple of no tick; limit orders only.
    pub const FINER_PRICE: u32 = 1;
    /// The quantity was, so that it is a multiple of no lot; not of a market buy.
    pub const FINER_QUANTITY: u32 = 2;
}

macro_rules! body {
    ($($(#[$doc:meta])* pub struct $name:ident { $($(#[$fdoc:meta])* pub $field:ident : $ty:ty,)* })*) => {
        $($(#[$doc])*
        // Fields of ids, and `reserved`, which is zero, say what they are by name and type.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* })*
    };
}

body! {
    /// See [`Kind::PlaceOrder`]. Rejects, in order: Duplicate, IdempotencyReplay / Conflict, Malformed, AccountNotFound,
    /// MarketNotFound, MarketDelisted, MarketHalted, InvalidPrice, InvalidQuantity, InvalidQuoteQuantity,
    /// InvalidTick, InvalidLot, BelowMinNotional, InsufficientBalance, TooManyOpenOrders, PostOnlyWouldCross,
    /// SelfTrade, FillOrKill.
    ///
    /// Malformed: a byte outside its enumeration, a flag of what its type does not use, a market order that is not immediate-or-cancel.
    /// A market order's price, a market buy's quantity and the quote quantity of any other order are not looked at,
    /// and 0 in events. InvalidQuantity also, after InvalidLot, where price x quantity leaves the range of an amount. A market buy
    /// takes at most [`crate::money::MAX_ENTRY`] of base, in whole lots, however little it costs.
    /// TooManyOpenOrders concerns orders that may rest. FillOrKill: the walk, self-trade prevention included, would
    /// not fill it whole; nothing then changes.
    pub struct PlaceOrder {
        /// Account id.
        pub account: AccountId,
        pub market: MarketId,
        /// A [`Side`].
        pub side: u8,
        /// An [`OrderType`].
        pub order_type: u8,
        /// A [`TimeInForce`].
        pub time_in_force: u8,
        /// A [`SelfTradePrevention`].
        pub self_trade: u8,
        /// Bits of [`place_flag`].
        pub flags: u32,
        /// Limit price; 0 for market orders.
        pub price: Price,
        /// Base quantity; 0 for a market buy sized in quote.
        pub quantity: Quantity,
        /// Quote to spend; 0 unless a market buy.
        pub quote_quantity: RawAmount,
        /// Hash of the idempotency key, 0 for none; scoped to the account as named. Remembered with whatever verdict
        /// its first command got (other than Duplicate) while engine time is less than 24 hours after that command's.
        pub idempotency_key: u64,
        /// Hash of the request's body, to tell a retry from a reuse of the key.
        pub idempotency_body: u64,
    }

    /// See [`Kind::CancelOrder`]. Rejects: AccountNotFound, OrderNotFound, NotOwner.
    pub struct CancelOrder {
        /// Who asks.
        pub account: AccountId,
        pub reserved: u32,
        pub order: OrderId,
    }

    /// See [`Kind::CancelAll`]. Oldest order first: ascending ids. Rejects: AccountNotFound, MarketNotFound.
    pub struct CancelAll {
        /// Whose orders.
        pub account: AccountId,
        /// Where, or [`crate::ids::ALL_MARKETS`].
        pub market: MarketId,
    }

    /// See [`Kind::SetDisconnect`]. Armed: once the connection is lost and the grace is over, the first tick ends the account's open
    /// orders there, spot, perpetual and conditional ones. Each market and all of them are armed by themselves; the last connection
    /// that arms owns it, and a running grace ends with arming and disarming. [`Kind::OpenEpoch`] is the loss of every connection.
    /// Rejects: Malformed (an act that is none), AccountNotFound, MarketNotFound (not where a connection is lost), Malformed
    /// (arming: a grace above [`GRACE_MAX_MS`]).
    pub struct SetDisconnect {
        pub account: AccountId,
        /// Where, on either side, or [`crate::ids::ALL_MARKETS`]. Where a connection is lost it is not looked at.
        pub market: MarketId,
        /// The connection, by a number that no other has had.
        pub session: u64,
        /// Milliseconds from its loss to the end of the orders.
        pub grace_ms: u32,
        /// A [`ConnectionAct`].
        pub act: u32,
    }

    /// See [`Kind::AmendOrder`]. The order keeps its place. Taken whatever the market's status; the lot is not judged.
    /// Rejects: AccountNotFound, OrderNotFound, NotOwner, InvalidAmend (not 0 < quantity < open quantity).
    pub struct AmendOrder {
        /// Who asks.
        pub account: AccountId,
        pub reserved: u32,
        pub order: OrderId,
        /// The new open quantity.
        pub quantity: Quantity,
    }

    /// See [`Kind::ReplaceOrder`]. The order is judged as if its old reservation were released and it were not in
    /// the book; refused, it rests as before. It may trade. It keeps its time in force and self-trade mode, and
    /// takes the fee rates of now. Rejects: as PlaceOrder from AccountNotFound, then
    /// OrderNotFound, NotOwner before the market's checks; no order is stored for a refusal. InvalidQuantity also where
    /// filled + quantity would be more than [`crate::money::MAX_ENTRY`].
    pub struct ReplaceOrder {
        /// Who asks.
        pub account: AccountId,
        pub reserved: u32,
        pub order: OrderId,
        /// The new limit price.
        pub price: Price,
        /// The new open quantity.
        pub quantity: Quantity,
    }

    /// See [`Kind::CreateAccount`]. Accepted also when the account exists; Done names it. The zero address is the fee
    /// account's.
    pub struct CreateAccount {
        /// The wallet.
        pub address: Address,
        pub reserved: u32,
    }

    /// See [`Kind::Credit`]. Makes the account where it does not exist. Rejects: MarketNotFound (no such asset),
    /// InvalidAmount (not > 0, or the asset's sum over all accounts would leave the range of an amount).
    pub struct Credit {
        /// The wallet.
        pub address: Address,
        /// Which asset.
        pub asset: AssetName,
        pub reserved: u16,
        /// How much.
        pub amount: RawAmount,
        /// Audit note, padded with zeros.
        pub reason: [u8; 64],
    }

    /// See [`Kind::OperatorNote`]. Changes nothing and is never refused: it is there for the journal, and told as
    /// [`crate::event::OperatorNoted`] and [`crate::event::OperatorReason`]. What it speaks of is the next command of its
    /// source, if that is of the kind `action`. Texts that one note has no room for are carried on by further ones right behind
    /// it, all else in them the same.
    pub struct OperatorNote {
        /// Name, padded with zeros.
        pub operator: [u8; 16],
        /// Address of the client, IPv4 mapped into IPv6.
        pub ip: [u8; 16],
        /// What it is about: a wallet, or the name of a market padded with zeros.
        pub subject: [u8; 20],
        /// A [`Kind`]: the command that follows.
        pub action: u16,
        /// 0 for the first note of an action; one that carries its texts on has the next number. [`OperatorNote::END`]: it only
        /// ends an action that is no command, whose notes name this kind.
        pub part: u8,
        /// 1: the name is proven by a key of its own; 0: it is said by somebody who has the key that all share.
        pub proven: u8,
        /// Why, padded with zeros.
        pub reason: [u8; 64],
        /// What exactly, in short, padded with zeros.
        pub detail: [u8; 32],
    }

    /// See [`Kind::ListMarket`]. Assets named for the first time are created. Rejects: MarketExists, Malformed (a symbol
    /// not of 2 to 20, an asset not of 1 to 10 of `[A-Z0-9]`, equal assets, a field outside its range).
    pub struct ListMarket {
        /// Name of the market.
        pub symbol: Symbol,
        /// Name of what is traded.
        pub base: AssetName,
        /// Name of what is paid.
        pub quote: AssetName,
        /// Price step, > 0, at most [`crate::money::MAX_ENTRY`].
        pub tick: Price,
        /// Quantity step, > 0, at most [`crate::money::MAX_ENTRY`].
        pub lot: Quantity,
        /// Least notional, > 0.
        pub min_notional: RawAmount,
        /// Fee of the resting side, at most [`crate::money::FEE_RATE_ONE`], as the other.
        pub maker_fee: FeeRate,
        /// Fee of the arriving side.
        pub taker_fee: FeeRate,
        /// Most open orders of one account, > 0.
        pub max_open_orders: u32,
        /// A [`MarketKind`].
        pub kind: u8,
        pub reserved: [u8; 3],
    }

    /// See [`Kind::UpdateMarket`]. Resting orders are not judged again. Accepted, it gives one Market event, also where
    /// nothing changed. Rejects: MarketNotFound, Malformed (an unknown bit, a field that counts outside its range).
    pub struct UpdateMarket {
        pub market: MarketId,
        /// Which of the fields count: bits of [`update_mask`].
        pub mask: u32,
        /// New price step.
        pub tick: Price,
        /// New quantity step.
        pub lot: Quantity,
        /// New least notional.
        pub min_notional: RawAmount,
        /// New fee of the resting side, for orders placed from now on.
        pub maker_fee: FeeRate,
        /// New fee of the arriving side, for orders placed from now on.
        pub taker_fee: FeeRate,
    }

    /// See [`Kind::SetMarketStatus`]. Delisting cancels every order of the market first, buys by priority, then sells, and then
    /// changes the status; where that is more than one command does (`risk.md` 19), the market is halted, ticks go on with it, and the
    /// one that ends the last order tells the status. Accepted, it gives one Market event, also where nothing changed.
    /// Rejects: MarketNotFound, MarketDelisted (or being delisted), Malformed.
    pub struct SetMarketStatus {
        pub market: MarketId,
        /// A [`MarketStatus`].
        pub status: u8,
        pub reserved: [u8; 3],
    }

    /// See [`Kind::AdvanceTime`].
    pub struct AdvanceTime {}

    /// See [`Kind::OpenEpoch`]. Sources of earlier epochs are forgotten (and this command's own): they can publish no
    /// more. Rejects: Malformed (an epoch not above the last; the first is above 0).
    pub struct OpenEpoch {
        /// Grows by one at each start.
        pub epoch: u32,
        pub reserved: u32,
    }

    /// See [`Kind::Checkpoint`].
    pub struct Checkpoint {}

    /// See [`Kind::VerifyHash`]. An engine that computed another hash at that sequence stops: it must not go on.
    pub struct VerifyHash {
        /// Sequence of the checkpoint.
        pub checkpoint: Sequence,
        /// What the live engine computed.
        pub hash: [u8; 16],
    }

    /// See [`Kind::SkipCommand`]. Recovery reads these before it replays; applied in its place it changes nothing.
    pub struct SkipCommand {
        /// The command to pass over.
        pub skipped: Sequence,
        /// Who decided.
        pub operators: [[u8; 24]; 2],
        /// Why, padded with zeros.
        pub reason: [u8; 64],
    }
}

/// Bits of [`UpdateMarket::mask`].
pub mod update_mask {
    /// `tick` counts.
    pub const TICK: u32 = 1;
    /// `lot` counts.
    pub const LOT: u32 = 2;
    /// `min_notional` counts.
    pub const MIN_NOTIONAL: u32 = 4;
    /// `maker_fee` counts.
    pub const MAKER_FEE: u32 = 8;
    /// `taker_fee` counts.
    pub const TAKER_FEE: u32 = 16;
    /// All of them.
    pub const ALL: u32 = TICK | LOT | MIN_NOTIONAL | MAKER_FEE | TAKER_FEE;
}

/// Declares an enumeration stored as one byte.
macro_rules! byte_enum {
    ($($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        $vis enum $name { $($(#[$vdoc])* $variant = $code,)* }

        impl $name {
            /// Every value.
            $vis const ALL: &[$name] = &[$($name::$variant),*];
            /// The value of a stored byte.
            #[inline]
            $vis const fn from_code(code: u8) -> Option<$name> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }
        })*
    };
}

pub(crate) use byte_enum;
mod perpetual;
pub use perpetual::*;
mod treasury;
pub use treasury::*;
mod withdrawal;
pub use withdrawal::*;
mod deposit;
pub use deposit::*;

byte_enum! {
    /// What a [`SetDisconnect`] does.
    pub enum ConnectionAct {
        /// The loss of this connection ends orders.
        Arm = 1,
        /// No connection's does.
        Disarm = 2,
        /// The connection is lost.
        Lost = 3,
    }

    /// Which side of the book.
    pub enum Side {
        /// Pays quote, receives base.
        Buy = 0,
        /// Pays base, receives quote.
        Sell = 1,
    }

    /// How an order is priced.
    pub enum OrderType {
        /// At its price or better.
        Limit = 0,
        /// At what the book offers.
        Market = 1,
    }

    /// What becomes of what does not trade at once.
    pub enum TimeInForce {
        /// It rests.
        GoodTillCancel = 0,
        /// It is canceled.
        ImmediateOrCancel = 1,
        /// The order must not trade at once at all, else it is refused.
        PostOnly = 2,
        /// The order must trade whole at once, else it is refused.
        FillOrKill = 3,
    }

    /// What happens where an order meets a resting order of its own account.
    pub enum SelfTradePrevention {
        /// They trade.
        None = 0,
        /// The arriving order is refused whole, before anything trades (spot).
        RejectTaker = 1,
        /// The arriving order's remainder ends.
        ExpireTaker = 2,
        /// The resting order ends.
        ExpireMaker = 3,
        /// Both end.
        ExpireBoth = 4,
    }

    /// What settles a market's trades.
    pub enum MarketKind {
        /// Assets change hands.
        Spot = 0,
    }

    /// Whether a market trades.
    pub enum MarketStatus {
        /// Everything is taken.
        Listed = 0,
        /// Cancels only.
        Halted = 1,
        /// Nothing, for good.
        Delisted = 2,
    }

    /// Where an order stands after the command.
    pub enum OrderStatus {
        /// Rests, nothing traded yet.
        Open = 0,
        /// Rests, part traded.
        PartiallyFilled = 1,
        /// Traded whole (or, for a market buy sized in quote, as far as its quote buys lots).
        Filled = 2,
        /// Ended by its owner, by delisting, or as the remainder of an order that must not rest.
        Canceled = 3,
        /// Refused, kept for the record.
        Rejected = 4,
        /// Ended by a rule (self-trade prevention).
        Expired = 5,
    }
}

impl Side {
    /// The other side.
    #[inline]
    pub const fn opposite(self) -> Side {
        match self {
            Side::Buy => Side::Sell,
            Side::Sell => Side::Buy,
        }
    }
}

impl OrderStatus {
    /// Whether the order is in the book.
    #[inline]
    pub const fn is_resting(self) -> bool {
        matches!(self, OrderStatus::Open | OrderStatus::PartiallyFilled)
    }
}

impl OperatorNote {
    /// A `part` that ends an action of which no command is made.
    pub const END: u8 = u8::MAX;
}

impl PlaceOrder {
    /// A limit order, good till cancelled, spot self-trade rule, no idempotency key.
    pub fn limit(
        account: AccountId,
        market: MarketId,
        side: Side,
        price: Price,
        quantity: Quantity,
    ) -> PlaceOrder {
        PlaceOrder {
            account,
            market,
            side: side as u8,
            order_type: OrderType::Limit as u8,
            time_in_force: TimeInForce::GoodTillCancel as u8,
            self_trade: SelfTradePrevention::RejectTaker as u8,
            flags: 0,
            price,
            quantity,
            quote_quantity: RawAmount::ZERO,
            idempotency_key: 0,
            idempotency_body: 0,
        }
    }

    /// A market buy that spends `quote`.
    pub fn market_buy(account: AccountId, market: MarketId, quote: Amount) -> PlaceOrder {
        PlaceOrder {
            order_type: OrderType::Market as u8,
            time_in_force: TimeInForce::ImmediateOrCancel as u8,
            quote_quantity: quote.into(),
            ..PlaceOrder::limit(account, market, Side::Buy, 0, 0)
        }
    }

    /// A market sell of `quantity`.
    pub fn market_sell(account: AccountId, market: MarketId, quantity: Quantity) -> PlaceOrder {
        PlaceOrder {
            order_type: OrderType::Market as u8,
            time_in_force: TimeInForce::ImmediateOrCancel as u8,
            ..PlaceOrder::limit(account, market, Side::Sell, 0, quantity)
        }
    }
}
