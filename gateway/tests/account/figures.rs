//! Figures of withdrawals as operators scrape them: there where a chain is configured, absent where none is.

use super::{venue_after, venue_with};
use crate::exchange::ADMIN_KEY;
use crate::exchange::chain::{CHAIN, Chain, DF, Fact, Mood, SteeredSigner, VAULT, configure};
use crate::exchange::venue::Venue;
use crate::exchange::wallet;
use ringside_chain::{FinalBlock, FinalRelease, ReleaseKey, Told};
use ringside_core::event::AlarmReason;
use std::collections::BTreeMap;

/// Samples by name and labels.
fn figures(venue: &mut Venue) -> BTreeMap<String, String> {
    let page = venue.exchange.request("GET", "/metrics", &[format!("X-API-Key: {ADMIN_KEY}")], "").body;
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn withdraw(venue: &mut Venue, amount: &str) -> u16 {
    let body = format!(r#"{{"token":"USDT","amount":"{amount}"}}"#);
    venue.asks(2, "POST", "/withdraw/request", &body).0
}

#[test]
fn without_a_chain_nothing_is_said_of_one() {
    let mut venue = venue_after(&[]);
    let words = ["withdrawal", "signer", "chain", "vault"];
    let said: Vec<String> = figures(&mut venue)
        .into_keys()
        .filter(|name| words.iter().any(|word| name.starts_with(&format!("ringside_{word}"))))
        .collect();
    assert_eq!(said, [""; 0]);
}

#[test]
fn withdrawals_are_counted_by_how_far_they_are() {
    let mut venue = venue_with(&[], configure);
    let signer = SteeredSigner::default();
    let chain = Chain::start(&venue.exchange, Some(signer.clone()));
    let count = |venue: &mut Venue, status: &str| {
        figures(venue)[&format!("ringside_withdrawals{{ledger=\"perpetual\",status=\"{status}\"}}")].clone()
    };
    for status in ["requested", "signed", "confirmed", "expired", "returned", "void"] {
        assert_eq!(count(&mut venue, status), "0", "{status}");
    }
    assert_eq!((withdraw(&mut venue, "10"), withdraw(&mut venue, "20")), (200, 200));
    assert_eq!(count(&mut venue, "signed"), "2");
    let seen = figures(&mut venue);
    assert_eq!(seen["ringside_signer_up"], "1");
    assert!(seen["ringside_signer_questions_total{outcome=\"answered\"}"].parse::<u32>().unwrap() >= 2);
    assert_eq!(seen["ringside_withdrawal_unsigned_seconds"], "0");

    // The vault pays the first; the second expires.
    let start_s = venue.exchange.clock.now_s() as u64;
    let token = crate::exchange::chain::USDT;
    let key = |nonce| ReleaseKey { chain_id: CHAIN, vault: VAULT, account: wallet(2), nonce };
    let release = |key, token, value, block| {
        let block_time_s = start_s + 60;
        Fact::Release(FinalRelease { key, token, value, tx_hash: [7; 32], block, block_time_s })
    };
    assert_eq!(chain.tell(&mut venue.exchange, release(key(0), token, 10_000_000, 77)), Told::Taken);
    assert_eq!(
        (count(&mut venue, "signed"), count(&mut venue, "confirmed")),
        ("1".to_owned(), "1".to_owned())
    );
    venue.pass(100_000_000);
    let time_s = start_s + 90_000;
    let block = FinalBlock { chain_id: CHAIN, vault: VAULT, block: 99, hash: [9; 32], time_s };
    assert_eq!(chain.tell(&mut venue.exchange, Fact::Block(block)), Told::Taken);
    assert_eq!((count(&mut venue, "signed"), count(&mut venue, "expired")), ("0".to_owned(), "1".to_owned()));
    let seen = figures(&mut venue);
    assert_eq!(seen["ringside_vault_block"], "99");
    assert_eq!(
        seen["ringside_vault_block_age_seconds"],
        (venue.exchange.clock.now_s() as u64 - time_s).to_string()
    );

    // A signer that is away, and its request that goes back.
    signer.mood(Mood::IsAway);
    assert_eq!(withdraw(&mut venue, "30"), 503);
    let seen = figures(&mut venue);
    assert_eq!(seen["ringside_signer_up"], "0");
    assert_ne!(seen["ringside_signer_questions_total{outcome=\"unreachable\"}"], "0");
    assert_eq!(count(&mut venue, "returned"), "1");

    // Nodes that do not agree, an operator, and a payment that nothing explains.
    let paused = |venue: &mut Venue| {
        let seen = figures(venue);
        ["operator", "chain", "alarm"]
            .map(|reason| seen[&format!("ringside_withdrawals_paused{{reason=\"{reason}\"}}")].clone())
            .concat()
    };
    assert_eq!(paused(&mut venue), "000");
    assert_eq!(chain.tell(&mut venue.exchange, Fact::paused(true)), Told::Taken);
    venue.operate("POST", "/admin/withdrawals/pause", r#"{"paused":true}"#);
    assert_eq!(paused(&mut venue), "110");
    assert_eq!(chain.tell(&mut venue.exchange, release(key(1), DF, 1, 120)), Told::Alarm);
    assert_eq!(paused(&mut venue), "111");
    let disputed: Vec<u64> = figures(&mut venue)
        .iter()
        .filter(|(name, _)| name.starts_with("ringside_release_alarms_total{reason="))
        .map(|(_, count)| count.parse().unwrap())
        .collect();
    assert_eq!((disputed.len(), disputed.iter().sum::<u64>()), (AlarmReason::ALL.len(), 1));

    // Counted again from what was saved.
    drop(chain);
    venue.exchange.restart_with(configure);
    assert_eq!(
        (count(&mut venue, "confirmed"), count(&mut venue, "expired")),
        ("1".to_owned(), "1".to_owned())
    );
    assert!(!figures(&mut venue).contains_key("ringside_signer_up"), "no signer runs beside it now");
}
