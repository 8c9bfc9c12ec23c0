//! The connection between a leader and its mirror: TCP, TLS 1.3, keys that both sides know of each other.

pub mod follower;
pub mod keys;
pub mod leader;
mod stream;
mod tls;
