//! Events of the running command, in the order that `event.rs` fixes. Commands that touch one account and one level
//! write theirs at once; of the others, trades go out as they happen, and everything else is noted and goes out at
//! the end.

use crate::account::{Balance, Balances};
use crate::book::Mutation;
use crate::event::{self, Payload, Sink};
use crate::ids::{AccountId, AssetId, FEE_ACCOUNT, MarketId, Sequence};
use crate::market::{AccountOrders, Rules};

/// Writes the running command's events.
pub(crate) struct Emitter<'s, S: Sink> {
    sink: &'s mut S,
    sequence: Sequence,
    time_ns: i64,
    index: u32,
}

impl<'s, S: Sink> Emitter<'s, S> {
    #[inline(always)]
    pub(crate) fn new(sink: &'s mut S, sequence: Sequence, time_ns: i64) -> Emitter<'s, S> {
        Emitter { sink, sequence, time_ns, index: 0 }
    }

    #[inline(always)]
    pub(crate) fn emit<P: Payload>(&mut self, payload: P) {
        self.sink.emit(self.sequence, self.time_ns, self.index, payload);
        self.index = self.index.wrapping_add(1);
    }

    /// Has the first events of the command be made elsewhere, in the sink's own memory if it lends that. Whether it does:
    /// [`Emitter::take_back`] must follow then, otherwise [`Emitter::forward`].
    #[inline]
    pub(crate) fn lend(&mut self, to: &mut event::Outbox) -> bool {
        debug_assert!(self.index == 0);
        self.sink.exchange(to)
    }

    /// The sink has its memory back, with `count` events of the command.
    #[inline]
    pub(crate) fn take_back(&mut self, from: &mut event::Outbox, count: u32) {
        let is_back = self.sink.exchange(from);
        debug_assert!(is_back && self.index == 0);
        self.index = count;
    }

    /// Writes events that were made elsewhere, the first of the command.
    #[inline]
    pub(crate) fn forward(&mut self, events: &[event::Event]) {
        debug_assert!(self.index == 0);
        self.sink.batch(events);
        self.index = events.len() as u32;
    }

    #[inline(always)]
    pub(crate) fn depth(&mut self, market: MarketId, mutation: Mutation) {
        self.emit(depth_event(market, mutation));
    }

    /// Places of the first `N` events of the command; in `apart` where the sink keeps none, and [`Emitter::bring`] must follow.
    #[inline(always)]
    pub(crate) fn places<'e, const N: usize>(
        &'e mut self,
        apart: &'e mut Option<[event::Event; N]>,
    ) -> Places<'e, N> {
        debug_assert!(self.index == 0);
        self.index = N as u32;
        let (sequence, time_ns) = (self.sequence, self.time_ns);
        let events = match self.sink.places() {
            Some(events) => events,
            None => apart.insert([event::Event::EMPTY; N]),
        };
        Places { events, sequence, time_ns }
    }

    /// Writes the events that were put apart.
    #[inline(always)]
    pub(crate) fn bring<const N: usize>(&mut self, apart: Option<[event::Event; N]>) {
        if let Some(events) = apart {
            self.sink.batch(&events);
        }
    }

    /// Has `carry_out` carry out a command that touches one order, one level and one account, and write its events.
    #[inline(always)]
    pub(crate) fn single(mut self, carry_out: impl FnOnce(Single<'_>)) {
        let mut apart = None;
        carry_out(Single(self.places(&mut apart)));
        self.bring(apart);
    }
}

/// Places of the first events of a command. All must be written, in any order, each as soon as what it says is in the
/// processor's registers: what waits is put aside and fetched again.
pub(crate) struct Places<'e, const N: usize> {
    events: &'e mut [event::Event; N],
    sequence: Sequence,
    time_ns: i64,
}

impl<const N: usize> Places<'_, N> {
    #[inline(always)]
    pub(crate) fn put<P: Payload>(&mut self, place: usize, payload: P) {
        self.events[place].write(self.sequence, self.time_ns, place as u32, payload);
    }
}

/// Places of the four events of a command that touches one order, one level and one account, by name.
pub(crate) struct Single<'e>(Places<'e, 4>);

impl Single<'_> {
    #[inline(always)]
    pub(crate) fn order(&mut self, order: event::Order) {
        self.0.put(0, order);
    }

    #[inline(always)]
    pub(crate) fn depth(&mut self, market: MarketId, mutation: Mutation) {
        self.0.put(1, depth_event(market, mutation));
    }

    #[inline(always)]
    pub(crate) fn account<A: Payload>(&mut self, account: A) {
        self.0.put(2, account);
    }

    #[inline(always)]
    pub(crate) fn done(&mut self, done: event::Done) {
        self.0.put(3, done);
    }
}

/// A level's new total as an event.
#[inline(always)]
pub(crate) fn depth_event(market: MarketId, mutation: Mutation) -> event::Depth {
    event::Depth {
        update: mutation.update,
        price: mutation.price,
        total: mutation.total.into(),
        market,
        side: mutation.side as u8,
        reserved: [0; 3],
    }
}

/// What an account held in a market's two assets before the running command changed it.
#[derive(Clone, Copy)]
struct Note {
    account: AccountId,
    market: MarketId,
    base: AssetId,
    quote: AssetId,
    before: [Balance; 2],
}

/// What goes out at the end of the running command.
pub(crate) struct ChangeSet {
    /// Who gave the command; nobody for the administrator's.
    acting: Option<AccountId>,
    /// Makers that a rule ended, as they were met.
    pub(crate) ended: Vec<event::Order>,
    mutations: Vec<(MarketId, Mutation)>,
    balances: Vec<Note>,
    /// Makers other than who trades: they only pay what they had reserved, and receive, so that it is known without a note what of
    /// theirs has changed. Each with whether it received anything.
    makers: Vec<(AccountId, bool)>,
}

impl ChangeSet {
    /// Memory for what ordinary commands touch; grows past it.
    pub(crate) fn new() -> ChangeSet {
        ChangeSet {
            acting: None,
            ended: Vec::with_capacity(64),
            mutations: Vec::with_capacity(4096),
            balances: Vec::with_capacity(4096),
            makers: Vec::with_capacity(4096),
        }
    }

    /// Starts a command.
    #[inline]
    pub(crate) fn start(&mut self, acting: Option<AccountId>) {
        self.acting = acting;
        self.ended.clear();
        self.mutations.clear();
        self.balances.clear();
        self.makers.clear();
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

    /// Notes what an account holds, the first time that the command is about to change it. `seat` is the account's
    /// in the market, `before` tells what it holds there.
    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        account: AccountId,
        rules: &Rules,
        seat: &mut AccountOrders,
        before: impl FnOnce() -> [Balance; 2],
    ) {
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
            before: before(),
        });
    }

    /// Notes a maker. `seat` is its own in the market of the command.
    #[inline(always)]
    pub(crate) fn maker(&mut self, account: AccountId, seat: &mut AccountOrders, gained: bool) {
        if let Some((noted, has_gained)) = self.makers.get_mut(seat.note as usize)
            && *noted == account
        {
            *has_gained |= gained;
            return;
        }
        seat.note = self.makers.len() as u32;
        self.makers.push((account, gained));
    }

    /// The makers noted, in the order they were met.
    #[inline(always)]
    pub(crate) fn makers(&self) -> &[(AccountId, bool)] {
        &self.makers
    }

    /// Writes the levels, then the balances that differ from before.
    #[inline]
    pub(crate) fn flush<S: Sink>(&self, balances: &Balances, emitter: &mut Emitter<'_, S>) {
        for &(market, mutation) in &self.mutations {
            emitter.depth(market, mutation);
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
        let [base, quote] = balances.both(self.account, self.base, self.quote);
        let [base_before, quote_before] = self.before;
        let differ = |now: Balance, before: Balance| {
            (now.available ^ before.available) | (now.frozen ^ before.frozen) != 0
        };
        let changed = u64::from(differ(base, base_before)) | u64::from(differ(quote, quote_before)) << 1;
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
