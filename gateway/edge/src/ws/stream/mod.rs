//! The stream protocol of perpetual markets (`perpetual-stream.md`), beside the channels on the same sockets: an address or a
//! `method` frame names streams, a name is a topic (`streams/src/row.rs`), a topic is listened to. User data meets the sockets in
//! [`key`] and [`subscriptions`]. When events are made, and what they say, is not here.

pub mod key;
pub mod request;
pub mod subscriptions;
