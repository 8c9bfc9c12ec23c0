//! What sockets ask of listen keys. Events of a key's account go to `Topic::of_account(Kind::UserData, account)`; which of them
//! a listener wants, and the wrapper with its own key around it, are the sockets' business. A connection keeps the keys that it
//! listens with in its queue, where the sweep looks whether one is over.

use crate::worker::Worker;
use ringside_auth::listen_key::{LISTEN_KEY_LEN, ListenKey};
use ringside_dialect::fapi::user::listen_key_expired;
use std::sync::Arc;

/// Name of the last event of a key.
pub const EXPIRED: &str = "listenKeyExpired";

/// Whether a name has the form of a listen key, which no market's stream has.
pub fn is_key(name: &str) -> bool {
    name.len() == LISTEN_KEY_LEN && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The active key of a name.
pub fn find(worker: &Worker, name: &str) -> Option<Arc<ListenKey>> {
    worker.shared.edge.auth.listen_keys.find(name, worker.clock.now_ms())
}

/// The last event of a key.
pub fn expired(worker: &Worker, key: &ListenKey) -> Vec<u8> {
    let mut last = Vec::new();
    listen_key_expired(&mut last, worker.clock.now_ms(), key.text());
    last
}
