//! The engine: all state, and the one function that changes it.
//!
//! [`Engine::apply`] takes the next command and writes its events. Same commands, same events, same state, on every
//! machine: it reads no clock, no file, no random number, and no map's order. It refuses by answering, and panics
//! only where an invariant is broken, before anything wrong can be acknowledged.

mod admin;
mod deposit;
mod disconnect;
mod end;
mod hints;
pub(crate) mod idempotency;
mod liabilities;
pub(crate) mod perpetual;
mod place;
mod proof;
pub(crate) mod sources;
mod treasury;
mod view;
mod withdrawal;

pub use crate::config::EngineConfig;
pub use liabilities::{AssetLiabilities, Liability};
pub use view::PendingWithdrawal;

use crate::account::{Accounts, Asset, Balances};
use crate::book::Orders;
use crate::command::{
    AmendOrder, CancelAll, Command, CreateAccount, Credit, Kind, ListMarket, MoveTreasury, OpenEpoch,
    OperatorNote, SetDisconnect, SetMarketStatus, UpdateMarket, VerifyHash,
};
use crate::deposit::Deposits;
use crate::disconnect::Disconnects;
use crate::emit::{ChangeSet, Emitter};
use crate::event::{self, Done, Sink, StateHash};
use crate::ids::{AccountId, AssetId, MarketId, OrderId, Sequence};
use crate::market::Market;
use crate::money::RawAmount;
use crate::perpetual::Perpetual;
use crate::reject::Reject;
use crate::time::EngineTime;
use crate::withdrawal::Withdrawals;
use idempotency::Idempotency;
use sources::Sources;

/// Changes with every change of what commands do. State goes from one version to another by snapshot, not by replay.
pub const ENGINE_VERSION: u32 = 16;

/// A replay that came to another state than the live engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Sequence of the checkpoint compared.
    pub checkpoint: Sequence,
    /// What the live engine computed.
    pub expected: [u8; 16],
    /// What this engine computed.
    pub computed: [u8; 16],
}

/// See the module.
pub struct Engine {
    pub(crate) config: EngineConfig,
    pub(crate) sequence: Sequence,
    pub(crate) time: EngineTime,
    /// Id of the next order.
    pub(crate) next_order: OrderId,
    pub(crate) sources: Sources,
    pub(crate) idempotency: Idempotency,
    pub(crate) assets: Vec<Asset>,
    pub(crate) accounts: Accounts,
    pub(crate) balances: Balances,
    pub(crate) markets: Vec<Market>,
    pub(crate) orders: Orders,
    /// How many markets are being delisted.
    pub(crate) delisting: u32,
    /// The perpetual side, once it was spoken of.
    pub(crate) perpetual: Option<Box<Perpetual>>,
    /// Some account has limits of its own: follows from the perpetual side, which keeps them.
    pub(crate) has_limits: bool,
    pub(crate) withdrawals: Withdrawals,
    pub(crate) deposits: Deposits,
    pub(crate) disconnects: Disconnects,
    /// The last checkpoint and its hash: not part of what is hashed.
    pub(crate) checkpoint: Option<(Sequence, [u8; 16])>,
    pub(crate) divergence: Option<Divergence>,
    changes: ChangeSet,
    /// Orders that the running command will end.
    to_cancel: Vec<(OrderId, u32)>,
}

/// What [`Done`] says beyond the command itself.
#[derive(Clone, Copy, Default)]
struct Outcome {
    reject: Option<Reject>,
    order: OrderId,
    account: AccountId,
    market: Option<MarketId>,
    idempotency_key: u64,
    replayed: Sequence,
    update: u64,
}

impl Outcome {
    #[inline]
    fn refused(self, reject: Reject) -> Outcome {
        Outcome { reject: Some(reject), ..self }
    }

    /// As the last event of `command`.
    #[inline(always)]
    fn done(self, command: &Command) -> Done {
        Done {
            source_seq: command.source_seq,
            source: command.source,
            command: command.kind,
            reject: self.reject.map_or(0, Reject::code),
            order: self.order,
            account: self.account,
            market: self.market.unwrap_or(0),
            idempotency_key: self.idempotency_key,
            replayed: self.replayed,
            update: self.update,
        }
    }
}

impl Engine {
    /// Genesis: the fee account, no assets, no markets.
    pub fn new(config: &EngineConfig) -> Engine {
        Engine {
            config: *config,
            sequence: 0,
            time: EngineTime::default(),
            next_order: 1,
            sources: Sources::new(&config.hash_seed),
            idempotency: Idempotency::new(config.idempotency_keys, config.hash_seed),
            assets: Vec::new(),
            accounts: Accounts::new(config.accounts, config.hash_seed),
            balances: Balances::new(config.accounts, config.pages),
            markets: Vec::new(),
            orders: Orders::new(config.orders, config.pages, &config.hash_seed),
            delisting: 0,
            perpetual: None,
            has_limits: false,
            withdrawals: Withdrawals::new(),
            deposits: Deposits::default(),
            disconnects: Disconnects::default(),
            checkpoint: None,
            divergence: None,
            changes: ChangeSet::new(),
            to_cancel: Vec::with_capacity(1024),
        }
    }

    /// Carries out the next command and writes its events, of which `Done` is the last.
    ///
    /// # Panics
    /// Where the command is not the next in sequence, or an invariant of the state is broken.
    #[inline]
    pub fn apply<S: Sink>(&mut self, command: &Command, sink: &mut S) {
        self.pass(command);
        let is_new = self.sources.admit(command.source, command.source_seq);
        // The kinds that nearly all commands are of go straight to their code.
        if is_new && command.kind == Kind::PlaceOrder as u16 {
            self.place(command, sink);
        } else if is_new && command.kind == Kind::CancelOrder as u16 {
            self.cancel(command, sink);
        } else if is_new && command.kind == Kind::ReplaceOrder as u16 {
            self.replace(command, sink);
        } else if is_new && Kind::is_of_one_order(command.kind) {
            self.apply_order(command, sink);
        } else {
            self.apply_other(command, is_new, sink);
        }
    }

    /// A placement, a modification or a cancel of the perpetual side.
    #[inline(never)]
    fn apply_order<S: Sink>(&mut self, command: &Command, sink: &mut S) {
        let mut emitter = Emitter::new(sink, command.sequence, self.time.ns());
        let outcome = self.order_command(command, &mut emitter);
        emitter.emit(outcome.done(command));
    }

    /// Every other kind, and every command that was carried out before.
    #[inline(never)]
    fn apply_other<S: Sink>(&mut self, command: &Command, is_new: bool, sink: &mut S) {
        // The sequence as the command has it: read beside the time from where both were just stored, it would be read before
        // those stores are through.
        let mut emitter = Emitter::new(sink, command.sequence, self.time.ns());
        let outcome = match Kind::from_code(command.kind) {
            _ if !is_new => Outcome::default().refused(Reject::Duplicate),
            kind => self.execute(kind, command, &mut emitter),
        };
        emitter.emit(outcome.done(command));
    }

    /// Where the running command's events go. Made where it is needed: made for all commands beforehand, it would go from
    /// hand to hand through memory.
    #[inline(always)]
    fn emitter<'s, S: Sink>(&self, sink: &'s mut S) -> Emitter<'s, S> {
        Emitter::new(sink, self.sequence, self.time.ns())
    }

    /// Carries out a command that no journal holds, at the present sequence and time; its events end with their
    /// [`crate::event::Done`]. For questions about what would have been, never for a state that goes on.
    pub fn suppose<S: Sink>(&mut self, command: &Command, sink: &mut S) {
        let mut emitter = Emitter::new(sink, self.sequence, self.time.ns());
        let kind = Kind::from_code(command.kind);
        if kind.is_some_and(Kind::is_placing) {
            return;
        }
        let outcome = self.execute(kind, command, &mut emitter);
        emitter.emit(outcome.done(command));
    }

    /// Passes over a command that an operator declared poisoned: its sequence and time count, nothing else does.
    ///
    /// # Panics
    /// Where the command is not the next in sequence.
    pub fn skip(&mut self, command: &Command) {
        self.pass(command);
    }

    #[inline(always)]
    fn pass(&mut self, command: &Command) {
        assert!(command.sequence == self.sequence + 1, "commands are applied in sequence");
        self.sequence = command.sequence;
        self.time.advance(command.time_ns);
    }

    /// What a command comes to, of a kind that has no way of its own in [`Engine::apply`].
    #[inline(never)]
    fn execute<S: Sink>(
        &mut self,
        kind: Option<Kind>,
        command: &Command,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let Some(kind) = kind else {
            return Outcome::default().refused(Reject::Malformed);
        };
        match kind {
            Kind::PlaceOrder | Kind::CancelOrder | Kind::ReplaceOrder => {
                unreachable!("carried out elsewhere")
            }
            Kind::CancelAll => self.cancel_all(command.body::<CancelAll>(), emitter),
            Kind::AmendOrder => self.amend(command.body::<AmendOrder>(), emitter),
            Kind::CreateAccount => self.create_account(command.body::<CreateAccount>(), emitter),
            Kind::Credit => self.credit(command.body::<Credit>(), emitter),
            Kind::OperatorNote => self.note(command.body::<OperatorNote>(), emitter),
            Kind::ListMarket => self.list_market(command.body::<ListMarket>(), emitter),
            Kind::UpdateMarket => self.update_market(command.body::<UpdateMarket>(), emitter),
            Kind::SetMarketStatus => self.set_market_status(command.body::<SetMarketStatus>(), emitter),
            Kind::OpenEpoch => self.open_epoch(command.body::<OpenEpoch>(), emitter),
            Kind::Checkpoint => self.take_checkpoint(emitter),
            Kind::VerifyHash => self.verify_hash(command.body::<VerifyHash>()),
            // Recovery reads skips before it replays.
            Kind::SkipCommand => Outcome::default(),
            Kind::AdvanceTime => {
                let lost = self.end_of_lost(emitter);
                self.tick_perpetual(&lost, emitter);
                self.delist_on(lost.len() as u32, emitter);
                Outcome::default()
            }
            Kind::SetDisconnect => self.set_disconnect(command.body::<SetDisconnect>()),
            Kind::ProveLedger => self.prove_ledger(emitter),
            Kind::MoveTreasury => self.move_treasury(command.body::<MoveTreasury>(), emitter),
            Kind::RequestWithdrawal
            | Kind::RecordSignature
            | Kind::ReturnWithdrawal
            | Kind::RecordRelease
            | Kind::AdvanceChain
            | Kind::PauseWithdrawals
            | Kind::AdoptWithdrawal
            | Kind::SettleWithdrawal => self.withdrawal_command(kind, command, emitter),
            Kind::RecordDeposit
            | Kind::SetToken
            | Kind::ObserveVault
            | Kind::CreditHeldDeposit
            | Kind::RewindVault
            | Kind::UndoEvent => self.deposit_command(kind, command, emitter),
            _ => self.perpetual_command(kind, command, emitter),
        }
    }

    fn open_epoch<S: Sink>(&mut self, open: &OpenEpoch, emitter: &mut Emitter<'_, S>) -> Outcome {
        if self.sources.open_epoch(open.epoch) {
            if let Some(perpetual) = &mut self.perpetual {
                perpetual.state.forget_unfinished();
            }
            self.disconnects.lose_all(self.time.ns() / 1_000_000);
            self.start_recovery_windows(emitter);
            Outcome::default()
        } else {
            Outcome::default().refused(Reject::Malformed)
        }
    }

    fn take_checkpoint<S: Sink>(&mut self, emitter: &mut Emitter<'_, S>) -> Outcome {
        let hash = self.state_hash();
        self.checkpoint = Some((self.sequence, hash));
        emitter.emit(StateHash { hash });
        Outcome::default()
    }

    fn verify_hash(&mut self, verify: &VerifyHash) -> Outcome {
        if let Some((checkpoint, computed)) = self.checkpoint
            && checkpoint == verify.checkpoint
            && computed != verify.hash
        {
            // The first stays: all that follow are its consequences.
            self.divergence.get_or_insert(Divergence { checkpoint, expected: verify.hash, computed });
        }
        Outcome::default()
    }
}

impl Engine {
    /// Tells a balance that changed outside any market.
    pub(super) fn tell_balance<S: Sink>(
        &self,
        account: AccountId,
        asset: AssetId,
        emitter: &mut Emitter<'_, S>,
    ) {
        let balance = self.balances.get(account, asset);
        emitter.emit(event::Balances {
            account,
            base: asset,
            quote: asset,
            changed: 1,
            base_available: balance.available.into(),
            base_frozen: balance.frozen.into(),
            quote_available: RawAmount::ZERO,
            quote_frozen: RawAmount::ZERO,
        });
    }
}
