//! The desk where releases are signed: it takes what the views show as requested, which is what the journal holds, asks the
//! signer, and records what came of it as a command. Requests wait here for their outcome.
//!
//! A new signature needs the account's own word, the token of its request: whoever waits for the outcome has brought it, and it
//! is kept until then, in memory alone. After a restart there is none. What the signer has in its log it signs again all the
//! same; what it has not goes back, unless its user retries in time and brings the token anew.
//!
//! Before anything is signed after a start, the signer's log is read: releases that the engine has no memory of, because it
//! was restored from an older copy, are adopted. A request whose signer does not answer in time gets its amount back; its
//! nonce only where the signer was certainly not reached, or says later that it knows nothing of it. Requests that were there
//! at the start have nobody waiting, and are tried until the signer answers.

use super::signer::figures::SignerFigures;
use super::{Consent, Issued, Release, ReleaseKey, SignedRelease, Signer, SignerFault};
use crate::Settings;
use parking_lot::Mutex;
use ringside_commands::ingress::{Ingress, Priority};
use ringside_core::command::{
    AdoptWithdrawal, Body, Command, Ledger, RecordSignature, ReturnWithdrawal, WithdrawalStatus,
};
use ringside_core::ids::{Address, WithdrawalId, padded, text};
use ringside_core::reject::Reject;
use ringside_views::withdrawal::WithdrawalRecord;
use ringside_views::{SharedViews, Views};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc, oneshot, watch};

/// Between two looks when nobody calls.
const LOOK: Duration = Duration::from_millis(250);
/// Between two questions about a nonce that may have been signed.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// Between two questions to a signer that nothing is asked of: whether it can be reached is known before it is needed.
const ASK_IDLE: Duration = Duration::from_secs(10);
/// Outcomes remembered for requests that are about to read them.
const FAULTS_MAX: usize = 4_096;

/// Why a withdrawal went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSigned {
    /// The signer decided against it.
    Refused,
    /// It could not be reached, or did not answer in time.
    Unavailable,
}

/// What requests and the desk share.
#[derive(Debug)]
pub struct SigningQueue {
    call: Notify,
    /// Counts outcomes; who waits looks at the views whenever it changes.
    changed: watch::Sender<u64>,
    faults: Mutex<HashMap<WithdrawalId, NotSigned>>,
    /// The words of accounts whose requests wait.
    consents: Mutex<HashMap<WithdrawalId, Consent>>,
    /// Whether the signer's log was compared with the engine's memory.
    reconciled: watch::Sender<bool>,
    /// Whether every final deposit was told since the start.
    deposits_known: std::sync::atomic::AtomicBool,
    /// Whether there is a signer at all.
    is_open: std::sync::atomic::AtomicBool,
    /// How it answers.
    figures: SignerFigures,
}

impl Default for SigningQueue {
    fn default() -> SigningQueue {
        SigningQueue {
            call: Notify::new(),
            changed: watch::Sender::new(0),
            faults: Mutex::default(),
            consents: Mutex::default(),
            reconciled: watch::Sender::new(false),
            deposits_known: std::sync::atomic::AtomicBool::new(false),
            is_open: std::sync::atomic::AtomicBool::new(false),
            figures: SignerFigures::default(),
        }
    }
}

impl SigningQueue {
    /// Whether there is a signer at all.
    pub fn is_open(&self) -> bool {
        // Relaxed: set once, before requests are served; nothing else follows from it.
        self.is_open.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Says that there is a signer.
    pub fn open(&self) {
        self.is_open.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// How the signer answers.
    pub fn figures(&self) -> &SignerFigures {
        &self.figures
    }

    /// Whether the signer's log was compared with the engine's memory. Whoever tells releases must wait for it: one that the
    /// engine does not remember yet would look like one that must be impossible.
    pub fn is_reconciled(&self) -> bool {
        *self.reconciled.borrow()
    }

    /// Every final deposit was told since the start. What the signer has signed and the engine has forgotten may have been paid
    /// for by one of them, so nothing of it is adopted before.
    pub fn know_deposits(&self) {
        // Relaxed: what was told is in the views, which have a lock of their own.
        self.deposits_known.store(true, std::sync::atomic::Ordering::Relaxed);
        self.call.notify_one();
    }

    fn knows_deposits(&self) -> bool {
        self.deposits_known.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Calls the desk with the account's word, and waits until the withdrawal is signed or given back.
    pub async fn outcome(
        &self,
        views: &SharedViews,
        withdrawal: WithdrawalId,
        consent: Consent,
    ) -> Result<WithdrawalRecord, NotSigned> {
        let mut changed = self.changed.subscribe();
        self.consents.lock().insert(withdrawal, consent);
        self.call.notify_one();
        loop {
            changed.mark_unchanged();
            let record = views.read().withdrawals().get(withdrawal).copied();
            match record {
                Some(record)
                    if record.signature.is_none() && record.status == WithdrawalStatus::Requested => {}
                Some(record) if record.signature.is_some() => {
                    self.consents.lock().remove(&withdrawal);
                    return Ok(record);
                }
                _ => {
                    self.consents.lock().remove(&withdrawal);
                    let fault = self.faults.lock().remove(&withdrawal);
                    if fault.is_none() {
                        let status = record.map(|record| record.status);
                        tracing::warn!(withdrawal, ?status, "a withdrawal ended before it was signed");
                    }
                    return Err(fault.unwrap_or(NotSigned::Unavailable));
                }
            }
            if changed.changed().await.is_err() {
                return Err(NotSigned::Unavailable);
            }
        }
    }

    fn consent(&self, withdrawal: WithdrawalId) -> Option<Consent> {
        self.consents.lock().get(&withdrawal).cloned()
    }

    fn note(&self, withdrawal: WithdrawalId, fault: NotSigned) {
        let faults = &mut *self.faults.lock();
        if faults.len() >= FAULTS_MAX {
            faults.clear();
        }
        faults.insert(withdrawal, fault);
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

/// The release that a withdrawal stands for.
pub fn release_of(views: &Views, record: &WithdrawalRecord) -> Option<Release> {
    let vault = views.withdrawals().vault(record.vault)?;
    let account = *views.accounts().address(record.account)?;
    Some(Release {
        key: ReleaseKey { chain_id: vault.chain_id, vault: vault.address, account, nonce: record.nonce },
        vault_name: text(&vault.name).to_owned(),
        token: record.token,
        value: record.value(views.deposits().steps_of(vault.chain_id, &record.token, record.ledger)),
        deadline_s: record.deadline_s,
        requested_at_s: record.requested_at_s,
        withdrawal: record.withdrawal,
    })
}

/// What the signer's thread is asked.
enum Question {
    Sign(Box<Release>, Option<Consent>, oneshot::Sender<Result<SignedRelease, SignerFault>>),
    Find(ReleaseKey, oneshot::Sender<Result<Option<Issued>, SignerFault>>),
    Issued(u64, oneshot::Sender<Result<Vec<Issued>, SignerFault>>),
}

/// The signer on a thread of its own, since its calls block. Questions are carried out in order, also those that nobody
/// waits for any more: what was given up for lost is settled before anything that is asked later.
struct Asked {
    /// Whose signatures they are.
    address: Address,
    questions: mpsc::Sender<Question>,
    patience: Duration,
    desk: Arc<SigningQueue>,
    last: Cell<Instant>,
}

impl Asked {
    fn new(
        mut signer: Box<dyn Signer>,
        patience: Duration,
        desk: Arc<SigningQueue>,
    ) -> std::io::Result<Asked> {
        let (sender, mut questions) = mpsc::channel(1);
        let address = signer.address();
        std::thread::Builder::new().name("signer".to_owned()).spawn(move || {
            while let Some(question) = questions.blocking_recv() {
                // Who asked may be gone; what was signed is in the log.
                match question {
                    Question::Sign(release, consent, answer) => {
                        drop(answer.send(signer.sign_release(&release, consent.as_ref())));
                    }
                    Question::Find(key, answer) => drop(answer.send(signer.find(&key))),
                    Question::Issued(from, answer) => drop(answer.send(signer.issued(from))),
                }
            }
        })?;
        Ok(Asked { address, questions: sender, patience, desk, last: Cell::new(Instant::now()) })
    }

    async fn ask<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<Result<T, SignerFault>>) -> Question,
    ) -> Result<T, SignerFault> {
        let lost = |reason: &str| SignerFault::Unknown(reason.to_owned());
        let (sender, answer) = oneshot::channel();
        let asked = async {
            self.questions.send(question(sender)).await.map_err(|_| lost("its thread has ended"))?;
            answer.await.map_err(|_| lost("its thread has ended"))?
        };
        let answer = tokio::time::timeout(self.patience, asked).await;
        let answer = answer.unwrap_or_else(|_| Err(lost("it takes too long")));
        self.desk.figures.asked(&answer);
        self.last.set(Instant::now());
        answer
    }

    /// Asks for nothing where nothing was asked for long, so that it is known whether an answer comes.
    async fn ask_idle(&self) {
        if self.last.get().elapsed() >= ASK_IDLE {
            // Behind the end of any log.
            drop(self.ask(|answer| Question::Issued(u64::MAX, answer)).await);
        }
    }
}

/// A request that has been tried.
struct Tried {
    since: Instant,
    /// The signer may have been reached.
    may_be_signed: bool,
    /// The log has said that the signer does not answer.
    is_said: bool,
}

/// Runs the desk.
pub(super) struct WithdrawalSigning {
    desk: Arc<SigningQueue>,
    views: Arc<SharedViews>,
    settings: Arc<Settings>,
    ingress: Ingress,
    signer: Asked,
    tried: BTreeMap<WithdrawalId, Tried>,
    /// Nobody waits for these.
    resumed: HashSet<WithdrawalId>,
    asked_at: Option<Instant>,
}

impl WithdrawalSigning {
    pub(super) fn new(
        desk: Arc<SigningQueue>,
        views: Arc<SharedViews>,
        settings: Arc<Settings>,
        ingress: Ingress,
        signer: Box<dyn Signer>,
    ) -> std::io::Result<WithdrawalSigning> {
        let resumed = views.read().withdrawals().unsigned().map(|record| record.withdrawal).collect();
        desk.open();
        Ok(WithdrawalSigning {
            signer: Asked::new(signer, settings.signer_patience, desk.clone())?,
            desk,
            views,
            settings,
            ingress,
            tried: BTreeMap::new(),
            resumed,
            asked_at: None,
        })
    }

    /// Works for ever.
    pub(super) async fn run(mut self) {
        let mut is_reconciled = false;
        loop {
            if !is_reconciled {
                is_reconciled = self.reconcile().await;
                self.desk.reconciled.send_replace(is_reconciled);
            }
            if is_reconciled {
                self.sign_all().await;
                self.free_nonces().await;
                self.signer.ask_idle().await;
            } else {
                self.give_up_late().await;
            }
            let _ = tokio::time::timeout(LOOK, self.desk.call.notified()).await;
        }
    }

    /// Adopts what only the signer remembers; whether its whole log was read.
    async fn reconcile(&mut self) -> bool {
        // Of each key the newest: whatever held it before has expired.
        let mut newest: BTreeMap<ReleaseKey, Issued> = BTreeMap::new();
        let mut from = 0;
        loop {
            match self.signer.ask(|answer| Question::Issued(from, answer)).await {
                Ok(issued) if issued.is_empty() => break,
                Ok(issued) => {
                    from += issued.len() as u64;
                    newest.extend(issued.into_iter().map(|issued| (issued.release.key, issued)));
                }
                Err(fault) => {
                    tracing::warn!(%fault, "the signer's log cannot be read; nothing is signed meanwhile");
                    return false;
                }
            }
        }
        let is_forgotten = |issued: &Issued| self.known(issued).is_none();
        if !self.desk.knows_deposits() && newest.values().any(is_forgotten) {
            return false;
        }
        for issued in newest.into_values() {
            let is_done = match self.known(&issued) {
                // Killed before it was recorded; or its user holds it already, by a history that is lost.
                Some((withdrawal, WithdrawalStatus::Requested)) => {
                    self.record(withdrawal, &issued.signed).await
                }
                Some(_) => true,
                None => self.adopt(&issued).await,
            };
            if !is_done {
                return false;
            }
        }
        true
    }

    /// The withdrawal that an entry of the log is for, as far as the engine remembers it.
    fn known(&self, issued: &Issued) -> Option<(WithdrawalId, WithdrawalStatus)> {
        let views = self.views.read();
        let account = views.accounts().of_address(&issued.release.key.account)?;
        let mut own = views.withdrawals().of_account(account);
        let found = own.find(|record| {
            release_of(&views, record).is_some_and(|known| {
                (known.key, known.value, known.deadline_s)
                    == (issued.release.key, issued.release.value, issued.release.deadline_s)
            })
        })?;
        Some((found.withdrawal, found.status))
    }

    /// Whether the engine has judged it.
    async fn adopt(&mut self, issued: &Issued) -> bool {
        let Release { key, vault_name, token, value, deadline_s, requested_at_s, .. } = &issued.release;
        let is_token = |contract: &Option<Address>| contract.is_some_and(|at| at == *token);
        let named = {
            let views = self.views.read();
            let known = views.deposits().token(key.chain_id, token);
            let name = known.and_then(|known| views.markets().asset_name(known.asset)).map(str::to_owned);
            let ledger = if is_token(&self.settings.usdt) { Ledger::Perpetual } else { Ledger::Spot };
            let configured = match ledger {
                Ledger::Perpetual => Some("USDT"),
                Ledger::Spot => is_token(&self.settings.df).then_some("DF"),
            };
            let steps = views.deposits().steps_of(key.chain_id, token, ledger);
            let vault = views.withdrawals().vault_number(key.chain_id, &key.vault);
            let signer = vault.and_then(|vault| views.deposits().vault(vault)).map(|book| book.signer);
            let is_new =
                signer.is_some_and(|known| known != Address::default() && known != self.signer.address);
            name.or(configured.map(str::to_owned)).map(|asset| (ledger, asset, steps, is_new))
        };
        let Some((ledger, asset, steps, is_of_new_signer)) = named else {
            // Whose balance it is nobody can say. Paid, it is one that the venue does not know, which pauses withdrawals.
            tracing::error!(
                ?key,
                token = %const_hex::encode_prefixed(token),
                "ALARM: the signer's log holds a release of a token that is not configured"
            );
            return true;
        };
        let amount = i128::try_from(*value).ok().and_then(|value| value.checked_mul(steps));
        let (Some(amount), Some(vault_name), Some(asset)) = (amount, padded(vault_name), padded(&asset))
        else {
            tracing::error!(?key, "ALARM: the signer's log holds what cannot be a withdrawal");
            return true;
        };
        tracing::warn!(?key, "the signer's log holds a release that the journal does not: it is adopted");
        let adopted = self
            .submit(AdoptWithdrawal {
                address: key.account,
                ledger: ledger as u8,
                is_of_new_signer: is_of_new_signer.into(),
                reserved: [0; 2],
                amount: amount.into(),
                chain_id: key.chain_id,
                vault: key.vault,
                token: *token,
                asset,
                reserved_2: [0; 6],
                nonce: key.nonce,
                deadline_s: *deadline_s,
                requested_at_s: *requested_at_s,
                vault_name,
            })
            .await;
        match adopted {
            Some(Ok(0)) => {
                tracing::error!(?key, "ALARM: a signed release cannot be covered; withdrawals are paused");
                true
            }
            Some(Ok(withdrawal)) => self.record(withdrawal, &issued.signed).await,
            Some(Err(reject)) => {
                tracing::info!(?key, ?reject, "it is not adopted");
                true
            }
            None => false,
        }
    }

    /// Whether the vault of a release pays, as far as is final, for this signer. While its forerunner's work may still be paid
    /// nothing is signed: all of that goes back in one, and nothing of it may live.
    fn is_signer_of(&self, key: &ReleaseKey) -> bool {
        let views = self.views.read();
        let vault = views.withdrawals().vault_number(key.chain_id, &key.vault);
        let book = vault.and_then(|vault| views.deposits().vault(vault));
        book.is_none_or(|book| book.signer == Address::default() || book.signer == self.signer.address)
    }

    /// Asks the signer for every release that has no signature.
    async fn sign_all(&mut self) {
        for (status, release) in self.unsigned() {
            if status == WithdrawalStatus::Void {
                continue;
            }
            if !self.is_signer_of(&release.key) {
                self.wait_or_give_back(release.withdrawal, Instant::now(), false, None).await;
                continue;
            }
            let withdrawal = release.withdrawal;
            let is_resumed = self.resumed.contains(&withdrawal);
            let consent = self.desk.consent(withdrawal);
            let has_consent = consent.is_some();
            if status == WithdrawalStatus::Requested && !has_consent && !is_resumed {
                // Who asked is on the way with it, or gone.
                self.wait_or_give_back(withdrawal, Instant::now(), false, None).await;
                continue;
            }
            let asked_at = Instant::now();
            let ask = |answer| Question::Sign(Box::new(release), consent, answer);
            match self.signer.ask(ask).await {
                Ok(signed) => {
                    self.record(withdrawal, &signed).await;
                }
                Err(SignerFault::Refused(reason)) => {
                    tracing::warn!(withdrawal, reason, "the signer refuses");
                    // What it may have signed before this it does not refuse now.
                    self.give_back(withdrawal, false, NotSigned::Refused).await;
                }
                Err(SignerFault::Unauthorized(reason)) if has_consent => {
                    tracing::warn!(withdrawal, reason, "the signer does not believe the token of a request");
                    self.give_back(withdrawal, false, NotSigned::Refused).await;
                }
                // It has signed nothing, and only a retry of its user can change that.
                Err(SignerFault::Unauthorized(_)) => {
                    self.resumed.remove(&withdrawal);
                    self.tried.remove(&withdrawal);
                    self.wait_or_give_back(withdrawal, Instant::now(), false, None).await;
                }
                Err(fault) => {
                    let is_unknown = matches!(fault, SignerFault::Unknown(_));
                    let may_be_signed = is_unknown || is_resumed;
                    self.wait_or_give_back(withdrawal, asked_at, may_be_signed, Some(&fault)).await;
                }
            }
        }
    }

    /// Notes that there was no answer to what was asked first `asked_at`; what has waited too long goes back, unless nobody waits for
    /// it.
    async fn wait_or_give_back(
        &mut self,
        withdrawal: WithdrawalId,
        asked_at: Instant,
        may_be_signed: bool,
        fault: Option<&SignerFault>,
    ) {
        let new = Tried { since: asked_at, may_be_signed: false, is_said: false };
        let tried = self.tried.entry(withdrawal).or_insert(new);
        if let Some(fault) = fault.filter(|_| !tried.is_said) {
            tracing::warn!(withdrawal, %fault, "a withdrawal waits for the signer");
            tried.is_said = true;
        }
        tried.may_be_signed |= may_be_signed;
        let (since, may_be_signed) = (tried.since, tried.may_be_signed);
        if !self.resumed.contains(&withdrawal) && since.elapsed() >= self.settings.signer_patience {
            tracing::warn!(withdrawal, waited = ?since.elapsed(), "a withdrawal goes back: the signer did not sign it in time");
            self.give_back(withdrawal, may_be_signed, NotSigned::Unavailable).await;
        }
    }

    /// While the signer's log cannot be read nothing is signed: who has waited too long gets the amount back.
    async fn give_up_late(&mut self) {
        for (status, release) in self.unsigned() {
            let withdrawal = release.withdrawal;
            if status == WithdrawalStatus::Requested {
                self.wait_or_give_back(withdrawal, Instant::now(), false, None).await;
            }
        }
    }

    /// Frees nonces of void withdrawals of which the signer knows nothing.
    async fn free_nonces(&mut self) {
        if self.asked_at.is_some_and(|at| at.elapsed() < ASK_AGAIN) {
            return;
        }
        let void: Vec<Release> = self
            .unsigned()
            .into_iter()
            .filter(|(status, _)| *status == WithdrawalStatus::Void)
            .map(|(_, release)| release)
            .collect();
        if void.is_empty() {
            return;
        }
        self.asked_at = Some(Instant::now());
        for release in void {
            let found = self.signer.ask(|answer| Question::Find(release.key, answer)).await;
            let Ok(found) = found else { continue };
            if found.is_none_or(|issued| issued.release.deadline_s != release.deadline_s) {
                let freed = ReturnWithdrawal { withdrawal: release.withdrawal, holds_nonce: 0 };
                self.submit(freed).await;
            }
        }
    }

    fn unsigned(&self) -> Vec<(WithdrawalStatus, Release)> {
        let views = self.views.read();
        let unsigned = views.withdrawals().unsigned();
        unsigned.filter_map(|record| Some((record.status, release_of(&views, record)?))).collect()
    }

    async fn record(&mut self, withdrawal: WithdrawalId, signed: &SignedRelease) -> bool {
        let SignedRelease { digest, signature } = *signed;
        let recorded = self.submit(RecordSignature { withdrawal, digest, signature, reserved: [0; 7] }).await;
        // Where the engine could not be asked the signature stands in the signer's log, and is asked for again.
        if recorded.is_some() {
            self.end(withdrawal);
        }
        recorded.is_some()
    }

    async fn give_back(&mut self, withdrawal: WithdrawalId, holds_nonce: bool, fault: NotSigned) {
        self.desk.note(withdrawal, fault);
        // Until the engine has heard of it, whether something may be signed is not forgotten.
        if self.submit(ReturnWithdrawal { withdrawal, holds_nonce: holds_nonce.into() }).await.is_some() {
            self.end(withdrawal);
        }
    }

    fn end(&mut self, withdrawal: WithdrawalId) {
        self.tried.remove(&withdrawal);
        self.resumed.remove(&withdrawal);
        self.desk.consents.lock().remove(&withdrawal);
        self.desk.tell();
    }

    /// What the engine said: the withdrawal it concerns, or why not; `None` where it could not be asked.
    async fn submit<B: Body>(&self, body: B) -> Option<Result<WithdrawalId, Reject>> {
        match self.ingress.submit(Command::new(body), Priority::Internal).await {
            Ok(reply) => Some(reply.done.rejected().map_or(Ok(reply.done.order), Err)),
            Err(unavailable) => {
                tracing::warn!(%unavailable, "the signing desk cannot record");
                None
            }
        }
    }
}
