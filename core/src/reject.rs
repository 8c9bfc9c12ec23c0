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
    /// The quote is not the margin asset.
    MarginAssetDiffers = 50,
    /// Some tick times lot is no multiple of 10^10, so values would not be exact.
    StepsDoNotFit = 51,
    /// The value breaks a bound of its parameter.
    ParameterOutOfRange = 52,
    /// No such source of the index.
    SourceNotFound = 53,
    /// The market never had a mark price.
    NoMarkPrice = 54,
    /// The market's state takes no such order.
    StateRefuses = 60,
    /// Not a client's name of an order.
    InvalidClientOrder = 61,
    /// An open order of the account has this name.
    DuplicateClientOrder = 62,
    /// Price below the market's least.
    PriceBelowMinimum = 63,
    /// Price above the market's greatest.
    PriceAboveMaximum = 64,
    /// Stop price zero or out of range.
    InvalidStopPrice = 65,
    /// Stop or activation price above the market's greatest.
    StopPriceAboveMaximum = 66,
    /// Activation price out of range.
    InvalidActivationPrice = 67,
    /// Callback rate out of range or no step.
    InvalidCallback = 68,
    /// Floored quantity outside the market's least and greatest.
    QuantityOutOfRange = 69,
    /// Nothing to reduce.
    ReduceOnlyRefused = 70,
    /// Notional above the market's maximum.
    AboveMaxNotional = 71,
    /// A buy's price too far above the mark.
    PriceAboveBand = 72,
    /// A sell's price too far below the mark.
    PriceBelowBand = 73,
    /// A market order's best counterparty is too far from the mark.
    CounterpartyOutsideBand = 74,
    /// Good-till date too near or too far.
    InvalidGoodTill = 75,
    /// The account has as many untriggered orders in the market as it may.
    TooManyConditional = 76,
    /// A close-position order of this family and side is open.
    ClosePositionExists = 77,
    /// The account may not place orders.
    TradingDisabled = 78,
    /// The account is being liquidated.
    InLiquidation = 79,
    /// Leverage not between 1 and the market's greatest.
    InvalidLeverage = 80,
    /// An isolated position's leverage cannot be lowered.
    LeverageReduction = 81,
    /// Equity does not cover the requirement at that leverage.
    InsufficientMarginForLeverage = 82,
    /// Position and open orders would be worth more than the leverage or the account's own limit allows, or so much is open in the
    /// market that nothing may open more (8 x 10^18 steps).
    ExceedsBracket = 83,
    /// Equity does not cover the requirement.
    InsufficientMargin = 84,
    /// The order would fire at once.
    ImmediateTrigger = 85,
    /// The book has no such level.
    NoPriceMatch = 86,
    /// Only limit orders in the book can be modified.
    NotModifiable = 90,
    /// The order is of the other side.
    SideDiffers = 91,
    /// The market takes no modifications now.
    NotTrading = 92,
    /// The order was modified as often as it may be.
    TooManyModifications = 93,
    /// Nothing would change.
    NothingToModify = 94,
    /// That change cannot keep the queue place.
    PriorityNotKept = 95,
    /// Open orders keep the mode as it is.
    OpenOrdersExist = 96,
    /// A position keeps the mode as it is.
    PositionExists = 97,
    /// The market is in cross mode.
    NotIsolated = 98,
    /// There is no position.
    NoPosition = 99,
    /// More than can be withdrawn from the cross wallet.
    CrossInsufficient = 100,
    /// More than the isolated position can spare.
    IsolatedInsufficient = 101,
    /// The insurance pool is in deficit, or withdrawals are paused.
    WithdrawalsPaused = 102,
    /// Less than the least that is withdrawn.
    AmountBelowMinimum = 110,
    /// A signature that may exist keeps the account's next nonce until its deadline is past.
    NonceHeld = 111,
    /// No such withdrawal, or it has ended.
    WithdrawalNotFound = 112,
    /// The withdrawal is in another state.
    WithdrawalStateDiffers = 113,
    /// No such vault.
    VaultNotFound = 114,
    /// The vault's counter is past this nonce.
    AlreadyReleased = 115,
    /// An earlier release of the account was not told.
    ReleaseOutOfOrder = 116,
    /// A later block is known.
    ChainBehind = 117,
    /// A final block is past its deadline.
    WithdrawalExpired = 118,
    /// The vault's deposit of this number was taken before.
    AlreadyDeposited = 119,
    /// An earlier deposit of the vault was not told.
    DepositOutOfOrder = 120,
    /// No such deposit is held.
    DepositNotFound = 121,
    /// No such token.
    TokenNotFound = 122,
    /// The token is known as another one, or another contract as this token.
    TokenExists = 123,
    /// Deposits or withdrawals of the token are paused.
    TokenPaused = 124,
    /// Nobody has agreed to go back to a block before that.
    NotRewinding = 125,
    /// No draft of this source, or not all of it came.
    DraftNotFound = 126,
    /// What the last move of a price brought about in the market is not all done: what could match there is refused so long.
    EngineBusy = 127,
}

impl Reject {
    /// Every reject, in order of its number.
    pub const ALL: [Reject; 87] = [
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
        Reject::MarginAssetDiffers,
        Reject::StepsDoNotFit,
        Reject::ParameterOutOfRange,
        Reject::SourceNotFound,
        Reject::NoMarkPrice,
        Reject::StateRefuses,
        Reject::InvalidClientOrder,
        Reject::DuplicateClientOrder,
        Reject::PriceBelowMinimum,
        Reject::PriceAboveMaximum,
        Reject::InvalidStopPrice,
        Reject::StopPriceAboveMaximum,
        Reject::InvalidActivationPrice,
        Reject::InvalidCallback,
        Reject::QuantityOutOfRange,
        Reject::ReduceOnlyRefused,
        Reject::AboveMaxNotional,
        Reject::PriceAboveBand,
        Reject::PriceBelowBand,
        Reject::CounterpartyOutsideBand,
        Reject::InvalidGoodTill,
        Reject::TooManyConditional,
        Reject::ClosePositionExists,
        Reject::TradingDisabled,
        Reject::InLiquidation,
        Reject::InvalidLeverage,
        Reject::LeverageReduction,
        Reject::InsufficientMarginForLeverage,
        Reject::ExceedsBracket,
        Reject::InsufficientMargin,
        Reject::ImmediateTrigger,
        Reject::NoPriceMatch,
        Reject::NotModifiable,
        Reject::SideDiffers,
        Reject::NotTrading,
        Reject::TooManyModifications,
        Reject::NothingToModify,
        Reject::PriorityNotKept,
        Reject::OpenOrdersExist,
        Reject::PositionExists,
        Reject::NotIsolated,
        Reject::NoPosition,
        Reject::CrossInsufficient,
        Reject::IsolatedInsufficient,
        Reject::WithdrawalsPaused,
        Reject::AmountBelowMinimum,
        Reject::NonceHeld,
        Reject::WithdrawalNotFound,
        Reject::WithdrawalStateDiffers,
        Reject::VaultNotFound,
        Reject::AlreadyReleased,
        Reject::ReleaseOutOfOrder,
        Reject::ChainBehind,
        Reject::WithdrawalExpired,
        Reject::AlreadyDeposited,
        Reject::DepositOutOfOrder,
        Reject::DepositNotFound,
        Reject::TokenNotFound,
        Reject::TokenExists,
        Reject::TokenPaused,
        Reject::NotRewinding,
        Reject::DraftNotFound,
        Reject::EngineBusy,
    ];

    /// The number in events.
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The reject of a number; `None` for 0 (accepted) and numbers this version does not know.
    pub fn from_code(code: u16) -> Option<Reject> {
        // Most commands are accepted: nothing is looked for then.
        if code == 0 { None } else { Reject::ALL.into_iter().find(|reject| reject.code() == code) }
    }

    /// Whether the exchange refuses for what it is itself in at the moment, whatever is asked. Such a refusal leaves an idempotency
    /// key unused: the same request is judged anew later (`spot.md` 3: answers 5xx are not stored).
    pub const fn is_temporary(self) -> bool {
        matches!(
            self,
            Reject::WithdrawalsPaused | Reject::NonceHeld | Reject::TokenPaused | Reject::EngineBusy
        )
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
