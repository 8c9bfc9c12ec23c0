//! One keep-alive HTTP/1.1 connection, one request at a time, over a tokio stream.
//!
//! It speaks as much of HTTP as the exchange's answers need: a status, headers of which only the length and the wish
//! to close are read, a body of that length. Requests are prepared bytes. There is no pool, no retry, no TLS.
//! Servers close connections that rest, so one that has rested for [`REST_MAX`] is opened anew before it is used.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest answer read.
const ANSWER_LEN_MAX: usize = 64 << 20;

/// Longest rest between two requests of one connection; the exchange closes a new one after five seconds.
pub const REST_MAX: Duration = Duration::from_secs(2);

/// A connection to the exchange.
pub struct Connection {
    address: SocketAddr,
    used: Instant,
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

/// Status and body of an answer; the body lives in the connection until its next call.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// HTTP status.
    pub status: u16,
    /// The body.
    pub body: &'a [u8],
    /// The head, from the status line to the empty line.
    pub head: &'a [u8],
}

impl Answer<'_> {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = std::str::from_utf8(self.head).ok()?.split("\r\n").skip(1);
        let mut headers = lines.filter_map(|line| line.split_once(':'));
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (used, buffer) = (Instant::now(), vec![0; 16 << 10]);
        Ok(Connection { address, used, stream, buffer, filled: 0 })
    }

    /// Where it goes.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends one request and reads its answer. After an error the connection is of no more use.
    pub async fn call(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        if self.used.elapsed() > REST_MAX {
            *self = Connection::open(self.address).await?;
        }
        self.stream.write_all(request).await?;
        self.filled = 0;
        loop {
            if self.filled == self.buffer.len() {
                if self.filled >= ANSWER_LEN_MAX {
                    return Err(invalid("the answer is too long"));
                }
                self.buffer.resize(self.filled * 2, 0);
            }
            let read = self.stream.read(&mut self.buffer[self.filled..]).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.filled += read;
            if let Some((status, body)) = parse(&self.buffer[..self.filled])? {
                if body.end != self.filled {
                    return Err(invalid("more than one answer to one request"));
                }
                self.used = Instant::now();
                return Ok(Answer { status, head: &self.buffer[..body.start], body: &self.buffer[body] });
            }
        }
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Status and place of the body once all of it is there.
fn parse(bytes: &[u8]) -> io::Result<Option<(u16, std::ops::Range<usize>)>> {
    let Some(head_len) = bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..head_len]).map_err(|_| invalid("the head is not text"))?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 "))
        .and_then(|line| line.get(..3)?.parse().ok())
        .ok_or_else(|| invalid("no status line"))?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map(|(_, value)| value.trim().parse::<usize>().map_err(|_| invalid("the length is not a number")))
        .transpose()?
        .ok_or_else(|| invalid("an answer without a length"))?;
    let end = head_len.checked_add(length).filter(|&end| end <= ANSWER_LEN_MAX);
    let end = end.ok_or_else(|| invalid("the answer is too long"))?;
    Ok((bytes.len() >= end).then_some((status, head_len..end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_complete_only_with_their_last_byte() {
        let answer = b"HTTP/1.1 409 Conflict\r\nContent-Length: 3\r\nx: y\r\n\r\nabc";
        for cut in 0..answer.len() {
            assert_eq!(parse(&answer[..cut]).expect("nothing is wrong yet"), None, "cut at {cut}");
        }
        let (status, body) = parse(answer).expect("parses").expect("is complete");
        assert_eq!((status, &answer[body]), (409, b"abc".as_slice()));
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(parse(b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(parse(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n").is_err());
    }
}
