//! State of the perpetual side: markets, orders, positions, wallets, terms. What commands do with it is in
//! `engine/perpetual/`; the arithmetic is in `risk/perpetual/`.
//!
//! Books and the orders in them stand apart from the rest, because the matching loop holds them while it asks the rest
//! what a fill costs.

pub(crate) mod account;
pub(crate) mod account_set;
pub(crate) mod adl_priority;
pub(crate) mod adl_queue;
pub(crate) mod canonical;
pub(crate) mod client_order_ids;
pub(crate) mod draft;
pub(crate) mod event_writer;
pub(crate) mod filters;
pub(crate) mod limits;
pub(crate) mod liquidation_index;
pub(crate) mod market;
pub(crate) mod order;
pub(crate) mod order_index;
pub(crate) mod plan;
pub(crate) mod shortfall;
pub(crate) mod stops;
pub(crate) mod trailing;
pub(crate) mod triggers;
pub(crate) mod volume;
pub(crate) mod work;

use crate::account::Sparse;
use crate::book::{Book, Orders};
use crate::command::{MarginMode, Side};
use crate::config::EngineConfig;
use crate::event::{Posting, PostingReason};
use crate::ids::{ALL_MARKETS, AccountId, AssetId, FIRST_PERPETUAL, MarketId, OrderId};
use crate::money::{Money, Price, Quantity};
use crate::reject::Reject;
use crate::risk::perpetual::order_margin::{Cross, Exposure};
use crate::risk::perpetual::takeover::Peak;
use crate::risk::perpetual::vip::{Tier, Tiers};
use account::{Account, Holding, HotAccount, HotHolding};
use adl_priority::Rankings;
use adl_queue::AdlQueue;
use client_order_ids::ClientOrderIds;
use draft::Draft;
use event_writer::EventWriter;
use limits::Limits;
use liquidation_index::LiquidationIndex;
use market::Symbol;
use order::Details;
use order_index::OrderIndex;
use plan::Plan;
use shortfall::Shortfall;
use std::collections::BTreeSet;
use std::ops::Deref;
use triggers::{Fresh, Triggers};
use volume::Volumes;
use work::Work;

/// Most perpetual markets.
pub(crate) const MARKETS_MAX: usize = 128;

/// See the module.
pub(crate) struct Perpetual {
    pub(crate) books: Vec<Book>,
    pub(crate) orders: Orders,
    pub(crate) state: State,
    /// What the order that runs comes to.
    pub(crate) plan: Plan,
}

/// Everything but the books.
pub(crate) struct State {
    /// Memory to take for what is listed later, and what spreads its tables.
    pub(crate) config: EngineConfig,
    /// The one margin asset, set by the first listing.
    pub(crate) margin_asset: Option<AssetId>,
    pub(crate) symbols: Vec<Symbol>,
    /// Position, order margin and open orders of each account, by market.
    pub(crate) holdings: Vec<Sparse<Holding, 256>>,
    pub(crate) accounts: Sparse<Account, 1024>,
    /// Terms of each order, by its slot.
    pub(crate) details: Vec<Details>,
    /// Slots by order id.
    pub(crate) order_index: OrderIndex,
    /// Names of open orders.
    pub(crate) client_order_ids: ClientOrderIds,
    pub(crate) triggers: Vec<Triggers>,
    /// Good-till dates, and countdowns.
    pub(crate) dates: triggers::Dates,
    pub(crate) liquidation_index: LiquidationIndex,
    /// Markets, a bit each, where a price that triggers watch has moved since they were judged.
    pub(crate) moved: u128,
    /// Markets, a bit each, whose marks may have passed thresholds.
    pub(crate) alert: u128,
    /// Holders of each market by what does not move with its mark.
    pub(crate) adl_queues: Vec<AdlQueue>,
    /// Whom auto-deleveraging asks, while the marks stay.
    pub(crate) rankings: Rankings,
    /// When, ms, which accounts may be warned again.
    pub(crate) rechecks: std::collections::BinaryHeap<std::cmp::Reverse<(i64, AccountId)>>,
    /// Accounts that are due, and in a market that is not acted on.
    pub(crate) deferred_checks: Vec<AccountId>,
    /// How much the running command may still do, and what was left over for the next.
    pub(crate) work: Work,
    /// Test every account, whatever the bands say: what they are compared with.
    pub(crate) tests_all: bool,
    pub(crate) tiers: Tiers,
    /// The schedule that takes its place, and when, ms.
    pub(crate) next_tiers: Option<(Tiers, i64)>,
    /// Tiers of a schedule that is not complete, and how many it will have.
    pub(crate) tier_rows: (Vec<Tier>, u32),
    pub(crate) limits: Limits,
    /// What a market is to become.
    pub(crate) draft: Option<Box<Draft>>,
    pub(crate) volumes: Volumes,
    /// Accounts with a lower tier to come, by when, ms.
    pub(crate) pending: BTreeSet<(i64, AccountId)>,
    /// Accounts below it are judged by the tiers in force; all, unless those have just changed.
    pub(crate) judged: AccountId,
    pub(crate) fee_burn_bps: u32,
    /// Lengths of the windows after a recovery: cancels only, post-only.
    pub(crate) recovery_ms: [i64; 2],
    /// The last rule change that is on.
    pub(crate) rules: u32,
    pub(crate) ledger: VenueLedger,
    /// Highest equity of the fund of late.
    pub(crate) peak: Box<Peak>,
    pub(crate) writer: EventWriter,
    /// Engine time of the running command, ms.
    pub(crate) now_ms: i64,
    /// Id of the next order; the engine's counter while a command runs.
    pub(crate) next_order: OrderId,
    /// Accounts whose scopes the running command must test.
    pub(crate) marked_for_check: Vec<AccountId>,
    /// What liquidations have to share.
    pub(crate) shortfall: Shortfall,
    /// Attached orders that began to watch within the running command.
    pub(crate) fresh: Vec<Fresh>,
    /// Orders that the running command ends.
    pub(crate) to_cancel: Vec<OrderId>,
    /// Markets and accounts whose positions changed since orders were trimmed to them, each once, and what they were then.
    pub(crate) resized: Vec<(usize, AccountId, Quantity)>,
    /// Accounts that a settlement or an hour concerns.
    pub(crate) concerned: Vec<AccountId>,
    /// Accounts that the running pass of the scan tests, ascending; those that joined it; those for the next.
    pub(crate) pass: Vec<AccountId>,
    pub(crate) joined: std::collections::BinaryHeap<std::cmp::Reverse<AccountId>>,
    pub(crate) later: Vec<AccountId>,
    /// Triggers that price protection holds back.
    pub(crate) deferred: Vec<(i64, OrderId)>,
    /// Those that it held back when triggers were last judged.
    pub(crate) held_before: Vec<OrderId>,
    /// Those that it begins or ceases to hold back.
    pub(crate) held_anew: Vec<OrderId>,
    /// A count of accounts, to bound scans.
    pub(crate) accounts_count: u32,
}

/// What belongs to no account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VenueLedger {
    /// FEE.
    pub(crate) fees: Money,
    /// REF.
    pub(crate) affiliates: Money,
    /// DEP.
    pub(crate) net_deposits: Money,
    /// The insurance pool is flagged.
    pub(crate) deficit: bool,
}

/// What the liquidation of a cross account is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) equity: Money,
    pub(crate) maintenance: Money,
    /// Cross positions.
    pub(crate) positions: u32,
    /// One of them is in a market whose marks are not to be acted on.
    pub(crate) suspended: bool,
}

impl Perpetual {
    /// Nothing listed.
    pub(crate) fn new(config: &EngineConfig) -> Perpetual {
        let EngineConfig { orders, accounts, pages, hash_seed, .. } = *config;
        Perpetual {
            books: Vec::new(),
            orders: Orders::without_index(orders, pages, &hash_seed),
            plan: Plan::new(accounts, pages),
            state: State {
                config: *config,
                margin_asset: None,
                symbols: Vec::new(),
                holdings: Vec::new(),
                accounts: Sparse::new(accounts, pages),
                details: pages.reserved(orders + 1, (orders * 4).max(1 << 20) + 1),
                order_index: OrderIndex::new(orders, pages, &hash_seed),
                client_order_ids: ClientOrderIds::new(orders, pages, hash_seed),
                triggers: Vec::new(),
                dates: triggers::Dates::default(),
                liquidation_index: LiquidationIndex::default(),
                moved: 0,
                adl_queues: Vec::new(),
                rankings: Rankings::new(),
                alert: 0,
                rechecks: std::collections::BinaryHeap::with_capacity(1024),
                deferred_checks: Vec::with_capacity(1024),
                work: Work::default(),
                tests_all: false,
                tiers: volume::shipped_tiers(),
                next_tiers: None,
                tier_rows: (Vec::new(), 0),
                limits: Limits::default(),
                draft: None,
                volumes: Volumes::new(accounts, pages),
                pending: BTreeSet::new(),
                judged: AccountId::MAX,
                fee_burn_bps: 0,
                recovery_ms: [0; 2],
                rules: 0,
                ledger: VenueLedger::default(),
                peak: Box::new(Peak::new()),
                writer: EventWriter::new(),
                now_ms: 0,
                next_order: 0,
                marked_for_check: Vec::with_capacity(1024),
                shortfall: Shortfall::default(),
                fresh: Vec::with_capacity(64),
                to_cancel: Vec::with_capacity(1024),
                resized: Vec::with_capacity(1024),
                concerned: pages.room(accounts.max(1024)),
                pass: Vec::with_capacity(1024),
                joined: std::collections::BinaryHeap::with_capacity(1024),
                later: Vec::with_capacity(1024),
                deferred: Vec::with_capacity(256),
                held_before: Vec::with_capacity(256),
                held_anew: Vec::with_capacity(256),
                accounts_count: 0,
            },
        }
    }

    /// Adds a market.
    pub(crate) fn list(&mut self, mut symbol: Symbol) -> usize {
        let EngineConfig { accounts, pages, hash_seed, .. } = self.state.config;
        symbol.holders.reserve(accounts, pages);
        self.books.push(Book::new(symbol.tick.value(), &hash_seed));
        self.state.symbols.push(symbol);
        self.state.holdings.push(Sparse::new(accounts, pages));
        self.state.triggers.push(Triggers::new(hash_seed));
        self.state.liquidation_index.list(accounts, pages);
        self.state.adl_queues.push(AdlQueue::new(accounts, pages));
        self.books.len() - 1
    }

    /// The slot of an order in the side table, grown to reach it.
    #[inline(always)]
    pub(crate) fn details_mut(&mut self, slot: u32) -> &mut Details {
        if self.state.details.len() <= slot as usize {
            self.grow_details(slot);
        }
        &mut self.state.details[slot as usize]
    }

    #[cold]
    #[inline(never)]
    fn grow_details(&mut self, slot: u32) {
        self.state.details.resize(slot as usize + 4096, Details::default());
    }
}

/// The id of a market.
#[inline]
pub(crate) fn id_of(index: usize) -> MarketId {
    FIRST_PERPETUAL + index as MarketId
}

/// Markets of a set that has a bit for each, ascending.
#[inline]
pub(crate) fn markets_in(mut bits: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let bit = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            bit
        })
    })
}

impl State {
    /// The index of a market.
    #[inline]
    pub(crate) fn index_of(&self, market: MarketId) -> Option<usize> {
        let index = market.checked_sub(FIRST_PERPETUAL)? as usize;
        (index < self.symbols.len()).then_some(index)
    }

    /// The slot of an open order.
    #[inline]
    pub(crate) fn slot_of(&self, order: OrderId) -> Option<u32> {
        // Anything may be asked for.
        self.order_index.find(order).filter(|&slot| self.details[slot as usize].id == order)
    }

    #[inline]
    pub(crate) fn mark(&self, index: usize) -> Price {
        self.symbols[index].prices.mark
    }

    #[inline(always)]
    pub(crate) fn holding(&self, account: AccountId, index: usize) -> &Holding {
        self.holdings[index].get(account)
    }

    /// A holding to change, in a market that the account has touched then.
    #[inline]
    pub(crate) fn touch(&mut self, account: AccountId, index: usize) -> &mut Holding {
        self.accounts.get_mut(account).touch(index);
        self.holdings[index].get_mut(account)
    }

    /// A cross wallet to change.
    #[inline]
    pub(crate) fn wallet_mut(&mut self, account: AccountId) -> &mut Money {
        &mut self.accounts.get_mut(account).wallet
    }

    /// Moves money between a cross wallet and the outside of this ledger: above 0 to the wallet.
    pub(crate) fn deposit(&mut self, account: AccountId, amount: Money, reason: PostingReason) {
        *self.wallet_mut(account) += amount;
        self.ledger.net_deposits += amount;
        self.post(account, ALL_MARKETS, amount, reason, MarginMode::Cross);
        self.tell_wallet(account);
        self.mark_for_check(account);
    }

    /// Tells a movement of money that belongs to no trade.
    pub(crate) fn post(
        &mut self,
        account: AccountId,
        market: MarketId,
        amount: Money,
        reason: PostingReason,
        wallet: MarginMode,
    ) {
        self.writer.emit(Posting {
            account,
            market,
            amount,
            reason: reason as u8,
            wallet: wallet as u8,
            reserved: [0; 6],
            trade: 0,
        });
    }

    #[inline]
    pub(crate) fn wallet(&self, account: AccountId) -> Money {
        self.accounts.get(account).wallet
    }

    /// Leverage of an account in a market.
    #[inline(always)]
    pub(crate) fn leverage(&self, account: AccountId, index: usize) -> u32 {
        self.symbols[index].leverage(self.holding(account, index))
    }

    /// Margin mode of an account in a market.
    #[inline]
    pub(crate) fn mode(&self, account: AccountId, index: usize) -> MarginMode {
        mode_of(self.accounts.get(account), self.holding(account, index))
    }

    /// Markets in which an account has or had anything, ascending.
    #[inline]
    pub(crate) fn markets_of(&self, account: AccountId) -> impl Iterator<Item = usize> + use<> {
        let [low, high] = self.accounts.get(account).markets;
        markets_in(u128::from(high) << 64 | u128::from(low))
    }

    /// What stands on a holding at the mark.
    #[inline]
    pub(crate) fn exposure(&self, index: usize, holding: &Holding) -> Option<Exposure> {
        Exposure::new(
            holding.quantity,
            self.mark(index),
            holding.bucket(Side::Buy),
            holding.bucket(Side::Sell),
        )
    }

    /// What an account may have to give back of what deleveraging and settlements brought it; `place` of its record.
    #[inline]
    fn withheld(&self, account: AccountId, place: u32) -> Option<Money> {
        markets_in(self.work.closing).try_fold(self.shortfall.withheld(account, place), |sum, index| {
            let place = self.holding(account, index).brought;
            let closing = self.symbols[index].closing.as_ref();
            sum.checked_add(closing.map_or(0, |closing| closing.shortfall.withheld(account, place)))
        })
    }

    /// The cross account, with another wallet and another holding in one market (at its own leverage and mode).
    pub(crate) fn sums_with(
        &self,
        account: AccountId,
        wallet: Money,
        changed: Option<(usize, &Holding)>,
    ) -> Option<Cross> {
        let record = self.accounts.get(account);
        let withheld = self.withheld(account, record.brought)?;
        let mut sums = Cross { wallet, withheld, ..Cross::default() };
        self.each(
            account,
            changed,
            |holding| holding,
            |index, holding| {
                if holding.quantity == 0 && !holding.has_orders() {
                    return Some(());
                }
                let symbol = &self.symbols[index];
                let exposure = self.exposure(index, holding)?;
                let leverage = symbol.leverage(holding);
                if mode_of(record, holding) == MarginMode::Isolated {
                    let orders = exposure.isolated_orders(leverage)?;
                    sums.isolated_orders = sums.isolated_orders.checked_add(orders)?;
                    return Some(());
                }
                sums.initial = sums.initial.checked_add(exposure.cross(leverage)?.initial)?;
                if holding.quantity != 0 {
                    let unrealised = holding.position().unrealised(symbol.prices.mark)?;
                    sums.unrealised = sums.unrealised.checked_add(unrealised)?;
                }
                Some(())
            },
        )?;
        Some(sums)
    }

    /// The same, as far as liquidations look at it: without what is reserved.
    pub(crate) fn cross_with(
        &self,
        account: AccountId,
        wallet: Money,
        changed: Option<(usize, &HotHolding)>,
    ) -> Option<Standing> {
        let record = self.accounts.get(account);
        let mut standing = Standing { equity: wallet, ..Standing::default() };
        self.each(account, changed, Deref::deref, |index, holding| {
            if holding.quantity == 0 || mode_of(record, holding) == MarginMode::Isolated {
                return Some(());
            }
            let symbol = &self.symbols[index];
            let mark = symbol.prices.mark;
            standing.equity = standing.equity.checked_add(holding.position().unrealised(mark)?)?;
            let margin = symbol.brackets.maintenance_at(holding.quantity, mark)?;
            standing.maintenance = standing.maintenance.checked_add(margin)?;
            standing.suspended |= symbol.is_suspended();
            standing.positions += 1;
            Some(())
        })?;
        Some(standing)
    }

    /// Shows `part` of every holding of an account that is not blank, ascending, one of them `changed`.
    #[inline]
    fn each<T>(
        &self,
        account: AccountId,
        changed: Option<(usize, &T)>,
        part: impl Fn(&Holding) -> &T,
        mut show: impl FnMut(usize, &T) -> Option<()>,
    ) -> Option<()> {
        let mut is_shown = changed.is_none();
        for index in self.markets_of(account) {
            match changed {
                Some((place, holding)) if place == index => {
                    is_shown = true;
                    show(index, holding)?;
                }
                _ => show(index, part(self.holding(account, index)))?,
            }
        }
        match changed {
            Some((index, holding)) if !is_shown => show(index, holding),
            _ => Some(()),
        }
    }

    /// The cross account as it is.
    pub(crate) fn sums(&self, account: AccountId) -> Option<Cross> {
        self.sums_with(account, self.wallet(account), None)
    }

    /// Equity and maintenance margin of an isolated position.
    pub(crate) fn isolated(&self, index: usize, holding: &HotHolding) -> Option<(Money, Money)> {
        let symbol = &self.symbols[index];
        let equity = holding.isolated.checked_add(holding.position().unrealised(symbol.prices.mark)?)?;
        Some((equity, symbol.brackets.maintenance_at(holding.quantity, symbol.prices.mark)?))
    }

    /// What may leave the cross wallet.
    pub(crate) fn withdrawable(&self, account: AccountId) -> Option<Money> {
        Some((self.sums(account)?.withdrawable()? - self.owes(account)).max(0))
    }

    /// An account may place and change orders: it may trade, and nothing of it is being liquidated, in whichever market
    /// (`perpetual.md` 12).
    #[inline(always)]
    pub(crate) fn may_order(&self, account: AccountId, record: &HotAccount) -> Result<(), Reject> {
        record.may_trade()?;
        let is_liquidating = self.work.paused.is_some_and(|scope| scope.account == account);
        if is_liquidating { Err(Reject::InLiquidation) } else { Ok(()) }
    }

    /// Marks an account for the liquidation scan of the running command, and for another place among counterparties.
    #[inline]
    pub(crate) fn mark_for_check(&mut self, account: AccountId) {
        self.mark_stale(account);
        self.mark_deferred(account);
    }

    /// Marks an account for the liquidation scan of the running command.
    #[inline]
    pub(crate) fn mark_deferred(&mut self, account: AccountId) {
        let record = self.accounts.get_mut(account);
        if record.is_marked != 0 {
            return;
        }
        record.is_marked = 1;
        self.marked_for_check.push(account);
    }
}

/// The mode of a holding: its own, or its account's default while it has none.
#[inline]
pub(crate) fn mode_of(record: &HotAccount, holding: &HotHolding) -> MarginMode {
    match (holding.mode, record.default_mode) {
        (1, _) | (0, 0) => MarginMode::Cross,
        _ => MarginMode::Isolated,
    }
}
