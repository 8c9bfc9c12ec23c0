//! Nodes behind real sockets that do what they should not.

use bytes::Bytes;
use ringside_chain::http::{ANSWER_LEN_MAX, HttpTransport, Transport};
use ringside_outbound::OutboundFault;
use ringside_outbound::tls::Trust;
use ringside_outbound::url::NodeUrl;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{RootCertStore, ServerConfig, ServerConnection, Stream};

const PATIENCE: Duration = Duration::from_millis(500);

/// Asks a node twice that treats each question of a connection in this way.
fn ask(serve: fn(&mut TcpStream) -> std::io::Result<()>) -> [Result<Bytes, OutboundFault>; 2] {
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
        let node = HttpTransport::new(NodeUrl::parse(&url).unwrap(), PATIENCE);
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
    assert!(huge.iter().all(|answer| matches!(answer, Err(OutboundFault::Body(_)))), "{huge:?}");
    let endless = ask(|stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
        let chunk =
            [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b'x'; 1 << 20], b"\r\n".to_vec()].concat();
        (0..=(2 * ANSWER_LEN_MAX) >> 20).try_for_each(|_| stream.write_all(&chunk))
    });
    assert!(endless.iter().all(|answer| matches!(answer, Err(OutboundFault::Body(_)))), "{endless:?}");
    let silent = ask(|_| Ok(()));
    assert_eq!(silent, [Err(OutboundFault::Silent), Err(OutboundFault::Silent)]);
    let dripping = ask(|stream| {
        head(stream, "200 OK", 1_000)?;
        (0..1_000).try_for_each(|_| {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(b" ")
        })
    });
    assert_eq!(dripping, [Err(OutboundFault::Silent), Err(OutboundFault::Silent)]);
    let limited = ask(|stream| head(stream, "429 Too Many Requests", 0));
    assert_eq!(limited, [Err(OutboundFault::Status(429)), Err(OutboundFault::Status(429))]);
    let garbage = ask(|stream| stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n"));
    assert!(garbage.iter().all(|answer| matches!(answer, Err(OutboundFault::Unreachable(_)))), "{garbage:?}");
    let gone = ask(|stream| stream.shutdown(std::net::Shutdown::Both));
    assert!(gone.iter().all(|answer| matches!(answer, Err(OutboundFault::Unreachable(_)))), "{gone:?}");
}

/// Certificates of `tls/`: an authority of these tests, and what it gave to `localhost`. Nobody else trusts it.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(include_bytes!("tls/authority.pem")).unwrap()).unwrap();
    roots
}

/// A node that speaks TLS as `localhost`; gives its port.
fn encrypted_node() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/localhost.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, config) = (stream.unwrap(), config.clone());
            std::thread::spawn(move || {
                let mut session = ServerConnection::new(config).unwrap();
                let mut stream = Stream::new(&mut session, &mut stream);
                let mut question = [0; 4_096];
                while stream.read(&mut question).is_ok_and(|len| len > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
                }
            });
        }
    });
    port
}

#[test]
fn a_node_is_asked_in_secret_if_it_is_who_it_says() {
    let port = encrypted_node();
    let node = |host: &str| NodeUrl::parse(&format!("https://{host}:{port}/rpc")).unwrap();
    let ask = |node: HttpTransport| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            [node.ask(Bytes::from_static(b"{}")).await, node.ask(Bytes::from_static(b"{}")).await]
        })
    };
    let patience = Duration::from_secs(20);
    let by = |host: &str, roots| ask(HttpTransport::with(node(host), Trust::with_roots(roots), patience));
    let good = Ok(Bytes::from_static(b"{}"));
    assert_eq!(by("localhost", roots()), [good.clone(), good], "on one connection");
    let refused = |answers: [Result<Bytes, OutboundFault>; 2]| {
        assert!(
            answers.iter().all(|answer| matches!(answer, Err(OutboundFault::Unreachable(_)))),
            "{answers:?}"
        );
    };
    // Another name than its certificate has; an authority that nobody trusts; what the host itself trusts.
    refused(by("127.0.0.1", roots()));
    refused(by("localhost", RootCertStore::empty()));
    let node = NodeUrl::parse(&format!("https://localhost:{port}/")).unwrap();
    assert!(node.is_encrypted);
    refused(ask(HttpTransport::new(node, patience)));
    // Without encryption it understands nothing.
    let plain = NodeUrl::parse(&format!("http://localhost:{port}/")).unwrap();
    refused(ask(HttpTransport::new(plain, patience)));
}
