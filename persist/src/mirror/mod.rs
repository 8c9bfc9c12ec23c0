//! A second host that holds the same files, byte for byte.
//!
//! - [`frame`]: what goes over the connection. [`source`]: the leader's side. [`sink`]: the mirror's.
//! - [`mark`]: what tells a mirror's folder from a leader's, and promotion, which makes the one the other.
//!
//! A batch is sent once it is durable at the leader: a mirror is never ahead of its leader's disk, so whichever of them dies, the
//! mirror goes on where it ended. It checks whatever comes as replay does, and writes it at the same place of the same segment. It
//! cuts nothing but its own torn writes.
//!
//! Not here: sockets, encryption, who may connect, and when to connect again (`gateway/mirror`).

pub mod frame;
pub mod mark;
pub mod sink;
pub mod source;
