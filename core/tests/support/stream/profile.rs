//! What a seed's stream is like: drawn once, so that over many seeds each pairing of features comes up.

use super::super::random::Random;
use ringside_core::command::SelfTradePrevention;
use ringside_core::money::FEE_RATE_ONE;

/// What a seed's stream is like.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(super) accounts: u64,
    /// Markets that are kept open.
    pub(super) markets: u64,
    pub(super) assets: u64,
    /// Orders that are let rest before cancels and takers get more weight.
    pub(super) resting: usize,
    /// Half width of the price band in steps.
    pub(super) band: i64,
    /// Largest quantity in lots.
    pub(super) lots: i64,
    pub(super) max_open_orders: u32,
    pub(super) fees: &'static [u32],
    /// Lots' worth of each asset that a credit gives, at most.
    pub(super) wealth: i64,
    /// Commands in a thousand with a value that nobody should send.
    pub(super) hostility: u64,
    /// Prices, quantities and credits near the end of their ranges.
    pub(super) huge: bool,
    /// Self-trade modes that are drawn from.
    pub(super) self_trade: &'static [SelfTradePrevention],
}

impl Profile {
    pub(super) fn draw(random: &mut Random) -> Profile {
        use SelfTradePrevention::*;
        let huge = random.permille(80);
        Profile {
            accounts: *random.pick(&[1, 2, 3, 4, 8, 12]),
            markets: *random.pick(&[1, 1, 2, 3]),
            assets: *random.pick(&[2, 3, 3, 4]),
            resting: *random.pick(&[12, 30, 30, 60, 60, 150]),
            band: *random.pick(&[1, 2, 4, 8, 20]),
            lots: *random.pick(&[1, 3, 10, 100]),
            max_open_orders: *random.pick(&[1, 4, 10, 20, 200, u32::MAX, u32::MAX, u32::MAX]),
            fees: random.pick::<&[u32]>(&[
                &[0],
                &[0, 50_000, 100_000],
                &[1, 7, 33_333, 1_234_567],
                &[0, 1, 100_000, 50_000_000, FEE_RATE_ONE - 1, FEE_RATE_ONE],
            ]),
            wealth: *random.pick(&[20, 1000, 1000, 1_000_000]),
            hostility: *random.pick(&[0, 5, 30, 150]),
            huge,
            self_trade: random.pick::<&[SelfTradePrevention]>(&[
                &[RejectTaker],
                &[None],
                &[ExpireTaker, ExpireMaker, ExpireBoth],
                &[None, RejectTaker, ExpireTaker, ExpireMaker, ExpireBoth],
            ]),
        }
    }
}
