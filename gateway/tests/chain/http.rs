//! Nodes behind real sockets that do what they should not.

use bytes::Bytes;
use ringside_gateway::chain::http::{ANSWER_LEN_MAX, HttpTransport, Transport, TransportFault};
use ringside_gateway::config::feed::Url;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_millis(500);

/// Asks a node twice that treats each question of a connection in this way.
fn ask(serve: fn(&mut TcpStream) -> std::io::Result<()>) -> [Result<Bytes, TransportFault>; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/rpc", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut question = [0; 4_096];
                while stream.read(&mut question).is_ok_and(|len| len > 0) {
                    if serve(&mut stream).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let node = HttpTransport::new(Url::parse(&url, "http").unwrap(), PATIENCE);
        let question = Bytes::from_static(b"{}");
        [node.ask(question.clone()).await, node.ask(question).await]
    })
}

fn head(stream: &mut TcpStream, status: &str, len: usize) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {len}\r\n\r\n")
}

#[test]
fn answers_are_bounded_in_time_and_bytes() {
    let good = ask(|stream| {
        head(stream, "200 OK", 2)?;
        stream.write_all(b"{}")
    });
    assert_eq!(good, [Ok(Bytes::from_static(b"{}")), Ok(Bytes::from_static(b"{}"))]);
    let closing = ask(|stream| {
        head(stream, "200 OK\r\nconnection: close", 2)?;
        stream.write_all(b"{}")?;
        stream.shutdown(std::net::Shutdown::Both)
    });
    assert_eq!(closing, good, "a node may close after each answer");
    let huge = ask(|stream| {
        head(stream, "200 OK", 64 << 20)?;
        (0..64).try_for_each(|_| stream.write_all(&vec![b'x'; 1 << 20]))
    });
    assert!(huge.iter().all(|answer| matches!(answer, Err(TransportFault::Body(_)))), "{huge:?}");
    let endless = ask(|stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
        let chunk =
            [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b'x'; 1 << 20], b"\r\n".to_vec()].concat();
        (0..=(2 * ANSWER_LEN_MAX) >> 20).try_for_each(|_| stream.write_all(&chunk))
    });
    assert!(endless.iter().all(|answer| matches!(answer, Err(TransportFault::Body(_)))), "{endless:?}");
    let silent = ask(|_| Ok(()));
    assert_eq!(silent, [Err(TransportFault::Silent), Err(TransportFault::Silent)]);
    let dripping = ask(|stream| {
        head(stream, "200 OK", 1_000)?;
        (0..1_000).try_for_each(|_| {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(b" ")
        })
    });
    assert_eq!(dripping, [Err(TransportFault::Silent), Err(TransportFault::Silent)]);
    let limited = ask(|stream| head(stream, "429 Too Many Requests", 0));
    assert_eq!(limited, [Err(TransportFault::Status(429)), Err(TransportFault::Status(429))]);
    let garbage = ask(|stream| stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n"));
    assert!(
        garbage.iter().all(|answer| matches!(answer, Err(TransportFault::Unreachable(_)))),
        "{garbage:?}"
    );
    let gone = ask(|stream| stream.shutdown(std::net::Shutdown::Both));
    assert!(gone.iter().all(|answer| matches!(answer, Err(TransportFault::Unreachable(_)))), "{gone:?}");
}
