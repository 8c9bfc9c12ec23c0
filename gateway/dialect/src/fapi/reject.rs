//! What the engine's refusals are called in the `/fapi` dialect (`perpetual.md` 4 and 7.10).

use super::refusal::{self, Refusal};
use ringside_core::reject::Reject;

/// The refusal of a command. Those that name values get them where the request is known.
pub fn of_reject(reject: Reject) -> Refusal {
    match reject {
        Reject::MarketNotFound => refusal::SYMBOL,
        Reject::MarketDelisted => refusal::CLOSED,
        Reject::MarketHalted | Reject::StateRefuses | Reject::NoMarkPrice => refusal::STATE,
        Reject::InvalidPrice => refusal::PRICE_ZERO,
        Reject::InvalidQuantity => refusal::QUANTITY_ZERO,
        Reject::InvalidTick => refusal::TICK,
        Reject::PriceBelowMinimum => refusal::PRICE_MINIMUM,
        Reject::PriceAboveMaximum => refusal::PRICE_MAXIMUM,
        Reject::InvalidStopPrice => refusal::STOP_ZERO,
        Reject::StopPriceAboveMaximum => refusal::STOP_MAXIMUM,
        Reject::InvalidActivationPrice => refusal::ACTIVATION,
        Reject::InvalidCallback => refusal::CALLBACK,
        Reject::InvalidClientOrder => refusal::CLIENT_ORDER,
        Reject::DuplicateClientOrder => refusal::CLIENT_ORDER_TWICE,
        Reject::QuantityOutOfRange => refusal::lot_size("0", "0", "0"),
        Reject::BelowMinNotional => refusal::min_notional("0", "0"),
        Reject::AboveMaxNotional => refusal::max_notional("0", "0"),
        Reject::ReduceOnlyRefused => refusal::REDUCE_ONLY,
        Reject::PriceAboveBand => refusal::BAND_UP,
        Reject::PriceBelowBand => refusal::BAND_DOWN,
        Reject::CounterpartyOutsideBand => refusal::COUNTERPARTY,
        Reject::InvalidGoodTill => refusal::GOOD_TILL,
        Reject::TooManyOpenOrders => refusal::OPEN_ORDERS,
        Reject::TooManyConditional => refusal::CONDITIONAL_ORDERS,
        Reject::ClosePositionExists => refusal::CLOSE_POSITION_TWICE,
        Reject::TradingDisabled => refusal::TRADING_DISABLED,
        Reject::InLiquidation => refusal::LIQUIDATION,
        Reject::EngineBusy => refusal::THROTTLED,
        Reject::InvalidLeverage => refusal::leverage("0"),
        Reject::LeverageReduction => refusal::LEVERAGE_REDUCTION,
        Reject::InsufficientMarginForLeverage => refusal::LEVERAGE_MARGIN,
        Reject::ExceedsBracket => refusal::BRACKET,
        Reject::InsufficientMargin => refusal::MARGIN,
        Reject::InsufficientBalance => refusal::BALANCE,
        Reject::ImmediateTrigger => refusal::IMMEDIATE_TRIGGER,
        Reject::PostOnlyWouldCross => refusal::WOULD_CROSS,
        Reject::FillOrKill => refusal::FILL_OR_KILL,
        Reject::NoPriceMatch => refusal::NO_LEVEL,
        Reject::OrderNotFound => refusal::NO_SUCH_ORDER,
        Reject::NotModifiable => refusal::LIMIT_ONLY,
        Reject::SideDiffers => refusal::SIDE,
        Reject::NotTrading => refusal::NOT_TRADING,
        Reject::TooManyModifications => refusal::MODIFICATIONS,
        Reject::NothingToModify => refusal::NOTHING_TO_MODIFY,
        Reject::PriorityNotKept => refusal::COMBINATION,
        Reject::NotIsolated => refusal::NOT_ISOLATED,
        Reject::NoPosition => refusal::NO_POSITION,
        Reject::InvalidAmount => refusal::AMOUNT,
        Reject::CrossInsufficient => refusal::CROSS_BALANCE,
        Reject::IsolatedInsufficient => refusal::ISOLATED_BALANCE,
        Reject::Malformed => refusal::UNSUPPORTED_COMBINATION,
        // What only other commands than those of this dialect are refused with.
        Reject::Duplicate
        | Reject::IdempotencyReplay
        | Reject::IdempotencyConflict
        | Reject::AccountNotFound
        | Reject::MarketExists
        | Reject::InvalidQuoteQuantity
        | Reject::InvalidLot
        | Reject::SelfTrade
        | Reject::NotOwner
        | Reject::InvalidAmend
        | Reject::MarginAssetDiffers
        | Reject::StepsDoNotFit
        | Reject::ParameterOutOfRange
        | Reject::SourceNotFound
        | Reject::OpenOrdersExist
        | Reject::PositionExists
        | Reject::WithdrawalsPaused
        | Reject::AmountBelowMinimum
        | Reject::NonceHeld
        | Reject::WithdrawalNotFound
        | Reject::WithdrawalStateDiffers
        | Reject::VaultNotFound
        | Reject::AlreadyReleased
        | Reject::ReleaseOutOfOrder
        | Reject::ChainBehind
        | Reject::WithdrawalExpired
        | Reject::AlreadyDeposited
        | Reject::DepositOutOfOrder
        | Reject::DepositNotFound
        | Reject::TokenNotFound
        | Reject::TokenExists
        | Reject::TokenPaused
        | Reject::NotRewinding
        | Reject::DraftNotFound => refusal::INTERNAL,
    }
}
