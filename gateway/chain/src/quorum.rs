//! Several nodes of independent owners, of which enough must say the same before anything counts.
//!
//! A node that fails, lags, does not know or is on another chain is no voice. Two different answers, of which none has enough voices, are a
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
        let ask = async |provider: &Provider, (): &()| {
            let head = provider.block(At::Latest).await?.number;
            let finalized = if with_finalized {
                provider.block(At::Finalized).await.ok().map(|block| block.number)
            } else {
                None
            };
            Ok((head, finalized))
        };
        let answers = self.ask(&[()], ask).await.remove(0);
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
        self.blocks(&[number]).await.remove(0)
    }

    /// The blocks of some numbers.
    pub async fn blocks(&self, numbers: &[u64]) -> Vec<Result<Header, Doubt>> {
        let ask = async |provider: &Provider, number: &u64| provider.block(At::Number(*number)).await;
        let answers = self.ask(numbers, ask).await;
        let of = numbers.iter().zip(&answers);
        of.map(|(number, answers)| self.agree(answers, || format!("block {number}"))).collect()
    }

    /// The events of a vault in some blocks.
    pub async fn events(&self, vault: &Address, blocks: &[Header]) -> Vec<Result<Vec<VaultEvent>, Doubt>> {
        let ask = async |provider: &Provider, block: &Header| provider.events(vault, block).await;
        let answers = self.ask(blocks, ask).await;
        let of = blocks.iter().zip(&answers);
        of.map(|(block, answers)| self.agree(answers, || format!("the events of block {}", block.number)))
            .collect()
    }

    /// What stands at the address of a vault as of a block.
    pub async fn standing(&self, vault: &Address, block: u64) -> Result<Standing, Doubt> {
        let ask = async |provider: &Provider, block: &u64| provider.standing(vault, *block).await;
        let answers = self.ask(&[block], ask).await;
        self.agree(&answers[0], || format!("the vault as of block {block}"))
    }

    /// What a contract holds of a token as of a block.
    pub async fn held(&self, holder: &Address, token: &Address, block: u64) -> Result<u128, Doubt> {
        let ask = async |provider: &Provider, block: &u64| provider.held(holder, token, *block).await;
        let answers = self.ask(&[block], ask).await;
        self.agree(&answers[0], || format!("what the vault holds as of block {block}"))
    }

    /// Asks every node about each of some things; answers by thing, and in it by node. Those that did not know, or said nonsense, are
    /// asked again while too few have answered: a node that does so now and then is not lost for the whole look. One that is
    /// silent, or says that it is asked too much, is left alone. One that is then on another chain has said nothing.
    async fn ask<I, T>(
        &self,
        things: &[I],
        ask: impl AsyncFn(&Provider, &I) -> Result<T, ProviderFault>,
    ) -> Vec<Vec<Result<T, ProviderFault>>> {
        let nodes = self.providers.len();
        let unasked = || (0..nodes).map(|_| Err(ProviderFault::Missing)).collect();
        let mut answers: Vec<Vec<Result<T, ProviderFault>>> = things.iter().map(|_| unasked()).collect();
        let mut open: Vec<(usize, usize)> =
            (0..things.len()).flat_map(|thing| (0..nodes).map(move |node| (thing, node))).collect();
        for _ in 0..=ASKED_AGAIN {
            let asked = open.iter().map(|&(thing, node)| ask(&self.providers[node], &things[thing]));
            for (&(thing, node), answer) in open.iter().zip(join_all(asked).await) {
                answers[thing][node] = answer;
            }
            open.retain(|&(thing, node)| {
                let known = answers[thing].iter().filter(|answer| answer.is_ok()).count();
                known < self.needed && answers[thing][node].as_ref().is_err_and(is_passing)
            });
            if open.is_empty() {
                break;
            }
        }
        self.leave_out_strangers(&mut answers).await;
        answers
    }

    /// Takes back what nodes said that are on another chain by now: an address may lead to another node than it did. Asked after they
    /// answered, once for all that they were asked together.
    async fn leave_out_strangers<T>(&self, answers: &mut [Vec<Result<T, ProviderFault>>]) {
        let has_spoken = |node: &usize| answers.iter().any(|of_thing| of_thing[*node].is_ok());
        let spoke: Vec<usize> = (0..self.providers.len()).filter(has_spoken).collect();
        let judge = async |node: &usize| {
            let mut judged = self.providers[*node].judge_chain(self.chain_id).await;
            for _ in 0..ASKED_AGAIN {
                if !judged.as_ref().is_err_and(is_passing) {
                    break;
                }
                judged = self.providers[*node].judge_chain(self.chain_id).await;
            }
            judged
        };
        let judged = join_all(spoke.iter().map(judge)).await;
        for (node, judged) in spoke.into_iter().zip(judged) {
            let figures = &self.figures.nodes[node];
            let was_stranger = figures.is_stranger.get() == 1;
            match &judged {
                Err(ProviderFault::OtherChain(chain)) => {
                    figures.is_stranger.set(1);
                    if !was_stranger {
                        let node = &figures.name;
                        tracing::error!(
                            node,
                            chain,
                            own = self.chain_id,
                            "a node is on another chain: it has no voice"
                        );
                    }
                }
                Ok(()) if was_stranger => {
                    figures.is_stranger.set(0);
                    tracing::info!(node = &figures.name, "a node is on this chain again");
                }
                _ => {}
            }
            if let Err(fault) = judged {
                answers.iter_mut().for_each(|of_thing| of_thing[node] = Err(fault.clone()));
            }
        }
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

/// Whether the same question may be answered a moment later.
fn is_passing(fault: &ProviderFault) -> bool {
    !matches!(fault, ProviderFault::Transport(_) | ProviderFault::OtherChain(_))
}

/// Who says the same as whom, without what they say.
fn spell<T>(voices: &BTreeMap<&T, Vec<&str>>) -> String {
    let groups: Vec<_> = voices.values().map(|names| names.join(" and ")).collect();
    groups.join(" against ")
}
