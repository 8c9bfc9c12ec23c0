//! What a route wants to know of its caller, and what a caller has shown: words alone. Who judges is [`super::Authenticator`].

use ringside_core::ids::{AccountId, Address};
use ringside_wire::fault::Denied;

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Anyone; credentials are not looked at.
    None,
    /// Anyone; a credential that is sent must be good and fills the request's [`Identity`].
    Optional(Permission),
    /// A login token, or an API key with the permission.
    Account(Permission),
    /// A login token only; a good API key is refused with 403 and this text.
    JwtOnly(Denied),
    /// A request signed with the secret of an API key that has the permission (`perpetual.md` 2).
    Signed(Permission),
    /// As [`Auth::Signed`] with permission to read; existing clients may send the key alone.
    Stream,
    /// The administrator's key.
    Admin,
}

/// What an API key may be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Queries and user streams.
    Read,
    /// Orders and transfers.
    Trade,
}

/// An authenticated caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Account id.
    pub account: AccountId,
    /// Wallet.
    pub address: Address,
    /// By what.
    pub means: Means,
}

/// How a caller showed who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// A login token, good until then (UNIX seconds).
    Jwt {
        /// Claim `exp`.
        expires_at_s: i64,
    },
    /// An API key of this number.
    ApiKey {
        /// Its id.
        id: u64,
    },
}

/// An operator with a key of their own, as the file of operators named them when the request came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Name in the file of operators.
    pub name: String,
    /// SHA-256 of the key: by it the file is asked again whether it still counts.
    pub key_hash: [u8; 32],
}

/// Who calls a route of operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acting {
    /// Whoever has the administrator's key.
    Shared,
    /// One operator, by a key of their own.
    Own(Operator),
    /// Two operators: who asked for it, and who agreed to it later.
    Two(Operator, Operator),
}

impl Acting {
    /// Hash of the key that asks; `None` for the one that all share.
    pub fn key_hash(&self) -> Option<[u8; 32]> {
        match self {
            Acting::Shared => None,
            Acting::Own(operator) | Acting::Two(operator, _) => Some(operator.key_hash),
        }
    }
}
