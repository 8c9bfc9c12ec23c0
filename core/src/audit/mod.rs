//! The books kept a second time, from events alone: what the perpetual side tells must add up, command by command.
//!
//! An [`Auditor`] starts at a state and reads every event after it. At each `Done` it has judged, of `risk.md` 20:
//! I-1 wallets, pools and costs come to the deposits; I-2 longs are shorts; I-3 no quantity without cost; I-4 every wallet
//! changed by exactly what the command's trades and postings say, and every position by its fills; I-8 nothing is below zero
//! that may not be; I-10 residues of funding and settlement; I-11 fees are what the pools received; I-12 orders execute what
//! trades say and no more; I-13 whoever holds no position takes no part in another's liquidation; I-14 events without gap. Of withdrawals:
//! each goes ways that exist, and its amount leaves and comes back once. Of deposits: one number after the other, each credited once.
//!
//! It knows no prices of margins: I-5 to I-7 and I-9 need the state, and are `Engine::check_invariants`'. It shares no
//! arithmetic with the engine but the value of a trade. For tests and the follower; never on the path of a reply.

mod deposits;
mod ledger;
mod orders;
mod withdrawals;

use crate::engine::Engine;
use crate::event::{self, Event, Kind};
use crate::ids::Sequence;
use deposits::Deposits;
use ledger::Ledger;
use orders::OpenOrders;
use withdrawals::Withdrawals;

/// See the module. Memory: every account with a wallet, every position, every open order and withdrawal.
pub struct Auditor {
    sequence: Sequence,
    /// Index of the next event of the running command.
    index: u32,
    ledger: Ledger,
    orders: OpenOrders,
    withdrawals: Withdrawals,
    deposits: Deposits,
    fault: Option<(Sequence, String)>,
}

/// Both sides of I-1 for the margin asset, micro-quote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Cross wallets of all accounts but the fund.
    pub wallets: i128,
    /// Isolated wallets.
    pub isolated: i128,
    /// The insurance fund.
    pub fund: i128,
    /// FEE.
    pub fees: i128,
    /// REF.
    pub affiliates: i128,
    /// Costs of all positions.
    pub costs: i128,
    /// DEP.
    pub deposits: i128,
}

impl Balance {
    /// What the accounts hold: the left side.
    pub fn held(&self) -> i128 {
        self.wallets + self.isolated + self.fund + self.fees + self.affiliates - self.costs
    }
}

impl Auditor {
    /// At the state of an engine, between two commands.
    pub fn new(engine: &Engine) -> Auditor {
        let (ledger, orders) = (Ledger::of(engine), OpenOrders::of(engine));
        let (withdrawals, deposits) = (Withdrawals::of(engine), Deposits::of(engine));
        let fault = ledger.judge().err().map(|fault| (engine.sequence(), fault));
        Auditor { sequence: engine.sequence(), index: 0, ledger, orders, withdrawals, deposits, fault }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        if self.fault.is_none()
            && let Err(fault) = self.take(event)
        {
            self.fault = Some((event.sequence, fault));
        }
    }

    /// The next command was passed over.
    pub fn skip(&mut self) {
        self.sequence += 1;
        self.index = 0;
    }

    /// The first command that does not add up, and why.
    pub fn fault(&self) -> Option<&(Sequence, String)> {
        self.fault.as_ref()
    }

    /// Both sides of I-1.
    pub fn balance(&self) -> Balance {
        self.ledger.balance()
    }

    /// The last command judged.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    fn take(&mut self, event: &Event) -> Result<(), String> {
        if (event.sequence, event.index) != (self.sequence + 1, self.index) {
            return Err(format!("event {}.{} follows {}", event.sequence, event.index, self.sequence));
        }
        self.index += 1;
        let Some(kind) = Kind::from_code(event.kind) else { return Err(format!("{event:?}")) };
        match kind {
            Kind::Done => {
                (self.sequence, self.index) = (event.sequence, 0);
                self.orders.done()?;
                self.withdrawals.done(payload(event)?)?;
                self.deposits.done(payload(event)?)?;
                return self.ledger.done();
            }
            Kind::PerpetualTrade => {
                let trade = payload(event)?;
                self.orders.traded(trade)?;
                self.ledger.traded(trade)
            }
            Kind::PerpetualOrder => self.orders.told(payload(event)?),
            Kind::Posting => {
                let posting = payload(event)?;
                self.withdrawals.posted(posting);
                self.ledger.posted(posting)
            }
            Kind::Withdrawal => self.withdrawals.told(payload(event)?),
            Kind::VaultOpened => self.deposits.opened(payload(event)?),
            Kind::Token => self.deposits.token(payload(event)?),
            Kind::Deposit => self.deposits.told(payload(event)?),
            Kind::FundingSettled => self.ledger.funding(payload(event)?),
            Kind::PerpetualStateChanged => {
                let changed: &event::PerpetualStateChanged = payload(event)?;
                if changed.settlement_price != 0 {
                    self.ledger.settled(changed.market)?;
                }
                Ok(())
            }
            Kind::PerpetualPosition => self.ledger.position(payload(event)?),
            Kind::PerpetualWallet => self.ledger.wallet(payload(event)?),
            Kind::PerpetualPools => self.ledger.pools(payload(event)?),
            _ => Ok(()),
        }
        .map_err(|fault| format!("{fault}: {event:?}"))
    }
}

impl event::Sink for Auditor {
    fn event(&mut self, event: &Event) {
        Auditor::event(self, event);
    }
}

fn payload<P: event::Payload>(event: &Event) -> Result<&P, String> {
    event.get().ok_or_else(|| format!("{event:?}"))
}
