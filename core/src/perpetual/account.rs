//! What an account has on the perpetual side: over all markets, and in each.

use crate::command::Side;
use crate::money::{Money, Price, Quantity};
use crate::risk::perpetual::order_margin::Bucket;
use crate::risk::perpetual::position::Position;
use zerocopy::FromZeros;

/// An account over all markets. All zeros: one that did nothing yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub(crate) struct Account {
    /// W; of account 0 the insurance fund's.
    pub(crate) wallet: Money,
    /// Markets it has touched, a bit each.
    pub(crate) markets: [u64; 2],
    /// Trade group + 1.
    pub(crate) group: i64,
    /// Promotion holds before it, ms.
    pub(crate) promo_until_ms: i64,
    pub(crate) promo_bps: u32,
    pub(crate) referral_total_bps: u32,
    pub(crate) referral_share_bps: u32,
    pub(crate) fee_burn: u8,
    /// Placements are refused.
    pub(crate) disabled: u8,
    /// 0 cross, 1 isolated: of markets without a mode of their own.
    pub(crate) default_mode: u8,
    /// The cross scope is being liquidated.
    pub(crate) liquidating: u8,
    pub(crate) tier: u8,
    /// Tier after a scheduled downgrade + 1; 0 for none.
    pub(crate) pending: u8,
    /// The countdown over all markets spares reduce-only orders.
    pub(crate) countdown_keeps: u8,
    /// The cross scope's margin ratio is above 80 %.
    pub(crate) called: u8,
    /// When the scheduled downgrade holds, ms.
    pub(crate) pending_ms: i64,
    /// V14.
    pub(crate) volume: Money,
    /// V30.
    pub(crate) volume_30: Money,
    /// Number of the running hour's entry + 1, while its hour runs.
    pub(crate) hour: u64,
    /// Deadline of the countdown over all markets, 0 for none.
    pub(crate) countdown_ms: i64,
    /// When MARGIN_CALL was last sent.
    pub(crate) called_ms: i64,
    /// Where the running command noted its wallet.
    pub(crate) note: u32,
    pub(crate) reserved: u32,
}

/// An account in one market. All zeros: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub(crate) struct Holding {
    /// Signed.
    pub(crate) quantity: Quantity,
    /// Signed.
    pub(crate) cost: Money,
    /// IW.
    pub(crate) isolated: Money,
    pub(crate) open_fees: Money,
    /// Since ever.
    pub(crate) realised: Money,
    /// Quantity, reference, open loss and fee reserve of open orders, by side.
    pub(crate) buckets: [[i64; 4]; 2],
    /// 0: the default.
    pub(crate) leverage: u32,
    /// 0 the account's default, 1 cross, 2 isolated.
    pub(crate) mode: u8,
    /// The isolated scope is being liquidated.
    pub(crate) liquidating: u8,
    pub(crate) called: u8,
    pub(crate) countdown_keeps: u8,
    /// Untriggered orders.
    pub(crate) waiting: u32,
    /// Resting reduce-only orders, and untriggered ones that end with the position.
    pub(crate) bound: u32,
    /// Open close-position orders: bit = side + 2 x (take-profit family).
    pub(crate) closers: u8,
    pub(crate) reserved: [u8; 3],
    /// Where the running command noted it.
    pub(crate) note: u32,
    pub(crate) called_ms: i64,
    /// Deadline of its countdown, 0 for none.
    pub(crate) countdown_ms: i64,
    /// Place in the market's list of positions + 1.
    pub(crate) listed: u32,
    /// Place in the band heap + 1.
    pub(crate) band: u32,
    /// Mark below which (long), above which (short) the scope must be tested.
    pub(crate) threshold: Price,
    /// Quantity when its orders were last trimmed to it: between commands the quantity.
    pub(crate) trimmed: Quantity,
}

impl Holding {
    #[inline]
    pub(crate) fn position(&self) -> Position {
        Position { quantity: self.quantity, cost: self.cost }
    }

    #[inline]
    pub(crate) fn bucket(&self, side: Side) -> Bucket {
        let [quantity, reference, open_loss, fee] = self.buckets[side as usize & 1];
        Bucket { quantity, reference, open_loss, fee }
    }

    #[inline]
    pub(crate) fn set_bucket(&mut self, side: Side, bucket: Bucket) {
        self.buckets[side as usize & 1] = [bucket.quantity, bucket.reference, bucket.open_loss, bucket.fee];
    }

    #[inline]
    pub(crate) fn has_orders(&self) -> bool {
        self.buckets[0][0] != 0 || self.buckets[1][0] != 0
    }
}
