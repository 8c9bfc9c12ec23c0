//! Pushes: what is told to whoever listens, from a command to the queue of each connection. Sockets and their protocol are `ws`'s.
//!
//! ```text
//! egress -- under the views' lock: what is wanted of a command is noted and numbered --> registry
//!        -- lock released: each frame encoded once -----> one queue per worker (frames shared)
//! worker -- deals them out to the sessions' queues of 256 frames -----> session -> socket
//! ```
//! Nothing on this way waits for what comes after it: a full queue loses frames instead. A push is noted right after its
//! command was folded, so nothing is pushed before the gate released it and the views show it.
//!
//! **Snapshot and diffs.** A subscription is entered while the views are held for reading, and egress notes while it holds
//! them for writing, so a command is either in the snapshot or pushed after it, never both and never neither. What is
//! already on its way at that moment is told apart by its number.
//!
//! **Numbers.** Every push of a market's topic has a number, one more than the push before it. Numbers of a topic that nobody
//! listens to are not counted on; it then begins again at a number that was never used. An account's event has its place in the
//! venue's order as its number, the same in all its topics, and is [`kept`] for those who come back.
//!
//! **Topics.** Whatever can be listened to is a [`topic`], counted, numbered and dealt out by the [`registry`]. Its [`row`] names it as a
//! [`channel`], as a stream, or as both. What is told of a command is noted, in this order, by [`spot_publisher`], [`user`] and [`futures_publisher`]; an event
//! is written once, whoever and however many listen.

pub mod channel;
pub mod detail;
pub mod envelope;
pub mod futures_publisher;
pub mod kept;
pub mod perpetual;
pub mod pusher;
pub mod recorder;
pub mod registry;
pub mod row;
pub mod send_queue;
pub mod sessions;
pub mod snapshot;
pub mod spot_publisher;
pub mod spot_update;
pub mod topic;
pub mod user;
