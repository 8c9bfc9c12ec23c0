//! Several nodes of independent owners, of which enough must say the same before anything counts.
//!
//! A node that fails, lags or does not know is no voice. Two different answers, of which none has enough voices, are a
//! disagreement: nothing is concluded from it, least of all by majority of one. How long to put up with that is decided by
//! `watcher.rs`.

use super::figures::NodesFigures;
use super::provider::{At, Header, Provider, ProviderFault, Standing, VaultEvent};
use futures_util::future::join_all;
use ringside_core::ids::Address;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How often a node that did not know is asked again within one look.
const ASKED_AGAIN: usize = 2;

/// Why nothing can be concluded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// Too few nodes answered.
    #[error("{answered} of {needed} nodes know {what}: {faults}")]
    TooFew {
        /// How many did.
        answered: usize,
        /// How many are needed.
        needed: usize,
        /// What was asked.
        what: String,
        /// What the others said.
        faults: String,
    },
    /// Nodes say different things.
    #[error("nodes disagree about {what}: {voices}")]
    Disagree {
        /// About what.
        what: String,
        /// Who says the same.
        voices: String,
    },
}

/// How far the chain is, as enough nodes know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Height {
    /// The newest block that enough nodes have reached.
    pub head: u64,
    /// The newest that enough nodes call final, where that is asked for.
    pub finalized: Option<u64>,
}

/// Nodes of one chain.
pub struct Quorum {
    chain_id: u64,
    providers: Vec<Provider>,
    needed: usize,
    figures: Arc<NodesFigures>,
}

impl Quorum {
    /// Nodes of which `needed` must agree; at least one, and no more than there are.
    pub fn new(chain_id: u64, providers: Vec<Provider>, needed: usize) -> Quorum {
        assert!((1..=providers.len()).contains(&needed), "a quorum of the nodes that there are");
        let names = providers.iter().map(|provider| provider.name().to_owned());
        let figures = Arc::new(NodesFigures::new(names, needed));
        Quorum { chain_id, providers, needed, figures }
    }

    /// The same, counting into figures of these very nodes that somebody else reads.
    pub fn counted(self, figures: Arc<NodesFigures>) -> Quorum {
        Quorum { figures, ..self }
    }

    /// What is counted of the nodes.
    pub fn figures(&self) -> &NodesFigures {
        &self.figures
    }

    /// How far the chain is. A node that claims too much moves nothing as long as the others do not follow.
    pub async fn height(&self, with_finalized: bool) -> Result<Height, Doubt> {
        let ask = async |provider: &Provider| {
            provider.judge_chain(self.chain_id).await?;
            let head = provider.block(At::Latest).await?.number;
            let finalized = if with_finalized {
                provider.block(At::Finalized).await.ok().map(|block| block.number)
            } else {
                None
            };
            Ok((head, finalized))
        };
        let answers = self.ask(ask).await;
        for (node, answer) in self.figures.nodes.iter().zip(&answers) {
            node.up.set(answer.is_ok().into());
            match answer {
                Ok((head, _)) => node.head.set(*head),
                Err(_) => node.failures.add(1),
            }
        }
        let heights: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
        let head = self.reached(heights.iter().map(|(head, _)| *head));
        self.figures.reached(head.unwrap_or(0));
        let finalized = self.reached(heights.iter().filter_map(|(_, finalized)| *finalized));
        match head {
            Some(head) => Ok(Height { head, finalized }),
            None => Err(self.too_few("how far the chain is", &answers)),
        }
    }

    /// The block of a number.
    pub async fn block(&self, number: u64) -> Result<Header, Doubt> {
        let answers = self.ask(async |provider: &Provider| provider.block(At::Number(number)).await).await;
        self.agree(&answers, || format!("block {number}"))
    }

    /// The events of a vault in a block.
    pub async fn events(&self, vault: &Address, block: &Header) -> Result<Vec<VaultEvent>, Doubt> {
        let answers = self.ask(async |provider: &Provider| provider.events(vault, block).await).await;
        self.agree(&answers, || format!("the events of block {}", block.number))
    }

    /// What stands at the address of a vault as of a block.
    pub async fn standing(&self, vault: &Address, block: u64) -> Result<Standing, Doubt> {
        let answers = self.ask(async |provider: &Provider| provider.standing(vault, block).await).await;
        self.agree(&answers, || format!("the vault as of block {block}"))
    }

    /// What a contract holds of a token as of a block.
    pub async fn held(&self, holder: &Address, token: &Address, block: u64) -> Result<u128, Doubt> {
        let answers = self.ask(async |provider: &Provider| provider.held(holder, token, block).await).await;
        self.agree(&answers, || format!("what the vault holds as of block {block}"))
    }

    /// Asks every node. Those that did not know, or said nonsense, are asked again while too few have answered: a node that does
    /// so now and then is not lost for the whole look. One that is silent, or says that it is asked too much, is left alone.
    async fn ask<T>(
        &self,
        ask: impl AsyncFn(&Provider) -> Result<T, ProviderFault>,
    ) -> Vec<Result<T, ProviderFault>> {
        let mut answers = join_all(self.providers.iter().map(|provider| ask(provider))).await;
        for _ in 0..ASKED_AGAIN {
            let is_passing = |answer: &Result<T, ProviderFault>| {
                answer.as_ref().is_err_and(|fault| !matches!(fault, ProviderFault::Transport(_)))
            };
            let again: Vec<usize> = (0..answers.len()).filter(|&place| is_passing(&answers[place])).collect();
            if again.is_empty() || answers.iter().filter(|answer| answer.is_ok()).count() >= self.needed {
                break;
            }
            let more = join_all(again.iter().map(|&place| ask(&self.providers[place]))).await;
            for (place, answer) in again.into_iter().zip(more) {
                answers[place] = answer;
            }
        }
        answers
    }

    /// The highest that enough nodes have reached.
    fn reached(&self, heights: impl Iterator<Item = u64>) -> Option<u64> {
        let mut heights: Vec<u64> = heights.collect();
        heights.sort_unstable_by(|a, b| b.cmp(a));
        heights.get(self.needed - 1).copied()
    }

    /// The answer that enough nodes gave.
    fn agree<T: Clone + Ord>(
        &self,
        answers: &[Result<T, ProviderFault>],
        what: impl Fn() -> String,
    ) -> Result<T, Doubt> {
        let mut voices: BTreeMap<&T, Vec<&str>> = BTreeMap::new();
        for (provider, answer) in self.providers.iter().zip(answers) {
            if let Ok(answer) = answer {
                voices.entry(answer).or_default().push(provider.name());
            }
        }
        self.figures.agreeing.set(voices.values().map(Vec::len).max().unwrap_or(0) as u64);
        let mut enough = voices.iter().filter(|(_, names)| names.len() >= self.needed);
        match (enough.next(), enough.next()) {
            (Some((answer, _)), None) => {
                if voices.len() > 1 {
                    for (node, said) in self.figures.nodes.iter().zip(answers) {
                        node.dissents.add(said.as_ref().is_ok_and(|said| said != *answer).into());
                    }
                    tracing::error!(what = what(), voices = spell(&voices), "a node stands alone");
                }
                Ok((*answer).clone())
            }
            _ if voices.len() > 1 => Err(Doubt::Disagree { what: what(), voices: spell(&voices) }),
            _ => Err(self.too_few(&what(), answers)),
        }
    }

    fn too_few<T>(&self, what: &str, answers: &[Result<T, ProviderFault>]) -> Doubt {
        let fault = |(provider, answer): (&Provider, &Result<T, ProviderFault>)| {
            answer.as_ref().err().map(|fault| format!("{}: {fault}", provider.name()))
        };
        let faults: Vec<_> = self.providers.iter().zip(answers).filter_map(fault).collect();
        Doubt::TooFew {
            answered: answers.len() - faults.len(),
            needed: self.needed,
            what: what.to_owned(),
            faults: faults.join("; "),
        }
    }
}

impl fmt::Debug for Quorum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.providers.iter().map(Provider::name).collect();
        write!(f, "{} of {names:?} on chain {}", self.needed, self.chain_id)
    }
}

/// Who says the same as whom, without what they say.
fn spell<T>(voices: &BTreeMap<&T, Vec<&str>>) -> String {
    let groups: Vec<_> = voices.values().map(|names| names.join(" and ")).collect();
    groups.join(" against ")
}
