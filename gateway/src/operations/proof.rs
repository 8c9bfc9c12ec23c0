//! The newest proof of reserves: what is owed, held and missing of each token. Amounts are whole tokens, for people and alerts.

use ringside_chain::proof::ProvenToken;
use ringside_core::ids;
use ringside_core::money::Amount;
use ringside_dialect::fapi::text;
use ringside_edge::metrics::{Kind, Page, Seconds};
use ringside_edge::worker::Shared;

pub(super) fn write(page: &mut Page, shared: &Shared) {
    let proofs = &shared.proofs;
    page.gauge(
        "ringside_proof_every_seconds",
        "How often a proof of reserves is made",
        proofs.every().as_secs(),
    );
    let Some(proof) = proofs.newest() else { return };
    page.gauge(
        "ringside_proof_age_seconds",
        "Since the newest proof of reserves was made",
        Seconds(proof.age().as_nanos()),
    );
    let mut each = |name, help, of: fn(&ProvenToken) -> Option<Amount>| {
        page.family(name, Kind::Gauge, help);
        for token in &proof.tokens {
            if let Some(amount) = of(token) {
                page.sample(&[("token", ids::text(&token.name))], text::amount(amount));
            }
        }
    };
    each("ringside_reserves_owed", "What all ledgers owe", |token| Some(token.owed()));
    each("ringside_reserves_held", "What the vaults hold", |token| token.held);
    each("ringside_reserves_unbacked", "What was credited out of nothing", |token| Some(token.unbacked));
    each("ringside_reserves_missing", "What is owed, not unbacked and not held", |token| {
        token.held.map(|_| token.missing())
    });
}
