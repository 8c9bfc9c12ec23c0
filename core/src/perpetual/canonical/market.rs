//! A market as canonical bytes, without its book, its holders and its triggers, which are made again of orders and holdings.

use super::{Read, count, put};
use crate::book::grid::Step;
use crate::command::{PerpetualParameter, PerpetualState};
use crate::event::PerpetualPrice;
use crate::perpetual::market::{Prices, Range, Source, Symbol};
use crate::risk::perpetual::bounds;
use crate::risk::perpetual::bracket::{BRACKETS_MAX, BracketRow, Brackets};
use crate::risk::perpetual::funding::Premiums;
use crate::risk::perpetual::index::{Index, IndexState};
use crate::risk::perpetual::mark::Basis;
use crate::snapshot::{Reader, ensure, invalid};
use crate::state_hash::Bytes;
use zerocopy::IntoBytes;

/// Rules, prices, samples, states.
pub(super) fn write_symbol<B: Bytes>(out: &mut B, of: &Symbol) {
    out.put(&of.name);
    out.put(&of.base.to_le_bytes());
    out.put(&[
        of.set as u8,
        of.told as u8,
        of.index.state as u8,
        u8::from(of.index_halts),
        u8::from(of.prices.clamped),
    ]);
    let (samples, repeats) = of.basis.parts();
    let samples: Vec<i64> = samples.collect();
    for value in [
        of.steps.0,
        of.steps.1,
        of.pause_ms,
        of.binds_ms[0],
        of.binds_ms[1],
        of.index.price,
        of.index.lost_ms as i64,
        of.manual,
        of.prices.mark,
        of.prices.basis,
        of.prices.bid,
        of.prices.ask,
        of.premiums.count.into(),
        of.sampled.0,
        of.sampled.1,
        of.next_funding_ms,
        of.trades as i64,
        of.last_price,
        of.contract_range.low,
        of.contract_range.high,
        of.mark_range.low,
        of.mark_range.high,
        of.prevented as i64,
        repeats.into(),
    ] {
        put(out, value);
    }
    out.put(&of.premiums.weighted.to_le_bytes());
    of.parameters.iter().for_each(|&value| put(out, value));
    count(out, of.brackets.rows().len());
    for row in of.brackets.rows() {
        [row.cap, row.maintenance_rate, row.leverage_max.into()]
            .into_iter()
            .for_each(|value| put(out, value));
    }
    count(out, of.sources.len());
    for source in &of.sources {
        [source.id.into(), source.weight.into(), source.price, source.at_ms]
            .into_iter()
            .for_each(|value| put(out, value));
    }
    count(out, samples.len());
    samples.into_iter().for_each(|value| put(out, value));
    for window in [of.marks.recorded().collect::<Vec<_>>(), of.indexes.recorded().collect()] {
        count(out, window.len());
        for (second, value) in window {
            put(out, second as i64);
            put(out, value);
        }
    }
    out.put(&[u8::from(of.price_told.is_some())]);
    if let Some(told) = &of.price_told {
        out.put(told.as_bytes());
    }
}

/// What [`write_symbol`] wrote.
pub(super) fn read_symbol(reader: &mut Reader<'_>) -> Read<Symbol> {
    let name = reader.array()?;
    let base = reader.u16()?;
    let [set, told, index_state, halts, clamped]: [u8; 5] = reader.array()?;
    let mut values = [0; 24];
    for value in &mut values {
        *value = reader.i64()?;
    }
    let weighted = reader.i128()?;
    let mut symbol = Symbol::new(name, base, 1, 10_000_000_000, 0);
    for parameter in 0..symbol.parameters.len() {
        symbol.parameters[parameter] = reader.i64()?;
        if let Some(known) = PerpetualParameter::from_code(parameter as u8) {
            ensure(bounds::is_possible(known, symbol.parameters[parameter]), "a parameter out of range")?;
        }
    }
    let state =
        |code: u8| PerpetualState::from_code(code).ok_or_else(|| invalid("unknown state of a market"));
    (symbol.set, symbol.told) = (state(set)?, state(told)?);
    symbol.tick = Step::new(symbol.get(PerpetualParameter::Tick));
    symbol.lot = Step::new(symbol.get(PerpetualParameter::Lot));
    symbol.steps = (values[0], values[1]);
    ensure(values[0] > 0 && values[1] > 0, "steps out of range")?;
    ensure(
        symbol.tick.value() % values[0] == 0 && symbol.lot.value() % values[1] == 0,
        "steps do not divide",
    )?;
    (symbol.pause_ms, symbol.binds_ms) = (values[2], [values[3], values[4]]);
    let state = read_index_state(index_state)?;
    symbol.index = Index { price: values[5], state, lost_ms: values[6] as u64 };
    symbol.index_halts = halts != 0;
    symbol.manual = values[7];
    let (mark, basis, bid, ask) = (values[8], values[9], values[10], values[11]);
    ensure((0..=2_000_000_000_000_000_000).contains(&mark), "a mark out of range")?;
    symbol.prices = Prices { mark, basis, clamped: clamped != 0, bid, ask };
    symbol.premiums = Premiums { count: values[12] as u32, weighted };
    symbol.sampled = (values[13], values[14]);
    symbol.next_funding_ms = values[15];
    (symbol.trades, symbol.last_price) = (values[16] as u64, values[17]);
    symbol.contract_range = Range { low: values[18], high: values[19] };
    symbol.mark_range = Range { low: values[20], high: values[21] };
    symbol.prevented = values[22] as u64;
    symbol.brackets = read_brackets(reader)?;
    for _ in 0..reader.count(32)? {
        let (id, weight) = (reader.i64()? as u32, reader.i64()? as u32);
        symbol.sources.push(Source { id, weight, price: reader.i64()?, at_ms: reader.i64()?, stale_ms: 0 });
    }
    ensure(symbol.sources.len() <= 16, "too many sources")?;
    let mut samples = Vec::new();
    for _ in 0..reader.count(8)? {
        samples.push(reader.i64()?);
    }
    symbol.basis =
        Basis::from_parts(&samples, values[23] as u32).ok_or_else(|| invalid("too many samples"))?;
    for _ in 0..reader.count(16)? {
        symbol.marks.record(reader.u64()?, reader.i64()?);
    }
    for _ in 0..reader.count(16)? {
        symbol.indexes.record(reader.u64()?, reader.i64()?);
    }
    if reader.u8()? != 0 {
        let bytes: [u8; size_of::<PerpetualPrice>()] = reader.array()?;
        symbol.price_told = Some(zerocopy::transmute!(bytes));
    }
    symbol.refresh_bounds();
    Ok(symbol)
}

fn read_index_state(code: u8) -> Read<IndexState> {
    Ok(match code {
        0 => IndexState::Live,
        1 => IndexState::Single,
        2 => IndexState::Spot,
        3 => IndexState::Manual,
        4 => IndexState::Held,
        5 => IndexState::Stale,
        _ => return Err(invalid("unknown state of an index")),
    })
}

fn read_brackets(reader: &mut Reader<'_>) -> Read<Brackets> {
    let mut rows = [BracketRow::default(); BRACKETS_MAX];
    let brackets = reader.count(24)?;
    let rows = rows.get_mut(..brackets).ok_or_else(|| invalid("too many brackets"))?;
    for row in rows.iter_mut() {
        let (cap, maintenance_rate, leverage) = (reader.i64()?, reader.i64()?, reader.i64()?);
        *row = BracketRow { cap, maintenance_rate, leverage_max: leverage as u32 };
    }
    // Other bounds were others in earlier versions, and hold for what is set from now on.
    Brackets::new(rows).ok_or_else(|| invalid("unsound brackets"))
}
