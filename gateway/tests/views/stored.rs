//! What lies on disk is read whatever version it is of.
//!
//! `golden/rows` holds, for each list of rows of one length and each of its versions, how a row lies (`<list>_<version>.txt`); and
//! for each time that a list changed a snapshot of views and an archive as the build of that time wrote them, each with a text of
//! all that is in it. None of these files ever changes. **Where a test here fails after a change of a list**, the layout of a version
//! that was written has been changed: undo that, append a version (`gateway/views/src/stored/mod.rs` says how), and have this write
//! the files of the new one: `RINGSIDE_BLESS=1 cargo test --release -p ringside-gateway --test views -- stored`.

use crate::perpetual_flow::Flow;
use crate::shown;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ringside_core::command::*;
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Event};
use ringside_core::ids::{ALL_MARKETS, Address, DRAFT_MARKET, FIRST_PERPETUAL, padded, text as text_of};
use ringside_core::money::{AMOUNT_UNIT, UNIT};
use ringside_persist::archive::row::Entry;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{Archive, ArchiveError, Mark};
use ringside_persist::recover::machine::Fold;
use ringside_views::archive::archiver::Archiver;
use ringside_views::archive::pages::row_of;
use ringside_views::archive::rows;
use ringside_views::archive::rows::facets_of;
use ringside_views::candle::{Candle, ClosedCandle};
use ringside_views::day::Bucket;
use ringside_views::history::{
    BalanceRecord, CreditRecord, FillRecord as SpotFill, OwnerRecord, TradeRecord,
};
use ringside_views::idempotency::KeyedOrder;
use ringside_views::kept::{FIRST_CANDLES, FIRST_SPOT_CANDLES, Kept, List, RowError, Stored};
use ringside_views::log::{Added, Retention, Row};
use ringside_views::order::OrderRecord as SpotOrder;
use ringside_views::perpetual::account::Holding;
use ringside_views::perpetual::configured::Change;
use ringside_views::perpetual::interest::InterestRecord;
use ringside_views::perpetual::operator::Pending;
use ringside_views::perpetual::order::{ForcedRecord, OrderRecord};
use ringside_views::perpetual::rows::{
    AmendRecord, FillRecord, FundingRecord, IncomeRecord, MarginRecord, MarketTrade, OperatorRecord,
    PreventedRecord, TransferRecord,
};
use ringside_views::{SharedViews, Upgraded, Views};
use std::cell::Cell;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Once};

/// Of each snapshot and archive the lists that are not of version 1 in it; 0 where it has no such list.
const VERSIONS: [&[(Kept, u16)]; 9] = [
    &[
        (Kept::Tokens, 0),
        (Kept::VaultBooks, 0),
        (Kept::Deposits, 0),
        (Kept::Changes, 0),
        (Kept::SourceAges, 0),
        (Kept::NextTiers, 0),
        (Kept::Limits, 0),
        (Kept::Unbacked, 0),
        (Kept::KeyedOrders, 0),
        (Kept::SpotOrders, 0),
        (Kept::SpotTradeRows, 0),
        (Kept::SpotFillRows, 0),
        (Kept::CreditRows, 0),
        (Kept::BalanceRows, 0),
        (Kept::SpotCandles, 0),
        (Kept::Interest, 0),
        (Kept::SpotOwners, 0),
    ],
    &[
        (Kept::Orders, 2),
        (Kept::PerpetualMarkets, 2),
        (Kept::Tokens, 0),
        (Kept::VaultBooks, 0),
        (Kept::Deposits, 0),
        (Kept::Changes, 0),
        (Kept::SourceAges, 0),
        (Kept::NextTiers, 0),
        (Kept::Limits, 0),
        (Kept::Unbacked, 0),
        (Kept::KeyedOrders, 0),
        (Kept::SpotOrders, 0),
        (Kept::SpotTradeRows, 0),
        (Kept::SpotFillRows, 0),
        (Kept::CreditRows, 0),
        (Kept::BalanceRows, 0),
        (Kept::SpotCandles, 0),
        (Kept::Interest, 0),
        (Kept::SpotOwners, 0),
    ],
    &[
        (Kept::Orders, 2),
        (Kept::PerpetualMarkets, 2),
        (Kept::Withdrawals, 2),
        (Kept::Changes, 0),
        (Kept::SourceAges, 0),
        (Kept::NextTiers, 0),
        (Kept::Limits, 0),
        (Kept::Unbacked, 0),
        (Kept::KeyedOrders, 0),
        (Kept::SpotOrders, 0),
        (Kept::SpotTradeRows, 0),
        (Kept::SpotFillRows, 0),
        (Kept::CreditRows, 0),
        (Kept::BalanceRows, 0),
        (Kept::SpotCandles, 0),
        (Kept::Interest, 0),
        (Kept::SpotOwners, 0),
    ],
    &[
        (Kept::Orders, 2),
        (Kept::PerpetualMarkets, 2),
        (Kept::Withdrawals, 2),
        (Kept::Unbacked, 0),
        (Kept::KeyedOrders, 0),
        (Kept::SpotOrders, 0),
        (Kept::SpotTradeRows, 0),
        (Kept::SpotFillRows, 0),
        (Kept::CreditRows, 0),
        (Kept::BalanceRows, 0),
        (Kept::SpotCandles, 0),
        (Kept::Interest, 0),
        (Kept::SpotOwners, 0),
    ],
    &[
        (Kept::Orders, 2),
        (Kept::PerpetualMarkets, 2),
        (Kept::Withdrawals, 2),
        (Kept::KeyedOrders, 0),
        (Kept::SpotOrders, 0),
        (Kept::SpotTradeRows, 0),
        (Kept::SpotFillRows, 0),
        (Kept::CreditRows, 0),
        (Kept::BalanceRows, 0),
        (Kept::SpotCandles, 0),
        (Kept::Interest, 0),
        (Kept::SpotOwners, 0),
    ],
    &[
        (Kept::Orders, 2),
        (Kept::PerpetualMarkets, 2),
        (Kept::Withdrawals, 2),
        (Kept::SpotOrders, 0),
        (Kept::SpotTradeRows, 0),
        (Kept::SpotFillRows, 0),
        (Kept::CreditRows, 0),
        (Kept::BalanceRows, 0),
        (Kept::SpotCandles, 0),
        (Kept::Interest, 0),
        (Kept::SpotOwners, 0),
    ],
    &[
        (Kept::Orders, 2),
        (Kept::PerpetualMarkets, 2),
        (Kept::Withdrawals, 2),
        (Kept::Interest, 0),
        (Kept::SpotOwners, 0),
    ],
    &[(Kept::Orders, 2), (Kept::PerpetualMarkets, 2), (Kept::Withdrawals, 2), (Kept::SpotOwners, 0)],
    &[(Kept::Orders, 2), (Kept::PerpetualMarkets, 2), (Kept::Withdrawals, 2)],
];
const JOURNAL: [u8; 16] = [6; 16];
const CHAIN: u64 = 31_337;
const VAULT: Address = [0x11; 20];

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rows").join(name)
}

/// Whether goldens that are missing are to be written.
fn writes() -> bool {
    std::env::var_os("RINGSIDE_BLESS").is_some()
}

fn unpacked(name: &str) -> Vec<u8> {
    static WRITTEN: Once = Once::new();
    WRITTEN.call_once(|| {
        if writes() && !golden(&format!("snapshot_{}.gz", VERSIONS.len())).exists() {
            AS_OF.set(VERSIONS.len() - 1);
            write(VERSIONS.len());
        }
    });
    let file = std::fs::File::open(golden(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

fn pack(name: &str, bytes: &[u8]) {
    assert!(!golden(name).exists(), "{name}: what was written once stays");
    let mut out = GzEncoder::new(std::fs::File::create(golden(name)).unwrap(), Compression::best());
    out.write_all(bytes).unwrap();
    out.finish().unwrap();
}

thread_local! {
    /// Which of [`VERSIONS`] texts are of.
    static AS_OF: Cell<usize> = const { Cell::new(0) };
}

/// The version that a list had at one of [`VERSIONS`].
fn version_of(index: usize, list: Kept) -> u16 {
    VERSIONS[index].iter().find(|(known, _)| *known == list).map_or(1, |(_, version)| *version)
}

/// Whether texts are of a time at which a list had this version.
pub(crate) fn has(list: Kept, version: u16) -> bool {
    version_of(AS_OF.get(), list) >= version
}

/// A row as it was written then.
pub(crate) fn hex_of<T: Stored>(row: &T) -> String {
    let mut bytes = Vec::new();
    row.write_as(version_of(AS_OF.get(), T::KEPT), &mut bytes);
    shown::hex(&bytes)
}

/// The same of an entry of the archive.
pub(crate) fn hex_of_entry(entry: &Entry) -> String {
    fn read<T: Row>(entry: &Entry) -> String {
        let row: T = row_of(entry).expect("an entry is a row of its list");
        let key = row.key();
        let found = (key.owner, key.market, key.id, key.time_ms, key.tag);
        assert_eq!(found, (entry.owner, entry.market, entry.id, entry.time_ms, entry.tag));
        hex_of(&row)
    }
    match entry.list.number {
        1 | 2 => read::<OrderRecord>(entry),
        3 => read::<ForcedRecord>(entry),
        4 => read::<FillRecord>(entry),
        5 => read::<IncomeRecord>(entry),
        6 => read::<AmendRecord>(entry),
        7 => read::<MarginRecord>(entry),
        8 => read::<PreventedRecord>(entry),
        9 => read::<MarketTrade>(entry),
        10 => read::<FundingRecord>(entry),
        11 => read::<TransferRecord>(entry),
        12 => read::<OperatorRecord>(entry),
        13 => read::<SpotOrder>(entry),
        14 => read::<SpotFill>(entry),
        15 => read::<TradeRecord>(entry),
        16 => read::<CreditRecord>(entry),
        17 => read::<BalanceRecord>(entry),
        18 => read::<InterestRecord>(entry),
        19 => read::<OwnerRecord>(entry),
        FIRST_SPOT_CANDLES.. => read::<ClosedCandle<i128>>(entry),
        FIRST_CANDLES.. => read::<ClosedCandle<i64>>(entry),
        number => panic!("no list has the number {number}"),
    }
}

/// That the layouts of a row are those that were written, that every byte of any version is read, and that nothing else is.
fn check<T: Stored>(seen: &mut Vec<Kept>) {
    check_but::<T>(seen, |_| None);
}

/// The same but for bytes of codes and times, since not every byte is one.
fn check_but<T: Stored>(seen: &mut Vec<Kept>, known_at: impl Fn(usize) -> Option<u8>) {
    let (list, known) = (T::KEPT, T::KEPT.newest());
    seen.push(list);
    for version in 1..=known {
        let len = list.row_len(version).unwrap();
        let name = format!("{}_{version}.txt", list.name().replace(' ', "_"));
        let text = format!("{len} bytes: offset, length, field\n{}", T::describe(version));
        if writes() && !golden(&name).exists() {
            std::fs::write(golden(&name), &text).unwrap();
        }
        let written = std::fs::read_to_string(golden(&name)).unwrap_or_default();
        assert!(
            text == written,
            "{name} says that version {version} of the list of {} is\n{written}\nand this build has\n{text}\n\
             What was written must stay readable. The head of this file says what to do.",
            list.name()
        );
        let byte = |at: usize| known_at(at).unwrap_or((at * 7 + 3) as u8);
        let bytes: Vec<u8> = (0..len).map(byte).collect();
        let row = T::read(version, &bytes).unwrap();
        let mut again = Vec::new();
        row.write_as(version, &mut again);
        assert_eq!(again, bytes, "{list:?} {version}");
        for len in [0, len - 1, len + 1, len + 8] {
            let error = RowError { list: list.name(), version, len, known };
            // Another version may have that length, this one has not.
            assert_eq!(T::read(version, &vec![0; len]).err(), Some(error));
            assert!(error.to_string().contains(list.name()), "{error}");
        }
    }
    for version in [0, known + 1, u16::MAX] {
        let len = list.row_len(known).unwrap();
        let error = RowError { list: list.name(), version, len, known };
        assert_eq!(T::read(version, &vec![0; len]).err(), Some(error));
    }
}

#[test]
fn layouts_are_those_that_were_written() {
    let mut seen = Vec::new();
    check::<OrderRecord>(&mut seen);
    check::<KeyedOrder>(&mut seen);
    // Side, type, time in force, status; then why it was refused.
    check_but::<SpotOrder>(&mut seen, |at| (16..24).contains(&at).then_some(0));
    check::<SpotFill>(&mut seen);
    check::<TradeRecord>(&mut seen);
    check::<CreditRecord>(&mut seen);
    check::<BalanceRecord>(&mut seen);
    // When it opened, in whole seconds; how many it is long.
    check_but::<ClosedCandle<i128>>(&mut seen, |at| match at {
        0..8 | 85..88 => Some(0),
        84 => Some(60),
        _ => None,
    });
    check::<InterestRecord>(&mut seen);
    check::<OwnerRecord>(&mut seen);
    check::<ForcedRecord>(&mut seen);
    check::<FillRecord>(&mut seen);
    check::<IncomeRecord>(&mut seen);
    check::<AmendRecord>(&mut seen);
    check::<MarginRecord>(&mut seen);
    check::<PreventedRecord>(&mut seen);
    check::<MarketTrade>(&mut seen);
    check::<FundingRecord>(&mut seen);
    check::<TransferRecord>(&mut seen);
    check::<OperatorRecord>(&mut seen);
    check::<Pending>(&mut seen);
    check::<Candle<i64>>(&mut seen);
    check::<ClosedCandle<i64>>(&mut seen);
    check::<Bucket<i64>>(&mut seen);
    check::<Holding>(&mut seen);
    check::<event::Order>(&mut seen);
    check::<event::Trade>(&mut seen);
    check::<event::ReleaseAlarm>(&mut seen);
    check::<event::WithdrawalJudged>(&mut seen);
    check::<event::PerpetualBracket>(&mut seen);
    check::<event::PerpetualPrice>(&mut seen);
    check::<event::PerpetualSource>(&mut seen);
    check::<event::PerpetualSourceAge>(&mut seen);
    check::<Change>(&mut seen);
    check::<event::VipTier>(&mut seen);
    check::<event::VipTierScheduled>(&mut seen);
    check::<event::AccountLimits>(&mut seen);
    check::<event::AccountTerms>(&mut seen);
    check::<event::VipChanged>(&mut seen);
    check::<event::PerpetualPools>(&mut seen);
    let rows = Kept::ALL.iter().filter(|list| list.row_len(1) != Some(0));
    rows.for_each(|list| assert!(seen.contains(list), "{list:?} is not looked at"));
}

fn address(account: u32) -> Address {
    let mut address = [9; 20];
    address[..4].copy_from_slice(&account.to_le_bytes());
    address
}

/// An operator's note that a command follows.
fn note(operator: &str, action: u16) -> Command {
    Command::new(OperatorNote {
        operator: padded(operator).unwrap(),
        ip: [1; 16],
        subject: [2; 20],
        action,
        part: 0,
        proven: 1,
        reason: padded("a reason").unwrap(),
        detail: padded("a detail").unwrap(),
    })
}

/// An order of the spot market, every other one with an idempotency key.
fn on_spot(number: u64) -> Command {
    let (account, side) = (1 + (number % 5) as u32, Side::ALL[(number % 2) as usize]);
    let price = UNIT / 100 * (98 + (number % 5) as i64);
    let order = PlaceOrder::limit(account, 0, side, price, UNIT * (1 + (number % 7) as i64));
    Command::new(PlaceOrder { idempotency_key: number % 2 * number, idempotency_body: number, ..order })
}

fn requested(account: u32, ledger: Ledger) -> Command {
    Command::new(RequestWithdrawal {
        account,
        ledger: ledger as u8,
        reserved: [0; 3],
        amount: (5 * AMOUNT_UNIT).into(),
        chain_id: CHAIN,
        vault: VAULT,
        token: [ledger as u8 + 1; 20],
        asset: padded(if ledger == Ledger::Spot { "DF" } else { "USDT" }).unwrap(),
        reserved_2: [0; 6],
        lifetime_s: 86_400,
        reserved_3: 0,
        vault_name: padded("SpotVault").unwrap(),
        idempotency_key: 0,
        idempotency_body: 0,
    })
}

fn signed(withdrawal: u64) -> Command {
    Command::new(RecordSignature { withdrawal, digest: [1; 32], signature: [7; 65], reserved: [0; 7] })
}

fn released(account: u32, units: i128, tx: u8, time_s: u64) -> Command {
    Command::new(RecordRelease {
        chain_id: CHAIN,
        vault: VAULT,
        account: address(account),
        token: [Ledger::Spot as u8 + 1; 20],
        reserved: 0,
        value: (units * AMOUNT_UNIT).into(),
        nonce: 0,
        tx_hash: [tx; 32],
        block: 5,
        block_time_s: time_s + 60,
    })
}

fn settled(operator: &str) -> Command {
    Command::new(SettleWithdrawal { withdrawal: 2, operator: padded(operator).unwrap(), is_paid: 1 })
}

/// Withdrawals in every state, one of them disputed, and a note that nothing follows.
fn withdrawals(time_s: u64) -> Vec<Command> {
    let (chain_id, vault) = (CHAIN, VAULT);
    vec![
        requested(1, Ledger::Spot),
        requested(2, Ledger::Spot),
        requested(3, Ledger::Perpetual),
        signed(1),
        signed(2),
        Command::new(AdvanceChain {
            chain_id,
            vault,
            reserved: 0,
            block: 4,
            hash: [4; 32],
            time_s: time_s + 30,
        }),
        released(1, 5, 8, time_s),
        released(2, 4, 9, time_s),
        settled("ann"),
        settled("bob"),
        Command::new(PauseWithdrawals { mask: 1, paused: 1, reason: padded("a pause").unwrap() }),
        note("bob", 69),
    ]
}

fn deposited(account: u32, token: u8, number: u64, time_s: u64) -> Command {
    Command::new(RecordDeposit {
        chain_id: CHAIN,
        vault: VAULT,
        account: address(account),
        token: [token; 20],
        reserved: 0,
        value: (7_000_000 + i128::from(number)).into(),
        number,
        tx_hash: [0x20 + number as u8; 32],
        block: 5 + number,
        block_time_s: time_s + 60,
    })
}

fn rewound(operator: &str) -> Command {
    let operator = padded(operator).unwrap();
    let (vault, hash) = (VAULT, [5; 32]);
    Command::new(RewindVault { chain_id: CHAIN, vault, reserved: 0, block: 5, hash, time_s: 1, operator })
}

/// A token, its deposits in every state and the books of two vaults, one of them with a rewind that an operator wants.
fn deposits(time_s: u64) -> Vec<Command> {
    let chain_id = CHAIN;
    let observed = |vault, signer, block| {
        let vault_name = padded("SpotVault").unwrap();
        Command::new(ObserveVault { chain_id, vault, signer, vault_name, block })
    };
    let advanced = |block: u64, time_s| {
        let hash = [block as u8; 32];
        Command::new(AdvanceChain { chain_id, vault: VAULT, reserved: 0, block, hash, time_s })
    };
    let undone = UndoEvent {
        withdrawal: 0,
        account: address(3),
        vault: VAULT,
        token: [0x33; 20],
        asset: padded("EURC").unwrap(),
        ledger: 0,
        is_deposit: 1,
        amount: (7_000_004 * 1_000_000_000_000).into(),
        chain_id,
        number: 4,
        requested_at_s: 0,
        deadline_s: 0,
        block: 9,
    };
    vec![
        Command::new(SetToken {
            chain_id,
            token: [0x33; 20],
            asset: padded("EURC").unwrap(),
            decimals: 6,
            paused: token_pause::WITHDRAWALS,
            minimum: AMOUNT_UNIT.into(),
        }),
        observed([0x12; 20], [0; 20], 0),
        deposited(1, 0x33, 1, time_s),
        deposited(49, 0x33, 2, time_s),
        deposited(2, 0x44, 3, time_s),
        deposited(3, 0x33, 4, time_s),
        advanced(5, time_s + 61),
        observed(VAULT, [0x55; 20], 5),
        advanced(9, time_s + 62),
        rewound("ann"),
        rewound("bob"),
        Command::new(undone),
        Command::new(PauseWithdrawals {
            mask: pause::VAULT,
            paused: pause::VAULT,
            reason: padded("a stop").unwrap(),
        }),
    ]
}

/// A market changed by a draft, an age of a source, a fee schedule to come, limits of an account.
fn configured() -> Vec<Command> {
    let market = FIRST_PERPETUAL + 1;
    let tier =
        |tier, volume| ScheduleVipTier { tier, count: 2, volume, maker_rate: 20_000, taker_rate: 50_000 };
    let limits = SetAccountLimits {
        account: 2,
        market: ALL_MARKETS,
        mask: limit_mask::ALL,
        open_orders: 10,
        order_rate_10s: 20,
        order_rate_1m: 30,
        max_position_notional: 40_000_000,
        max_order_notional: 50_000_000,
    };
    let (mask, max_position_notional) = (limit_mask::OPEN_ORDERS, 0);
    let of_market = SetAccountLimits {
        market,
        mask,
        order_rate_10s: 0,
        order_rate_1m: 0,
        max_position_notional,
        max_order_notional: 0,
        ..limits
    };
    let names = DraftPerpetual { symbol: [0; 20], base: [0; 10], quote: [0; 10], market, reserved: 0 };
    vec![
        note("ann", Kind::SetSource as u16),
        Command::new(SetSource { market, source: 5, weight: 1, stale_ms: 30_000 }),
        note("bob", Kind::ScheduleVipTier as u16),
        Command::new(tier(0, 0)),
        Command::new(tier(1, 7_000_000)),
        Command::new(limits),
        Command::new(of_market),
        Command::new(names),
        Command::new(SetPerpetualParameter {
            market: DRAFT_MARKET,
            parameter: PerpetualParameter::TakeBound as u32,
            value: 6_000_000,
        }),
        note("eve", Kind::ApplyDraft as u16),
        Command::new(ApplyDraft { changes: 1, state: 255, reserved: [0; 3] }),
    ]
}

/// Commands that leave something in every list: two perpetual markets and one of spot, operators, withdrawals.
fn story() -> Vec<Command> {
    let mut engine = Engine::new(&EngineConfig::default());
    let (mut flow, mut given) = (Flow::new(15), Vec::new());
    let mut give = |flow: &mut Flow, mut command: Command, time_ns: i64| {
        command.sequence = engine.sequence() + 1;
        command.time_ns = time_ns;
        (command.source, command.source_seq) = (1, command.sequence);
        let mut events = Vec::new();
        engine.apply(&command, &mut events);
        flow.observe(&events);
        given.push(command);
    };
    let mut time_ns = 0;
    for number in 0..1_500_u64 {
        let mut command = flow.command();
        time_ns = command.time_ns;
        if command.kind == Kind::PlacePerpetual as u16 && number.is_multiple_of(6) {
            let place = *command.body::<PlacePerpetual>();
            let keyed = PlacePerpetual { idempotency_key: 130 + number / 6, idempotency_body: 1, ..place };
            command = Command { time_ns, ..Command::new(keyed) };
        }
        if number > 200 && number.is_multiple_of(90) {
            give(&mut flow, note("ann", command.kind), time_ns);
        }
        give(&mut flow, command, time_ns);
        if number > 200 && number.is_multiple_of(12) {
            give(&mut flow, on_spot(number / 12), time_ns);
        }
    }
    let time_s = time_ns as u64 / 1_000_000_000;
    for command in configured().into_iter().chain(withdrawals(time_s)).chain(deposits(time_s)) {
        give(&mut flow, command, time_ns);
    }
    given
}

fn recent() -> Views {
    Views::new(Retention::Window(160))
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ringside-stored-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Has this build write a snapshot and an archive, each with its text.
fn write(number: usize) {
    let folder = Folder::new("write");
    let store = Sqlite::new(folder.0.join("history.db")).faceted(facets_of);
    let shared = Arc::new(SharedViews::new(Views::default()));
    let mut archiver = Archiver::open(&store, JOURNAL, 0, shared).unwrap();
    let (mut views, mut engine) = (recent(), Engine::new(&EngineConfig::default()));
    let commands = story();
    let last = commands.len() as u64;
    for (sequence, command) in (1..).zip(&commands) {
        let mut events: Vec<Event> = Vec::new();
        engine.apply(command, &mut events);
        for event in &events {
            views.fold(event);
            archiver.event(event);
        }
        // Some rows are in one of the two alone.
        views.forget(sequence.min(last - 250));
        if sequence.is_multiple_of(97) || sequence == last {
            archiver.commit(sequence, true).unwrap();
        }
    }
    let mut saved = Vec::new();
    views.save(&mut saved);
    pack(&format!("snapshot_{number}.gz"), &saved);
    pack(&format!("snapshot_{number}.txt.gz"), shown::views(&views).as_bytes());
    store.copy(&folder.0.join("copy.db")).unwrap();
    pack(&format!("archive_{number}.gz"), &std::fs::read(folder.0.join("copy.db")).unwrap());
    let text = shown::archive(&mut *store.reader().unwrap());
    pack(&format!("archive_{number}.txt.gz"), text.as_bytes());
}

/// Fails with the first line that differs.
fn compare(name: &str, found: &str, known: &str) {
    let mut lines = found.lines().zip(known.lines());
    if let Some((found, known)) = lines.find(|(found, known)| found != known) {
        panic!("{name}:\n{known}\nis read as\n{found}");
    }
    assert_eq!(found.lines().count(), known.lines().count(), "{name}");
}

fn text(name: &str) -> String {
    String::from_utf8(unpacked(name)).unwrap()
}

/// A text of before without what is not kept any more: the newest order that was forgotten.
fn without_newest(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("forgotten ") {
        Some(rest) => format!("forgotten {}\n", rest.split(' ').next().unwrap_or_default()),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// An archive of before, where this build can open it.
fn archive_of(number: usize, folder: &Folder) -> Sqlite {
    let path = folder.0.join("history.db");
    std::fs::write(&path, unpacked(&format!("archive_{number}.gz"))).unwrap();
    Sqlite::new(path).faceted(facets_of).taking_over(rows::entries_of)
}

#[test]
fn snapshots_of_before_are_read_whole() {
    for (index, versions) in VERSIONS.iter().enumerate() {
        let number = index + 1;
        let name = format!("snapshot_{number}");
        let bytes = unpacked(&format!("{name}.gz"));
        AS_OF.set(index);
        let mut views = recent();
        let upgraded = views.load(&bytes).unwrap();
        compare(&name, &shown::views(&views), &without_newest(&text(&format!("{name}.txt.gz"))));
        // What is told of it, which goes to the log.
        let list = |list: &Kept| {
            let (from, to) = (version_of(index, *list), list.newest());
            (from != to).then(|| Upgraded { what: list.name(), from: from.into(), to: to.into() })
        };
        let mut expected: Vec<Upgraded> = Kept::ALL.iter().filter_map(list).collect();
        if number == 1 {
            expected.insert(0, Upgraded { what: "format", from: 7, to: 8 });
        }
        assert_eq!(upgraded, expected, "{name} with {versions:?}");
        // Saved it is of this build, and read again it is the same.
        let (mut saved, mut again) = (Vec::new(), recent());
        views.save(&mut saved);
        assert_eq!(again.load(&saved), Ok(Vec::new()));
        assert!(shown::views(&again) == shown::views(&views));
        if number == VERSIONS.len() {
            let newest = Kept::ALL.iter().all(|list| version_of(index, *list) == list.newest());
            assert!(newest, "a list has a new version: add a row to VERSIONS and have the files written");
            assert!(saved == bytes, "{name}: a list is written in another way under the same version");
        }
        for len in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
            assert!(recent().load(&bytes[..len]).is_err(), "{name} cut at {len}");
        }
    }
}

#[test]
fn archives_of_before_are_read_whole_and_go_on() {
    for index in 0..VERSIONS.len() {
        let name = format!("archive_{}", index + 1);
        let folder = Folder::new(&name);
        let store = archive_of(index + 1, &folder);
        AS_OF.set(index);
        let mut writer = store.writer(JOURNAL).unwrap();
        let mut reader = store.reader().unwrap();
        compare(&name, &shown::archive(&mut *reader), &text(&format!("{name}.txt.gz")));
        // It goes on with rows of this build.
        let asked = shown::all_of(List::Orders as u16, 1);
        let mut before = Vec::new();
        reader.entries(&asked, &mut before).unwrap();
        let newest: OrderRecord = row_of(before.last().unwrap()).unwrap();
        let mark = writer.mark();
        let (mut order, sequence) = (newest, mark.sequence + 1);
        order.told.order += 100_000;
        (order.created_ms, order.triggered_ms) = (newest.created_ms + 1, newest.created_ms + 2);
        let (key, mut bytes) = (order.key(), Vec::new());
        order.write(&mut bytes);
        let version = OrderRecord::KEPT.newest();
        let added = Added { list: List::Orders as u16, key, version, bytes: &bytes };
        let entries = [rows::entry_of(added, sequence)];
        writer.commit(&entries, Mark { sequence, ..mark }, true).unwrap();
        let mut after = Vec::new();
        reader.entries(&asked, &mut after).unwrap();
        assert_eq!(after[..before.len()], before[..]);
        assert_eq!(row_of::<OrderRecord>(after.last().unwrap()).unwrap(), order);
    }
}

/// A field that was appended, seen from the builds before and after.
#[test]
fn what_was_appended_is_there_from_then_on() {
    for index in 0..VERSIONS.len() {
        let mut views = recent();
        views.load(&unpacked(&format!("snapshot_{}.gz", index + 1))).unwrap();
        let orders = views.perpetuals().orders();
        let fired = orders.ended().iter().filter(|order| order.triggered_ms > 0).count();
        let markets = views.perpetuals().markets().all();
        assert_eq!(fired > 0, index > 0, "{fired} of {}", orders.ended().len());
        let configured = views.perpetuals().configured();
        let market = FIRST_PERPETUAL + 1;
        let author = |market| configured.change(market).map(|change| text_of(&change.operator).to_owned());
        let open_orders = |market| configured.own_limit(2, market, |limits| limits.open_orders);
        if version_of(index, Kept::Changes) == 0 {
            assert!(author(market).is_none() && configured.next_tiers().is_empty());
            assert_eq!((configured.source_age(market, 5), open_orders(market)), (0, None));
        } else {
            assert_eq!(author(market).as_deref(), Some("eve"));
            // The note was of the first tier's command, the last change was by the one behind it.
            assert!(author(ALL_MARKETS).is_some());
            assert_eq!((configured.source_age(market, 5), configured.next_tiers().len()), (30_000, 2));
            assert_eq!(open_orders(market), Some(10));
        }
        assert!(markets.iter().all(|market| market.funding_set_ms >= market.listed_ms));
    }
}

#[test]
fn an_entry_of_a_version_that_is_not_known_is_refused_by_name() {
    let folder = Folder::new("unknown");
    let store = archive_of(VERSIONS.len(), &folder);
    // A reader reads what a writer has brought to the format of today.
    drop(store.writer(JOURNAL).unwrap());
    let mut reader = store.reader().unwrap();
    let mut entries = Vec::new();
    reader.entries(&shown::all_of(List::Orders as u16, 1), &mut entries).unwrap();
    let mut entry = entries.pop().unwrap();
    assert!(row_of::<OrderRecord>(&entry).is_ok());
    let refused = |entry: &Entry, told: &[&str]| {
        let error = row_of::<OrderRecord>(entry).map(|_| ()).unwrap_err();
        assert!(matches!(error, ArchiveError::Row { .. }));
        let error = error.to_string();
        assert!(told.iter().all(|told| error.contains(told)), "{error}");
    };
    entry.version = 77;
    refused(&entry, &["orders", "version 77", "168 bytes"]);
    entry.version = 2;
    entry.bytes = entry.bytes[..160].into();
    refused(&entry, &["orders", "version 2", "160 bytes"]);
}
