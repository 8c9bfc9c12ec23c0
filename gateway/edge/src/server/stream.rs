//! The bytes of one connection: a TCP stream that tells its watch when something arrives, and holds its place under the caps.

use super::watch::Watch;
use crate::http::limits::Client;
use crate::http::response::JSON;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use ringside_wire::fault::UNREADABLE;
use socket2::SockRef;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::io::ReadBuf;
use tokio::net::TcpStream;

/// Up to so many bytes it costs less to join head and body than to have the system gather them.
const JOINED_LEN_MAX: usize = 4_096;

thread_local! {
    /// Head and body of the answer that is being written.
    static JOINED: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(JOINED_LEN_MAX));
}

/// Most bytes thrown away when a connection closes.
const DISCARD_LEN_MAX: usize = 256 * 1024;

/// Room in bytes for what a narrow stream's client sends ahead; the system takes twice as much for its own keeping.
const NARROW_LEN: usize = 4_096;

/// A connection's stream. It goes with the connection also through an upgrade, and so does its place.
#[derive(Debug)]
pub struct Stream {
    tcp: TokioIo<TcpStream>,
    watch: Arc<Watch>,
    /// More has arrived than the request that runs, or the client sends nothing any more.
    has_more: bool,
    _place: Arc<Place>,
}

impl Stream {
    /// A stream of an accepted connection.
    pub fn new(tcp: TcpStream, watch: Arc<Watch>, place: Arc<Place>) -> Stream {
        Stream { tcp: TokioIo::new(tcp), watch, has_more: false, _place: place }
    }

    /// Leaves the client little room to send ahead, for good. Each segment that arrives wakes the thread, also where nobody is going to
    /// read it yet: with no room left its own system holds the client up instead.
    pub fn narrow(&self) {
        if let Err(error) = SockRef::from(self.tcp.inner()).set_recv_buffer_size(NARROW_LEN) {
            tracing::debug!(%error, "a connection could not be narrowed");
        }
    }

    fn poll_write_whole(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(more) = with_body(bytes) else {
            return Pin::new(&mut self.tcp).poll_write(context, bytes);
        };
        // The connection ends with it; of so little the system takes all or nothing.
        Pin::new(&mut self.tcp).poll_write(context, &more).map_ok(|_| bytes.len())
    }

    /// Ready with an error once the connection has broken whose request runs: whatever waits for the engine on its behalf ends then.
    /// A client that has only said all it had to say is still answered. The HTTP library would look for that by a read, for which it
    /// takes another buffer with every request. Asks the system only when something has arrived.
    fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        if self.has_more || !self.watch.is_in_request() {
            return Poll::Pending;
        }
        match self.tcp.inner().poll_peek(context, &mut ReadBuf::new(&mut [0])) {
            Poll::Ready(Err(error)) => Poll::Ready(error),
            Poll::Ready(Ok(_)) => {
                self.has_more = true;
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

/// What the HTTP library says by itself to a head that it cannot read, with a body, since every other refusal has one.
fn with_body(answer: &[u8]) -> Option<Vec<u8>> {
    const STATUS_AT: usize = "HTTP/1.1 ".len();
    const NOTHING: &str = "content-length: 0\r\n";
    // Asked of every answer: the digit alone settles it for nearly all.
    if answer.get(STATUS_AT) != Some(&b'4') || !answer.ends_with(b"\r\n\r\n") {
        return None;
    }
    let (before, behind) = str::from_utf8(answer).ok()?.split_once(NOTHING)?;
    let length = format!("\r\ncontent-length: {}\r\n", UNREADABLE.len());
    let (head, kind) = (before.as_bytes(), b"content-type: ");
    Some([head, kind, JSON.as_bytes(), length.as_bytes(), behind.as_bytes(), UNREADABLE.as_bytes()].concat())
}

impl Drop for Stream {
    /// Throws away what the client has sent and nobody will read: closing with bytes unread would reset the connection, and
    /// the last answer with it. Waits for nothing, and reads no more than a refused head or body may have left.
    fn drop(&mut self) {
        let mut scratch = [0; 4_096];
        for _ in 0..DISCARD_LEN_MAX / scratch.len() {
            if !matches!(self.tcp.inner().try_read(&mut scratch), Ok(1..)) {
                break;
            }
        }
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.tcp).poll_read(context, buffer);
        if matches!(read, Poll::Ready(Ok(()))) {
            self.watch.received();
            self.has_more = false;
        }
        read
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_whole(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(gone) = self.poll_gone(context) {
            return Poll::Ready(Err(gone));
        }
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        if len > JOINED_LEN_MAX {
            return Pin::new(&mut self.tcp).poll_write_vectored(context, slices);
        }
        JOINED.with_borrow_mut(|joined| {
            joined.clear();
            slices.iter().for_each(|slice| joined.extend_from_slice(slice));
            self.poll_write_whole(context, joined)
        })
    }
}

/// A connection's place under the caps of the process and of its client; dropping it makes room. Whose a proxy's connection is, the
/// head of a request says: it is the client's of the last one, also while it rests and after an upgrade.
#[derive(Debug)]
pub struct Place {
    open: Arc<AtomicUsize>,
    client: Mutex<Option<Arc<Client>>>,
}

impl Place {
    /// A place of nobody's yet, if there are fewer than `max`.
    pub fn take(open: &Arc<AtomicUsize>, max: usize) -> Option<Place> {
        // Only the acceptor adds, so the look and the addition cannot be split by another addition.
        if open.load(Ordering::Relaxed) >= max {
            return None;
        }
        open.fetch_add(1, Ordering::Relaxed);
        Some(Place { open: open.clone(), client: Mutex::default() })
    }

    /// Makes it this client's, unless the client has `max` others; it then stays whose it was.
    pub fn give_to(&self, client: &Arc<Client>, max: usize) -> bool {
        let mut own = self.client.lock();
        if own.as_ref().is_some_and(|own| Arc::ptr_eq(own, client)) {
            return true;
        }
        let is_given = client.connect(max);
        if is_given && let Some(before) = own.replace(client.clone()) {
            before.disconnect();
        }
        is_given
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(client) = self.client.get_mut() {
            client.disconnect();
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_twice_and_given_back() {
        let open = Arc::new(AtomicUsize::new(0));
        let clients: Vec<Arc<Client>> = (0..3).map(|_| Arc::default()).collect();
        let take = |n: usize| Place::take(&open, 3).filter(|place| place.give_to(&clients[n], 2));
        let first = take(0);
        let _second = take(0);
        assert!(first.is_some() && take(0).is_none(), "two of one address");
        let _third = take(1);
        assert!(take(2).is_none(), "three in all");
        assert!(take(0).is_none());
        drop(first);
        assert!(take(2).is_some());
        assert_eq!(open.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_place_goes_from_client_to_client() {
        let open = Arc::new(AtomicUsize::new(0));
        let clients: Vec<Arc<Client>> = (0..2).map(|_| Arc::default()).collect();
        let [one, other] = [(); 2].map(|()| Place::take(&open, 2).unwrap());
        assert!(one.give_to(&clients[0], 1) && one.give_to(&clients[0], 1));
        assert!(!other.give_to(&clients[0], 1), "it has one");
        assert!(other.give_to(&clients[1], 1) && !one.give_to(&clients[1], 1));
        // What was refused has changed nothing; what goes leaves room behind it.
        drop(other);
        assert!(one.give_to(&clients[1], 1) && clients[0].connect(1) && !clients[1].connect(1));
        drop(one);
        assert!(clients[1].connect(1) && open.load(Ordering::Relaxed) == 0);
    }
}
