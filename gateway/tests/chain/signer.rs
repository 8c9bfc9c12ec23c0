//! The signer and its log: one live digest per nonce, whatever is cut, killed or asked again.

use crate::histories::policy;
use crate::world::{CHAIN_ID, TOKEN, VAULT};
use ringside_auth::jwt::Tokens;
use ringside_chain::signer::limits::{Limits, Policy};
use ringside_chain::signer::process::{CONNECTIONS_MAX, bind, serve};
use ringside_chain::signer::remote::RemoteSigner;
use ringside_chain::signer::settings::{SignerSettings, key_of_file, key_of_text};
use ringside_chain::signer::shape::{Asked, Question, ReleaseText, Reply};
use ringside_chain::signer::{ISSUED_MAX, LocalSigner, OpenError};
use ringside_chain::{Consent, Lead, Release, ReleaseKey, SignedRelease, Signer, SignerFault};
use ringside_commands::clock::Clock;
use ringside_core::ids::Address;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

const NOW_S: u64 = 1_700_000_000;
const DAY_S: u64 = 86_400;

/// The key 1 of the vectors.
pub(crate) fn key() -> Zeroizing<[u8; 32]> {
    key_of_text(&format!("{:064x}", 1)).unwrap()
}

const TOKEN_SECRET: &[u8] = b"the secret of the venue's login tokens";

/// The venue's tokens, as the signer reads them.
fn tokens() -> Tokens {
    Tokens::new(TOKEN_SECRET)
}

/// What a wallet got when it logged in so many seconds after the beginning.
fn login(account: &Address, after_s: i64) -> Consent {
    let minted = tokens().mint(1, account, "one".to_owned(), NOW_S as i64 + after_s);
    Consent::new(&minted.unwrap().0)
}

/// Asks for a signature as the account itself does, which has just logged in.
pub(crate) fn sign(signer: &mut dyn Signer, release: &Release) -> Result<SignedRelease, SignerFault> {
    // Later than any clock of these tests is turned to.
    signer.sign_release(release, Some(&login(&release.key.account, 400_000_000)))
}

/// A folder of a test's own, in memory where there is such a place; gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = base.join(format!("ringside-chain-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn signer(&self, log: &str, policy: Policy, clock: Clock) -> LocalSigner {
        LocalSigner::open(&self.path(log), &key(), tokens(), policy, clock).unwrap()
    }

    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn clock() -> Clock {
    Clock::manual(NOW_S as i64 * 1_000)
}

fn release(account: u8, nonce: u64, value: u128) -> Release {
    Release {
        key: ReleaseKey { chain_id: CHAIN_ID, vault: VAULT, account: [account; 20], nonce },
        vault_name: "SpotVault".to_owned(),
        token: TOKEN,
        value,
        deadline_s: NOW_S + DAY_S,
        requested_at_s: NOW_S,
        withdrawal: 1,
    }
}

fn refused(answer: Result<SignedRelease, SignerFault>) -> String {
    match answer {
        Err(SignerFault::Refused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_release_gives_the_same_bytes_and_another_for_its_nonce_none() {
    let folder = Folder::new("same");
    let mut signer = folder.signer("log", policy(), clock());
    let first = sign(&mut signer, &release(1, 0, 5)).unwrap();
    assert!(first.is_of(&release(1, 0, 5), &signer.address()));
    assert_eq!(sign(&mut signer, &release(1, 0, 5)), Ok(first));
    let nonce = "another release holds this nonce and may still be paid";
    assert_eq!(refused(sign(&mut signer, &release(1, 0, 6))), nonce);
    let later = Release { deadline_s: NOW_S + DAY_S + 1, requested_at_s: NOW_S + 1, ..release(1, 0, 5) };
    assert_eq!(refused(sign(&mut signer, &later)), nonce);
    // At the deadline the first may still be in a block of that second; after it, it is dead.
    let at =
        |requested_at_s| Release { deadline_s: requested_at_s + DAY_S, requested_at_s, ..release(1, 0, 6) };
    assert_eq!(refused(sign(&mut signer, &at(NOW_S + DAY_S))), nonce);
    let second = sign(&mut signer, &at(NOW_S + DAY_S + 1)).unwrap();
    assert_ne!(second, first);
    assert_eq!(refused(sign(&mut signer, &release(1, 0, 5))), nonce, "the former is no longer signed again");
    assert_eq!(signer.find(&release(1, 0, 0).key).unwrap().unwrap().signed, second);
    assert_eq!(signer.find(&release(1, 1, 0).key), Ok(None));
    let entries = signer.issued(0).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.signed).collect::<Vec<_>>(), [first, second]);
    // Other nonces and accounts are free.
    sign(&mut signer, &release(1, 1, 6)).unwrap();
    sign(&mut signer, &release(2, 0, 6)).unwrap();
}

#[test]
fn what_is_not_listed_is_not_signed() {
    let folder = Folder::new("foreign");
    let mut signer = folder.signer("log", policy(), clock());
    let good = release(1, 0, 5);
    let vault = "it is for a vault that is not this signer's";
    let deadline = "the deadline is not within a day of the request";
    for (bad, reason) in [
        (Release { key: ReleaseKey { chain_id: 1, ..good.key }, ..good.clone() }, vault),
        (Release { key: ReleaseKey { vault: [1; 20], ..good.key }, ..good.clone() }, vault),
        (Release { vault_name: "Other".to_owned(), ..good.clone() }, vault),
        (Release { token: [1; 20], ..good.clone() }, "its token is not listed with this signer"),
        (Release { deadline_s: NOW_S + DAY_S + 1, ..good.clone() }, deadline),
        (Release { deadline_s: NOW_S, ..good.clone() }, deadline),
        (Release { deadline_s: 0, ..good.clone() }, deadline),
    ] {
        assert_eq!(refused(sign(&mut signer, &bad)), reason, "{bad:?}");
    }
    assert_eq!(signer.issued(0), Ok(Vec::new()));
}

/// A venue that was taken over, or somebody at the socket, asks for what no user asked for.
#[test]
fn nothing_new_is_signed_without_the_accounts_own_word() {
    let folder = Folder::new("word");
    let clock = clock();
    let mut signer = folder.signer("log", policy(), clock.clone());
    let wanted = release(1, 0, 5);
    let good = login(&[1; 20], 0);
    let forged = Tokens::new(b"another secret, another secret, another").mint(
        1,
        &[1; 20],
        "x".to_owned(),
        NOW_S as i64,
    );
    // `{"alg":"none"}`, and a tag cut off.
    let claims = good.token().split('.').nth(1).unwrap();
    let unsigned = Consent::new(&format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{claims}."));
    let cut = Consent::new(good.token().rsplit_once('.').unwrap().0);
    let unauthorized = |answer: Result<SignedRelease, SignerFault>| match answer {
        Err(SignerFault::Unauthorized(reason)) => reason,
        other => panic!("{other:?}"),
    };
    for (consent, reason) in [
        (None, "no login token came with it"),
        (Some(Consent::new(&forged.unwrap().0)), "the login token is not the venue's"),
        (Some(unsigned), "the login token is not the venue's"),
        (Some(cut), "the login token is not the venue's"),
        (Some(Consent::new("")), "the login token is not the venue's"),
        (Some(login(&[2; 20], 0)), "the login token is another account's"),
        (Some(login(&[1; 20], -86_400)), "the login token has expired"),
    ] {
        assert_eq!(unauthorized(signer.sign_release(&wanted, consent.as_ref())), reason);
        assert_eq!(signer.issued(0), Ok(Vec::new()), "{reason}");
    }
    let signed = signer.sign_release(&wanted, Some(&good)).unwrap();
    // A venue that was killed has no token any more, and a day later none is good: the same bytes all the same, by a
    // signer that was killed as well; nothing else.
    drop(signer);
    clock.turn(100_000_000);
    let mut signer = folder.signer("log", policy(), clock);
    for consent in [None, Some(&good), Some(&login(&[2; 20], 0))] {
        assert_eq!(signer.sign_release(&wanted, consent), Ok(signed));
    }
    unauthorized(signer.sign_release(&release(1, 1, 5), Some(&good)));
    unauthorized(signer.sign_release(&release(1, 0, 6), None));
    // No token is on the disk, nor in what is shown.
    let log = std::fs::read_to_string(folder.path("log")).unwrap_or_default();
    assert!(!log.contains(good.token()) && !log.contains(claims));
    assert_eq!(format!("{good:?}"), "Consent(hidden)");
}

#[test]
fn caps_hold_by_the_signers_own_clock_and_over_restarts() {
    let folder = Folder::new("caps");
    let limits = Limits { account: 100, hour: 150, total: 200 };
    let policy = Policy { tokens: [(TOKEN, limits)].into(), ..policy() };
    let clock = clock();
    let mut signer = folder.signer("log", policy.clone(), clock.clone());
    let mut nonces = [0; 9];
    let mut sign_next = |signer: &mut LocalSigner, account: u8, value| {
        let nonce = &mut nonces[account as usize];
        let answer = sign(signer, &release(account, *nonce, value));
        *nonce += u64::from(answer.is_ok());
        answer
    };
    sign_next(&mut signer, 1, 60).unwrap();
    assert_eq!(refused(sign_next(&mut signer, 1, 41)), "it is over the account's cap of a day");
    sign_next(&mut signer, 1, 40).unwrap();
    // The same again counts once.
    sign(&mut signer, &release(1, 0, 60)).unwrap();
    assert_eq!(refused(sign_next(&mut signer, 2, 51)), "it is over the cap of an hour");
    sign_next(&mut signer, 2, 50).unwrap();
    drop(signer);
    let mut signer = folder.signer("log", policy, clock.clone());
    assert_eq!(refused(sign_next(&mut signer, 3, 1)), "it is over the cap of an hour");
    clock.turn(3_599_000);
    assert_eq!(refused(sign_next(&mut signer, 3, 1)), "it is over the cap of an hour");
    clock.turn(1_000);
    sign_next(&mut signer, 3, 50).unwrap();
    clock.turn(3_600_000);
    assert_eq!(refused(sign_next(&mut signer, 4, 1)), "it is over the total cap");
    // A clock that steps back frees nothing.
    clock.turn(-10_000_000);
    assert_eq!(refused(sign_next(&mut signer, 4, 1)), "it is over the cap of an hour");
    clock.turn(10_000_000 + 79_199_000);
    assert_eq!(refused(sign_next(&mut signer, 1, 1)), "it is over the account's cap of a day");
    clock.turn(1_000);
    sign_next(&mut signer, 1, 100).unwrap();
}

/// What is signed while the clock stands back counts as if it had been signed at the latest time that the signer knows.
#[test]
fn what_a_clock_signs_that_stepped_back_stays_its_whole_hour() {
    let folder = Folder::new("back");
    let limits = Limits { account: 1_000, hour: 100, total: 1_000 };
    let clock = clock();
    let policy = Policy { tokens: [(TOKEN, limits)].into(), ..policy() };
    let mut signer = folder.signer("log", policy, clock.clone());
    sign(&mut signer, &release(1, 0, 10)).unwrap();
    clock.turn(-10_000_000);
    sign(&mut signer, &release(1, 1, 90)).unwrap();
    clock.turn(10_000_000 + 3_599_000);
    assert_eq!(refused(sign(&mut signer, &release(1, 2, 1))), "it is over the cap of an hour");
    clock.turn(1_000);
    sign(&mut signer, &release(1, 2, 100)).unwrap();
}

/// A crash at any moment of a write leaves a log cut at any byte, up to the whole entry of which nobody heard.
#[test]
fn a_crash_at_any_step_leaves_one_digest_per_nonce() {
    let folder = Folder::new("cuts");
    let path = folder.path("log");
    let mut signer = folder.signer("log", policy(), clock());
    let lengths: Vec<usize> = (0..3)
        .map(|nonce| {
            sign(&mut signer, &release(1, nonce, 5)).unwrap();
            std::fs::metadata(&path).unwrap().len() as usize
        })
        .collect();
    let known: Vec<_> = signer.issued(0).unwrap();
    drop(signer);
    let whole = std::fs::read(&path).unwrap();
    for cut in lengths[0]..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let mut signer = folder.signer("log", policy(), clock());
        let kept = lengths.iter().filter(|length| **length <= cut).count();
        assert_eq!(signer.issued(0).unwrap(), known[..kept], "{cut}");
        for nonce in 0..3 {
            if nonce < kept as u64 {
                refused(sign(&mut signer, &release(1, nonce, 6)));
            }
            // What was cut was never given to anybody; the journal's own release gives the same bytes as ever.
            assert_eq!(sign(&mut signer, &release(1, nonce, 5)), Ok(known[nonce as usize].signed), "{cut}");
        }
        drop(signer);
        assert_eq!(
            std::fs::read(&path).unwrap().len(),
            whole.len(),
            "{cut}: nothing is left of the cut entry"
        );
    }
}

#[test]
fn a_log_that_is_not_whole_is_refused() {
    let folder = Folder::new("rot");
    let path = folder.path("log");
    let mut signer = folder.signer("log", policy(), clock());
    let mut ends = vec![std::fs::read(&path).unwrap().len()];
    for nonce in 0..3 {
        sign(&mut signer, &release(1, nonce, 5)).unwrap();
        ends.push(std::fs::read(&path).unwrap().len());
    }
    let open =
        |key: &Zeroizing<[u8; 32]>| LocalSigner::open(&path, key, tokens(), policy(), clock()).map(drop);
    assert!(matches!(open(&key()), Err(OpenError::InUse(_))), "one signer at a time");
    drop(signer);
    assert!(matches!(open(&key_of_text(&format!("{:064x}", 2)).unwrap()), Err(OpenError::OtherKey { .. })));
    let whole = std::fs::read(&path).unwrap();
    for at in ends[0]..ends[2] {
        let mut bent = whole.clone();
        bent[at] ^= 1;
        std::fs::write(&path, &bent).unwrap();
        assert!(matches!(open(&key()), Err(OpenError::Log(_))), "{at}");
    }
    std::fs::write(&path, [&whole[..ends[1]], &whole[ends[2]..]].concat()).unwrap();
    assert!(matches!(open(&key()), Err(OpenError::Numbered { position: 1, says: 2 })));
}

#[test]
fn a_long_log_is_given_in_pieces() {
    let folder = Folder::new("long");
    let mut signer = folder.signer("log", policy(), clock());
    for nonce in 0..ISSUED_MAX as u64 + 5 {
        sign(&mut signer, &release(1, nonce, 1)).unwrap();
    }
    assert_eq!(signer.issued(0).unwrap().len(), ISSUED_MAX);
    assert_eq!(signer.issued(ISSUED_MAX as u64).unwrap().len(), 5);
    assert_eq!(signer.issued(u64::MAX), Ok(Vec::new()));
}

#[test]
fn a_signer_behind_a_socket_answers_as_it_would_here() {
    let folder = Folder::new("socket");
    let path = folder.path("socket");
    let listener = bind(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(bind(&path).is_err(), "one signer at a time");
    let local = folder.signer("log", policy(), clock());
    let address = local.address();
    std::thread::spawn(move || serve(&listener, local));
    let patience = Duration::from_secs(10);
    let mut remote = RemoteSigner::new(&path, address, patience);
    let big = Release { value: u128::MAX, ..release(1, 0, 0) };
    let signed = sign(&mut remote, &big).unwrap();
    assert!(signed.is_of(&big, &address));
    assert_eq!(sign(&mut remote, &big), Ok(signed));
    refused(sign(&mut remote, &release(1, 0, 1)));
    assert_eq!(remote.find(&big.key).unwrap().unwrap().release, big);
    assert_eq!(remote.find(&release(9, 9, 9).key), Ok(None));
    assert_eq!(remote.issued(0).unwrap().len(), 1);
    assert_eq!(remote.issued(1), Ok(Vec::new()));
    drop(remote);
    // What is refused for want of the account's word is so through the socket too.
    let mut remote = RemoteSigner::new(&path, address, patience);
    let unasked = remote.sign_release(&release(3, 0, 1), None);
    assert!(matches!(unasked, Err(SignerFault::Unauthorized(_))), "{unasked:?}");
    let asked = Asked { release: ReleaseText(release(3, 0, 1)), token: Some(login(&[3; 20], 0)) };
    assert!(!format!("{:?}", Question::Sign(asked)).contains(login(&[3; 20], 0).token()));
    drop(remote);
    let mut stranger = RemoteSigner::new(&path, [7; 20], patience);
    assert!(
        matches!(stranger.issued(0), Err(SignerFault::Unreachable(reason)) if reason.contains("it signs for"))
    );
    let mut nobody = RemoteSigner::new(&folder.path("nothing"), address, patience);
    assert!(matches!(sign(&mut nobody, &big), Err(SignerFault::Unreachable(_))));
}

/// A signer that signs something else than it was asked for, behind its own address.
#[test]
fn a_signature_of_something_else_is_not_taken() {
    use std::io::{BufRead, BufReader, Write};
    let folder = Folder::new("other");
    let path = folder.path("socket");
    let listener = bind(&path).unwrap();
    let mut local = folder.signer("log", policy(), clock());
    let address = local.address();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            for line in BufReader::new(stream.try_clone().unwrap()).lines() {
                let reply = match serde_json::from_str(&line.unwrap()).unwrap() {
                    Question::Address => Reply::Address(address),
                    Question::Sign(Asked { release: ReleaseText(release), .. }) => {
                        let asked = Release { value: release.value + release.value % 2, ..release };
                        Reply::Signed(sign(&mut local, &asked).unwrap().into())
                    }
                    question => panic!("{question:?}"),
                };
                stream.write_all((serde_json::to_string(&reply).unwrap() + "\n").as_bytes()).unwrap();
            }
        }
    });
    let mut remote = RemoteSigner::new(&path, address, Duration::from_secs(10));
    let even = release(1, 0, 4);
    assert!(sign(&mut remote, &even).unwrap().is_of(&even, &address));
    let odd = sign(&mut remote, &release(1, 1, 5));
    assert!(
        matches!(&odd, Err(SignerFault::Unknown(reason)) if reason.contains("not of what was asked")),
        "{odd:?}"
    );
}

/// For a signature, by the account 1 itself.
fn wish(nonce: u64) -> Question {
    let release = ReleaseText(release(1, nonce, 5));
    Question::Sign(Asked { release, token: Some(login(&[1; 20], 0)) })
}

/// A question as it is sent.
fn line(question: &Question) -> String {
    serde_json::to_string(question).unwrap() + "\n"
}

/// What a client asked before it went away is done before its successor is heard.
#[test]
fn a_question_whose_client_is_gone_is_carried_out_before_the_next_is_heard() {
    use std::io::Write;
    let folder = Folder::new("gone");
    let path = folder.path("socket");
    let listener = bind(&path).unwrap();
    let local = folder.signer("log", policy(), clock());
    let address = local.address();
    // Both wait before the signer looks at either.
    let mut gone = UnixStream::connect(&path).unwrap();
    gone.write_all(line(&wish(0)).as_bytes()).unwrap();
    drop(gone);
    let next = std::thread::spawn(move || {
        RemoteSigner::new(&path, address, Duration::from_secs(10)).find(&release(1, 0, 0).key)
    });
    std::thread::spawn(move || serve(&listener, local));
    assert_eq!(next.join().unwrap().unwrap().unwrap().release, release(1, 0, 5));
}

fn lead(term: u64) -> Lead {
    Lead { cluster: [4; 16], term }
}

/// One that led is asked by nobody to sign what its successor may have decided otherwise.
#[test]
fn who_led_before_is_heard_no_more_nor_after_a_restart() {
    let folder = Folder::new("led");
    let mut signer = folder.signer("log", policy(), clock());
    sign(&mut signer, &release(1, 0, 5)).unwrap();
    signer.hear(lead(3)).unwrap();
    signer.hear(lead(3)).unwrap();
    signer.hear(lead(7)).unwrap();
    let over = "term 6 is over: 7 was heard".to_owned();
    assert_eq!(signer.hear(lead(6)), Err(SignerFault::Refused(over.clone())));
    sign(&mut signer, &release(1, 1, 5)).unwrap();
    drop(signer);
    let mut signer = folder.signer("log", policy(), clock());
    assert_eq!(signer.hear(lead(6)), Err(SignerFault::Refused(over)));
    signer.hear(lead(7)).unwrap();
    // Another cluster counts for itself.
    signer.hear(Lead { cluster: [5; 16], term: 1 }).unwrap();
    sign(&mut signer, &release(1, 2, 5)).unwrap();
    assert_eq!(signer.issued(0).unwrap().len(), 3);
    // One that was restored here goes on with the terms of its copy, and is said to have been.
    signer.hear(lead(7)).unwrap();
    sign(&mut signer, &release(1, 3, 5)).unwrap();
    drop(signer);
    let mut signer = folder.signer("log", policy(), clock());
    signer.forget_leads();
    signer.hear(lead(2)).unwrap();
    sign(&mut signer, &release(1, 4, 5)).unwrap();
    drop(signer);
    let mut signer = folder.signer("log", policy(), clock());
    assert_eq!(signer.hear(lead(1)), Err(SignerFault::Refused("term 1 is over: 2 was heard".to_owned())));
    signer.hear(lead(3)).unwrap();
}

/// Whoever may open the socket takes no more of the process than so many threads.
#[test]
fn one_connection_too_many_is_closed_and_the_others_are_served() {
    use std::io::Read;
    let folder = Folder::new("many");
    let path = folder.path("socket");
    let listener = bind(&path).unwrap();
    let local = folder.signer("log", policy(), clock());
    let address = local.address();
    let mut first = RemoteSigner::new(&path, address, Duration::from_secs(10));
    std::thread::spawn(move || serve(&listener, local));
    assert_eq!(first.issued(0), Ok(Vec::new()));
    let mut idle: Vec<_> = (0..CONNECTIONS_MAX).map(|_| UnixStream::connect(&path).unwrap()).collect();
    assert_eq!(idle.pop().unwrap().read(&mut [0]).unwrap(), 0);
    assert_eq!(first.issued(0), Ok(Vec::new()));
    drop(idle);
}

#[test]
fn a_leader_does_not_wait_for_one_that_stopped_with_its_connection_open() {
    use std::io::{Read, Write};
    let folder = Folder::new("stopped");
    let path = folder.path("socket");
    let listener = bind(&path).unwrap();
    let local = folder.signer("log", policy(), clock());
    let address = local.address();
    std::thread::spawn(move || serve(&listener, local));
    let led_by = |term| RemoteSigner::new(&path, address, Duration::from_secs(10)).asked_by(Some(lead(term)));
    let mut former = led_by(3);
    sign(&mut former, &release(1, 0, 5)).unwrap();
    // Behind it, and heard of nowhere yet: somebody of its own term, who has asked.
    let mut behind = UnixStream::connect(&path).unwrap();
    for question in [Question::Lead(lead(3)), wish(1)] {
        behind.write_all(line(&question).as_bytes()).unwrap();
    }
    let mut next = led_by(4);
    assert_eq!(next.find(&release(1, 1, 0).key), Ok(None), "what its predecessor asked is not done");
    let mut told = String::new();
    // Closed before it was read to its end, or refused.
    let _ = behind.read_to_string(&mut told);
    assert!(!told.contains("signed"), "{told}");
    sign(&mut next, &release(1, 1, 6)).unwrap();
    // The one before says again who it is, and is refused; the next one goes on meanwhile.
    let over = SignerFault::Refused("term 3 is over: 4 was heard".to_owned());
    assert_eq!(sign(&mut former, &release(1, 2, 5)), Err(over.clone()));
    assert_eq!(former.issued(0), Err(over));
    assert_eq!(next.issued(0).unwrap().len(), 2);
}

#[test]
fn settings_and_keys() {
    let folder = Folder::new("settings");
    let (file, key_file) = (folder.path("signer.toml"), folder.path("key"));
    std::fs::write(&key_file, format!("{:064x}\n", 1)).unwrap();
    let text = format!(
        "socket = \"s\"\nlog = \"l\"\nkey_file = {key_file:?}\n\
         [[vault]]\nchain_id = 31337\naddress = \"0x{}\"\nname = \"SpotVault\"\n\
         [[token]]\naddress = \"0x{}\"\naccount = \"1\"\nhour = \"340282366920938463463374607431768211455\"\ntotal = \"3\"\n",
        "11".repeat(20),
        "22".repeat(20)
    );
    std::fs::write(&file, &text).unwrap();
    let settings = SignerSettings::load(&file).unwrap();
    let limits = Limits { account: 1, hour: u128::MAX, total: 3 };
    assert_eq!(settings.policy(), Policy { tokens: [(TOKEN, limits)].into(), ..policy() });
    std::fs::set_permissions(&key_file, PermissionsExt::from_mode(0o644)).unwrap();
    let error = settings.key(None).unwrap_err().to_string();
    assert!(error.contains("0644"), "{error}");
    std::fs::set_permissions(&key_file, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(*settings.key(None).unwrap(), *key());
    assert!(settings.tokens().unwrap().is_none());
    let secret_file = folder.path("tokens");
    std::fs::write(&file, format!("token_secret_file = {secret_file:?}\n{text}")).unwrap();
    let settings = SignerSettings::load(&file).unwrap();
    for (secret, mode, fault) in [("x".repeat(40), 0o644, "0644"), ("short".to_owned(), 0o600, "at least 32")]
    {
        std::fs::write(&secret_file, secret).unwrap();
        std::fs::set_permissions(&secret_file, PermissionsExt::from_mode(mode)).unwrap();
        let error = settings.tokens().err().unwrap().to_string();
        assert!(error.contains(fault) && !error.contains("short"), "{error}");
    }
    // As the venue writes it: one line.
    std::fs::write(&secret_file, [TOKEN_SECRET, b"\n"].concat()).unwrap();
    let read = settings.tokens().unwrap().unwrap().read(login(&[7; 20], 0).token().as_bytes(), NOW_S as i64);
    assert_eq!(read.unwrap().address, [7; 20]);
    std::fs::write(&key_file, "secretsecretsecret").unwrap();
    let error = key_of_file(&key_file).unwrap_err().to_string();
    assert!(!error.contains("secretsecret"), "{error}");
    for wrong in [text.replace("hour", "day"), text.replace("\"3\"", "3"), text.replace("0x11", "0x1")] {
        std::fs::write(&file, wrong).unwrap();
        assert!(SignerSettings::load(&file).is_err());
    }
    assert!(matches!(
        LocalSigner::open(&folder.path("log"), &Zeroizing::new([0; 32]), tokens(), policy(), clock()),
        Err(OpenError::Key)
    ));
    let shown = format!("{:?}", folder.signer("log", policy(), clock()));
    assert!(!shown.contains(&format!("{:064x}", 1)) && shown.contains("address"), "{shown}");
}
