//! Any bytes as commands, on an engine with markets, money and resting orders: it never panics, every command is answered
//! by one Done at its end, the state stays sound, and another engine that is loaded from the same state decides the same.
#![allow(clippy::unwrap_used)]

#[path = "support/fuzz.rs"]
mod fuzz;

use fuzz::Fuzz;
use ringside_core::command::*;
use ringside_core::event::{Done, Event};
use ringside_core::ids::{ALL_MARKETS, FIRST_PERPETUAL, padded};
use ringside_core::money::{AMOUNT_UNIT, UNIT};
use ringside_core::{Engine, EngineConfig};
use zerocopy::{FromBytes, IntoBytes};

const LEN: usize = size_of::<Command>();
const DAY_NS: i64 = 86_400_000_000_000;

fn address(number: u8) -> [u8; 20] {
    [number; 20]
}

fn market(symbol: &str, base: &str, lot: i64) -> Command {
    Command::new(ListMarket {
        symbol: padded(symbol).unwrap(),
        base: padded(base).unwrap(),
        quote: padded("USDT").unwrap(),
        tick: UNIT / 100,
        lot,
        min_notional: AMOUNT_UNIT.into(),
        maker_fee: 50_000,
        taker_fee: 100_000,
        max_open_orders: 20,
        kind: MarketKind::Spot as u8,
        reserved: [0; 3],
    })
}

fn credit(account: u8, asset: &str) -> Command {
    Command::new(Credit {
        address: address(account),
        asset: padded(asset).unwrap(),
        reserved: 0,
        amount: (1_000_000 * AMOUNT_UNIT).into(),
        reason: [0; 64],
    })
}

fn order(account: u32, side: Side, price: i64, quantity: i64) -> PlaceOrder {
    PlaceOrder::limit(account, 0, side, price * UNIT / 100, quantity * UNIT)
}

/// What every input meets.
fn opening() -> Vec<Command> {
    let mut commands = vec![market("DFUSDT", "DF", UNIT / 10), market("ABUSDT", "AB", UNIT)];
    commands.extend((1..=4).flat_map(|account| ["DF", "USDT", "AB"].map(|asset| credit(account, asset))));
    for step in 0..6 {
        commands.push(Command::new(order(1 + step as u32 % 4, Side::Sell, 101 + step, 10)));
        commands.push(Command::new(order(1 + step as u32 % 4, Side::Buy, 99 - step, 10)));
    }
    commands.extend(perpetual_opening());
    commands
}

/// A perpetual market at 100 with a book, and accounts with wallets: positions in both directions, one of them isolated.
fn perpetual_opening() -> Vec<Command> {
    let mut commands = vec![
        Command::new(ListPerpetual {
            symbol: padded("BTCUSDT").unwrap(),
            base: padded("BTC").unwrap(),
            quote: padded("USDT").unwrap(),
            tick: UNIT / 10,
            lot: UNIT / 1_000,
        }),
        Command::new(SetManualPrice { market: FIRST_PERPETUAL, moves_band: 0, price: 100 * UNIT }),
        Command::new(AdvanceTime {}),
        Command::new(SetPerpetualState {
            market: FIRST_PERPETUAL,
            state: PerpetualState::Trading as u8,
            reserved: [0; 3],
        }),
        Command::new(CreditPerpetual { address: [0; 20], reserved: 0, amount: 50_000_000, reason: [0; 64] }),
    ];
    commands.extend((1..=4).map(|account| {
        let amount = 1_000_000_000;
        Command::new(CreditPerpetual { address: address(account), reserved: 0, amount, reason: [0; 64] })
    }));
    commands.push(Command::new(SetMarginMode { account: 3, market: FIRST_PERPETUAL, mode: 1, reserved: 0 }));
    for (number, (account, side, price)) in [
        (1, Side::Sell, 100),
        (2, Side::Buy, 100),
        (3, Side::Sell, 101),
        (4, Side::Buy, 101),
        (1, Side::Sell, 103),
        (2, Side::Buy, 97),
    ]
    .into_iter()
    .enumerate()
    {
        commands.push(Command::new(perpetual_order(number as u8, account, side, price)));
    }
    commands
}

fn perpetual_order(number: u8, account: u32, side: Side, price: i64) -> PlacePerpetual {
    let mut client_order = [0; 36];
    client_order[..2].copy_from_slice(&[b'a' + number / 26, b'a' + number % 26]);
    PlacePerpetual {
        account,
        market: FIRST_PERPETUAL,
        side: side as u8,
        order_type: PerpetualOrderType::Limit as u8,
        time_in_force: 0,
        self_trade: 0,
        working_type: 0,
        price_match: 0,
        flags: 0,
        price: price * UNIT,
        quantity: 2 * UNIT,
        stop_price: 0,
        callback_rate: 0,
        leverage: 20,
        good_till_ms: 0,
        take_profit: 0,
        stop_loss: 0,
        client_order,
        attached_working_type: 0,
        reserved: [0; 3],
        idempotency_key: 0,
        idempotency_body: 0,
    }
}

/// A move of 5 USDT between two places, each with its account.
fn treasury((from, from_account): (u8, u32), (to, to_account): (u8, u32)) -> Command {
    Command::new(MoveTreasury {
        from_account,
        to_account,
        amount: (5 * AMOUNT_UNIT).into(),
        asset: padded("USDT").unwrap(),
        from,
        to,
        reserved: [0; 4],
    })
}

fn perpetual_corpus() -> Vec<Vec<Command>> {
    let buy = perpetual_order(30, 3, Side::Buy, 104);
    let stop = PlacePerpetual {
        order_type: PerpetualOrderType::StopMarket as u8,
        stop_price: 95 * UNIT,
        price: 0,
        side: Side::Sell as u8,
        ..buy
    };
    let market = FIRST_PERPETUAL;
    let crash = |price| Command::new(SetManualPrice { market, moves_band: 0, price: price * UNIT });
    let tick = Command { time_ns: 1_000_000_000, ..Command::new(AdvanceTime {}) };
    vec![
        vec![Command::new(buy)],
        vec![Command::new(stop), crash(94), tick, tick],
        vec![
            Command::new(PlacePerpetual { take_profit: 110 * UNIT, stop_loss: 90 * UNIT, ..buy }),
            crash(120),
            tick,
        ],
        vec![crash(60), tick, crash(200), tick, crash(100), tick],
        vec![Command::new(PlacePerpetual { flags: order_flag::REDUCE_ONLY, ..buy }), tick],
        vec![treasury((0, 2), (1, 0)), treasury((1, 0), (3, 0)), treasury((3, 0), (0, 3))],
        vec![treasury((0, 1), (2, 0)), treasury((2, 0), (1, 0)), crash(60), tick, treasury((1, 0), (0, 1))],
        vec![Command::new(SetLeverage { account: 1, market, leverage: 50, reserved: 0 })],
        vec![Command::new(AdjustIsolatedMargin { account: 3, market, amount: 1_000_000 })],
        vec![Command::new(TransferPerpetual { account: 2, reserved: 0, amount: 5_000_000 })],
        vec![Command::new(CancelAllPerpetual { account: 1, market, classes: 3, reserved: 0 })],
        vec![
            Command::new(SetPerpetualState { market, state: PerpetualState::Halted as u8, reserved: [0; 3] }),
            tick,
        ],
    ]
}

fn corpus() -> Vec<Vec<u8>> {
    let buy = order(1, Side::Buy, 104, 35);
    let market_buy = PlaceOrder {
        order_type: OrderType::Market as u8,
        time_in_force: TimeInForce::ImmediateOrCancel as u8,
        price: 0,
        quantity: 0,
        quote_quantity: (50 * AMOUNT_UNIT).into(),
        ..buy
    };
    let mut inputs: Vec<Vec<Command>> = vec![
        vec![Command::new(buy), Command::new(order(2, Side::Sell, 95, 100))],
        vec![Command::new(market_buy)],
        vec![Command::new(PlaceOrder { idempotency_key: 7, idempotency_body: 1, ..buy }); 2],
        vec![Command::new(PlaceOrder { time_in_force: TimeInForce::FillOrKill as u8, ..buy })],
        vec![Command::new(CancelOrder { account: 1, reserved: 0, order: 1 })],
        vec![Command::new(CancelAll { account: 2, market: ALL_MARKETS })],
        vec![Command::new(AmendOrder { account: 3, reserved: 0, order: 5, quantity: UNIT })],
        vec![Command::new(ReplaceOrder {
            account: 1,
            reserved: 0,
            order: 1,
            price: 2 * UNIT,
            quantity: 3 * UNIT,
        })],
        vec![Command::new(CreateAccount { address: address(9), reserved: 0 })],
        vec![credit(2, "DF"), market("NEW", "AB", UNIT)],
        vec![Command::new(SetMarketStatus {
            market: 0,
            status: MarketStatus::Delisted as u8,
            reserved: [0; 3],
        })],
        vec![Command::new(UpdateMarket {
            market: 0,
            mask: 31,
            tick: UNIT,
            lot: UNIT,
            min_notional: AMOUNT_UNIT.into(),
            maker_fee: 1,
            taker_fee: 2,
        })],
        vec![Command::new(OpenEpoch { epoch: 9, reserved: 0 }), Command::new(Checkpoint {})],
    ];
    inputs.extend(perpetual_corpus());
    // Every kind that there is, with small numbers in every field.
    for kind in Kind::ALL {
        for byte in [0, 1, 2] {
            let mut command = Command { kind: *kind as u16, ..Command::new(AdvanceTime {}) };
            command.body.iter_mut().step_by(8).for_each(|first| *first = byte);
            inputs.push(vec![command]);
        }
    }
    inputs.iter().map(|commands| commands.as_bytes().to_vec()).collect()
}

#[test]
fn any_bytes_are_commands() {
    assert!(
        Command::read_from_bytes(&[0xff; LEN]).is_ok() && Command::read_from_bytes(&[0; LEN - 1]).is_err()
    );
    let mut engine = Engine::new(&EngineConfig::SMALLEST);
    for command in opening() {
        let sequence = engine.sequence() + 1;
        let command = Command { sequence, time_ns: DAY_NS + sequence as i64 * 1_000_000_000, ..command };
        let mut events: Vec<Event> = Vec::new();
        engine.apply(&command, &mut events);
        let done = events.last().unwrap().get::<Done>().unwrap();
        assert_eq!(done.rejected(), None, "{command:?}");
    }
    let mut state = Vec::new();
    engine.save(&mut state);
    let fuzz = Fuzz {
        name: "-p ringside-core --test fuzz_commands",
        corpus: corpus(),
        dictionary: &[],
        record_len: LEN,
        len_max: 24 * LEN,
        seconds: 2.0,
    };
    let mut inputs = 0u64;
    let run = fuzz.run(|bytes| {
        inputs += 1;
        let mut engine = Engine::load(&EngineConfig::SMALLEST, &state).unwrap();
        let mut commands = Vec::new();
        let mut signature = Vec::new();
        let mut events: Vec<Event> = Vec::new();
        for record in bytes.chunks_exact(LEN) {
            let sent = Command::read_from_bytes(record).unwrap();
            assert_eq!(sent.as_bytes(), record, "every byte of a command is its own");
            // Printing is part of what an operator does with it.
            let _ = format!("{sent:?}");
            // The matcher stamps these two; its clock is in this century.
            let time_ns = engine.time_ns() + sent.time_ns.rem_euclid(DAY_NS);
            let command = Command { sequence: engine.sequence() + 1, time_ns, ..sent };
            commands.push(command);
            let before = events.len();
            engine.apply(&command, &mut events);
            let made = &events[before..];
            let (last, rest) = made.split_last().expect("an answer");
            let done = last.get::<Done>().expect("the last event is the verdict");
            assert!(rest.iter().all(|event| event.get::<Done>().is_none()), "one verdict");
            assert_eq!(
                (done.source, done.source_seq, done.command),
                (sent.source, sent.source_seq, sent.kind)
            );
            signature.push((done.command, done.reject, made.len().min(8)));
        }
        engine.check_invariants().unwrap_or_else(|fault| panic!("{fault}: {commands:?}"));
        if inputs.is_multiple_of(16) {
            let mut again = Engine::load(&EngineConfig::SMALLEST, &state).unwrap();
            let mut events_again = Vec::new();
            commands.iter().for_each(|command| again.apply(command, &mut events_again));
            assert_eq!((again.state_hash(), events_again), (engine.state_hash(), events));
            let mut saved = Vec::new();
            engine.save(&mut saved);
            assert_eq!(
                Engine::load(&EngineConfig::SMALLEST, &saved).unwrap().state_hash(),
                engine.state_hash()
            );
        }
        // In any order: sequences of the same things are no news.
        signature.sort_unstable();
        signature.dedup();
        signature
    });
    run.reached(31);
}
