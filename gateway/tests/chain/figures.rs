//! What is counted of nodes: who answers, who is behind, who stands alone.

use crate::faults::FAULTS;
use crate::world::{CHAIN_ID, Mood, Node, World};
use futures_util::FutureExt;
use ringside_chain::figures::NodesFigures;
use ringside_chain::provider::Provider;
use ringside_chain::quorum::Quorum;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

fn fault(name: &str) -> Mood {
    Mood::Faulty(FAULTS.iter().position(|fault| fault.name == name).expect("a fault of that name"))
}

/// Three nodes of a chain of twenty blocks, of which two must agree; their moods and their figures.
fn quorum() -> (Quorum, Vec<Rc<Cell<Mood>>>, Arc<NodesFigures>) {
    let world = Rc::new(RefCell::new(World::new(1_700_000_000, u64::MAX)));
    for _ in 0..20 {
        world.borrow_mut().mine(1, true);
    }
    let names = ["one", "two", "two"];
    let (nodes, moods): (Vec<Node>, Vec<_>) = names.map(|name| Node::new(name, &world)).into_iter().unzip();
    let providers = nodes.into_iter().map(|node| Provider::new(Box::new(node))).collect();
    let figures = Arc::new(NodesFigures::new(names.into_iter().map(str::to_owned), 2));
    (Quorum::new(CHAIN_ID, providers, 2).counted(figures.clone()), moods, figures)
}

#[test]
fn nodes_are_counted_by_what_they_say() {
    let (quorum, moods, figures) = quorum();
    let look = || {
        let height = quorum.height(false).now_or_never().unwrap();
        (height.map(|height| height.head).ok(), quorum.block(5).now_or_never().unwrap().is_ok())
    };
    let all = |of: fn(&ringside_chain::figures::NodeFigures) -> u64| -> Vec<u64> {
        figures.nodes.iter().map(of).collect()
    };
    // Two at one address have names of their own.
    let names: Vec<&str> = figures.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "two (3)"]);

    assert_eq!(look(), (Some(20), true));
    assert_eq!((figures.head.get(), figures.agreeing.get()), (20, 3));
    assert_eq!((all(|node| node.up.get()), all(|node| node.head.get())), (vec![1; 3], vec![20; 3]));

    moods[1].set(Mood::Lags(7));
    assert_eq!(look(), (Some(20), true));
    assert_eq!((figures.head.get(), all(|node| node.head.get())), (20, vec![20, 13, 20]));

    // One of three that lies stands alone, and is told apart.
    moods[1].set(fault("a forged hash"));
    assert_eq!(look(), (Some(20), true));
    assert_eq!(figures.agreeing.get(), 2);
    assert_eq!(all(|node| node.dissents.get()), [0, 1, 0]);

    // One that fails does not answer; what it said before stays.
    moods[1].set(fault("refuses connections"));
    assert_eq!(look(), (Some(20), true));
    assert_eq!((all(|node| node.up.get()), all(|node| node.failures.get())), (vec![1, 0, 1], vec![0, 1, 0]));

    // Two that fail: one voice agrees with itself, and nothing is concluded.
    moods[2].set(fault("refuses connections"));
    assert_eq!(look(), (None, false));
    assert_eq!((figures.agreeing.get(), figures.head.get()), (1, 20));
    assert!(figures.head_age() < std::time::Duration::from_secs(3_600));
}

/// C-18: also where an address led to a node of this chain when the look began.
#[test]
fn a_node_of_another_chain_has_no_voice_at_any_question() {
    let (quorum, moods, figures) = quorum();
    let strangers = || figures.nodes.iter().map(|node| node.is_stranger.get()).collect::<Vec<_>>();
    assert_eq!(quorum.height(false).now_or_never().unwrap().unwrap().head, 20);
    let block = quorum.block(5).now_or_never().unwrap().unwrap();
    assert_eq!((figures.agreeing.get(), strangers()), (3, vec![0, 0, 0]));

    // Everything else it says is what the others say: a chain that began as this one did.
    moods[1].set(fault("another chain"));
    assert_eq!(quorum.block(5).now_or_never().unwrap(), Ok(block));
    assert_eq!((figures.agreeing.get(), strangers()), (2, vec![0, 1, 0]));
    moods[2].set(fault("another chain"));
    let asked = || {
        let (vault, token) = (crate::world::VAULT, [7; 20]);
        [
            quorum.height(false).now_or_never().unwrap().map(|_| ()),
            quorum.block(5).now_or_never().unwrap().map(|_| ()),
            quorum.events(&vault, &[block]).now_or_never().unwrap().remove(0).map(|_| ()),
            quorum.standing(&vault, 5).now_or_never().unwrap().map(|_| ()),
            quorum.held(&vault, &token, 5).now_or_never().unwrap().map(|_| ()),
        ]
    };
    for refused in asked() {
        let doubt = refused.unwrap_err().to_string();
        let said = "two: it is on chain 1; two: it is on chain 1";
        assert!(doubt.starts_with("1 of 2 nodes know ") && doubt.ends_with(said), "{doubt}");
    }
    assert_eq!(strangers(), [0, 1, 1]);
    assert_eq!(figures.nodes.iter().map(|node| node.up.get()).collect::<Vec<_>>(), [1, 0, 0]);

    moods[1].set(Mood::Honest);
    assert!(asked().iter().all(Result::is_ok));
    assert_eq!((figures.agreeing.get(), strangers()), (2, vec![0, 0, 1]));
}
