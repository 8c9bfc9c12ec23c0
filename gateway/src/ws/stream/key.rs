//! What sockets ask of listen keys. This file is the whole seam between sockets and user data:
//!
//! - [`account_of`] tells whose key a name is, at the upgrade and in SUBSCRIBE. A name of 64 letters and digits is never a
//!   market's stream.
//! - [`renew`] is called for each text frame of a connection that listens with a key.
//! - Events go to `Topic::of_account(Kind::UserData, account)`, each as one payload with its name
//!   ([`super::super::hub::Open::payload`]); whether a listener wants that event, and the wrapper with its own key around it,
//!   are the sockets' business.
//! - [`super::subscriptions::Streams::end_key`] ends the streams of a key, after a last frame of its own.

use crate::api::Worker;
use ringside_core::ids::AccountId;

/// Characters of a key.
const KEY_LEN: usize = 64;

/// Whether a name has the form of a listen key.
pub fn is_key(name: &str) -> bool {
    name.len() == KEY_LEN && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The account of an active key. None has been given to anyone yet.
pub fn account_of(_worker: &Worker, _key: &str) -> Option<AccountId> {
    None
}

/// Notes activity on a connection that listens with an active key.
pub fn renew(_worker: &Worker, _key: &str) {}
