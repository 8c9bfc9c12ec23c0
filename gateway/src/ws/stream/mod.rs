//! The stream protocol of perpetual markets (`perpetual-stream.md`), beside the channels on the same sockets.
//!
//! ```text
//! address or `method` frame -> name -> topic -> hub                                   (sessions)
//! command -> board: notes at once, or gathers until a speed is due -> note -> frames     (egress)
//! ```
//! - A name is a topic like a channel's: counted, numbered and dealt out by the hub. An event is written once, whoever and
//!   however many listen; the bare payload is a part of the wrapped one.
//! - What has no speed is noted with the command. What has one is gathered by the command and noted when the wall clock enters
//!   the next 100, 250, 500 or 1,000 ms; nothing is said where nothing has changed. Marks and closed candles go by the time
//!   of commands instead, since nothing can change them any more then. Either way an event holds released commands alone.
//! - User data meets the sockets in [`key`] and [`subscriptions`]; what its events say is not here.

pub mod board;
pub mod depth;
pub mod gather;
pub mod key;
pub mod lookup;
pub mod name;
pub mod note;
pub mod request;
pub mod subscriptions;
