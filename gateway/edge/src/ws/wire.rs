//! The socket of one session: frames in and out, pings, limits of frames, the closing handshake.
//!
//! Nothing here waits: each call does what the socket takes or gives now. What frames mean is the session's business, what is
//! to be sent the queue's.

use crate::server::stream::Stream;
use futures_util::{Sink, Stream as _};
use hyper::upgrade::{Parts, Upgraded};
use hyper_util::rt::TokioIo;
use ringside_config::Config;
use ringside_streams::send_queue::SendQueue;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

/// Longest message of a client, in bytes (`spot.md` 12).
const MESSAGE_LEN_MAX: usize = 65_536;
/// Room for bytes on their way in.
const READ_LEN: usize = 4 * 1_024;
/// Bytes gathered before a session must flush.
const WRITE_LEN: usize = 64 * 1_024;
/// The longest frame that can be sent: a diff of some hundred thousand levels.
const WRITE_LEN_MAX: usize = 16 << 20;
/// How long the closing handshake may take.
const CLOSING: Duration = Duration::from_secs(2);

/// How often a connection is pinged whose loss ends orders, and how long it may be silent.
const GUARDED_PING: Duration = Duration::from_secs(5);
const GUARDED_SILENCE: Duration = Duration::from_secs(15);

/// An upgraded connection.
pub type Socket = WebSocketStream<TokioIo<Stream>>;

/// The socket of a connection of this server that was upgraded.
pub async fn open(upgraded: Upgraded) -> Socket {
    let Ok(Parts { io, read_buf, .. }) = upgraded.downcast() else {
        unreachable!("the server has one kind of stream")
    };
    let settings = WebSocketConfig::default()
        .read_buffer_size(READ_LEN)
        .write_buffer_size(2 * WRITE_LEN)
        .max_write_buffer_size(WRITE_LEN_MAX)
        .max_message_size(Some(MESSAGE_LEN_MAX))
        .max_frame_size(Some(MESSAGE_LEN_MAX));
    WebSocketStream::from_partially_read(TokioIo::new(io), read_buf.into(), Role::Server, Some(settings))
        .await
}

/// So many frames at once, and so many a second in the long run.
#[derive(Debug)]
pub struct Bucket {
    /// How long one frame takes to come back.
    each: Duration,
    size: u32,
    full_at: Instant,
}

impl Bucket {
    /// A full one.
    pub fn new(size: u32, per_second: u32) -> Bucket {
        Bucket { each: Duration::from_secs(1) / per_second.max(1), size, full_at: Instant::now() }
    }

    fn is_full(&self, now: Instant) -> bool {
        self.full_at <= now
    }

    /// Takes one out, if there is one.
    fn take(&mut self, now: Instant) -> bool {
        let full_at = self.full_at.max(now) + self.each;
        let is_there = full_at - now <= self.each * self.size;
        if is_there {
            self.full_at = full_at;
        }
        is_there
    }
}

/// See the module.
pub struct Wire {
    socket: Socket,
    /// Of the frames of the protocol.
    frames: Bucket,
    /// Of pings, whatever carries them, and other control frames.
    pings: Bucket,
    /// Frames refused since both were last full.
    refused: u32,
    /// With so many the connection is closed.
    refused_max: u32,
    /// When the client was last heard of.
    heard: Instant,
    next_ping: Instant,
    ping_every: Duration,
    silence_max: Duration,
    /// When it has lived long enough.
    ends: Instant,
    timer: Pin<Box<Sleep>>,
    /// Bytes given to the socket's buffer since it was last empty.
    unflushed_len: usize,
    needs_flush: bool,
    is_narrow: bool,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The queue is sent out, then this.
    Closing(CloseFrame),
    /// The close frame is sent; the client's is waited for.
    Closed,
}

/// What a look at the socket gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// A text frame.
    Text(Utf8Bytes),
    /// A binary frame, which no protocol here knows, of so many bytes.
    Binary(usize),
    /// Something that is dealt with already.
    Other,
    /// Nothing for now.
    Waiting,
}

/// The connection is over.
pub struct Over;

impl Wire {
    /// The wire of a connection whose client may send that many frames, pings apart, and is closed with the `refused_max`-th that
    /// was refused.
    pub fn new(socket: Socket, config: &Config, frames: Bucket, refused_max: u32) -> Wire {
        let now = Instant::now();
        let pings = Bucket::new(config.websocket_frames_at_once, config.websocket_frames_per_second);
        let (ping_every, silence_max) = (config.websocket_ping_interval, config.websocket_pong_timeout);
        let next_ping = now + ping_every;
        let ends = now + config.websocket_life;
        Wire {
            socket,
            frames,
            pings,
            refused: 0,
            refused_max,
            heard: now,
            next_ping,
            ping_every,
            silence_max,
            ends,
            timer: Box::pin(tokio::time::sleep_until(next_ping.min(ends))),
            unflushed_len: 0,
            needs_flush: false,
            is_narrow: false,
            state: State::Open,
        }
    }

    /// Whether frames are still answered.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Notes that the client is there.
    pub fn hear(&mut self) {
        self.heard = Instant::now();
    }

    /// Has its silence noticed soon: somebody's orders hang on it.
    pub fn guard(&mut self) {
        self.ping_every = self.ping_every.min(GUARDED_PING);
        self.silence_max = self.silence_max.min(GUARDED_SILENCE);
        self.next_ping = self.next_ping.min(Instant::now() + self.ping_every);
        if self.state == State::Open {
            self.timer.as_mut().reset(self.next_ping.min(self.ends));
        }
    }

    /// Begins a turn of the task that serves it: whoever has something for it wakes that task, or asks it to end.
    pub fn attend(&mut self, context: &Context<'_>, queue: &SendQueue) {
        queue.set_waker(context.waker());
        if queue.is_closing() {
            self.close(CloseCode::Away, "shutting down");
        }
    }

    /// Pings when it is time to, and ends what is silent or does not close.
    pub fn watch(&mut self, context: &mut Context<'_>) -> Result<(), Over> {
        while self.timer.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if self.state != State::Open {
                return Err(Over);
            }
            let ends_at = self.heard + self.silence_max;
            if now >= ends_at {
                self.close(CloseCode::Policy, "no pong");
                continue;
            }
            if now >= self.ends {
                self.close(CloseCode::Normal, "connect again");
                continue;
            }
            if now >= self.next_ping {
                self.next_ping = now + self.ping_every;
                // A socket whose buffer has no room for it has enough to acknowledge.
                if self.unflushed_len < WRITE_LEN {
                    self.start_send(Message::Ping(bytes::Bytes::new()))?;
                }
            }
            self.timer.as_mut().reset(self.next_ping.min(ends_at).min(self.ends));
        }
        Ok(())
    }

    /// Starts to close; what is queued goes first.
    pub fn close(&mut self, code: CloseCode, reason: &'static str) {
        if self.state == State::Open {
            self.state = State::Closing(CloseFrame { code, reason: Utf8Bytes::from_static(reason) });
            self.timer.as_mut().reset(Instant::now() + CLOSING);
        }
    }

    /// The next frame, control frames dealt with. What comes after the wire began to close is thrown away. Whether a frame of the
    /// protocol is one too many, [`Wire::admits`] tells.
    pub fn read(&mut self, context: &mut Context<'_>) -> Result<Read, Over> {
        let message = match Pin::new(&mut self.socket).poll_next(context) {
            Poll::Pending => return Ok(Read::Waiting),
            // The close frame of a fault may still have to leave.
            Poll::Ready(None) if matches!(self.state, State::Closing(_)) || self.needs_flush => {
                return Ok(Read::Waiting);
            }
            Poll::Ready(None) => return Err(Over),
            Poll::Ready(Some(Ok(message))) if self.state == State::Open => message,
            Poll::Ready(Some(Ok(_))) => return Ok(Read::Other),
            Poll::Ready(Some(Err(error))) => {
                self.broken(&error)?;
                return Ok(Read::Waiting);
            }
        };
        match message {
            // The library has answered it; the end of the stream follows.
            Message::Close(_) => {
                self.state = State::Closed;
                self.needs_flush = true;
                self.timer.as_mut().reset(Instant::now() + CLOSING);
            }
            Message::Text(text) => return Ok(Read::Text(text)),
            Message::Binary(bytes) => return Ok(Read::Binary(bytes.len())),
            Message::Ping(_) | Message::Pong(_) => {
                self.hear();
                // The library has queued the pong.
                self.needs_flush = true;
                self.admits(true);
            }
            Message::Frame(_) => {}
        }
        Ok(Read::Other)
    }

    /// Says why, if the client is still there to be told.
    fn broken(&mut self, error: &tungstenite::Error) -> Result<(), Over> {
        tracing::debug!(%error, "a client broke the protocol, or broke off");
        match error {
            tungstenite::Error::Capacity(_) => self.close(CloseCode::Size, "frame too long"),
            tungstenite::Error::Utf8(_) => self.close(CloseCode::Invalid, "not UTF-8"),
            tungstenite::Error::Protocol(error) if !is_gone(error) => {
                self.close(CloseCode::Protocol, "protocol error");
            }
            _ => return Err(Over),
        }
        Ok(())
    }

    /// Counts a frame, pings apart from others; false for one too many, which is not to be carried out.
    pub fn admits(&mut self, is_ping: bool) -> bool {
        let now = Instant::now();
        if self.frames.is_full(now) && self.pings.is_full(now) {
            self.refused = 0;
        }
        let is_admitted = if is_ping { self.pings.take(now) } else { self.frames.take(now) };
        if !is_admitted {
            self.refused();
        }
        is_admitted
    }

    /// Notes that a frame was not carried out; ends the patience with a client that goes on.
    pub fn refused(&mut self) {
        self.refused += 1;
        if self.refused >= self.refused_max {
            self.close(CloseCode::Policy, "too many frames");
        }
    }

    /// Leaves the client little room to send ahead of what is read.
    pub fn narrow(&mut self) {
        if !std::mem::replace(&mut self.is_narrow, true) {
            self.socket.get_ref().inner().narrow();
        }
    }

    /// Writes what is queued, as far as the socket takes it; says whether anything has left. A wire that closes sends its
    /// close frame once the queue is empty and nothing more is due.
    pub fn write(
        &mut self,
        context: &mut Context<'_>,
        queue: &SendQueue,
        is_more_due: bool,
    ) -> Result<bool, Over> {
        let mut has_written = false;
        loop {
            if (self.needs_flush || self.unflushed_len >= WRITE_LEN) && !self.flush(context)? {
                return Ok(has_written);
            }
            while self.unflushed_len < WRITE_LEN
                && let Some(text) = queue.take()
            {
                self.unflushed_len += text.len();
                self.start_send(Message::Text(text))?;
                has_written = true;
            }
            if queue.is_empty()
                && !is_more_due
                && let State::Closing(frame) = &self.state
            {
                let frame = frame.clone();
                self.state = State::Closed;
                self.start_send(Message::Close(Some(frame)))?;
                has_written = true;
            }
            if self.unflushed_len == 0 && !self.needs_flush {
                return Ok(has_written);
            }
            self.needs_flush = true;
        }
    }

    fn start_send(&mut self, message: Message) -> Result<(), Over> {
        self.needs_flush = true;
        Pin::new(&mut self.socket).start_send(message).map_err(|error| {
            tracing::debug!(%error, "a frame could not be sent");
            Over
        })
    }

    /// Empties the socket's buffer; false while the client does not take it.
    fn flush(&mut self, context: &mut Context<'_>) -> Result<bool, Over> {
        match Pin::new(&mut self.socket).poll_flush(context) {
            Poll::Pending => Ok(false),
            Poll::Ready(Err(_)) => Err(Over),
            Poll::Ready(Ok(())) => {
                (self.unflushed_len, self.needs_flush) = (0, false);
                Ok(true)
            }
        }
    }
}

/// Whether a protocol error means that the client went away without closing.
fn is_gone(error: &tungstenite::error::ProtocolError) -> bool {
    matches!(error, tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_what_is_in_it_and_then_what_comes_back() {
        let mut bucket = Bucket::new(400, 10);
        let begin = bucket.full_at;
        let mut taken = |ms| {
            let now = begin + Duration::from_millis(ms);
            (0..1_000).filter(|_| bucket.take(now)).count()
        };
        assert_eq!(
            [0, 0, 99, 100, 150, 1_000, 41_000, 1_000_000].map(&mut taken),
            [400, 0, 0, 1, 0, 9, 400, 400]
        );
        assert!(bucket.is_full(begin + Duration::from_secs(1_040)));
        assert!(!bucket.is_full(begin + Duration::from_millis(1_039_999)));
        // Without a limit.
        let mut bucket = Bucket::new(400, u32::MAX);
        let now = bucket.full_at;
        assert!((0..100_000).all(|_| bucket.take(now)));
    }
}
