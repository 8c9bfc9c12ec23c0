//! WebSocket `/ws` (`spot.md` 11): frames in and out, logins, subscriptions. What is pushed, and to whom, is `push`'s.
//!
//! **Resume** (decided here). `{"type":"subscribe","channel":C,"resume":true}` asks for numbers; without it the wire is
//! exactly that of `spot.md`.
//!
//! | With `"resume": true` | |
//! |---|---|
//! | acknowledgement | `{"type":"subscribed","channel":C,"seq":N}`: the pushes that follow have greater numbers |
//! | snapshot, push | member `seq` before `data`; a snapshot carries that of the last push it includes |
//! | overflow of the queue | pushes of the channel stop; as soon as half the queue is free, one `{"type":"gap","channel":C,"seq":N}`, N being the last number sent, then the channel's snapshot if it has one, then pushes again |
//! | `"from": N` in the subscribe frame | go on behind N: acknowledgement with N, then every push since, no snapshot. Where one of them is no longer held, or N is of no push: acknowledgement, gap frame with N, snapshot |
//!
//! *Channels of markets.* Numbers ascend by one. The last 1,024 frames (1 MiB at most) of a channel are held while someone listens with
//! `resume`, and for a minute after.
//!
//! *Channels of an account.* A number is the event's own place in the venue's order: 4,096 times the sequence of its command, and its
//! place among what that tells the account. So it is the same on every channel and device, after a restart, and on every host; it
//! ascends, not by one. From the first `resume` of an account on, and until a day after the last such client left, its events
//! are kept, over a restart and a kill too: those of a day, 4,096 or 2 MiB of an account, 128 MiB in all; older ones go
//! ([`ringside_streams::kept`]). Its gap frame has two members more: `through`, the number to come back with, and `read`, the routes that say
//! what came of what is missing.
//!
//! *Streams of listen keys*, on each address that names one: `?resume=true`, and `&from=N` to go on behind N. Each event has the same
//! number as its last member, `seq`. The first event is `{"e":"streamResumed","E":ms,"seq":N}`: what follows is behind N. Where
//! something is missing it is `{"e":"streamGap","E":ms,"from":N,"seq":M,"read":[routes]}`: what lies behind N, up to M, is not told again;
//! an overflow of the queue says the same. `from` that is no number, or `resume` that is no boolean, is refused with 400 (-1130).
//!
//! **Cancel on disconnect** (decided here). `{"type":"cancel_on_disconnect","grace_ms":G,"symbol":S}` has the loss of this connection
//! cancel all open orders of its account, spot, perpetual and conditional ones, in the markets named S on either side or, without
//! `symbol`, in all; G ms after it, 0 to 60,000. It is answered by the same members and `"enabled":true`. With `"enabled":false` in
//! place of a grace no connection's loss does any more. Each symbol and all of them are armed by themselves, and belong to the
//! connection that armed last; to arm or disarm within the grace keeps the orders. A connection is lost when it is closed, broken off
//! or gives no sign of life for 15 s (a connection that has armed is pinged every 5 s), and with the process: the grace then runs from
//! the first command of the next one. Weight 4 more.
//!
//! | Refused | |
//! |---|---|
//! | AUTH_REQUIRED | without a login, or by a listen key, which reads only |
//! | INVALID_MESSAGE | no grace, or one out of range; a member of another type |
//! | INVALID_SYMBOL | no market of either side has that name |
//! | UNAVAILABLE | the engine did not take it: its queue is full, or it has stopped |
//!
//! **Two protocols, one socket.** Frames with a member `method` and the streams that they name, or that the address names, are
//! those of `perpetual-stream.md` 1, 2 and 5: see [`stream`]. Both kinds of subscriptions share queue, numbers and limits of
//! frames; a connection may have 200 channels and 1,024 streams.
//!
//! **Limits** (`spot.md` 12; weights decided here). A connection has a bucket of frames, and one of pings. A frame also costs of the
//! weight of its address, before it is read or done; where that is spent, it is answered RATE_LIMITED and brings no ban.
//!
//! | Frame | Weight |
//! |---|---|
//! | ping of up to 128 bytes | 0 |
//! | any other | 1, and 1 for each 1,024 bytes |
//! | `auth`, `auth_token`, `auth_eip712` | 4 more |
//! | `subscribe` to `spot:depth`, or with a token that counts; `cancel_on_disconnect` | 4 more |
//! | `SUBSCRIBE`, `UNSUBSCRIBE`, and names in the address | 1 more for each 10 names |
//! | `LIST_SUBSCRIPTIONS`, `SET_PROPERTY` | 1 more for each 10 streams |
//!
//! **Requests.** `/ws-fapi/v1` is another kind of socket: no pushes, but the routes of `/fapi` asked in frames (`gateway/src/ws_request`).
//!
//! **User data.** Whoever listens with a listen key, or to a channel of its own account, is told of its orders, positions and
//! balances (`streams/src/user.rs`). A push is withheld from the moment at which the credential is over; that it is over, the session hears
//! from a sweep, a quarter of a second later at most.

pub mod armed;
pub mod frame;
pub mod server;
pub mod session;
pub mod stream;
pub mod wire;
