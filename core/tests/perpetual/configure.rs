//! What operators configure while the venue runs (`account.md` 13): drafts that list and change markets as a whole, fee schedules for the
//! next midnight, sources with an age of their own, limits of single accounts.

use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::event::{
    self, AccountLimits, PerpetualBracket, PerpetualListed, PerpetualSetting, PerpetualSource,
    PerpetualSourceAge, PerpetualStateChanged, VipTier, VipTierScheduled,
};
use ringside_core::ids::{ALL_MARKETS, DRAFT_MARKET, FIRST_PERPETUAL, MarketId, padded};
use ringside_core::reject::Reject;

const DAY_MS: i64 = 86_400_000;
const ETH: MarketId = FIRST_PERPETUAL + 1;

fn draft(market: MarketId, symbol: &str) -> Command {
    Command::new(DraftPerpetual {
        symbol: padded(symbol).unwrap(),
        base: padded("ETH").unwrap(),
        quote: padded("USDT").unwrap(),
        market,
        reserved: 0,
    })
}

fn parameter(parameter: PerpetualParameter, value: i64) -> Command {
    Command::new(SetPerpetualParameter { market: DRAFT_MARKET, parameter: parameter as u32, value })
}

fn source(source: u32, weight: u32, stale_ms: u32) -> Command {
    Command::new(SetSource { market: DRAFT_MARKET, source, weight, stale_ms })
}

fn brackets() -> Command {
    let mut set =
        SetBrackets { market: DRAFT_MARKET, count: 2, caps: [0; 8], leverages: [0; 8], rates: [0; 8] };
    set.caps[..2].copy_from_slice(&[50_000 * USDT, 500_000 * USDT]);
    set.leverages[..2].copy_from_slice(&[100, 50]);
    set.rates[..2].copy_from_slice(&[500_000, 1_000_000]);
    Command::new(set)
}

fn apply(changes: u32, state: u8) -> Command {
    Command::new(ApplyDraft { changes, state, reserved: [0; 3] })
}

/// Carries out commands of a source; the refusal of each.
fn give(venue: &mut Venue, source: u32, commands: &[Command]) -> Vec<Option<Reject>> {
    let mut rejects = Vec::new();
    for command in commands {
        let command = Command {
            sequence: venue.engine.sequence() + 1,
            time_ns: venue.time_ms * 1_000_000,
            source,
            ..*command
        };
        rejects.push(venue.apply(&command).rejected());
    }
    rejects
}

/// A whole listing of ETHUSDT.
fn listing() -> Vec<Command> {
    use PerpetualParameter::*;
    vec![
        draft(0, "ETHUSDT"),
        parameter(Tick, dec("0.01")),
        parameter(Lot, dec("0.001")),
        parameter(MaxPrice, dec("1000000")),
        parameter(MaxOpenOrders, 500),
        brackets(),
        source(2, 3, 0),
        source(1, 1, 5_000),
        apply(7, PerpetualState::CancelOnly as u8),
    ]
}

#[test]
fn a_market_is_listed_as_a_whole() {
    let mut venue = Venue::trading("60000");
    let commands = listing();
    for command in &commands[..8] {
        assert_eq!(give(&mut venue, 5, std::slice::from_ref(command)), [None]);
        assert_eq!(venue.events.len(), 1, "nobody is told anything: {:?}", venue.events);
        venue.reload();
    }
    assert_eq!(give(&mut venue, 5, &commands[8..]), [None]);
    let listed = venue.said::<PerpetualListed>()[0];
    assert_eq!((listed.market, listed.symbol), (ETH, padded("ETHUSDT").unwrap()));
    use PerpetualParameter::*;
    let settings = venue.said::<PerpetualSetting>();
    let of = |parameter: PerpetualParameter| {
        settings.iter().find(|setting| setting.parameter == parameter as u32).unwrap().value
    };
    assert_eq!(
        (of(Tick), of(Lot), of(MaxPrice), of(MaxOpenOrders)),
        (1_000_000, 100_000, dec("1000000"), 500)
    );
    // What nobody named follows from the steps and the brackets.
    assert_eq!((of(MinPrice), of(MinQuantity), of(ImpactNotional)), (1_000_000, 100_000, 20_000 * USDT));
    assert_eq!((of(MarkClamp), of(LiquidationFee), of(FundingCap)), (495_049, 250_000, 300_000));
    let rows: Vec<_> = venue.said::<PerpetualBracket>().iter().map(|row| (row.cap, row.leverage)).collect();
    assert_eq!(rows, [(50_000 * USDT, 100), (500_000 * USDT, 50)]);
    let sources: Vec<_> = venue.said::<PerpetualSource>().iter().map(|of| (of.source, of.weight)).collect();
    assert_eq!(sources, [(2, 3), (1, 1)]);
    let age = PerpetualSourceAge { market: ETH, source: 1, stale_ms: 5_000, reserved: 0 };
    assert_eq!(venue.said::<PerpetualSourceAge>(), [age]);
    let state = venue.said::<PerpetualStateChanged>()[0];
    assert_eq!((state.market, state.set), (ETH, PerpetualState::CancelOnly as u8));
    // It trades once it has a mark, like any other.
    venue.ok(FeedPrice { market: ETH, source: 1, price: dec("3000") });
    venue.tick();
    venue.ok(SetPerpetualState { market: ETH, state: 0, reserved: [0; 3] });
    let (one, other) = (venue.account("10000"), venue.account("10000"));
    let rest = PlacePerpetual { market: ETH, ..venue.limit(one, Side::Sell, "1", "3000") };
    let take = PlacePerpetual { market: ETH, ..venue.limit(other, Side::Buy, "1", "3000") };
    venue.ok(rest);
    venue.ok(take);
    assert_eq!(venue.fills().len(), 1);
}

/// A process that ends anywhere on the way leaves nothing, and the whole can be sent again.
#[test]
fn a_listing_that_breaks_off_leaves_nothing_behind() {
    let commands = listing();
    for cut in 0..commands.len() {
        let mut venue = Venue::trading("60000");
        give(&mut venue, 5, &commands[..cut]);
        venue.ok(OpenEpoch { epoch: 1, reserved: 0 });
        assert_eq!(venue.engine.perpetual_markets().count(), 1, "cut at {cut}");
        let untouched = {
            let mut other = Venue::trading("60000");
            (0..cut).for_each(|_| {
                other.give(CancelPerpetual {
                    account: 0,
                    market: BTC,
                    order: 1,
                    client_order: [0; 36],
                    classes: 0,
                });
            });
            other.ok(OpenEpoch { epoch: 1, reserved: 0 });
            other.engine.state_hash()
        };
        assert_eq!(venue.engine.state_hash(), untouched, "cut at {cut}: the state knows of it");
        assert!(give(&mut venue, 9, &commands).iter().all(Option::is_none), "cut at {cut}");
        assert_eq!(venue.engine.perpetual_markets().count(), 2);
        // Sent once more it is refused, and changes nothing.
        assert_eq!(give(&mut venue, 9, &commands).pop(), Some(Some(Reject::MarketExists)));
    }
}

#[test]
fn a_change_is_made_as_a_whole_or_refused_as_a_whole() {
    use PerpetualParameter::*;
    let mut venue = Venue::trading("60000");
    venue.ok(SetSource { market: BTC, source: 7, weight: 2, stale_ms: 0 });
    venue.ok(SetSource { market: BTC, source: 8, weight: 2, stale_ms: 900 });
    venue.ok(FeedPrice { market: BTC, source: 8, price: dec("59999") });
    // Brackets that leave more room, and the clamp that uses it, in whatever order.
    let change = vec![
        draft(BTC, ""),
        parameter(MarkClamp, 495_049),
        brackets(),
        source(8, 1, 0),
        source(9, 1, 0),
        apply(4, 255),
    ];
    assert!(give(&mut venue, 5, &change).iter().all(Option::is_none));
    let settings: Vec<_> =
        venue.said::<PerpetualSetting>().iter().map(|set| (set.market, set.parameter, set.value)).collect();
    assert_eq!(settings, [(BTC, MarkClamp as u32, 495_049)], "what was not named is not told");
    assert_eq!(venue.said::<PerpetualBracket>().len(), 2);
    let sources: Vec<_> =
        venue.said::<PerpetualSource>().iter().map(|of| (of.source, of.weight, of.price)).collect();
    assert_eq!(sources, [(7, 0, 0), (8, 1, dec("59999")), (9, 1, 0)], "the list is the whole list");
    assert_eq!(venue.said::<PerpetualSourceAge>()[0].stale_ms, 0);
    assert!(venue.said::<PerpetualStateChanged>().is_empty());

    let refusals = [
        (
            vec![draft(BTC, ""), parameter(MarkClamp, 495_050), parameter(MinNotional, 1), apply(2, 255)],
            Reject::ParameterOutOfRange,
        ),
        (
            vec![draft(BTC, ""), parameter(LiquidationFee, 500_000), apply(1, 255)],
            Reject::ParameterOutOfRange,
        ),
        (
            vec![draft(BTC, ""), parameter(MinNotional, usd("6000000")), apply(1, 255)],
            Reject::ParameterOutOfRange,
        ),
        (
            vec![draft(BTC, ""), parameter(FundingIntervalHours, 3), apply(1, 255)],
            Reject::ParameterOutOfRange,
        ),
        (vec![draft(BTC, ""), parameter(Lot, dec("0.0000001")), apply(1, 255)], Reject::StepsDoNotFit),
        (vec![draft(BTC, ""), source(1, 1, 600_001), apply(1, 255)], Reject::ParameterOutOfRange),
        (vec![draft(BTC, ""), source(1, 1_000_001, 0), apply(1, 255)], Reject::ParameterOutOfRange),
        (vec![draft(BTC, ""), source(1, 1, 0), source(1, 2, 0), apply(2, 255)], Reject::ParameterOutOfRange),
        (vec![draft(BTC, ""), apply(0, 5)], Reject::Malformed),
        (vec![draft(BTC, ""), apply(0, 6)], Reject::Malformed),
        (vec![draft(BTC, ""), parameter(MinNotional, 1), apply(2, 255)], Reject::DraftNotFound),
        (vec![draft(0, "X"), apply(0, 255)], Reject::Malformed),
        (vec![draft(0, "XRPUSDT"), parameter(Tick, 1_000), apply(1, 255)], Reject::ParameterOutOfRange),
        (
            vec![draft(0, "XRPUSDT"), parameter(Tick, 1_000), parameter(Lot, 1_000), apply(2, 255)],
            Reject::StepsDoNotFit,
        ),
        (
            vec![draft(0, "XRPUSDT"), parameter(Tick, 100_000), parameter(Lot, 100_000_000), apply(2, 0)],
            Reject::NoMarkPrice,
        ),
        (vec![apply(0, 255)], Reject::DraftNotFound),
    ];
    for (commands, reject) in refusals {
        let epoch = venue.engine.sequence() as u32;
        venue.ok(OpenEpoch { epoch, reserved: 0 });
        let last = give(&mut venue, 5, &commands).pop();
        assert_eq!(last, Some(Some(reject)), "{commands:?}");
        assert_eq!((venue.events.len(), venue.engine.perpetual_markets().count()), (1, 1));
    }
    assert_eq!(
        give(&mut venue, 5, &[draft(FIRST_PERPETUAL + 9, "")]),
        [Some(Reject::MarketNotFound)],
        "no such market"
    );
}

/// Whoever begins another draft ends the one that was there.
#[test]
fn drafts_of_two_sources_do_not_mix() {
    use PerpetualParameter::*;
    let mut venue = Venue::trading("60000");
    assert_eq!(give(&mut venue, 5, &[draft(BTC, ""), parameter(MinNotional, usd("6"))]), [None, None]);
    assert_eq!(give(&mut venue, 6, &[draft(BTC, ""), parameter(MinNotional, usd("7"))]), [None, None]);
    let lost = Some(Reject::DraftNotFound);
    assert_eq!(
        give(&mut venue, 5, &[parameter(MaxNotional, 1), brackets(), source(1, 1, 0), apply(1, 255)]),
        [lost; 4]
    );
    assert_eq!(give(&mut venue, 6, &[apply(1, 255)]), [None]);
    assert_eq!(venue.said::<PerpetualSetting>()[0].value, usd("7"));
    assert_eq!(give(&mut venue, 6, &[apply(1, 255)]), [lost], "it is made once");
}

#[test]
fn a_source_is_fresh_for_as_long_as_its_own_age_says() {
    let mut venue = Venue::trading("60000");
    venue.ok(SetManualPrice { market: BTC, moves_band: 0, price: 0 });
    for (source, stale_ms) in [(1, 0), (2, 3_000)] {
        venue.ok(SetSource { market: BTC, source, weight: 1, stale_ms });
        venue.ok(FeedPrice { market: BTC, source, price: dec("60000") });
    }
    let mut states = Vec::new();
    for _ in 0..12 {
        venue.tick();
        states.extend(venue.said::<event::PerpetualPrice>().iter().map(|price| price.index_state));
        venue.reload();
    }
    use event::IndexState::*;
    states.dedup();
    assert_eq!(states, [Live as u8, Single as u8, Held as u8], "3 s, then the market's 10 s");
    assert_eq!(
        venue.refused(SetSource { market: BTC, source: 1, weight: 1, stale_ms: 600_001 }),
        Reject::ParameterOutOfRange
    );
}

fn tier(tier: u32, count: u32, volume: &str, maker_rate: i64, taker_rate: i64) -> ScheduleVipTier {
    ScheduleVipTier { tier, count, volume: usd(volume), maker_rate, taker_rate }
}

#[test]
fn a_fee_schedule_holds_from_the_next_midnight_on() {
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("100000"), venue.account("100000"));
    venue.ok(tier(0, 2, "0", 10_000, 60_000));
    assert_eq!(venue.events.len(), 1, "half a schedule is none");
    venue.reload();
    venue.ok(tier(1, 2, "1000", 0, 30_000));
    let midnight = (venue.time_ms / DAY_MS + 1) * DAY_MS;
    let told: Vec<_> = venue
        .said::<VipTierScheduled>()
        .iter()
        .map(|tier| (tier.tier, tier.count, tier.taker_rate, tier.effective_ms))
        .collect();
    assert_eq!(told, [(0, 2, 60_000, midnight), (1, 2, 30_000, midnight)]);
    let fee = |venue: &mut Venue| {
        open(venue, one, other, Side::Buy, "0.001", "60000");
        venue.fills()[0].taker_fee
    };
    assert_eq!(fee(&mut venue), usd("0.03"), "until then the old one");
    venue.time_ms = midnight - 2_000;
    venue.tick();
    assert!(venue.said::<VipTier>().is_empty());
    venue.reload();
    venue.tick();
    let rows: Vec<_> = venue.said::<VipTier>().iter().map(|tier| (tier.tier, tier.taker_rate)).collect();
    assert_eq!(rows, [(0, 60_000), (1, 30_000)]);
    venue.mark("60000");
    assert_eq!(fee(&mut venue), usd("0.036"));
    for (bad, reject) in [
        (tier(2, 2, "0", 0, 0), Reject::Malformed),
        (tier(1, 2, "5", 0, 0), Reject::Malformed),
        (tier(0, 17, "0", 0, 0), Reject::Malformed),
        (tier(0, 1, "1", 0, 0), Reject::ParameterOutOfRange),
        (tier(0, 1, "0", 1_000_001, 0), Reject::ParameterOutOfRange),
        (tier(0, 1, "0", -2, 1), Reject::ParameterOutOfRange),
    ] {
        assert_eq!(venue.refused(bad), reject, "{bad:?}");
    }
}

fn limits(account: u32, market: MarketId, mask: u32) -> SetAccountLimits {
    SetAccountLimits {
        account,
        market,
        mask,
        open_orders: 0,
        order_rate_10s: 0,
        order_rate_1m: 0,
        max_position_notional: 0,
        max_order_notional: 0,
    }
}

#[test]
fn an_account_may_have_more_open_orders_than_the_market_says_or_fewer() {
    let mut venue = Venue::trading("60000");
    venue.every = u64::MAX;
    let (maker, small, plain) = (venue.account("10000000"), venue.account("100000"), venue.account("100000"));
    venue.ok(SetAccountLimits { open_orders: 205, ..limits(maker, ALL_MARKETS, limit_mask::OPEN_ORDERS) });
    venue.ok(SetAccountLimits { open_orders: 2, ..limits(small, BTC, limit_mask::OPEN_ORDERS) });
    let fill = |venue: &mut Venue, account: u32, most: usize| {
        for number in 0..most {
            let price = format!("{}", 59_000 - number);
            venue.buy(account, "0.001", &price);
        }
        let order = venue.limit(account, Side::Buy, "0.001", "58000");
        assert_eq!(venue.refused(order), Reject::TooManyOpenOrders, "{most}");
    };
    fill(&mut venue, maker, 205);
    fill(&mut venue, small, 2);
    fill(&mut venue, plain, 200);
    venue.reload();
    // What is taken away leaves what the market says; orders that rest stay.
    venue.ok(limits(maker, ALL_MARKETS, limit_mask::OPEN_ORDERS));
    let told = venue.said::<AccountLimits>();
    assert_eq!((told[0].account, told[0].market, told[0].open_orders), (maker, ALL_MARKETS, 0));
    let order = venue.limit(maker, Side::Buy, "0.001", "58000");
    assert_eq!(venue.refused(order), Reject::TooManyOpenOrders);
    venue.ok(limits(small, BTC, limit_mask::OPEN_ORDERS));
    venue.buy(small, "0.001", "58000");
}

#[test]
fn a_spot_market_knows_the_limit_too() {
    let mut venue = Venue::trading("60000");
    let trader = venue.account("100");
    venue.ok(ListMarket {
        symbol: padded("DFUSDT").unwrap(),
        base: padded("DF").unwrap(),
        quote: padded("USDT").unwrap(),
        tick: 1_000_000,
        lot: 1_000_000,
        min_notional: 1.into(),
        maker_fee: 0,
        taker_fee: 0,
        max_open_orders: 3,
        kind: 0,
        reserved: [0; 3],
    });
    let mut address = [9; 20];
    address[..4].copy_from_slice(&trader.to_le_bytes());
    let amount = 1_000_000_000_000_000_000_000_i128.into();
    venue.ok(Credit { address, asset: padded("USDT").unwrap(), reserved: 0, amount, reason: [0; 64] });
    let order = PlaceOrder::limit(trader, 0, Side::Buy, dec("1"), dec("1"));
    for (market, open_orders, more) in [(0, 2, 2), (0, 0, 1), (ALL_MARKETS, 5, 2), (0, 6, 1)] {
        venue.ok(SetAccountLimits { open_orders, ..limits(trader, market, limit_mask::OPEN_ORDERS) });
        for _ in 0..more {
            venue.ok(order);
        }
        assert_eq!(venue.refused(order), Reject::TooManyOpenOrders, "{market} {open_orders}");
        venue.reload();
    }
}

#[test]
fn notionals_of_orders_and_positions_are_limited() {
    let mut venue = Venue::trading("60000");
    let (trader, other) = (venue.account("1000000"), venue.account("1000000"));
    venue.ok(SetAccountLimits {
        max_order_notional: usd("6000"),
        ..limits(trader, ALL_MARKETS, limit_mask::ORDER)
    });
    let refused = |venue: &mut Venue, place: PlacePerpetual| venue.refused(place);
    // An order that rests, one that trades, one that is modified, one that waits: all are judged.
    let order = venue.limit(trader, Side::Buy, "0.101", "59999");
    assert_eq!(refused(&mut venue, order), Reject::AboveMaxNotional);
    venue.sell(other, "1", "60000");
    let take = PlacePerpetual { order_type: 1, price: 0, ..venue.limit(trader, Side::Buy, "0.101", "0") };
    assert_eq!(refused(&mut venue, take), Reject::AboveMaxNotional);
    let id = venue.buy(trader, "0.1", "59000");
    let modify = ModifyPerpetual {
        account: trader,
        market: BTC,
        order: id,
        price: dec("59000"),
        quantity: dec("0.102"),
        side: 255,
        price_match: 0,
        flags: 0,
        client_order: [0; 36],
    };
    assert_eq!(venue.refused(modify), Reject::AboveMaxNotional);
    // A market's own limit counts before that over all, and may be wider than the market's.
    venue.ok(SetAccountLimits {
        max_order_notional: usd("6000000"),
        ..limits(trader, BTC, limit_mask::ORDER)
    });
    let large = venue.limit(trader, Side::Buy, "90", "59000");
    assert_eq!(refused(&mut venue, large), Reject::ExceedsBracket, "brackets stay");

    venue.ok(SetAccountLimits {
        max_position_notional: usd("30000"),
        ..limits(trader, BTC, limit_mask::POSITION)
    });
    // 5,900 rest already.
    let more = venue.limit(trader, Side::Buy, "0.409", "59000");
    assert_eq!(refused(&mut venue, more), Reject::ExceedsBracket);
    let take = venue.limit(trader, Side::Buy, "0.402", "60000");
    assert_eq!(refused(&mut venue, take), Reject::ExceedsBracket);
    venue.reload();
    venue.buy(trader, "0.4", "60000");
    // What closes is taken, however much there is.
    venue.ok(SetAccountLimits { max_position_notional: 1, ..limits(trader, BTC, limit_mask::POSITION) });
    let more = venue.limit(trader, Side::Buy, "0.001", "59000");
    assert_eq!(refused(&mut venue, more), Reject::ExceedsBracket);
    venue.buy(other, "1", "59990");
    venue.sell(trader, "0.4", "59990");
}

#[test]
fn limits_that_are_none_are_refused() {
    let mut venue = Venue::trading("60000");
    let trader = venue.account("100");
    use limit_mask::*;
    for (set, reject) in [
        (limits(9, BTC, OPEN_ORDERS), Reject::AccountNotFound),
        (limits(0, BTC, OPEN_ORDERS), Reject::AccountNotFound),
        (limits(trader, 0, OPEN_ORDERS), Reject::MarketNotFound),
        (limits(trader, FIRST_PERPETUAL + 1, OPEN_ORDERS), Reject::MarketNotFound),
        (limits(trader, DRAFT_MARKET, OPEN_ORDERS), Reject::MarketNotFound),
        (limits(trader, BTC, 0), Reject::Malformed),
        (limits(trader, BTC, 32), Reject::Malformed),
        (limits(trader, BTC, RATE_10S), Reject::Malformed),
        (
            SetAccountLimits { open_orders: 20_001, ..limits(trader, BTC, OPEN_ORDERS) },
            Reject::ParameterOutOfRange,
        ),
        (
            SetAccountLimits { order_rate_1m: 1_000_001, ..limits(trader, ALL_MARKETS, RATE_1M) },
            Reject::ParameterOutOfRange,
        ),
        (
            SetAccountLimits { max_order_notional: -1, ..limits(trader, BTC, ORDER) },
            Reject::ParameterOutOfRange,
        ),
    ] {
        assert_eq!(venue.refused(set), reject, "{set:?}");
    }
    // What the mask leaves out is not looked at.
    venue.ok(SetAccountLimits { open_orders: u32::MAX, ..limits(trader, BTC, ORDER) });
}

#[test]
fn terms_of_an_account_that_are_none_are_refused() {
    let mut venue = Venue::trading("60000");
    let trader = venue.account("100");
    use account_mask::*;
    let terms = |account: u32, mask: u32| SetPerpetualAccount {
        account,
        mask,
        trade_group: 3,
        ..zerocopy::FromZeros::new_zeroed()
    };
    for (set, reject) in [
        (terms(9, TRADE_GROUP), Reject::AccountNotFound),
        (terms(0, TRADE_GROUP), Reject::AccountNotFound),
        (terms(trader, 32), Reject::Malformed),
        (terms(trader, TRADE_GROUP | 1 << 31), Reject::Malformed),
        (SetPerpetualAccount { trade_group: -2, ..terms(trader, TRADE_GROUP) }, Reject::Malformed),
        (SetPerpetualAccount { referral_total_bps: 10_001, ..terms(trader, REFERRAL) }, Reject::Malformed),
        (SetPerpetualAccount { referral_share_bps: 10_001, ..terms(trader, REFERRAL) }, Reject::Malformed),
        (SetPerpetualAccount { promo_bps: 10_001, ..terms(trader, PROMO) }, Reject::Malformed),
    ] {
        assert_eq!(venue.refused(set), reject, "{set:?}");
    }
    // What the mask leaves out is not looked at, and nothing of what was refused was taken.
    venue.ok(SetPerpetualAccount { promo_bps: u32::MAX, ..terms(trader, TRADING | FEE_BURN | REFERRAL) });
    let told = venue.said::<event::AccountTerms>();
    assert_eq!(told.last().map(|terms| terms.trade_group), Some(-1));
}
