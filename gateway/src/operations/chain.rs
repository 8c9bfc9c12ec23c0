//! Withdrawals, the signer and the chain's nodes, for a deployment that has any of them: what is not configured is not on the page.

use ringside_chain::figures::NodesFigures;
use ringside_chain::signer::figures::Outcome;
use ringside_core::command::{DepositStatus, Ledger, WithdrawalStatus, pause};
use ringside_core::event::AlarmReason;
use ringside_edge::metrics::{Kind, Page, Seconds};
use ringside_edge::worker::Shared;
use ringside_views::Views;

pub(super) fn write(page: &mut Page, shared: &Shared) {
    {
        let views = shared.views.read();
        if shared.config.vault_address.is_some() || views.withdrawals().vault(0).is_some() {
            withdrawals(page, &views, shared.clock.now_s().max(0) as u64);
        }
    }
    if shared.desk.is_open() {
        signer(page, shared);
    }
    if let Some(figures) = &*shared.metrics.nodes.lock() {
        nodes(page, figures);
    }
}

fn word(of: impl std::fmt::Debug) -> String {
    format!("{of:?}").to_lowercase()
}

fn withdrawals(page: &mut Page, views: &Views, now_s: u64) {
    let withdrawals = views.withdrawals();
    page.family(
        "ringside_withdrawals",
        Kind::Gauge,
        "Withdrawals by the ledger they come from and how far they are",
    );
    for ledger in Ledger::ALL {
        for status in WithdrawalStatus::ALL {
            let labels = [("ledger", &*word(ledger)), ("status", &*word(status))];
            page.sample(&labels, withdrawals.count(*ledger, *status));
        }
    }
    let oldest = withdrawals.unsigned().find(|record| record.status.holds_amount());
    page.gauge(
        "ringside_withdrawal_unsigned_seconds",
        "How long the oldest withdrawal has waited for its signature; 0 where none does",
        oldest.map_or(0, |record| now_s.saturating_sub(record.requested_at_s)),
    );
    page.family(
        "ringside_release_alarms_total",
        Kind::Counter,
        "Releases that must be impossible, by what is wrong",
    );
    for reason in AlarmReason::ALL {
        let count = withdrawals.alarms().iter().filter(|alarm| alarm.reason == *reason as u8).count();
        page.sample(&[("reason", &word(reason))], count);
    }
    page.gauge(
        "ringside_withdrawals_disputed",
        "Withdrawals for whose nonce the vault paid something else, which two operators have to settle",
        withdrawals.disputed(views.accounts()).count(),
    );
    page.family("ringside_withdrawals_paused", Kind::Gauge, "1 while withdrawals are paused, by the reason");
    for (bit, reason) in pause::WORDS {
        page.sample(&[("reason", reason)], u64::from(withdrawals.paused() & bit != 0));
    }
    page.family("ringside_deposits", Kind::Gauge, "Deposits by how far they are");
    for status in DepositStatus::ALL {
        page.sample(&[("status", &*word(status))], views.deposits().count(*status));
    }
    if let Some(vault) = withdrawals.vault(0).filter(|vault| vault.block > 0) {
        page.gauge(
            "ringside_vault_block",
            "The last final block up to which the vault is known",
            vault.block,
        );
        page.gauge(
            "ringside_vault_block_age_seconds",
            "The wall clock less the time of that block",
            now_s.saturating_sub(vault.time_s),
        );
    }
}

fn signer(page: &mut Page, shared: &Shared) {
    let figures = shared.desk.figures();
    page.gauge("ringside_signer_up", "1 while the signer answers what it is asked", figures.up.get());
    page.family(
        "ringside_signer_questions_total",
        Kind::Counter,
        "Questions to the signer, by what came of them",
    );
    for (outcome, word) in Outcome::ALL {
        page.sample(&[("outcome", word)], figures.questions[outcome as usize].get());
    }
}

fn nodes(page: &mut Page, figures: &NodesFigures) {
    page.gauge("ringside_chain_nodes_needed", "Nodes that must say the same", figures.needed);
    page.gauge(
        "ringside_chain_nodes_agreeing",
        "Nodes that said the same of the last block",
        figures.agreeing.get(),
    );
    page.gauge("ringside_chain_head", "The newest block that enough nodes have reached", figures.head.get());
    page.gauge(
        "ringside_chain_head_age_seconds",
        "Since that last grew, as far as this process knows",
        Seconds(figures.head_age().as_nanos()),
    );
    page.family(
        "ringside_chain_turns_total",
        Kind::Counter,
        "Looks at the chain, by whether anything could be concluded",
    );
    for (turns, outcome) in figures.turns.iter().zip(["done", "in_doubt"]) {
        page.sample(&[("outcome", outcome)], turns.get());
    }
    let mut each = |name, kind, help, of: fn(&ringside_chain::figures::NodeFigures) -> u64| {
        page.family(name, kind, help);
        for node in &figures.nodes {
            page.sample(&[("node", &node.name)], of(node));
        }
    };
    each("ringside_chain_node_up", Kind::Gauge, "1 where a node answered when it was last asked", |node| {
        node.up.get()
    });
    each("ringside_chain_node_head", Kind::Gauge, "The newest block that a node told of", |node| {
        node.head.get()
    });
    each(
        "ringside_chain_node_failures_total",
        Kind::Counter,
        "Questions how far the chain is that came to nothing",
        |node| node.failures.get(),
    );
    each(
        "ringside_chain_node_stranger",
        Kind::Gauge,
        "1 where a node is on another chain, so that nothing it says counts",
        |node| node.is_stranger.get(),
    );
    each(
        "ringside_chain_node_dissents_total",
        Kind::Counter,
        "Answers that enough other nodes contradict",
        |node| node.dissents.get(),
    );
}
