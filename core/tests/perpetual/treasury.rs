//! The venue's own money (`account.md` 13): whatever moves are asked for, what there is stays what it was, and the proof of all
//! ledgers says so.

use crate::support::perpetual::*;
use crate::support::random::Random;
use crate::support::seeds;
use ringside_core::command::*;
use ringside_core::event::{PerpetualLedger, SpotLedger, TreasuryMoved};
use ringside_core::ids::padded;
use ringside_core::money::{AMOUNT_PER_MICRO, AMOUNT_UNIT, Amount, UNIT};
use ringside_core::reject::Reject;
use std::collections::{BTreeMap, BTreeSet};

/// All places: both accounts, the fund, and the fees of either ledger.
const ENDS: [(TreasuryPlace, u32); 5] = [
    (TreasuryPlace::Account, 1),
    (TreasuryPlace::Account, 2),
    (TreasuryPlace::Fund, 0),
    (TreasuryPlace::SpotFees, 0),
    (TreasuryPlace::PerpetualFees, 0),
];

/// A venue on which the fund and the fees of both ledgers have something, an account a position, and the fund one too.
fn venue() -> Venue {
    let mut venue = Venue::trading("60000");
    venue.fund("100");
    let accounts = [venue.account("100000"), venue.account("100000")];
    assert_eq!(accounts, [1, 2]);
    open(&mut venue, 1, 2, Side::Buy, "0.5", "60000");
    venue.ok(ListMarket {
        symbol: padded("DFUSDT").unwrap(),
        base: padded("DF").unwrap(),
        quote: padded("USDT").unwrap(),
        tick: UNIT / 100,
        lot: UNIT / 10,
        min_notional: AMOUNT_UNIT.into(),
        maker_fee: 500,
        taker_fee: 1_000,
        max_open_orders: 20,
        kind: MarketKind::Spot as u8,
        reserved: [0; 3],
    });
    for account in accounts {
        for asset in ["DF", "USDT"] {
            let mut address = [9; 20];
            address[..4].copy_from_slice(&account.to_le_bytes());
            venue.ok(Credit {
                address,
                asset: padded(asset).unwrap(),
                reserved: 0,
                amount: (1_000 * AMOUNT_UNIT).into(),
                reason: [0; 64],
            });
        }
    }
    venue.ok(PlaceOrder::limit(1, 0, Side::Sell, 3 * UNIT, 100 * UNIT));
    venue.ok(PlaceOrder::limit(2, 0, Side::Buy, 3 * UNIT, 100 * UNIT));
    // What rests is frozen, and not there to be moved.
    venue.ok(PlaceOrder::limit(1, 0, Side::Buy, UNIT, 100 * UNIT));
    venue
}

/// What there is of each asset in all ledgers. Both sides of each are equal, as added up from every account.
fn held(venue: &mut Venue) -> BTreeMap<u16, Amount> {
    venue.ok(ProveLedger {});
    let mut held = BTreeMap::new();
    for spot in venue.said::<SpotLedger>() {
        let left = spot.available.get() + spot.frozen.get();
        assert_eq!(left, spot.credited.get(), "asset {}", spot.asset);
        held.insert(spot.asset, left);
    }
    let [told] = venue.said::<PerpetualLedger>()[..] else { panic!("one ledger") };
    let of_pools = i128::from(told.fund) + i128::from(told.fees) + i128::from(told.affiliates);
    let left = told.wallets.get() + told.isolated.get() + of_pools - told.costs.get();
    assert_eq!(left, told.deposits.into());
    *held.get_mut(&told.asset).unwrap() += left * AMOUNT_PER_MICRO;
    held
}

#[test]
fn whatever_moves_nothing_is_made_and_nothing_lost() {
    let (mut moved, mut rejects) = (BTreeSet::new(), BTreeSet::new());
    for seed in seeds::seeds(20) {
        let mut random = Random::new(seed);
        let mut venue = venue();
        let before = held(&mut venue);
        for step in 0..120 {
            let [(from, from_account), (to, to_account)] = [*random.pick(&ENDS), *random.pick(&ENDS)];
            let amount = match random.below(4) {
                0 => random.between(1, 3_000_000) as Amount * AMOUNT_PER_MICRO,
                1 => random.between(1, 1_000) as Amount * AMOUNT_UNIT,
                2 => *random.pick(&[1, 0, -1, AMOUNT_PER_MICRO, AMOUNT_PER_MICRO + 1, Amount::MAX]),
                _ => random.next() as Amount,
            };
            let asset = *random.pick(&["USDT", "USDT", "USDT", "DF", "NONE"]);
            let asked = MoveTreasury {
                from_account,
                to_account,
                amount: amount.into(),
                asset: padded(asset).unwrap(),
                from: from as u8,
                to: to as u8,
                reserved: [0; 4],
            };
            match venue.give(asked).rejected() {
                None => {
                    let [told] = venue.said::<TreasuryMoved>()[..] else { panic!("one move") };
                    assert_eq!((told.amount, told.from, told.to), (asked.amount, asked.from, asked.to));
                    moved.insert((from as u8, to as u8));
                }
                Some(reject) => {
                    assert!(venue.said::<TreasuryMoved>().is_empty());
                    rejects.insert(reject.code());
                }
            }
            assert_eq!(held(&mut venue), before, "seed {seed}, step {step}: {asked:?}");
        }
    }
    if !seeds::is_rerun() {
        // From every kind of place to every other, and between two accounts.
        assert_eq!(moved.len(), 13, "{moved:?}");
        let met = [
            Reject::Malformed,
            Reject::MarketNotFound,
            Reject::InvalidAmount,
            Reject::InsufficientBalance,
            Reject::CrossInsufficient,
        ];
        assert_eq!(rejects, BTreeSet::from(met.map(Reject::code)));
    }
}
