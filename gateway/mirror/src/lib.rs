//! Connections between hosts, a leader and its mirror or the members of a cluster: TCP, TLS 1.3, keys that both sides know of each other.

pub mod follower;
pub mod keys;
pub mod leader;
pub mod members;
mod stream;
pub mod ticks;
mod tls;
