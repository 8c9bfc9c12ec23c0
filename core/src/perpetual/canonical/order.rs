//! Open orders as canonical bytes: those in books by priority, then the others by id. On reading they enter by id, as they did
//! once, and books fill by priority.

use super::{Read, count, put};
use crate::book::grid::gcd;
use crate::command::{
    PerpetualOrderType, PerpetualTimeInForce, PriceMatch, SelfTradePrevention, Side, WorkingType,
};
use crate::ids::{FIRST_PERPETUAL, OrderId};
use crate::money::Price;
use crate::perpetual::Perpetual;
use crate::perpetual::order::{Details, Stage};
use crate::perpetual::triggers::stop_of;
use crate::risk::perpetual::order_margin::Reservation;
use crate::snapshot::{Reader, ensure, invalid};
use crate::state_hash::Bytes;

impl Perpetual {
    /// Writes all open orders.
    pub(super) fn write_orders<B: Bytes>(&self, out: &mut B) {
        let trailing = self.state.triggers.iter().flat_map(|triggers| triggers.trailing.iter().flatten());
        let mut extremes: Vec<_> = trailing.flat_map(|trailing| trailing.extremes()).collect();
        extremes.sort_unstable();
        // Orders: those in books by priority, then the others by id.
        count(out, self.state.order_index.len());
        for index in 0..self.books.len() {
            for side in [Side::Buy, Side::Sell] {
                for slot in self.books[index].slots(&self.orders, side) {
                    self.write_order(out, slot, &extremes);
                }
            }
        }
        let mut waiting: Vec<(u64, u32)> = self
            .state
            .order_index
            .iter()
            .filter(|&(_, slot)| self.state.details[slot as usize].waits())
            .collect();
        waiting.sort_unstable();
        for (_, slot) in waiting {
            self.write_order(out, slot, &extremes);
        }
    }

    /// `extremes` of active trailing orders, by id.
    fn write_order<B: Bytes>(&self, out: &mut B, slot: u32, extremes: &[(OrderId, Price)]) {
        let details = &self.state.details[slot as usize];
        let active = extremes.binary_search_by_key(&details.id, |&(id, _)| id).ok();
        let extreme = active.filter(|_| details.stage == Stage::Waiting).map_or(0, |place| extremes[place].1);
        let remaining = if details.stage == Stage::Resting { self.orders.open(slot) } else { 0 };
        put(out, details.id as i64);
        out.put(&details.account.to_le_bytes());
        out.put(&details.market.to_le_bytes());
        out.put(&[
            details.side as u8,
            details.order_type as u8,
            details.original_type as u8,
            details.time_in_force as u8,
            details.self_trade as u8,
            details.working_type as u8,
            details.price_match as u8,
            details.stage as u8,
            u8::from(details.is_shortened),
            u8::from(details.is_deferred),
            u8::from(details.has_turned),
        ]);
        out.put(&details.flags.to_le_bytes());
        out.put(&details.callback_rate.to_le_bytes());
        out.put(&u32::from(details.amendments).to_le_bytes());
        for value in [
            details.price,
            details.quantity,
            details.filled,
            remaining,
            details.value,
            details.stop_price,
            extreme,
            details.good_till_ms,
            details.parent as i64,
            details.children[0] as i64,
            details.children[1] as i64,
            details.reservation.reference,
            details.reservation.open_loss,
            details.reservation.fee,
            details.reserved_quantity,
        ] {
            put(out, value);
        }
        out.put(&details.client_order);
    }

    /// What [`Perpetual::write_orders`] wrote. Every id must be below `next_order`.
    pub(super) fn read_orders(
        &mut self,
        reader: &mut Reader<'_>,
        accounts: u32,
        next_order: OrderId,
    ) -> Read<()> {
        let mut orders = Vec::new();
        for _ in 0..reader.count(160)? {
            orders.push(read_order(reader, self.books.len(), accounts)?);
        }
        let updates: Vec<u64> = self.books.iter().map(|book| book.update).collect();
        for (details, _) in orders.iter().filter(|(details, _)| details.stage == Stage::Resting) {
            let index = (details.market - FIRST_PERPETUAL) as usize;
            let grid = &mut self.state.symbols[index].steps.0;
            ensure(gcd(*grid, details.price) == *grid, "a price off the grid")?;
        }
        // Ids ascend on entry; the books fill by priority.
        let mut by_id: Vec<usize> = (0..orders.len()).collect();
        by_id.sort_unstable_by_key(|&place| orders[place].0.id);
        ensure(
            by_id.windows(2).all(|pair| orders[pair[0]].0.id != orders[pair[1]].0.id),
            "an order occurs twice",
        )?;
        let newest = by_id.last().map_or(0, |&place| orders[place].0.id);
        ensure(newest < next_order, "an order from the future")?;
        let mut slots = vec![0; orders.len()];
        for place in by_id {
            let (details, _) = orders[place];
            let stage = if details.stage == Stage::Resting { Stage::Running } else { details.stage };
            slots[place] = self.register(&Details { stage, ..details });
            if details.is_deferred && stop_of(&details).is_none() {
                let index = (details.market - FIRST_PERPETUAL) as usize;
                self.state.triggers[index].held_back[details.working_type as usize].push(details.id);
            }
        }
        for (place, (details, remaining)) in orders.iter().enumerate() {
            if details.stage == Stage::Resting {
                // Buckets were read; the check of the whole compares them.
                self.rest_again(slots[place], *remaining);
            }
        }
        for (book, update) in self.books.iter_mut().zip(updates) {
            book.update = update;
        }
        Ok(())
    }
}

fn read_order(reader: &mut Reader<'_>, markets: usize, accounts: u32) -> Read<(Details, i64)> {
    let id = reader.u64()?;
    let (account, market) = (reader.u32()?, reader.u32()?);
    let is_known = market.checked_sub(FIRST_PERPETUAL).is_some_and(|index| (index as usize) < markets);
    ensure(account < accounts && is_known, "an order without account or market")?;
    let codes: [u8; 11] = reader.array()?;
    let unknown = || invalid("an order outside its enumerations");
    let stage = match codes[7] {
        0 => Stage::Dormant,
        1 => Stage::Waiting,
        3 => Stage::Resting,
        _ => return Err(unknown()),
    };
    let mut details = Details {
        id,
        account,
        market,
        side: Side::from_code(codes[0]).ok_or_else(unknown)?,
        order_type: PerpetualOrderType::from_code(codes[1]).ok_or_else(unknown)?,
        original_type: PerpetualOrderType::from_code(codes[2]).ok_or_else(unknown)?,
        time_in_force: PerpetualTimeInForce::from_code(codes[3]).ok_or_else(unknown)?,
        self_trade: SelfTradePrevention::from_code(codes[4]).ok_or_else(unknown)?,
        working_type: WorkingType::from_code(codes[5]).ok_or_else(unknown)?,
        price_match: PriceMatch::from_code(codes[6]).ok_or_else(unknown)?,
        stage,
        is_shortened: codes[8] != 0,
        is_deferred: codes[9] != 0,
        has_turned: codes[10] != 0,
        flags: reader.u16()?,
        callback_rate: reader.u32()?,
        amendments: u16::try_from(reader.u32()?).map_err(|_| unknown())?,
        ..Details::default()
    };
    let mut values = [0; 15];
    for value in &mut values {
        *value = reader.i64()?;
    }
    [
        details.price,
        details.quantity,
        details.filled,
        _,
        details.value,
        details.stop_price,
        details.extreme,
        ..,
    ] = values;
    let remaining = values[3];
    details.good_till_ms = values[7];
    details.parent = values[8] as u64;
    details.children = [values[9] as u64, values[10] as u64];
    details.reservation = Reservation { reference: values[11], open_loss: values[12], fee: values[13] };
    details.reserved_quantity = values[14];
    details.client_order = reader.array()?;
    let rests = details.stage == Stage::Resting;
    ensure(
        details.quantity >= 0
            && (0..=details.quantity).contains(&details.filled)
            && rests == (remaining > 0)
            && remaining <= details.quantity - details.filled
            && (!rests || details.price > 0)
            && details.reserved_quantity >= 0,
        "an order's quantities are out of range",
    )?;
    Ok((details, remaining))
}
