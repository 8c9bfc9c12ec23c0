//! What a market's configuration may be (`risk.md` 2 and 7): every bound, stated once. The engine refuses by it, and the edge
//! says by it which part is wrong and what it may be.

use super::bracket::{BRACKETS_MAX, BracketRow, Brackets, widest_clamp};
use super::units::{ceil_div, floor_div, narrow, value_of_step};
use crate::command::PerpetualParameter as P;
use crate::money::{MAX_ENTRY, MONEY_UNIT, Money, RATE_ONE, Rate};
use crate::reject::Reject;
use std::ops::RangeInclusive;

/// Most brackets that a market may have.
pub const BRACKET_ROWS_MAX: usize = BRACKETS_MAX;
/// Greatest leverage there is.
pub const LEVERAGE_MAX: u32 = 125;
/// Largest value of an order or a position, micro-quote (`risk.md` 1).
pub const VALUE_MAX: Money = 1_000_000_000_000_000;
/// Largest order that a market may be set to take, in steps of 10^-8.
pub const QUANTITY_MAX: i64 = 1_000_000_000_000_000_000;
/// Greatest price of a filter, P8.
const PRICE_MAX: i64 = 100_000_000_000_000_000;
/// Most tiers of the fee schedule.
pub const TIERS_MAX: usize = 16;
/// Greatest rate of a fee tier, either way.
const TIER_RATE_MAX: Rate = 1_000_000;
/// Greatest weight of a source of an index.
pub const WEIGHT_MAX: u32 = 1_000_000;
/// Oldest that a source may be set to be fresh at, milliseconds.
pub const STALE_MS_MAX: u32 = 600_000;
/// Most sources of a market.
pub const SOURCES_MAX: usize = super::index::SOURCES_MAX;
/// Hours between two settlements.
pub const INTERVALS: [i64; 4] = [1, 2, 4, 8];

/// A part of a market's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A parameter.
    Parameter(P),
    /// How many brackets there are.
    Brackets,
    /// The cap of a bracket, from 0.
    Cap(usize),
    /// The greatest leverage of a bracket.
    Leverage(usize),
    /// The maintenance rate of a bracket.
    Rate(usize),
}

/// What a value may be, in the units of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// From one to the other, both included; nothing where the second is below the first.
    Range(i64, i64),
    /// One of [`INTERVALS`].
    Interval,
    /// A tick or lot of which every product with a lot or tick that the market ever had is a multiple of 10^10.
    Step,
    /// A cap at which the change of the rate is worth whole micros.
    WholeMicros,
}

/// The first part of a configuration that may not be what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The field that is out of bounds.
    pub field: Field,
    /// What it may be.
    pub allowed: Allowed,
}

impl From<Breach> for Reject {
    fn from(breach: Breach) -> Reject {
        match breach.allowed {
            Allowed::Step => Reject::StepsDoNotFit,
            _ => Reject::ParameterOutOfRange,
        }
    }
}

impl Breach {
    const fn range(field: Field, low: i64, high: i64) -> Breach {
        Breach { field, allowed: Allowed::Range(low, high) }
    }
}

/// What a parameter may be whatever else is configured.
pub fn fixed_range(parameter: P) -> RangeInclusive<i64> {
    match parameter {
        P::Tick | P::Lot => 1..=MAX_ENTRY,
        P::MinPrice => 0..=PRICE_MAX,
        P::MaxPrice => 1..=PRICE_MAX,
        P::MinQuantity | P::MaxQuantity | P::MaxMarketQuantity => 1..=QUANTITY_MAX,
        P::MinNotional => 0..=VALUE_MAX,
        P::MaxNotional | P::ImpactNotional => 1..=VALUE_MAX,
        P::MaxOpenOrders | P::MaxConditionalOrders => 1..=10_000,
        P::BandUp => RATE_ONE..=10 * RATE_ONE,
        P::BandDown | P::TriggerProtect | P::SourceClamp | P::Damp => 0..=RATE_ONE,
        P::TakeBound => 1..=RATE_ONE - 1,
        P::LiquidationFee | P::MarkClamp | P::FundingCap => 0..=RATE_ONE,
        P::SourceStaleMs => 1..=600_000,
        P::MinSources => 1..=16,
        P::FundingIntervalHours => 1..=8,
        P::Interest => -RATE_ONE..=RATE_ONE,
        P::DynamicBand => 1..=RATE_ONE,
        P::DynamicReferenceSeconds => 1..=600,
        P::SpotMarket => -1..=i64::from(u32::MAX),
        P::FeeBurnBps => 0..=5_000,
        P::RecoveryCancelOnlyMs | P::RecoveryPostOnlyMs => 0..=3_600_000,
    }
}

/// What a parameter of a new market is where nobody says anything else (`risk.md` 2, `perpetual.md` 5): as BTCUSDT ships, but for what
/// follows from brackets and steps.
pub fn default_of(parameter: P, brackets: &Brackets, (tick, lot): (i64, i64)) -> i64 {
    let first = brackets.first();
    let three_quarters = first.maintenance_rate * 3 / 4;
    match parameter {
        P::Tick | P::MinPrice => tick,
        P::Lot | P::MinQuantity => lot,
        P::LiquidationFee => shipped(parameter).min(three_quarters),
        P::FundingCap => shipped(parameter).min(three_quarters),
        P::MarkClamp => widest_clamp(brackets).unwrap_or(0),
        P::ImpactNotional => 200 * MONEY_UNIT * i64::from(first.leverage_max),
        _ => shipped(parameter),
    }
}

/// As BTCUSDT ships; 0 for its steps and for what is the venue's.
pub const fn shipped(parameter: P) -> i64 {
    match parameter {
        P::Tick | P::Lot | P::FeeBurnBps | P::RecoveryCancelOnlyMs | P::RecoveryPostOnlyMs => 0,
        P::MinPrice => 10_000_000,
        P::MaxPrice => 1_000_000_000_000_000,
        P::MinQuantity => 100_000,
        P::MaxQuantity => 100_000_000_000,
        P::MaxMarketQuantity => 12_000_000_000,
        P::MinNotional => 5 * MONEY_UNIT,
        P::MaxNotional => 5_000_000 * MONEY_UNIT,
        P::MaxOpenOrders => 200,
        P::MaxConditionalOrders => 100,
        P::BandUp => 105_000_000,
        P::BandDown => 95_000_000,
        P::TakeBound | P::TriggerProtect => 5_000_000,
        P::LiquidationFee => 250_000,
        P::MarkClamp => 398_009,
        P::SourceClamp => 500_000,
        P::SourceStaleMs => 10_000,
        P::MinSources => 2,
        P::ImpactNotional => 25_000 * MONEY_UNIT,
        P::FundingIntervalHours => 1,
        P::Interest => 10_000,
        P::Damp => 50_000,
        P::FundingCap => 300_000,
        P::DynamicBand => 10_000_000,
        P::DynamicReferenceSeconds => 300,
        P::SpotMarket => -1,
    }
}

/// Brackets of BTCUSDT as they ship.
pub const SHIPPED_BRACKETS: [BracketRow; 7] = [
    row(50_000, 125, 400_000),
    row(500_000, 100, 500_000),
    row(1_000_000, 50, 1_000_000),
    row(5_000_000, 20, 2_500_000),
    row(10_000_000, 10, 5_000_000),
    row(20_000_000, 5, 10_000_000),
    row(50_000_000, 2, 12_500_000),
];

/// Cap in whole quote, greatest leverage, maintenance rate.
const fn row(cap: i64, leverage_max: u32, maintenance_rate: Rate) -> BracketRow {
    BracketRow { cap: cap * MONEY_UNIT, maintenance_rate, leverage_max }
}

/// Whether a value is one that its parameter may ever have.
pub fn is_possible(parameter: P, value: i64) -> bool {
    fixed_range(parameter).contains(&value)
        && (parameter != P::FundingIntervalHours || INTERVALS.contains(&value))
}

/// Judges one parameter beside these brackets, where there are so many spot markets. Ticks and lots: see [`check_steps`].
pub fn check(parameter: P, value: i64, brackets: &Brackets, spot_markets: usize) -> Result<(), Breach> {
    let first = brackets.first().maintenance_rate;
    let (low, high) = fixed_range(parameter).into_inner();
    let high = match parameter {
        // At or above it a partial liquidation cannot cure: the fee takes the whole room of every step.
        P::LiquidationFee => first - 1,
        P::FundingCap => first * 3 / 4,
        P::MarkClamp => widest_clamp(brackets).unwrap_or(-1),
        P::SpotMarket => spot_markets as i64 - 1,
        _ => high,
    };
    let field = Field::Parameter(parameter);
    if !(low..=high).contains(&value) {
        return Err(Breach::range(field, low, high));
    }
    if !is_possible(parameter, value) {
        return Err(Breach { field, allowed: Allowed::Interval });
    }
    Ok(())
}

/// Judges what [`check`] judges against brackets, and those alone.
pub fn check_rates(get: impl Fn(P) -> i64, brackets: &Brackets) -> Result<(), Breach> {
    [P::LiquidationFee, P::MarkClamp, P::FundingCap]
        .into_iter()
        .try_for_each(|parameter| check(parameter, get(parameter), brackets, 0))
}

/// Judges a tick and a lot, each the greatest common divisor of all that the market ever had. `named`: the one to blame where they
/// do not fit each other.
pub fn check_steps(tick: i64, lot: i64, named: P) -> Result<(), Breach> {
    for (parameter, value) in [(P::Tick, tick), (P::Lot, lot)] {
        let (low, high) = fixed_range(parameter).into_inner();
        if !(low..=high).contains(&value) {
            return Err(Breach::range(Field::Parameter(parameter), low, high));
        }
    }
    match value_of_step(tick, lot) {
        Some(_) => Ok(()),
        None => Err(Breach { field: Field::Parameter(named), allowed: Allowed::Step }),
    }
}

/// Judges a whole configuration: brackets first, then the parameters in order of their numbers, then that no least is above its
/// greatest.
pub fn check_all(
    get: impl Fn(P) -> i64,
    rows: &[BracketRow],
    spot_markets: usize,
) -> Result<Brackets, Breach> {
    let brackets = table(rows)?;
    for &parameter in P::ALL {
        if is_of_market(parameter) {
            check(parameter, get(parameter), &brackets, spot_markets)?;
        }
    }
    let ends = [
        (P::MinPrice, P::MaxPrice),
        (P::MinQuantity, P::MaxQuantity),
        (P::MinQuantity, P::MaxMarketQuantity),
        (P::MinNotional, P::MaxNotional),
    ];
    for (least, greatest) in ends {
        if get(least) > get(greatest) {
            let low = *fixed_range(least).start();
            return Err(Breach::range(Field::Parameter(least), low, get(greatest)));
        }
    }
    Ok(brackets)
}

/// Whether a parameter is a market's, not the venue's.
pub fn is_of_market(parameter: P) -> bool {
    (parameter as u8) < P::FeeBurnBps as u8
}

/// Brackets of these rows: caps rise, leverages fall, rates rise; what lower rates save is whole micros; and at no cap is more to be
/// maintained than was put in.
pub fn table(rows: &[BracketRow]) -> Result<Brackets, Breach> {
    let count = Breach::range(Field::Brackets, 1, BRACKET_ROWS_MAX as i64);
    if !(1..=BRACKET_ROWS_MAX).contains(&rows.len()) {
        return Err(count);
    }
    let mut below = BracketRow { cap: 0, maintenance_rate: 0, leverage_max: LEVERAGE_MAX + 1 };
    // Maintenance margin at the cap below, in micros by 10^-8.
    let mut kept = 0i128;
    for (at, row) in rows.iter().enumerate() {
        if below.leverage_max == 1 {
            return Err(Breach::range(Field::Brackets, 1, at as i64));
        }
        within(Field::Cap(at), row.cap, below.cap + 1, VALUE_MAX)?;
        within(Field::Leverage(at), row.leverage_max.into(), 1, i64::from(below.leverage_max) - 1)?;
        let saved = i128::from(below.cap) * i128::from(row.maintenance_rate - below.maintenance_rate);
        // The rate at which maintenance is the initial margin at this cap.
        let slice = i128::from(row.cap - below.cap);
        let initial = ceil_div(row.cap.into(), row.leverage_max.into());
        let most = narrow(floor_div(initial * i128::from(RATE_ONE) - kept, slice)).unwrap_or(RATE_ONE);
        let (low, high) = (below.maintenance_rate + 1, most.min(RATE_ONE - 1));
        within(Field::Rate(at), row.maintenance_rate, low, high)?;
        if saved % i128::from(RATE_ONE) != 0 {
            return Err(Breach { field: Field::Cap(at.saturating_sub(1)), allowed: Allowed::WholeMicros });
        }
        kept += slice * i128::from(row.maintenance_rate);
        below = *row;
    }
    Brackets::new(rows).ok_or(count)
}

/// A part of a fee tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierField {
    /// Traded value from which it holds.
    Volume,
    /// Rate of the resting side.
    Maker,
    /// Rate of the arriving side.
    Taker,
}

/// What is wrong with a fee tier, and what it may be, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierBreach {
    /// Which part.
    pub field: TierField,
    /// The least.
    pub low: i64,
    /// The greatest.
    pub high: i64,
}

/// Judges the volume, the maker's and the taker's rate of a tier above one that begins at `below`; `None`: it is the first.
pub fn check_tier(
    below: Option<Money>,
    (volume, maker, taker): (Money, Rate, Rate),
) -> Result<(), TierBreach> {
    let (least, most) = below.map_or((0, 0), |below| (below.saturating_add(1), Money::MAX));
    for (field, value, low, high) in [
        (TierField::Volume, volume, least, most),
        (TierField::Maker, maker, -TIER_RATE_MAX, TIER_RATE_MAX),
        // No more is paid out than is taken.
        (TierField::Taker, taker, maker.saturating_neg().max(0), TIER_RATE_MAX),
    ] {
        if !(low..=high).contains(&value) {
            return Err(TierBreach { field, low, high });
        }
    }
    Ok(())
}

fn within(field: Field, value: Rate, low: i64, high: i64) -> Result<(), Breach> {
    if (low..=high).contains(&value) { Ok(()) } else { Err(Breach::range(field, low, high)) }
}

#[cfg(test)]
mod tests {
    use super::super::bracket::tests::bitcoin;
    use super::*;

    fn rows() -> Vec<BracketRow> {
        SHIPPED_BRACKETS.to_vec()
    }

    #[test]
    fn what_ships_is_sound_and_follows_from_the_brackets() {
        let steps = (10_000_000, 100_000);
        let defaults = |parameter| default_of(parameter, &bitcoin(), steps);
        assert_eq!(check_all(defaults, &SHIPPED_BRACKETS, 0), Ok(bitcoin()));
        for &parameter in P::ALL.iter().filter(|parameter| !matches!(parameter, P::Tick | P::Lot)) {
            assert_eq!(defaults(parameter), shipped(parameter), "{parameter:?}");
        }
        let low = table(&[row(10_000, 20, 100_000)]).unwrap();
        let of_low = |parameter| default_of(parameter, &low, steps);
        assert_eq!(of_low(P::LiquidationFee), 75_000);
        assert_eq!(of_low(P::ImpactNotional), 4_000 * MONEY_UNIT);
        assert!(check_all(of_low, &[row(10_000, 20, 100_000)], 0).is_ok());
    }

    #[test]
    fn rates_are_bound_by_the_brackets() {
        let judge = |parameter, value| check(parameter, value, &bitcoin(), 0);
        for (parameter, high) in
            [(P::LiquidationFee, 399_999), (P::MarkClamp, 398_009), (P::FundingCap, 300_000)]
        {
            let breach = Breach::range(Field::Parameter(parameter), 0, high);
            assert_eq!((judge(parameter, 0), judge(parameter, high)), (Ok(()), Ok(())));
            assert_eq!((judge(parameter, high + 1), judge(parameter, -1)), (Err(breach), Err(breach)));
        }
        let interval =
            Breach { field: Field::Parameter(P::FundingIntervalHours), allowed: Allowed::Interval };
        assert_eq!(judge(P::FundingIntervalHours, 3), Err(interval));
        let spot = |markets| check(P::SpotMarket, 1, &bitcoin(), markets);
        assert_eq!(spot(2), Ok(()));
        assert_eq!(spot(1), Err(Breach::range(Field::Parameter(P::SpotMarket), -1, 0)));
    }

    #[test]
    fn the_first_row_that_is_wrong_is_named() {
        let judge = |at: usize, change: fn(&mut BracketRow)| {
            let mut rows = rows();
            change(&mut rows[at]);
            table(&rows).unwrap_err()
        };
        assert_eq!(table(&rows()), Ok(bitcoin()));
        assert_eq!(table(&[]), Err(Breach::range(Field::Brackets, 1, 16)));
        assert_eq!(table(&[rows()[0]; 17]), Err(Breach::range(Field::Brackets, 1, 16)));
        let cap = 50_000 * MONEY_UNIT;
        assert_eq!(
            judge(1, |row| row.cap = 50_000 * MONEY_UNIT),
            Breach::range(Field::Cap(1), cap + 1, VALUE_MAX)
        );
        assert_eq!(judge(1, |row| row.leverage_max = 125), Breach::range(Field::Leverage(1), 1, 124));
        assert_eq!(judge(6, |row| row.leverage_max = 0), Breach::range(Field::Leverage(6), 1, 4));
        assert_eq!(judge(0, |row| row.leverage_max = 126), Breach::range(Field::Leverage(0), 1, 125));
        assert_eq!(
            judge(1, |row| row.maintenance_rate = 400_000),
            Breach::range(Field::Rate(1), 400_001, 1_066_666)
        );
        assert_eq!(judge(0, |row| row.maintenance_rate = 800_001), Breach::range(Field::Rate(0), 1, 800_000));
        let whole = Breach { field: Field::Cap(0), allowed: Allowed::WholeMicros };
        assert_eq!(judge(0, |row| row.cap += 1), whole);
        let mut last = rows();
        last[6].leverage_max = 1;
        last.push(BracketRow { cap: 60_000_000 * MONEY_UNIT, maintenance_rate: 20_000_000, leverage_max: 1 });
        assert_eq!(table(&last), Err(Breach::range(Field::Brackets, 1, 7)));
    }

    /// Whatever table is taken leaves room for a clamp.
    #[test]
    fn a_table_that_is_taken_has_a_clamp() {
        let mut random = 5u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut taken = 0;
        for _ in 0..200_000 {
            let mut rows = Vec::new();
            let (mut cap, mut leverage, mut rate) = (0, 126, 0);
            for _ in 0..=next(3) {
                cap += (1 + next(50)) as i64 * 100_000_000;
                leverage = 1 + next(u64::from(leverage) - 1).min(124) as u32;
                rate += (1 + next(40)) as i64 * 100_000;
                rows.push(BracketRow { cap, maintenance_rate: rate, leverage_max: leverage });
                if leverage == 1 {
                    break;
                }
            }
            if let Ok(brackets) = table(&rows) {
                taken += 1;
                assert!(widest_clamp(&brackets).unwrap() >= 0, "{rows:?}");
            }
        }
        assert!(taken > 10_000, "{taken}");
    }

    #[test]
    fn tiers_rise_and_never_pay_out_more_than_they_take() {
        let breach = |field, low, high| Err(TierBreach { field, low, high });
        assert_eq!(check_tier(None, (0, -5, 5)), Ok(()));
        assert_eq!(check_tier(None, (1, 0, 0)), breach(TierField::Volume, 0, 0));
        assert_eq!(check_tier(Some(9), (9, 0, 0)), breach(TierField::Volume, 10, Money::MAX));
        assert_eq!(check_tier(Some(9), (10, 1_000_001, 0)), breach(TierField::Maker, -1_000_000, 1_000_000));
        assert_eq!(check_tier(Some(9), (10, -6, 5)), breach(TierField::Taker, 6, 1_000_000));
        assert_eq!(check_tier(Some(9), (10, 6, -1)), breach(TierField::Taker, 0, 1_000_000));
    }

    #[test]
    fn a_least_is_never_above_its_greatest() {
        let shipped = |parameter: P| match parameter {
            P::Tick | P::Lot => 10_000_000,
            P::SpotMarket => -1,
            P::BandUp => 105_000_000,
            P::BandDown => 95_000_000,
            P::MarkClamp => 398_009,
            P::LiquidationFee => 250_000,
            P::FundingCap => 300_000,
            P::FundingIntervalHours => 1,
            P::MinPrice | P::MinQuantity | P::MinNotional => 5,
            P::MaxPrice | P::MaxQuantity | P::MaxMarketQuantity | P::MaxNotional => 7,
            _ => 1,
        };
        assert_eq!(check_all(shipped, &rows(), 0), Ok(bitcoin()));
        for (least, low) in [(P::MinPrice, 0), (P::MinQuantity, 1), (P::MinNotional, 0)] {
            let get = |parameter| if parameter == least { 8 } else { shipped(parameter) };
            let breach = Breach::range(Field::Parameter(least), low, 7);
            assert_eq!(check_all(get, &rows(), 0), Err(breach));
        }
    }
}
