//! Events of the running command, in the order that `event.rs` fixes: trades go out as they happen, everything else is
//! noted and goes out at the end.

use crate::account::{Balance, Balances};
use crate::book::Mutation;
use crate::event::{self, Event, Payload, Sink};
use crate::ids::{AccountId, AssetId, FEE_ACCOUNT, MarketId, Sequence};
use crate::market::{Rules, Seats};

/// Writes the running command's events.
pub(crate) struct Emitter<'s, S: Sink> {
    sink: &'s mut S,
    sequence: Sequence,
    time_ns: i64,
    index: u32,
}

impl<'s, S: Sink> Emitter<'s, S> {
    #[inline]
    pub(crate) fn new(sink: &'s mut S, sequence: Sequence, time_ns: i64) -> Emitter<'s, S> {
        Emitter { sink, sequence, time_ns, index: 0 }
    }

    #[inline]
    pub(crate) fn emit<P: Payload>(&mut self, payload: P) {
        self.sink.event(&Event::new(self.sequence, self.time_ns, self.index, payload));
        self.index += 1;
    }
}

/// What an account held in a market's two assets before the running command changed it.
#[derive(Clone, Copy)]
struct Note {
    account: AccountId,
    market: MarketId,
    base: AssetId,
    quote: AssetId,
    base_before: Balance,
    quote_before: Balance,
}

/// What goes out at the end of the running command.
pub(crate) struct Notes {
    /// Who gave the command; nobody for the administrator's.
    acting: Option<AccountId>,
    /// Makers that a rule ended, as they were met.
    pub(crate) ended: Vec<event::Order>,
    mutations: Vec<(MarketId, Mutation)>,
    balances: Vec<Note>,
}

impl Notes {
    /// Memory for what ordinary commands touch; grows past it.
    pub(crate) fn new() -> Notes {
        Notes {
            acting: None,
            ended: Vec::with_capacity(64),
            mutations: Vec::with_capacity(4096),
            balances: Vec::with_capacity(4096),
        }
    }

    /// Starts a command.
    #[inline]
    pub(crate) fn start(&mut self, acting: Option<AccountId>) {
        self.acting = acting;
        self.ended.clear();
        self.mutations.clear();
        self.balances.clear();
    }

    /// Notes a level's new total; mutations of one level in a row are one.
    #[inline]
    pub(crate) fn mutated(&mut self, market: MarketId, mutation: Mutation) {
        if let Some((last_market, last)) = self.mutations.last_mut()
            && *last_market == market
            && last.price == mutation.price
            && last.side == mutation.side
        {
            *last = mutation;
        } else {
            self.mutations.push((market, mutation));
        }
    }

    /// Notes what an account holds, the first time that the command is about to change it.
    #[inline]
    pub(crate) fn note(&mut self, account: AccountId, rules: &Rules, balances: &Balances, seats: &mut Seats) {
        let seat = seats.get_mut(account);
        if let Some(note) = self.balances.get(seat.note as usize)
            && note.account == account
            && note.market == rules.id
        {
            return;
        }
        seat.note = self.balances.len() as u32;
        self.balances.push(Note {
            account,
            market: rules.id,
            base: rules.base,
            quote: rules.quote,
            base_before: balances.get(account, rules.base),
            quote_before: balances.get(account, rules.quote),
        });
    }

    /// Writes the levels, then the balances that differ from before.
    #[inline]
    pub(crate) fn flush<S: Sink>(&self, balances: &Balances, emitter: &mut Emitter<'_, S>) {
        for &(market, mutation) in &self.mutations {
            emitter.emit(event::Depth {
                update: mutation.update,
                price: mutation.price,
                total: mutation.total.into(),
                market,
                side: mutation.side as u8,
                reserved: [0; 3],
            });
        }
        let mut fee_account = None;
        for note in &self.balances {
            if note.account == FEE_ACCOUNT && self.acting != Some(FEE_ACCOUNT) {
                fee_account = Some(note);
            } else {
                note.flush(balances, emitter);
            }
        }
        if let Some(note) = fee_account {
            note.flush(balances, emitter);
        }
    }
}

impl Note {
    #[inline]
    fn flush<S: Sink>(&self, balances: &Balances, emitter: &mut Emitter<'_, S>) {
        let base = balances.get(self.account, self.base);
        let quote = balances.get(self.account, self.quote);
        let changed = u64::from(base != self.base_before) | u64::from(quote != self.quote_before) << 1;
        if changed != 0 {
            emitter.emit(event::Balances {
                account: self.account,
                base: self.base,
                quote: self.quote,
                changed,
                base_available: base.available.into(),
                base_frozen: base.frozen.into(),
                quote_available: quote.available.into(),
                quote_frozen: quote.frozen.into(),
            });
        }
    }
}
