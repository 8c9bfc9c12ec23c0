//! WebSocket `/ws` (`spot.md` 11): frames in and out, subscriptions, pushes.
//!
//! ```text
//! egress -- under the views' lock: what is wanted of a command is noted and numbered --> hub
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
//! **Numbers.** Every push of a channel has a number, one more than the push before it. Numbers of a channel that nobody
//! listens to are not counted on; it then begins again at a number that was never used.
//!
//! **Resume** (decided here). `{"type":"subscribe","channel":C,"resume":true}` asks for numbers; without it the wire is
//! exactly that of `spot.md`.
//!
//! | With `"resume": true` | |
//! |---|---|
//! | acknowledgement | `{"type":"subscribed","channel":C,"seq":N}`: the pushes that follow begin at N + 1 |
//! | snapshot, push | member `seq` before `data`; a snapshot carries that of the last push it includes |
//! | overflow of the queue | pushes of the channel stop; as soon as half the queue is free, one `{"type":"gap","channel":C,"seq":N}`, N being the last number sent, then the channel's snapshot if it has one, then pushes again |
//! | `"from": N` in the subscribe frame | go on behind N: acknowledgement with N, then every push since, no snapshot. Where one of them is no longer held: acknowledgement, gap frame with N, snapshot |
//!
//! The last 1,024 frames (1 MiB at most) of a channel are held while someone listens with `resume`, and for a minute after.
//!
//! **Two protocols, one socket.** Frames with a member `method` and the streams that they name, or that the address names, are
//! those of `perpetual-stream.md` 1, 2 and 5: see [`stream`]. Both kinds of subscriptions share queue, numbers and limits of
//! frames; a connection may have 200 channels and 1,024 streams.
//!
//! **Requests.** `/ws-fapi/v1` is another kind of socket: no pushes, but the routes of `/fapi` asked in frames ([`request`]).
//!
//! **User data.** Whoever listens with a listen key, or to a channel of its own account, is told of its orders, positions and
//! balances ([`user`]). A push is withheld from the moment at which the credential is over; that it is over, the session hears
//! from a sweep, a quarter of a second later at most.

pub mod channel;
pub mod desk;
pub mod envelope;
pub mod frame;
pub mod hub;
pub mod note;
pub mod notebook;
pub mod outlet;
pub mod pusher;
pub mod request;
pub mod server;
pub mod session;
pub mod snapshot;
pub mod sockets;
pub mod stream;
pub mod topic;
pub mod user;
pub mod wire;
