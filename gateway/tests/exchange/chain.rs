//! The chain's side of withdrawals as tests steer it: a signer that keeps the rule of its trait and fails when told to, and a
//! watch that tells what a test hands it.

use super::Exchange;
use parking_lot::Mutex;
use ringside_chain::thread::{Parts, start};
use ringside_chain::{
    Consent, FinalBlock, FinalDeposit, FinalRelease, Issued, Local, Release, ReleaseKey, Replaced,
    SignedRelease, Signer, SignerFault, Stop, Told, Watch, WatchPort,
};
use ringside_config::{Config, Wallet};
use ringside_core::ids::Address;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) const CHAIN: u64 = 31_337;
pub(crate) const VAULT: Address = [0x11; 20];
pub(crate) const DF: Address = [0x22; 20];
pub(crate) const USDT: Address = [0x33; 20];

/// Settings of a deployment with withdrawals.
pub(crate) fn configure(config: &mut Config) {
    config.vault_address = Some(Wallet(VAULT));
    config.df_address = Some(Wallet(DF));
    config.usdt_address = Some(Wallet(USDT));
    config.signer_patience = Duration::from_millis(400);
}

/// How the signer answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Signs,
    Refuses,
    IsAway,
    /// Signs, and its answer is lost.
    SignsSilently,
    /// Neither signs nor answers.
    IsSilent,
}

/// What the signer and the test share.
#[derive(Debug, Default)]
pub(crate) struct SignerState {
    pub(crate) mood: Mood,
    /// Its log.
    pub(crate) log: Vec<Issued>,
    /// Requests so far, answered or not.
    pub(crate) asked: usize,
    /// Tokens that came with them.
    pub(crate) tokens: Vec<Option<String>>,
    /// Questions so far for what it knows of a nonce, answered.
    pub(crate) found: usize,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct SteeredSigner(pub(crate) Arc<Mutex<SignerState>>);

impl SteeredSigner {
    pub(crate) fn mood(&self, mood: Mood) {
        self.0.lock().mood = mood;
    }

    pub(crate) fn log_len(&self) -> usize {
        self.0.lock().log.len()
    }
}

impl Signer for SteeredSigner {
    fn sign_release(
        &mut self,
        release: &Release,
        consent: Option<&Consent>,
    ) -> Result<SignedRelease, SignerFault> {
        let state = &mut *self.0.lock();
        state.asked += 1;
        state.tokens.push(consent.map(|consent| consent.token().to_owned()));
        match state.mood {
            Mood::Refuses => return Err(SignerFault::Refused("its cap is reached".to_owned())),
            Mood::IsAway => return Err(SignerFault::Unreachable("nobody listens".to_owned())),
            Mood::IsSilent => return Err(SignerFault::Unknown("it hung up".to_owned())),
            Mood::Signs | Mood::SignsSilently => {}
        }
        let last = state.log.iter().rev().find(|issued| issued.release.key == release.key);
        let signed = match last {
            Some(last) if last.release == *release => last.signed,
            Some(last) if release.requested_at_s <= last.release.deadline_s => {
                return Err(SignerFault::Refused("another digest of this nonce is live".to_owned()));
            }
            _ if consent.is_none() => {
                return Err(SignerFault::Unauthorized("no login token came with it".to_owned()));
            }
            _ => {
                let mark = state.log.len() as u8 + 1;
                let signed = SignedRelease { digest: [mark; 32], signature: [mark; 65] };
                state.log.push(Issued { release: release.clone(), signed });
                signed
            }
        };
        match state.mood {
            Mood::SignsSilently => Err(SignerFault::Unknown("it hung up".to_owned())),
            _ => Ok(signed),
        }
    }

    fn find(&mut self, key: &ReleaseKey) -> Result<Option<Issued>, SignerFault> {
        let state = &mut *self.0.lock();
        if state.mood != Mood::Signs {
            return Err(SignerFault::Unreachable("nobody listens".to_owned()));
        }
        state.found += 1;
        Ok(state.log.iter().rev().find(|issued| issued.release.key == *key).cloned())
    }

    fn issued(&mut self, from: u64) -> Result<Vec<Issued>, SignerFault> {
        let state = &*self.0.lock();
        if state.mood == Mood::IsAway {
            return Err(SignerFault::Unreachable("nobody listens".to_owned()));
        }
        Ok(state.log.iter().skip(from as usize).take(2).cloned().collect())
    }

    fn address(&self) -> Address {
        [0x99; 20]
    }
}

/// What a test has the watch tell.
pub(crate) enum Fact {
    Release(FinalRelease),
    Block(FinalBlock),
    Deposit(FinalDeposit),
    /// What the vault holds of each token, as of a block that is told next: only where it is wanted.
    Held(FinalBlock, Vec<(Address, u128)>),
    /// What stops withdrawals on the chain's side.
    Stops(Vec<Stop>),
    /// Whose signatures the vault pays for, as of its last final block.
    Signer(Address, u64),
    /// Final blocks were replaced, or no longer are.
    Replaced(Option<Replaced>),
    /// A release in a block that is not final, and how many blocks lie on it.
    Seen(FinalRelease, u64),
    /// The same of a deposit; `None`: it is gone.
    SeenDeposit(FinalDeposit, Option<u64>),
}

impl Fact {
    /// The nodes do not agree, or do again.
    pub(crate) fn paused(is_paused: bool) -> Fact {
        Fact::Stops(if is_paused { vec![Stop::Chain("nodes disagree".to_owned())] } else { Vec::new() })
    }
}

/// Facts, and where each answer goes.
type Facts = mpsc::UnboundedReceiver<(Fact, std::sync::mpsc::Sender<Told>)>;

struct SteeredWatch(Facts);

impl Watch for SteeredWatch {
    fn run(mut self: Box<Self>, port: Box<dyn WatchPort>) -> Local<'static, ()> {
        Box::pin(async move {
            port.observe(CHAIN, &VAULT, None, 0).await;
            // A test that has nothing deposited has everything told.
            port.caught_up();
            while let Some((fact, answer)) = self.0.recv().await {
                let told = match fact {
                    Fact::Release(release) => {
                        while !port.takes_releases() {
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                        port.release(release).await
                    }
                    Fact::Block(block) => port.advance(block).await,
                    Fact::Held(block, held) if port.wants_held(block.chain_id, &block.vault).is_empty() => {
                        drop(held);
                        Told::Later
                    }
                    Fact::Held(block, held) => {
                        port.held(block, held);
                        Told::Taken
                    }
                    Fact::Deposit(deposit) => port.deposit(deposit).await,
                    Fact::Stops(stops) => port.stop(stops).await,
                    Fact::Signer(signer, block) => port.observe(CHAIN, &VAULT, Some(signer), block).await,
                    Fact::Replaced(replaced) => port.replaced(replaced).await,
                    Fact::SeenDeposit(deposit, confirmations) => {
                        port.seen_deposit(deposit, confirmations);
                        Told::Taken
                    }
                    Fact::Seen(release, confirmations) => {
                        port.seen(release.key, release.tx_hash, confirmations);
                        Told::Taken
                    }
                };
                // The test has given up.
                let _ = answer.send(told);
            }
        })
    }
}

/// The running thread of the chain.
pub(crate) struct Chain {
    facts: mpsc::UnboundedSender<(Fact, std::sync::mpsc::Sender<Told>)>,
    shutdown: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Chain {
    /// Starts it beside an exchange.
    pub(crate) fn start(exchange: &Exchange, signer: Option<SteeredSigner>) -> Chain {
        let (facts, received) = mpsc::unbounded_channel();
        let parts = Parts {
            signer: signer.map(|signer| Box::new(signer) as Box<dyn Signer>),
            watch: Some(Box::new(SteeredWatch(received))),
            former: None,
            referrals: None,
        };
        let has_signer = parts.signer.is_some();
        let shutdown = CancellationToken::new();
        let thread = start(exchange.shared.for_chain(), parts, shutdown.clone()).expect("a thread");
        let chain = Chain { facts, shutdown, thread: Some(thread) };
        // The desk is open once the thread runs.
        let begin = Instant::now();
        while has_signer && !exchange.shared.desk.is_open() && begin.elapsed() < super::PATIENCE {
            std::thread::yield_now();
        }
        chain
    }

    /// Tells a fact, and turns the stages until it is judged.
    pub(crate) fn tell(&self, exchange: &mut Exchange, fact: Fact) -> Told {
        let (sender, answer) = std::sync::mpsc::channel();
        assert!(self.facts.send((fact, sender)).is_ok(), "the watch runs");
        let begin = Instant::now();
        loop {
            exchange.turn();
            if let Ok(told) = answer.recv_timeout(Duration::from_millis(1)) {
                return told;
            }
            assert!(begin.elapsed() < super::PATIENCE, "a fact was not judged");
        }
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.shutdown.cancel();
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}
