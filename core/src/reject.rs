//! Every refusal of a command, one closed list. Numbers are persisted in events: append, never renumber.
//! Order of precedence is the order in which the engine checks; tests fix it.

/// Why a command was refused. A refusal changes nothing but counters, except where noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Reject {
    /// Unknown tag, or a field outside its enumeration or range. Nothing else was looked at.
    Malformed = 1,
    /// (source, source sequence) was applied before. The first result stands.
    Duplicate = 2,
    /// The idempotency key was used before with the same body; Done names the first command's sequence.
    IdempotencyReplay = 3,
    /// The idempotency key was used before with another body.
    IdempotencyConflict = 4,
    /// No such account.
    AccountNotFound = 10,
    /// No such market.
    MarketNotFound = 11,
    /// The market is delisted for good.
    MarketDelisted = 12,
    /// The market takes no new orders now.
    MarketHalted = 13,
    /// A market of that symbol exists.
    MarketExists = 14,
    /// Price missing, zero or out of range.
    InvalidPrice = 20,
    /// Quantity missing, zero or out of range.
    InvalidQuantity = 21,
    /// Quote quantity missing, zero or out of range.
    InvalidQuoteQuantity = 22,
    /// Amount zero or out of range.
    InvalidAmount = 23,
    /// Price is no multiple of the tick. An order is stored as rejected.
    InvalidTick = 30,
    /// Quantity is no multiple of the lot. An order is stored as rejected.
    InvalidLot = 31,
    /// Notional below the market's minimum. An order is stored as rejected.
    BelowMinNotional = 32,
    /// Available is less than what would be frozen. An order is stored as rejected (placement only).
    InsufficientBalance = 33,
    /// The account has as many open orders in the market as it may.
    TooManyOpenOrders = 34,
    /// A post-only order would trade at once. An order is stored as rejected.
    PostOnlyWouldCross = 35,
    /// The order would meet a resting order of its own account. An order is stored as rejected.
    SelfTrade = 36,
    /// Fill-or-kill, and the book cannot fill it whole.
    FillOrKill = 37,
    /// No such order, or it has ended.
    OrderNotFound = 40,
    /// The order belongs to another account.
    NotOwner = 41,
    /// The change asked of a resting order is not one that can be made.
    InvalidAmend = 42,
}

impl Reject {
    /// Every reject, in order of its number.
    pub const ALL: [Reject; 24] = [
        Reject::Malformed,
        Reject::Duplicate,
        Reject::IdempotencyReplay,
        Reject::IdempotencyConflict,
        Reject::AccountNotFound,
        Reject::MarketNotFound,
        Reject::MarketDelisted,
        Reject::MarketHalted,
        Reject::MarketExists,
        Reject::InvalidPrice,
        Reject::InvalidQuantity,
        Reject::InvalidQuoteQuantity,
        Reject::InvalidAmount,
        Reject::InvalidTick,
        Reject::InvalidLot,
        Reject::BelowMinNotional,
        Reject::InsufficientBalance,
        Reject::TooManyOpenOrders,
        Reject::PostOnlyWouldCross,
        Reject::SelfTrade,
        Reject::FillOrKill,
        Reject::OrderNotFound,
        Reject::NotOwner,
        Reject::InvalidAmend,
    ];

    /// The number in events.
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The reject of a number; `None` for 0 (accepted) and numbers this version does not know.
    pub fn from_code(code: u16) -> Option<Reject> {
        Reject::ALL.into_iter().find(|reject| reject.code() == code)
    }

    /// Whether a placement refused for this reason is kept as an order with status `rejected` (`spot.md` 4).
    pub const fn stores_order(self) -> bool {
        matches!(
            self,
            Reject::InvalidTick
                | Reject::InvalidLot
                | Reject::BelowMinNotional
                | Reject::InsufficientBalance
                | Reject::PostOnlyWouldCross
                | Reject::SelfTrade
        )
    }
}
