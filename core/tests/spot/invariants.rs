//! Random commands, every kind and every order type, over few accounts and narrow prices so that everything meets
//! everything: after each of them the state is sound, and an engine loaded from a snapshot goes on exactly alike.

use crate::support::seeds;
use ringside_core::command::*;
use ringside_core::event::{Done, Event};
use ringside_core::ids::{ALL_MARKETS, padded};
use ringside_core::money::{AMOUNT_UNIT, UNIT};
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

fn address(number: u64) -> [u8; 20] {
    let mut address = [0; 20];
    address[..8].copy_from_slice(&number.to_le_bytes());
    address
}

fn opening() -> Vec<Command> {
    let market = |symbol: &str, base: &str, tick: i64, maker_fee, taker_fee| {
        Command::new(ListMarket {
            symbol: padded(symbol).unwrap(),
            base: padded(base).unwrap(),
            quote: padded("USDT").unwrap(),
            tick,
            lot: UNIT / 10,
            min_notional: (AMOUNT_UNIT / 2).into(),
            maker_fee,
            taker_fee,
            max_open_orders: 6,
            kind: MarketKind::Spot as u8,
            reserved: [0; 3],
        })
    };
    let mut commands = vec![
        market("DFUSDT", "DF", UNIT / 100, 500, 1_000),
        market("ABUSDT", "AB", UNIT / 50, 0, 0),
        market("DFAB", "DF", 30_000, 1_000_000, 333_333),
    ];
    for account in 1..=6 {
        for asset in ["DF", "USDT", "AB"] {
            commands.push(Command::new(Credit {
                address: address(account),
                asset: padded(asset).unwrap(),
                reserved: 0,
                amount: (400 * AMOUNT_UNIT).into(),
                reason: [0; 64],
            }));
        }
    }
    commands
}

fn command(random: &mut Random, next_order: u64) -> Command {
    let account = random.pick(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let market = random.pick(&[0, 0, 0, 1, 1, 2, 3]);
    let order = (next_order.saturating_sub(random.below(40))).max(1);
    let price = random.pick(&[UNIT, UNIT, UNIT, UNIT / 2])
        + UNIT / 100 * random.below(12) as i64
        + random.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let quantity = UNIT / 10 * random.below(60) as i64 + random.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let price = if random.below(100) == 0 { 0 } else { price };
    match random.below(100) {
        0..=64 => {
            let order_type = random.pick(&[0, 0, 0, 0, 0, 1]);
            Command::new(PlaceOrder {
                account,
                market,
                side: random.below(2) as u8,
                order_type,
                time_in_force: if order_type == 1 { 1 } else { random.pick(&[0, 0, 0, 0, 1, 2, 3, 4]) },
                self_trade: random.pick(&[0, 1, 1, 1, 2, 3, 4]),
                flags: 0,
                price,
                quantity,
                quote_quantity: (i128::from(quantity) * i128::from(price) * 90).into(),
                idempotency_key: random.pick(&[0, 0, 0, 1, 2, 3]),
                idempotency_body: random.below(2),
            })
        }
        65..=79 => Command::new(CancelOrder { account, reserved: 0, order }),
        80..=84 => Command::new(AmendOrder { account, reserved: 0, order, quantity }),
        85..=93 => Command::new(ReplaceOrder { account, reserved: 0, order, price, quantity }),
        94 => Command::new(CancelAll { account, market: random.pick(&[0, 1, 2, ALL_MARKETS]) }),
        95 => Command::new(UpdateMarket {
            market,
            mask: random.below(32) as u32,
            tick: random.pick(&[UNIT / 100, UNIT / 100, UNIT / 40, UNIT / 30, 777]),
            lot: random.pick(&[UNIT / 10, UNIT / 10, UNIT / 4]),
            min_notional: random.pick(&[1, AMOUNT_UNIT / 2]).into(),
            maker_fee: random.below(2_000) as u32,
            taker_fee: random.below(2_000) as u32,
        }),
        96 => Command::new(SetMarketStatus {
            market,
            status: random.pick(&[0, 0, 0, 0, 0, 0, 1, 3]),
            reserved: [0; 3],
        }),
        97 => Command::new(Credit {
            address: address(random.below(9)),
            asset: padded(random.pick(&["DF", "USDT", "AB", "NO"])).unwrap(),
            reserved: 0,
            amount: (random.below(20) as i128 * AMOUNT_UNIT).into(),
            reason: [0; 64],
        }),
        98 => Command::new(AdvanceTime {}),
        _ => Command::new(Checkpoint {}),
    }
}

#[test]
fn state_stays_sound_and_snapshots_go_on_alike() {
    let seeds = seeds::seeds(12);
    let mut seen = [0u32; 128];
    for seed in seeds {
        println!("RINGSIDE_SEED={seed} cargo test -p ringside-core --test spot invariants::");
        let mut random = Random(seed);
        let mut engine = Engine::new(&EngineConfig::SMALLEST);
        let mut loaded: Option<Engine> = None;
        let mut commands = opening().into_iter();
        let (mut next_order, mut time_ns) = (1, 0);
        for sequence in 1..=6_000u64 {
            let mut command = commands.next().unwrap_or_else(|| match (sequence, seed % 3) {
                // Now and then a market ends for good.
                (4_000, 0) => Command::new(SetMarketStatus { market: 0, status: 2, reserved: [0; 3] }),
                _ => command(&mut random, next_order),
            });
            time_ns += random.below(60_000_000_000) as i64;
            command.sequence = sequence;
            command.time_ns = time_ns;
            let mut events: Vec<Event> = Vec::new();
            engine.apply(&command, &mut events);
            let done = *events.last().unwrap().get::<Done>().unwrap();
            seen[done.reject as usize] += 1;
            if done.command == Kind::PlaceOrder as u16 {
                next_order = next_order.max(done.order + 1);
            }
            engine.check_invariants().unwrap_or_else(|fault| panic!("after {command:?}: {fault}"));
            if let Some(loaded) = &mut loaded {
                let mut again: Vec<Event> = Vec::new();
                loaded.apply(&command, &mut again);
                assert_eq!(events, again);
            }
            if sequence % 251 == 0 {
                let mut bytes = Vec::new();
                engine.save(&mut bytes);
                let copy = Engine::load(&EngineConfig::SMALLEST, &bytes).unwrap();
                assert_eq!(copy.state_hash(), engine.state_hash());
                if let Some(loaded) = &loaded {
                    assert_eq!(loaded.state_hash(), engine.state_hash());
                }
                let mut again = Vec::new();
                copy.save(&mut again);
                assert_eq!(bytes, again);
                loaded = Some(copy);
            }
        }
    }
    // The walk is worth something: every refusal of the spot side that these commands can meet was met.
    for reject in Reject::ALL.into_iter().filter(|&reject| reject.code() < Reject::MarginAssetDiffers.code())
    {
        if !seeds::is_rerun() && !matches!(reject, Reject::Duplicate | Reject::MarketExists) {
            assert!(seen[reject.code() as usize] > 0, "never met {reject:?}");
        }
    }
}
