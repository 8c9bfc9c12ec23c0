//! No function of this folder panics, whatever it is given: every one is called with numbers from all over their range,
//! the ends included. Builds of tests check every operation for overflow, as releases do.
//!
//! What the documentation of a function asks for (a divisor above 0, seconds that do not go back) is kept here too.

use super::adl::{self, Place};
use super::band::{self, Band};
use super::bankruptcy::{self, DistressedPosition};
use super::bracket::{BRACKETS_MAX, BracketRow, Brackets, widest_clamp};
use super::funding::{self, FundingRules, Premiums};
use super::impact::{average_price, impact_price, mid, spot_index};
use super::index::{self, Index, Inputs, Quote};
use super::mark::{self, Basis};
use super::order_margin::{Bucket, Cross, Exposure, Reservation, margin, mark_on_tick, reference_price};
use super::position::{Position, open_fees};
use super::settlement::IndexSamples;
use super::takeover::{Fund, Peak, fund_withdrawable, may_take, unwind_price, unwind_quantity, unwind_reach};
use super::trigger::{self, Condition, Range, Trailing};
use super::vip::{Tier, Tiers};
use super::{fee, isolated, preview, reduce_only, units};
use crate::command::Side;
use proptest::prelude::*;

/// Small numbers, numbers of every size, and the ends of the range.
fn any_number() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => (any::<i64>(), 0u32..64).prop_map(|(number, shift)| number >> shift),
        2 => -3i64..4,
        1 => prop_oneof![Just(i64::MIN), Just(i64::MIN + 1), Just(i64::MAX), Just(i64::MAX - 1)],
        2 => prop_oneof![Just(100_000_000), Just(10_000_000_000), Just(6_000_000_000_000)],
    ]
}

/// Nine numbers at a time.
fn numbers() -> impl Strategy<Value = [i64; 9]> {
    prop::array::uniform9(any_number())
}

fn side(is_sell: bool) -> Side {
    if is_sell { Side::Sell } else { Side::Buy }
}

/// At least 1, as steps and divisors are.
fn positive(number: i64) -> i64 {
    number.saturating_abs().max(1)
}

fn any_brackets() -> impl Strategy<Value = Brackets> {
    let row = (1i64..1 << 62, 1i64..100_000_000, 1u32..200);
    prop::collection::vec(row, 1..=BRACKETS_MAX).prop_filter_map("no sound table", |mut rows| {
        rows.sort_unstable();
        let count = rows.len() as i64;
        // Sound by making: rates rise with the place, leverages fall, caps are such that what is saved is whole.
        let rows: Vec<_> = (1i64..)
            .zip(rows)
            .map(|(place, (cap, _, _))| BracketRow {
                cap: (cap / 100_000_000).max(place) * 100_000_000,
                maintenance_rate: place * 5_000_000,
                leverage_max: (count - place + 1) as u32,
            })
            .collect();
        Brackets::new(&rows)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn units_positions_and_fees_are_total([a, b, c, d, e, f, g, h, i] in numbers(), is_sell: bool) {
        let side = side(is_sell);
        let divisor = i128::from(positive(b));
        let wide = i128::from(a) * i128::from(c);
        units::floor_div(wide, divisor);
        units::ceil_div(wide, divisor);
        units::trunc_div(wide, divisor);
        units::half_even_div(wide, divisor);
        units::value(a, b);
        units::floor_value(a, b);
        units::ceil_value(a, b);
        units::notional(a, b);
        units::value_of_step(a, b);
        units::may_change_steps((a, b), c, d);
        units::floor_to_step(wide, divisor, positive(d));
        units::ceil_to_step(wide, divisor, positive(d));
        units::ceil_share(a, b, c);
        units::floor_share(a, b, c);
        units::ceil_of(a, b);
        units::floor_of(a, b);

        let position = Position { quantity: a, cost: b };
        if let Some(filled) = position.fill(side, c, d) {
            // What closes and what opens is what was filled, and its value is all of the value.
            prop_assert_eq!(filled.closed + filled.opened, c);
            prop_assert_eq!(filled.closed_value.checked_add(filled.opened_value), Some(d));
            open_fees(e, f, &filled, g);
        }
        position.unrealised(c);
        position.entry_price();
        position.break_even_price(c);
        position.closing_side();

        if let Some(rate) = fee::rate(a, b) {
            fee::fee(c, rate);
        }
        fee::both(a, b, c);
        fee::reward(a, b, c as u32, d);
        fee::multiplier(&[a, b, c, d, e, f, g].map(|bps| bps as u32));
        fee::multiplier(&[a, b].map(|bps| bps.rem_euclid(10_001) as u32));
        let referral = fee::Referral { total: h as u32, share: i as u32 };
        referral.affiliate();

        isolated::opening_margin(a, b as u32);
        isolated::close(a, b, c, d, e);
        isolated::may_remove(a, b, c, d, e as u32);
        preview::slippage(a, b);
        reduce_only::clamped(side, a, b);
        reduce_only::shrunk(side, a, b);
    }

    #[test]
    fn margins_brackets_and_liquidations_are_total(
        [a, b, c, d, e, f, g, h, i] in numbers(),
        brackets in any_brackets(),
        leverage: u32,
        is_sell: bool,
    ) {
        let side = side(is_sell);
        mark_on_tick(c, positive(d));
        reference_price(side, a, Some(b), c);
        let reservation = Reservation::new(side, a, b, c, d);
        let reservation = reservation.unwrap_or(Reservation { reference: a, open_loss: b, fee: c });
        reservation.scaled(d, e);
        let start = Bucket { quantity: f, reference: g, open_loss: h, fee: i };
        let buys = start.with(e, reservation).unwrap_or(start);
        let sells = start.without(e, reservation).unwrap_or(start);
        buys.opening(side, a);
        if let Some(exposure) = Exposure::new(a, b, buys, sells) {
            exposure.cross(leverage).map(|requirement| requirement.orders());
            exposure.isolated_orders(leverage);
            exposure.shown_initial(leverage);
            exposure.shown_orders(leverage);
            exposure.filled_max();
        }
        margin(a, leverage);
        let cross = Cross { wallet: a, unrealised: b, initial: c, isolated_orders: d, withheld: 0 };
        cross.available();
        cross.withdrawable();
        cross.accepts(e, f);

        brackets.of(a);
        brackets.maintenance(a);
        brackets.maintenance_at(a, b);
        brackets.exposure_max(leverage);
        brackets.liquidation_price(Position { quantity: a, cost: b }, c);
        widest_clamp(&brackets);
        let row = BracketRow { cap: a, maintenance_rate: b, leverage_max: leverage };
        Brackets::new(&[row, BracketRow { cap: c, maintenance_rate: d, leverage_max: leverage / 2 }]);

        let distress = DistressedPosition { quantity: a, mark: b, equity: c, maintenance: d };
        distress.bankruptcy_value(e, &brackets);
        let marked = DistressedPosition { mark: positive(b), ..distress };
        marked.step(positive(f), &brackets);
        bankruptcy::limit_price(side, positive(a), b, positive(c));
        bankruptcy::room(side, a, b);
        bankruptcy::liquidation_fee(a, b, c);
        bankruptcy::is_due(a, b);
        bankruptcy::margin_ratio(a, b);
        may_take(Fund { equity: a, notional: b }, c);
        unwind_quantity(a, i128::from(b) * i128::from(c), positive(d));
        unwind_reach(side, a, positive(b));
        unwind_price(Position { quantity: a, cost: b }, c, positive(d));
        fund_withdrawable(a, b, c, d);

        if let Some(score) = adl::score(a, b, c.saturating_abs(), d) {
            Place::new(score, c, e as u32).account();
        }
        adl::return_on_cost(a, b);
        adl::part_value(a, b, c);
        adl::equity_after(a, Position { quantity: b, cost: c }, side, d, e, f);
        adl::quantile(a as u64, b as u64);
    }

    #[test]
    fn prices_are_total(
        [a, b, c, d, e, f, g, h, i] in numbers(),
        levels in prop::collection::vec((any_number(), any_number()), 0..6),
        quotes in prop::collection::vec((any_number(), any::<u32>(), any::<u32>()), 0..18),
        times in prop::collection::vec(0u64..1 << 40, 1..6),
        is_sell: bool,
    ) {
        let side = side(is_sell);
        let levels = levels.into_iter().map(|(price, open)| (price, i128::from(open)));
        impact_price(side, levels, a, b);
        average_price(side, i128::from(a) * i128::from(b), c.into());
        mid(a, b);
        spot_index(Some(a), Some(b));
        let quotes: Vec<_> =
            quotes.into_iter().map(|(price, source, weight)| Quote { price, source, weight }).collect();
        index::average(&quotes, c);
        index::is_fresh(a as u64, b as u64, c as u64);
        let inputs = Inputs {
            average: Some(a).filter(|a| a % 2 == 0),
            fresh_count: b as u32,
            sources_min: c as u32,
            spot: Some(d).filter(|d| d % 2 == 0),
            manual: Some(e).filter(|e| e % 2 == 0),
        };
        Index::new(f as u64).next(&inputs, g as u64).next(&Inputs::default(), h as u64).is_halting(i as u64);
        let mut basis = Basis::default();
        for (at, bid, ask) in [(a, Some(b), Some(c)), (d, None, Some(e)), (f, Some(g), Some(h))] {
            basis.sample(at, bid, ask);
        }
        mark::mark(a, basis.average(), b);

        funding::premium(a, Some(b), Some(c));
        let premiums = Premiums::default().with(a).and_then(|sum| sum.with(b)).and_then(|sum| sum.with(c));
        premiums.map(|sum| (sum.average(), sum.is_short(d as u32)));
        Premiums { count: u32::MAX, weighted: i128::MAX }.with(a);
        FundingRules { interval_hours: a as u32, interest: b, damping: c, cap: d }.rate(e);
        funding::payment(a, b, c);

        band::bound(side, a, b, positive(c));
        band::market_limit(side, a, b, positive(c));
        Band::new(a, b).map(|band| band.admits(c));
        trigger::fires(Condition::Stop, side, a, Range { low: b, high: c });
        trigger::is_callback(a);
        trigger::is_deferred(a, b, c);
        let callback = positive(d).min(trigger::CALLBACK_MAX);
        if let Some(mut order) = Trailing::new(side, Some(a).filter(|a| a % 2 == 0), callback, b) {
            for price in [c, e, f] {
                order.follow(side, price);
            }
        }

        let (mut peak, mut samples) = (Peak::new(), IndexSamples::new());
        for (time, value) in times.iter().zip([a, b, c, d, e]) {
            peak.record(*time, value);
            peak.highest(time / 2);
            samples.record(*time, value);
            samples.mean();
            samples.at(time / 2);
        }
    }

    #[test]
    fn tiers_are_total([a, b, c, d, e, tier, ..] in numbers()) {
        let tiers = [0, a, b].map(|volume_min| Tier { volume_min, maker_rate: c, taker_rate: d });
        let tiers = Tiers::new(&tiers).or_else(|| Tiers::new(&tiers[..1])).unwrap();
        tiers.of(tiers.earned(e));
        tiers.raises(tier as u8, e);
    }
}
