//! The socket of one session: frames in and out, pings, limits of frames, the closing handshake.
//!
//! Nothing here waits: each call does what the socket takes or gives now. What frames mean is the session's business, what is
//! to be sent the outlet's.

use crate::config::Config;
use crate::push::outlet::Outlet;
use futures_util::{Sink, Stream};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use std::pin::Pin;
use std::sync::Arc;
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
/// The window of the frame limit.
const WINDOW: Duration = Duration::from_secs(1);

/// An upgraded connection.
pub type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// The socket of a connection that was upgraded.
pub async fn open(upgraded: Upgraded) -> Socket {
    let settings = WebSocketConfig::default()
        .read_buffer_size(READ_LEN)
        .write_buffer_size(2 * WRITE_LEN)
        .max_write_buffer_size(WRITE_LEN_MAX)
        .max_message_size(Some(MESSAGE_LEN_MAX))
        .max_frame_size(Some(MESSAGE_LEN_MAX));
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(settings)).await
}

/// See the module.
pub struct Wire {
    socket: Socket,
    config: Arc<Config>,
    /// Most text and binary frames in a window.
    frames_max: u32,
    /// Text and binary frames, and control frames, in the window that began then.
    window: (Instant, u32, u32),
    /// When the client was last heard of.
    heard: Instant,
    next_ping: Instant,
    /// When it has lived long enough.
    ends: Instant,
    timer: Pin<Box<Sleep>>,
    /// Bytes given to the socket's buffer since it was last empty.
    unflushed_len: usize,
    needs_flush: bool,
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
    /// A binary frame, which no protocol here knows.
    Binary,
    /// Something that is dealt with already.
    Other,
    /// Nothing for now.
    Waiting,
}

/// The connection is over.
pub struct Over;

impl Wire {
    /// The wire of a connection whose client may send so many frames a second, pings apart.
    pub fn new(socket: Socket, config: Arc<Config>, frames_max: u32) -> Wire {
        let now = Instant::now();
        let next_ping = now + config.websocket_ping_interval;
        let ends = now + config.websocket_life;
        Wire {
            socket,
            config,
            frames_max,
            window: (now, 0, 0),
            heard: now,
            next_ping,
            ends,
            timer: Box::pin(tokio::time::sleep_until(next_ping.min(ends))),
            unflushed_len: 0,
            needs_flush: false,
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

    /// Begins a turn of the task that serves it: whoever has something for it wakes that task, or asks it to end.
    pub fn attend(&mut self, context: &Context<'_>, outlet: &Outlet) {
        outlet.set_waker(context.waker());
        if outlet.is_closing() {
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
            let ends_at = self.heard + self.config.websocket_pong_timeout;
            if now >= ends_at {
                self.close(CloseCode::Policy, "no pong");
                continue;
            }
            if now >= self.ends {
                self.close(CloseCode::Normal, "connect again");
                continue;
            }
            if now >= self.next_ping {
                self.next_ping = now + self.config.websocket_ping_interval;
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

    /// The next frame, limits kept and control frames dealt with. What comes after the wire began to close is thrown away.
    pub fn read(&mut self, context: &mut Context<'_>) -> Result<Read, Over> {
        let message = loop {
            match Pin::new(&mut self.socket).poll_next(context) {
                Poll::Pending => return Ok(Read::Waiting),
                // The close frame of a fault may still have to leave.
                Poll::Ready(None) if matches!(self.state, State::Closing(_)) || self.needs_flush => {
                    return Ok(Read::Waiting);
                }
                Poll::Ready(None) => return Err(Over),
                Poll::Ready(Some(Ok(message))) if self.state == State::Open => break message,
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => {
                    self.broken(&error)?;
                    return Ok(Read::Waiting);
                }
            }
        };
        match message {
            // The library has answered it; the end of the stream follows.
            Message::Close(_) => {
                self.state = State::Closed;
                self.needs_flush = true;
                self.timer.as_mut().reset(Instant::now() + CLOSING);
            }
            _ if self.is_too_fast(message.is_text() || message.is_binary()) => {
                self.close(CloseCode::Policy, "too many frames");
            }
            Message::Text(text) => return Ok(Read::Text(text)),
            Message::Binary(_) => return Ok(Read::Binary),
            Message::Ping(_) | Message::Pong(_) => {
                self.hear();
                // The library has queued the pong.
                self.needs_flush = true;
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

    /// Counts a frame; control frames apart from others.
    fn is_too_fast(&mut self, is_data: bool) -> bool {
        let now = Instant::now();
        if now.duration_since(self.window.0) >= WINDOW {
            self.window = (now, 0, 0);
        }
        let (count, max) = match is_data {
            true => (&mut self.window.1, self.frames_max),
            false => (&mut self.window.2, self.config.websocket_frames_per_second),
        };
        *count += 1;
        *count > max
    }

    /// Writes what is queued, as far as the socket takes it; says whether anything has left. A wire that closes sends its
    /// close frame once the queue is empty and nothing more is due.
    pub fn write(
        &mut self,
        context: &mut Context<'_>,
        outlet: &Outlet,
        is_more_due: bool,
    ) -> Result<bool, Over> {
        let mut has_written = false;
        loop {
            if (self.needs_flush || self.unflushed_len >= WRITE_LEN) && !self.flush(context)? {
                return Ok(has_written);
            }
            while self.unflushed_len < WRITE_LEN
                && let Some(text) = outlet.take()
            {
                self.unflushed_len += text.len();
                self.start_send(Message::Text(text))?;
                has_written = true;
            }
            if outlet.is_empty()
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
