//! What an account has on the perpetual side: over all markets, and in each.

use crate::command::Side;
use crate::event::PerpetualExposure;
use crate::ids::{AccountId, MarketId};
use crate::market::OpenOrders;
use crate::money::{Money, Quantity};
use crate::reject::Reject;
use crate::risk::perpetual::order_margin::{Bucket, Reservation};
use crate::risk::perpetual::position::Position;
use std::mem::offset_of;
use std::ops::{Deref, DerefMut};
use zerocopy::FromZeros;

/// Placements are refused.
pub(crate) const DISABLED: u8 = 1;
/// It has limits of its own; follows from those.
pub(crate) const LIMITED: u8 = 2;
/// Something may be taken off its fees; follows from promotion, referral and fee burn.
pub(crate) const DISCOUNTED: u8 = 4;

/// An account over all markets. All zeros: one that did nothing yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Account {
    pub(crate) hot: HotAccount,
    /// Trade group + 1.
    pub(crate) group: i64,
    /// Promotion holds before it, ms.
    pub(crate) promo_until_ms: i64,
    pub(crate) promo_bps: u32,
    pub(crate) referral_total_bps: u32,
    pub(crate) referral_share_bps: u32,
    /// The place it has, or had, among those who were deleveraged for bankrupt scopes, from 1 on; 0 for none.
    pub(crate) brought: u32,
    /// When the scheduled downgrade holds, ms.
    pub(crate) pending_ms: i64,
    /// Deadline of the countdown over all markets, 0 for none.
    pub(crate) countdown_ms: i64,
    /// The countdown over all markets spares reduce-only orders.
    pub(crate) countdown_keeps: u8,
    pub(crate) fee_burn: u8,
    /// Zeros.
    pub(crate) spare: [u8; 14],
}

/// What orders, fills and tests read of an account: one line. A plan goes on with a copy of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct HotAccount {
    /// W; of account 0 the insurance fund's.
    pub(crate) wallet: Money,
    /// Markets it has touched, a bit each.
    pub(crate) markets: [u64; 2],
    /// V14.
    pub(crate) volume: Money,
    /// V30.
    pub(crate) volume_30: Money,
    /// Number of the running hour's entry + 1, while its hour runs.
    pub(crate) hour: u64,
    /// When MARGIN_CALL was last sent.
    pub(crate) called_ms: i64,
    /// [`DISABLED`], [`LIMITED`] and [`DISCOUNTED`].
    pub(crate) terms: u8,
    /// 0 cross, 1 isolated: of markets without a mode of their own.
    pub(crate) default_mode: u8,
    /// The cross scope is being liquidated.
    pub(crate) liquidating: u8,
    pub(crate) tier: u8,
    /// Tier after a scheduled downgrade + 1; 0 for none.
    pub(crate) pending: u8,
    /// It is in the list of those who are due in markets that are not acted on.
    pub(crate) is_deferred: u8,
    /// It changed since it was given its place among counterparties, and is in the list of those.
    pub(crate) is_stale: u8,
    /// The running command must test its scopes, and will.
    pub(crate) is_marked: u8,
}

/// An account in one market. All zeros: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Holding {
    pub(crate) hot: HotHolding,
    /// Quantity, reference, open loss and fee reserve of open orders, by side: a line.
    pub(crate) buckets: [[i64; 4]; 2],
    /// Untriggered orders.
    pub(crate) waiting: u32,
    pub(crate) countdown_keeps: u8,
    /// Open close-position orders: bit = side + 2 x (take-profit family).
    pub(crate) closers: u8,
    /// Zeros.
    pub(crate) spare: [u8; 2],
    /// When MARGIN_CALL was last sent of it.
    pub(crate) called_ms: i64,
    /// Deadline of its countdown, 0 for none.
    pub(crate) countdown_ms: i64,
    /// Its place among those whom the settlement of its market paid, from 1 on; 0 for none.
    pub(crate) brought: u32,
    pub(crate) reserved: [u32; 9],
}

/// What a fill changes of a holding, and what it is judged by: one line. A plan goes on with a copy of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct HotHolding {
    /// Signed.
    pub(crate) quantity: Quantity,
    /// Signed.
    pub(crate) cost: Money,
    /// IW.
    pub(crate) isolated: Money,
    pub(crate) open_fees: Money,
    /// Since ever.
    pub(crate) realised: Money,
    /// Its open orders.
    pub(crate) orders: OpenOrders,
    /// Resting reduce-only orders, and untriggered ones that end with the position.
    pub(crate) bound: u32,
    /// 0: the default.
    pub(crate) leverage: u8,
    /// 0 the account's default, 1 cross, 2 isolated.
    pub(crate) mode: u8,
    /// The isolated scope is being liquidated.
    pub(crate) liquidating: u8,
    /// Its orders are not trimmed to its quantity yet: no more than within a command.
    pub(crate) is_resized: u8,
}

/// What is liquidated together: the cross account, or one isolated position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) account: AccountId,
    pub(crate) isolated: Option<usize>,
}

const _: () = assert!(size_of::<HotAccount>() == 64 && size_of::<Account>() == 128);
const _: () = assert!(
    size_of::<HotHolding>() == 64 && offset_of!(Holding, waiting) == 128 && size_of::<Holding>() == 192
);

// The hot part is read as part of the whole wherever that is at hand.
impl Deref for Account {
    type Target = HotAccount;

    #[inline(always)]
    fn deref(&self) -> &HotAccount {
        &self.hot
    }
}

impl DerefMut for Account {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut HotAccount {
        &mut self.hot
    }
}

impl Deref for Holding {
    type Target = HotHolding;

    #[inline(always)]
    fn deref(&self) -> &HotHolding {
        &self.hot
    }
}

impl DerefMut for Holding {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut HotHolding {
        &mut self.hot
    }
}

impl Account {
    /// Notes whether anything may be taken off its fees.
    pub(crate) fn note_discounts(&mut self) {
        let has_any = (self.referral_total_bps | self.promo_bps | u32::from(self.fee_burn)) != 0;
        self.hot.terms = self.hot.terms & !DISCOUNTED | if has_any { DISCOUNTED } else { 0 };
    }
}

impl HotAccount {
    /// It is not forbidden to trade.
    #[inline(always)]
    pub(crate) fn may_trade(&self) -> Result<(), Reject> {
        if self.terms & DISABLED != 0 { Err(Reject::TradingDisabled) } else { Ok(()) }
    }

    /// An order of it that waited may run in a market where it has `holding`.
    #[inline(always)]
    pub(crate) fn may_run(&self, holding: &HotHolding) -> Result<(), Reject> {
        self.may_trade()?;
        if self.liquidating | holding.liquidating != 0 { Err(Reject::InLiquidation) } else { Ok(()) }
    }

    /// Whether it has touched no market but one.
    #[inline(always)]
    pub(crate) fn is_alone_in(&self, index: usize) -> bool {
        let [low, high] = self.markets;
        let (own, other) = if index < 64 { (low, high) } else { (high, low) };
        ((own & !(1 << (index % 64))) | other) == 0
    }

    /// Notes that it has touched a market.
    #[inline(always)]
    pub(crate) fn touch(&mut self, index: usize) {
        self.markets[index / 64] |= 1 << (index % 64);
    }

    /// Counts traded value for its volumes; how much of it: they end at what a word holds.
    #[inline(always)]
    pub(crate) fn count_traded(&mut self, value: Money) -> Money {
        // They are never below 0.
        let value = value.min(Money::MAX - self.volume_30);
        self.volume += value;
        self.volume_30 += value;
        value
    }
}

impl HotHolding {
    #[inline]
    pub(crate) fn position(&self) -> Position {
        Position { quantity: self.quantity, cost: self.cost }
    }

    /// Takes a leverage that brackets allow, none of which is above 125.
    #[inline]
    pub(crate) fn set_leverage(&mut self, leverage: u32) {
        debug_assert!(leverage <= 125);
        self.leverage = leverage as u8;
    }
}

impl Holding {
    #[inline]
    pub(crate) fn bucket(&self, side: Side) -> Bucket {
        let [quantity, reference, open_loss, fee] = self.buckets[side as usize & 1];
        Bucket { quantity, reference, open_loss, fee }
    }

    #[inline]
    pub(crate) fn set_bucket(&mut self, side: Side, bucket: Bucket) {
        self.buckets[side as usize & 1] = [bucket.quantity, bucket.reference, bucket.open_loss, bucket.fee];
    }

    /// Lowers what an order that reserved `reservation` for `whole` has open in the bucket of its side.
    #[inline]
    pub(crate) fn rebook(
        &mut self,
        side: Side,
        (reservation, whole): (Reservation, Quantity),
        before: Quantity,
        after: Quantity,
    ) {
        let part = |quantity| match reservation.scaled(quantity, whole) {
            Some(part) => part,
            None => unreachable!("parts of an accepted order"),
        };
        let mut bucket = self.bucket(side).without(before, part(before));
        if after != 0 {
            bucket = bucket.and_then(|rest| rest.with(after, part(after)));
        }
        let Some(bucket) = bucket else { unreachable!("sums of accepted orders") };
        self.set_bucket(side, bucket);
    }

    /// Its buckets as an event.
    #[inline]
    pub(crate) fn exposure_event(&self, account: AccountId, market: MarketId) -> PerpetualExposure {
        exposure_event(account, market, [self.bucket(Side::Buy), self.bucket(Side::Sell)])
    }

    #[inline]
    pub(crate) fn has_orders(&self) -> bool {
        self.buckets[0][0] != 0 || self.buckets[1][0] != 0
    }
}

/// Buckets of buys and sells as an event.
#[inline(always)]
pub(crate) fn exposure_event(
    account: AccountId,
    market: MarketId,
    [buys, sells]: [Bucket; 2],
) -> PerpetualExposure {
    PerpetualExposure {
        account,
        market,
        buy_quantity: buys.quantity,
        buy_reference: buys.reference,
        buy_open_loss: buys.open_loss,
        buy_fee_reserve: buys.fee,
        sell_quantity: sells.quantity,
        sell_reference: sells.reference,
        sell_open_loss: sells.open_loss,
        sell_fee_reserve: sells.fee,
    }
}
