//! Fee tiers by traded volume (`risk.md` 9, `account.md` 3): the volume of 14 and of 30 days in hourly buckets, and how
//! an account moves between tiers.
//!
//! Hours are whole hours of UTC since 1970. Buckets of all accounts lie in one pool, one for each hour in which an
//! account traded, so that an account costs what it trades; they leave when the account is looked at.

use super::bounds::check_tier;
use crate::book::pool::{Chained, NONE, Pool};
use crate::money::{Money, Rate};

pub(crate) use super::bounds::TIERS_MAX;

/// Whole hours before the running one that count for a tier.
const TIER_HOURS: u32 = 14 * 24;
/// Whole hours before the running one that buckets are kept for.
const KEPT_HOURS: u32 = 30 * 24;

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

/// What an account traded in one hour.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Hour {
    hour: u32,
    /// The next later one of the account.
    later: u32,
    volume: Money,
}

impl Chained for Hour {
    fn chain(&mut self) -> &mut u32 {
        &mut self.later
    }
}

/// Buckets of all accounts.
pub(crate) type Hours = Pool<Hour, 4096>;

/// What one account traded: its buckets, oldest first, and their sums.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Volume {
    oldest: u32,
    /// The first that counts for 14 days.
    recent: u32,
    newest: u32,
    /// `V14` as of the hour it was last rolled to.
    days_14: Money,
    /// `V30` as of that hour.
    days_30: Money,
}

impl Volume {
    /// `V14`: the running hour and the 336 before it, as of the last roll.
    #[inline]
    pub(crate) const fn days_14(&self) -> Money {
        self.days_14
    }

    /// `V30`: the running hour and the 720 before it, as of the last roll.
    #[inline]
    pub(crate) const fn days_30(&self) -> Money {
        self.days_30
    }

    /// Whether it has no bucket.
    pub(crate) const fn is_empty(&self) -> bool {
        self.oldest == NONE
    }

    /// Lets `hour` be the running one: buckets that are too old leave.
    pub(crate) fn roll(&mut self, hours: &mut Hours, hour: u32) {
        while self.recent != NONE {
            let bucket = *hours.get(self.recent);
            if bucket.hour >= hour.saturating_sub(TIER_HOURS) {
                break;
            }
            // Sums of what was added.
            self.days_14 = self.days_14.wrapping_sub(bucket.volume);
            self.recent = bucket.later;
        }
        while self.oldest != NONE {
            let bucket = *hours.get(self.oldest);
            if bucket.hour >= hour.saturating_sub(KEPT_HOURS) {
                return;
            }
            self.days_30 = self.days_30.wrapping_sub(bucket.volume);
            hours.give(self.oldest);
            self.oldest = bucket.later;
        }
        self.newest = NONE;
    }

    /// Adds what a fill was worth, >= 0, in the running hour, which is never before an earlier one. `None`, and nothing
    /// changed but that time passed, where the sum leaves its range.
    pub(crate) fn add(&mut self, hours: &mut Hours, hour: u32, value: Money) -> Option<()> {
        self.roll(hours, hour);
        let days_30 = self.days_30.checked_add(value)?;
        // Part of the other.
        self.days_14 = self.days_14.checked_add(value)?;
        self.days_30 = days_30;
        if self.newest != NONE && hours.get(self.newest).hour >= hour {
            let bucket = hours.get_mut(self.newest);
            bucket.volume = bucket.volume.wrapping_add(value);
            return Some(());
        }
        let slot = hours.take();
        *hours.get_mut(slot) = Hour { hour, later: NONE, volume: value };
        if self.newest == NONE {
            self.oldest = slot;
        } else {
            hours.get_mut(self.newest).later = slot;
        }
        if self.recent == NONE {
            self.recent = slot;
        }
        self.newest = slot;
        Some(())
    }

    /// Its buckets as (hour, volume), oldest first: what a snapshot keeps. Added again in this order, they are the same.
    pub(crate) fn buckets<'a>(&self, hours: &'a Hours) -> impl Iterator<Item = (u32, Money)> + 'a {
        let mut slot = self.oldest;
        std::iter::from_fn(move || {
            if slot == NONE {
                return None;
            }
            let bucket = hours.get(slot);
            slot = bucket.later;
            Some((bucket.hour, bucket.volume))
        })
    }
}

/// A lower tier that waits for its midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// As it was noted; judged again when it comes.
    pub(crate) to: u8,
    /// The hour of that midnight.
    pub(crate) effective_hour: u32,
}

/// The tier that an account holds.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) tier: u8,
    pub(crate) pending: Option<Pending>,
}

/// What is told of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Movement {
    /// `upgrade_immediate`
    Upgraded { from: u8, to: u8 },
    /// `downgrade_scheduled`
    Scheduled { from: u8, to: u8, effective_hour: u32 },
    /// `downgrade_applied`
    Applied { from: u8, to: u8 },
}

impl Standing {
    /// After each fill, whose fee was already charged: a higher tier holds at once, and volume regained drops what was
    /// pending.
    #[inline]
    pub(crate) fn after_fill(&mut self, tiers: &Tiers, volume: &Volume) -> Option<Movement> {
        let (from, to) = (self.tier, tiers.earned(volume.days_14()));
        if to < from {
            return None;
        }
        self.pending = None;
        if to == from {
            return None;
        }
        self.tier = to;
        Some(Movement::Upgraded { from, to })
    }

    /// At each hour, with the volume rolled to it, and when the table changes: a lower tier is noted for the next
    /// midnight, once.
    pub(crate) fn at_hour(&mut self, tiers: &Tiers, volume: &Volume, hour: u32) -> Option<Movement> {
        let (from, to) = (self.tier, tiers.earned(volume.days_14()));
        if to >= from {
            self.pending = None;
            return None;
        }
        if self.pending.is_some() {
            return None;
        }
        let effective_hour = (hour / 24).checked_add(1)?.checked_mul(24)?;
        self.pending = Some(Pending { to, effective_hour });
        Some(Movement::Scheduled { from, to, effective_hour })
    }

    /// At midnight, before the volume is rolled to it: what has come is judged again, and applied or dropped.
    pub(crate) fn at_midnight(&mut self, tiers: &Tiers, volume: &Volume, hour: u32) -> Option<Movement> {
        if self.pending.is_none_or(|pending| pending.effective_hour > hour) {
            return None;
        }
        self.pending = None;
        let (from, to) = (self.tier, tiers.earned(volume.days_14()));
        if to >= from {
            return None;
        }
        self.tier = to;
        Some(Movement::Applied { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fee;
    use super::*;
    use crate::memory::Pages;
    use crate::money::MONEY_UNIT;
    use std::collections::VecDeque;

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
    fn v_14_up_at_once_and_down_at_midnight() {
        let (tiers, mut hours) = (tiers(), Hours::new(8, 8, Pages::Small));
        let (mut volume, mut standing) = (Volume::default(), Standing::default());
        let day = 20_000 * 24;
        // A bucket that leaves at 17:00 of the day, and the rest that stays.
        volume.add(&mut hours, day + 17 - 337, 100_000 * MONEY_UNIT).unwrap();
        volume.add(&mut hours, day - 100, 890_000 * MONEY_UNIT).unwrap();
        volume.roll(&mut hours, day + 10);
        assert_eq!(volume.days_14(), 990_000 * MONEY_UNIT);

        let mut fill = |standing: &mut Standing| {
            let worth = 20_000 * MONEY_UNIT;
            let charged = fee::fee(worth, tiers.of(standing.tier).taker_rate).unwrap();
            volume.add(&mut hours, day + 10, worth).unwrap();
            (charged, standing.after_fill(&tiers, &volume))
        };
        assert_eq!(fill(&mut standing), (10 * MONEY_UNIT, Some(Movement::Upgraded { from: 0, to: 1 })));
        assert_eq!(fill(&mut standing), (9 * MONEY_UNIT, None));

        for hour in day + 11..day + 17 {
            volume.roll(&mut hours, hour);
            assert_eq!(standing.at_hour(&tiers, &volume, hour), None);
        }
        volume.roll(&mut hours, day + 17);
        assert_eq!(volume.days_14(), 930_000 * MONEY_UNIT);
        let scheduled = Movement::Scheduled { from: 1, to: 0, effective_hour: day + 24 };
        assert_eq!(standing.at_hour(&tiers, &volume, day + 17), Some(scheduled));
        for hour in day + 18..day + 24 {
            volume.roll(&mut hours, hour);
            assert_eq!(standing.at_midnight(&tiers, &volume, hour), None, "not yet");
            assert_eq!(standing.at_hour(&tiers, &volume, hour), None, "told once");
        }
        let applied = Movement::Applied { from: 1, to: 0 };
        assert_eq!(standing.at_midnight(&tiers, &volume, day + 24), Some(applied));
        assert_eq!(standing, Standing::default());
        assert_eq!(volume.days_30(), 1_030_000 * MONEY_UNIT);
    }

    #[test]
    fn volume_regained_drops_what_was_pending() {
        let (tiers, mut hours) = (tiers(), Hours::new(8, 8, Pages::Small));
        let day = 24 * 100;
        let mut volume = Volume::default();
        let mut standing = Standing { tier: 1, pending: None };
        // First seen at midnight: effective a day later.
        let scheduled = Movement::Scheduled { from: 1, to: 0, effective_hour: day + 24 };
        assert_eq!(standing.at_midnight(&tiers, &volume, day), None);
        assert_eq!(standing.at_hour(&tiers, &volume, day), Some(scheduled));
        volume.add(&mut hours, day + 5, 1_000_000 * MONEY_UNIT).unwrap();
        assert_eq!(standing.after_fill(&tiers, &volume), None, "silently");
        assert_eq!(standing, Standing { tier: 1, pending: None });

        // Pending, and regained by the table alone: dropped at midnight, silently.
        standing.pending = Some(Pending { to: 0, effective_hour: day + 24 });
        assert_eq!(standing.at_midnight(&tiers, &volume, day + 24), None);
        assert_eq!(standing, Standing { tier: 1, pending: None });

        // What is applied is what holds then, not what was noted.
        let mut high = Standing { tier: 4, pending: Some(Pending { to: 3, effective_hour: day + 24 }) };
        assert_eq!(high.at_midnight(&tiers, &volume, day + 24), Some(Movement::Applied { from: 4, to: 1 }));
        // Tiers may be skipped upwards.
        volume.add(&mut hours, day + 25, 600_000_000 * MONEY_UNIT).unwrap();
        assert_eq!(high.after_fill(&tiers, &volume), Some(Movement::Upgraded { from: 1, to: 5 }));
    }

    #[test]
    fn buckets_are_those_of_a_plain_list() {
        let mut hours = Hours::new(4, 4, Pages::Small);
        let mut volumes = [Volume::default(); 3];
        let mut plain: [VecDeque<(u32, Money)>; 3] = Default::default();
        let (mut random, mut hour) = (7u64, 1_000u32);
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let chance = random >> 33;
            hour += match chance % 97 {
                0 => 800,
                1..5 => 40,
                5..40 => 1,
                _ => 0,
            };
            let account = (chance / 97 % 3) as usize;
            let value = (chance % 1_000_003) as Money;
            volumes[account].add(&mut hours, hour, value).unwrap();
            match plain[account].back_mut() {
                Some((last, volume)) if *last == hour => *volume += value,
                _ => plain[account].push_back((hour, value)),
            }
            let look = (chance / 291 % 3) as usize;
            volumes[look].roll(&mut hours, hour);
            let (volume, plain) = (&volumes[look], &mut plain[look]);
            plain.retain(|&(at, _)| at + 720 >= hour);
            let sum =
                |since: u32| plain.iter().filter(|(at, _)| at + since >= hour).map(|(_, v)| v).sum::<Money>();
            assert_eq!((volume.days_14(), volume.days_30()), (sum(336), sum(720)));
            assert!(volume.buckets(&hours).eq(plain.iter().copied()));
            assert_eq!(volume.is_empty(), plain.is_empty());
        }
    }

    #[test]
    fn a_volume_out_of_range_changes_nothing() {
        let mut hours = Hours::new(4, 4, Pages::Small);
        let mut volume = Volume::default();
        volume.add(&mut hours, 5, Money::MAX - 1).unwrap();
        assert_eq!(volume.add(&mut hours, 6, 2), None);
        assert_eq!((volume.days_14(), volume.days_30()), (Money::MAX - 1, Money::MAX - 1));
        assert_eq!(volume.buckets(&hours).count(), 1);
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
