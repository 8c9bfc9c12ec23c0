//! Attached take-profit and stop-loss orders (`risk.md` 14, C-05): while an account holds lots that an entry brought, they are
//! covered until they fire, whatever ends the entry.

use crate::support::perpetual::flow::Random;
use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::event::{self, Execution};
use ringside_core::reject::Reject;

/// Two traders with money, and a market without fees at 60,000.
struct Scene {
    venue: Venue,
    trader: u32,
    other: u32,
}

impl Scene {
    fn new() -> Scene {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        let (trader, other) = (venue.account("1000000"), venue.account("1000000"));
        Scene { venue, trader, other }
    }

    /// An entry of the trader with a stop-loss, and a take-profit if one is given.
    fn entry(&mut self, quantity: &str, price: &str, take_profit: &str, stop_loss: &str) -> PlacePerpetual {
        let place = self.venue.limit(self.trader, Side::Buy, quantity, price);
        PlacePerpetual { take_profit: dec(take_profit), stop_loss: dec(stop_loss), ..place }
    }

    fn sell(&mut self, quantity: &str, price: &str) {
        let other = self.other;
        self.venue.sell(other, quantity, price);
    }

    /// Status and executed quantity of the entry, then quantities of the attached orders that wait.
    fn open(&self, entry: u64) -> (Option<(PerpetualStatus, i64)>, Vec<i64>) {
        let orders: Vec<_> = self.venue.engine.perpetual_orders().collect();
        let found = orders.iter().find(|order| order.order == entry);
        let mut children: Vec<_> = orders.iter().filter(|order| order.parent == entry).collect();
        children.sort_unstable_by_key(|order| order.order);
        (
            found.map(|order| (PerpetualStatus::from_code(order.status).unwrap(), order.filled)),
            children.iter().map(|order| order.quantity).collect(),
        )
    }

    /// Another quantity and price for an order of the trader.
    fn change(&self, order: u64, quantity: &str, price: &str) -> ModifyPerpetual {
        ModifyPerpetual {
            account: self.trader,
            market: BTC,
            order,
            client_order: [0; 36],
            side: 255,
            price_match: 0,
            flags: 0,
            price: dec(price),
            quantity: dec(quantity),
        }
    }

    fn held(&self) -> i64 {
        held(&self.venue, self.trader)
    }
}

#[test]
fn v32_prices_from_before_an_attached_order_began_to_watch_are_none_of_its() {
    // One order sells through a bid at 60,250 down to the entry.
    let mut scene = Scene::new();
    let place = scene.entry("1", "59500", "60200", "59400");
    let entry = scene.venue.ok(place).order;
    let third = scene.venue.account("1000000");
    scene.venue.buy(third, "0.001", "60250");
    scene.sell("0.501", "59500");
    let half = dec("0.5");
    assert_eq!(scene.open(entry), (Some((PerpetualStatus::PartiallyFilled, half)), vec![half, half]));
    // The next price counts, in the same command too: what comes after the entry's fill.
    scene.venue.buy(third, "0.1", "59390");
    scene.sell("0.6", "59390");
    assert!(
        scene
            .venue
            .said::<event::PerpetualOrder>()
            .iter()
            .any(|order| { order.parent == entry && order.execution == Execution::Triggered as u8 })
    );
}

#[test]
fn v33_a_stop_that_fires_first_cancels_what_is_open_of_its_entry() {
    let mut scene = Scene::new();
    let place = scene.entry("1", "59500", "0", "59000");
    let place = PlacePerpetual { attached_working_type: WorkingType::MarkPrice as u8, ..place };
    let entry = scene.venue.ok(place).order;
    scene.sell("0.3", "59500");
    let other = scene.other;
    scene.venue.buy(other, "0.5", "58500");
    scene.venue.mark("58900");
    let ends = scene.venue.ends();
    assert_eq!(ends[0], (entry, PerpetualStatus::Canceled, 0, dec("0.3")));
    let fired = scene.venue.said::<event::PerpetualOrder>();
    let stop = fired.iter().find(|order| order.parent == entry).unwrap();
    assert_eq!(stop.self_trade, SelfTradePrevention::ExpireMaker as u8);
    assert_eq!((scene.held(), scene.open(entry)), (0, (None, vec![])));
}

#[test]
fn v34_an_entry_that_ends_by_itself_leaves_its_stop_with_what_it_filled() {
    let mut scene = Scene::new();
    scene.sell("0.3", "60000");
    let place = scene.entry("1", "60000", "0", "59000");
    let entry = scene
        .venue
        .ok(PlacePerpetual { time_in_force: PerpetualTimeInForce::ImmediateOrCancel as u8, ..place })
        .order;
    assert_eq!(scene.venue.ends(), [(entry, PerpetualStatus::Expired, 2, dec("0.3"))]);
    assert_eq!(scene.open(entry), (None, vec![dec("0.3")]));
    // Nothing filled: nothing to cover.
    let place = scene.entry("1", "59900", "0", "59000");
    let entry = scene
        .venue
        .ok(PlacePerpetual { time_in_force: PerpetualTimeInForce::ImmediateOrCancel as u8, ..place })
        .order;
    assert_eq!(scene.open(entry), (None, vec![]));
}

/// An entry of 1 of which 0.4 are filled ends in a way; what is left covers 0.4, or nothing where its owner wanted that.
fn ends_after_a_fill(name: &str, end: impl FnOnce(&mut Scene, u64), covered: &[&str]) {
    let mut scene = Scene::new();
    let place = scene.entry("1", "59900", "61000", "58000");
    let good_till_ms = (scene.venue.time_ms / 1_000 + 700) * 1_000;
    let place =
        PlacePerpetual { time_in_force: PerpetualTimeInForce::GoodTillDate as u8, good_till_ms, ..place };
    let entry = scene.venue.ok(place).order;
    scene.sell("0.4", "59900");
    assert_eq!(scene.open(entry).1, [dec("0.4"); 2], "{name}");
    end(&mut scene, entry);
    let covered: Vec<i64> = covered.iter().map(|quantity| dec(quantity)).collect();
    assert_eq!(scene.open(entry), (None, covered), "{name}");
}

#[test]
fn what_an_entry_filled_stays_covered_however_it_ends() {
    let both = ["0.4", "0.4"];
    ends_after_a_fill("its date", |scene, _| (0..701).for_each(|_| scene.venue.tick()), &both);
    ends_after_a_fill(
        "self-trade prevention",
        |scene, _| {
            let place = scene.venue.limit(scene.trader, Side::Sell, "0.1", "59900");
            let place = PlacePerpetual {
                self_trade: SelfTradePrevention::ExpireMaker as u8,
                time_in_force: PerpetualTimeInForce::ImmediateOrCancel as u8,
                ..place
            };
            scene.venue.ok(place);
        },
        &both,
    );
    ends_after_a_fill(
        "a change to what it has",
        |scene, entry| _ = scene.venue.ok(scene.change(entry, "0.4", "59900")),
        &both,
    );
    let countdown = |keep_reduce_only| {
        move |scene: &mut Scene, _| {
            let account = scene.trader;
            scene.venue.ok(SetCountdown {
                account,
                market: BTC,
                countdown_ms: 500,
                keep_reduce_only,
                reserved: 0,
            });
            scene.venue.tick();
        }
    };
    ends_after_a_fill("a countdown that keeps what reduces", countdown(1), &both);
    ends_after_a_fill("a countdown that keeps nothing", countdown(0), &[]);
    let client_order = [0; 36];
    let classes = order_class::ORDINARY;
    ends_after_a_fill(
        "its owner",
        |scene, order| {
            let account = scene.trader;
            scene.venue.ok(CancelPerpetual { account, market: BTC, order, client_order, classes });
        },
        &[],
    );
    ends_after_a_fill(
        "its owner, with all others",
        |scene, _| {
            let account = scene.trader;
            scene.venue.ok(CancelAllPerpetual { account, market: BTC, classes, reserved: 0 });
        },
        &[],
    );
}

#[test]
fn a_change_that_would_cross_ends_a_maker_order_and_leaves_its_cover() {
    let mut scene = Scene::new();
    let place = scene.entry("1", "59900", "61000", "58000");
    let entry =
        scene.venue.ok(PlacePerpetual { time_in_force: PerpetualTimeInForce::PostOnly as u8, ..place }).order;
    scene.sell("0.4", "59900");
    scene.sell("0.1", "60000");
    let change = scene.change(entry, "1", "60000");
    let refused = scene.venue.refused(change);
    assert_eq!(refused, Reject::PostOnlyWouldCross);
    assert_eq!(scene.open(entry), (None, vec![dec("0.4"); 2]));
}

#[test]
fn a_stop_comes_before_the_price_of_the_fill_that_resumed_its_market() {
    // Prices of a time in which nothing was judged do not count; the one in force afterwards is the first that does.
    let mut scene = Scene::new();
    let place = scene.entry("0.5", "60000", "0", "59000");
    let place = PlacePerpetual { attached_working_type: WorkingType::MarkPrice as u8, ..place };
    scene.sell("0.5", "60000");
    let entry = scene.venue.ok(place).order;
    let state = |venue: &mut Venue, state: PerpetualState| {
        venue.ok(SetPerpetualState { market: BTC, state: state as u8, reserved: [0; 3] });
    };
    state(&mut scene.venue, PerpetualState::CancelOnly);
    scene.venue.mark("58900");
    scene.venue.mark("60000");
    state(&mut scene.venue, PerpetualState::Trading);
    scene.venue.tick();
    assert_eq!(scene.open(entry).1, [dec("0.5")], "58,900 was nobody's price");
    let other = scene.other;
    scene.venue.buy(other, "1", "58800");
    state(&mut scene.venue, PerpetualState::CancelOnly);
    scene.venue.mark("58950");
    scene.venue.reload();
    state(&mut scene.venue, PerpetualState::Trading);
    scene.venue.tick();
    assert_eq!((scene.open(entry).1, scene.held()), (vec![], 0), "58,950 is in force");
}

/// An entry whose story is followed command by command.
struct Story {
    scene: Scene,
    entry: u64,
    /// One of its attached orders has fired.
    has_fired: bool,
}

impl Story {
    fn give<B: Body>(&mut self, body: B) {
        self.scene.venue.give(body);
        let told = self.scene.venue.said::<event::PerpetualOrder>();
        let is_fired = |order: &event::PerpetualOrder| {
            order.parent == self.entry && order.execution == Execution::Triggered as u8
        };
        self.has_fired |= told.iter().any(is_fired);
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.scene.venue.time_ms += 1_000;
            self.give(AdvanceTime {});
        }
    }

    fn mark(&mut self, price: &str) {
        self.give(SetManualPrice { market: BTC, moves_band: 0, price: dec(price) });
        self.pass(1);
    }

    fn place(&mut self, account: u32, side: Side, quantity: &str, price: &str) {
        let place = self.scene.venue.limit(account, side, quantity, price);
        self.give(place);
    }
}

/// Random orders of {partial fill, child fires, change, end of the entry, deleveraging}: what is held is covered unless a child has
/// fired, or its owner cancelled. And all of these come up.
#[test]
fn what_is_held_is_covered_in_any_order_of_things() {
    let (mut fired, mut covered_alone, mut deleveraged) = (0, 0, 0);
    for seed in crate::support::seeds::seeds(120) {
        let mut random = Random::new(seed);
        let mut scene = Scene::new();
        let good_till_ms = (scene.venue.time_ms / 1_000 + 620) * 1_000;
        let place = scene.entry("1", "59900", "60300", "59500");
        let dated = random.below(2) == 0;
        let place = PlacePerpetual {
            time_in_force: if dated { PerpetualTimeInForce::GoodTillDate as u8 } else { 0 },
            good_till_ms: if dated { good_till_ms } else { 0 },
            attached_working_type: random.below(2) as u8,
            ..place
        };
        let entry = scene.venue.ok(place).order;
        let (trader, other) = (scene.trader, scene.other);
        let mut story = Story { scene, entry, has_fired: false };
        let mut is_owners = false;
        for step in 0..40 {
            let did = random.below(9);
            match did {
                0 | 1 => {
                    let lots = 1 + random.below(300);
                    story.place(other, Side::Sell, &format!("0.{lots:03}"), "59900");
                }
                2 if random.below(3) == 0 => {
                    story.mark(random.pick(&["59600", "59450", "60350", "60000"]));
                }
                3 if random.below(3) == 0 => {
                    let (side, price) =
                        random.pick(&[(Side::Buy, "59400"), (Side::Sell, "60320"), (Side::Buy, "60310")]);
                    story.place(other, side, "0.2", price);
                }
                4 => {
                    let (quantity, price) =
                        (random.pick(&["0.05", "0.5", "1.2"]), random.pick(&["59900", "59950"]));
                    let change = story.scene.change(entry, quantity, price);
                    story.give(change);
                }
                5 => {
                    let place = story.scene.venue.limit(trader, Side::Sell, "0.01", "59900");
                    story.give(PlacePerpetual {
                        self_trade: SelfTradePrevention::ExpireBoth as u8,
                        time_in_force: PerpetualTimeInForce::ImmediateOrCancel as u8,
                        ..place
                    });
                }
                6 => story.pass(random.below(90)),
                7 if random.below(4) == 0 => {
                    // Somebody short against the trader is ruined: with an empty fund the trader is deleveraged.
                    let poor = story.scene.venue.account("200");
                    leverage(&mut story.scene.venue, poor, 100);
                    story.place(poor, Side::Sell, "0.2", "59900");
                    story.mark("61500");
                    let told = story.scene.venue.moved();
                    deleveraged += usize::from(told.iter().any(|moved| moved.to == trader));
                    story.mark("60000");
                }
                8 if random.below(16) == 0 => {
                    let classes = order_class::ORDINARY;
                    story.give(CancelAllPerpetual { account: trader, market: BTC, classes, reserved: 0 });
                    is_owners = true;
                }
                _ => story.pass(1),
            }
            let (open, children) = story.scene.open(entry);
            let held = story.scene.held();
            let what =
                format!("seed {seed}, step {step}, {did}: {held} held, {open:?}, covered by {children:?}");
            if held > 0 && !story.has_fired && !is_owners {
                let filled = open.map_or(held, |(_, filled)| filled.min(held));
                assert_eq!(children.len(), 2, "{what}");
                assert!(children.iter().all(|&quantity| quantity >= filled), "{what}");
                covered_alone += usize::from(open.is_none());
            }
            assert!(!story.has_fired || open.is_none(), "the entry outlived its cover, {what}");
        }
        fired += usize::from(story.has_fired);
    }
    if !crate::support::seeds::is_rerun() {
        let came_up = [fired, covered_alone, deleveraged];
        assert!(came_up.iter().all(|&count| count > 3), "{came_up:?}");
    }
}
