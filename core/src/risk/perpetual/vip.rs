//! The table of fee tiers by traded volume (`risk.md` 9, `account.md` 3).

use super::bounds::check_tier;
use crate::money::{Money, Rate};

pub(crate) use super::bounds::TIERS_MAX;

/// One tier.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Tier {
    /// Volume of 14 days from which it holds.
    pub(crate) volume_min: Money,
    pub(crate) maker_rate: Rate,
    pub(crate) taker_rate: Rate,
}

impl Tier {
    /// Whether its rates are within what tiers may have.
    pub(crate) fn has_sound_rates(&self) -> bool {
        check_tier(None, (0, self.maker_rate, self.taker_rate)).is_ok()
    }
}

/// The tiers by rising volume, at least one; the first from volume 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiers {
    rows: [Tier; TIERS_MAX],
    count: u32,
}

impl Tiers {
    /// Of these rows. `None` unless there is one, the first begins at 0 and volumes rise.
    pub(crate) fn new(from: &[Tier]) -> Option<Tiers> {
        let mut rows = [Tier::default(); TIERS_MAX];
        rows.get_mut(..from.len())?.copy_from_slice(from);
        let is_rising = from.is_sorted_by(|tier, next| tier.volume_min < next.volume_min);
        if from.first()?.volume_min != 0 || !is_rising {
            return None;
        }
        Some(Tiers { rows, count: from.len() as u32 })
    }

    /// By rising volume.
    pub(crate) fn rows(&self) -> &[Tier] {
        self.rows.get(..self.count as usize).unwrap_or(&self.rows)
    }

    /// Rates of a tier; those of the last for one that is no longer in the table.
    pub(crate) fn of(&self, tier: u8) -> &Tier {
        let last = (self.count as usize).saturating_sub(1);
        self.rows.get(usize::from(tier).min(last)).unwrap_or(&self.rows[0])
    }

    /// Whether a volume of 14 days earns more than a tier.
    #[inline(always)]
    pub(crate) fn raises(&self, tier: u8, volume: Money) -> bool {
        // Volumes of tiers rise.
        self.rows().get(usize::from(tier) + 1).is_some_and(|next| volume >= next.volume_min)
    }

    /// The tier that a volume of 14 days earns.
    pub(crate) fn earned(&self, volume: Money) -> u8 {
        let above = self.rows().iter().skip(1).take_while(|tier| volume >= tier.volume_min).count();
        above as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::MONEY_UNIT;

    /// The shipped table of account.md 3.
    fn tiers() -> Tiers {
        let rows = [
            (0, 20_000, 50_000),
            (1_000_000, 18_000, 45_000),
            (5_000_000, 15_000, 40_000),
            (20_000_000, 12_000, 35_000),
            (100_000_000, 8_000, 30_000),
            (500_000_000, 5_000, 25_000),
        ];
        Tiers::new(&rows.map(|(volume, maker_rate, taker_rate)| Tier {
            volume_min: volume * MONEY_UNIT,
            maker_rate,
            taker_rate,
        }))
        .unwrap()
    }

    #[test]
    fn tables_begin_at_zero_and_rise() {
        let row = |volume_min| Tier { volume_min, ..Tier::default() };
        assert_eq!(Tiers::new(&[]), None);
        assert_eq!(Tiers::new(&[row(1)]), None);
        assert_eq!(Tiers::new(&[row(0), row(5), row(5)]), None);
        assert_eq!(Tiers::new(&[row(0); TIERS_MAX + 1]), None);
        let tiers = tiers();
        for (tier, volume) in
            (0..8).flat_map(|tier| [0, 999_999, 1_000_000, 5_000_000, 500_000_000].map(|v| (tier, v)))
        {
            let volume = volume * MONEY_UNIT;
            assert_eq!(tiers.raises(tier, volume), tiers.earned(volume) > tier, "{tier} {volume}");
        }
        assert_eq!(tiers.earned(0), 0);
        assert_eq!(tiers.earned(1_000_000 * MONEY_UNIT - 1), 0);
        assert_eq!(tiers.earned(1_000_000 * MONEY_UNIT), 1);
        assert_eq!(tiers.earned(Money::MAX), 5);
        assert_eq!(tiers.of(200).taker_rate, 25_000);
    }
}
