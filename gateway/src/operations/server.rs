//! An address of its own for whoever watches: `/metrics` and the probes, without a key. It is for a network that
//! only the operator's machines reach, and answers also while the gateway's threads are busy or stuck.
//!
//! One thread, few connections, one after the other closed when it says nothing for a while. No other route exists here.

use super::{CONTENT_TYPE, PROBES, page};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE as CONTENT_TYPE_HEADER, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ringside_edge::worker::Shared;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Connections at once; more wait in the listener.
const CONNECTIONS_MAX: usize = 16;
/// A connection's life: a scraper makes a new one where it lost one.
const LIFE: Duration = Duration::from_secs(120);

/// Listens on `address` until the process is told to stop; gives the address it got.
pub fn start(shared: Arc<Shared>, address: SocketAddr) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        let tasks = tokio::task::LocalSet::new();
        let shutdown = shared.edge.shutdown.clone();
        tasks.block_on(&runtime, async {
            if let Some(Err(error)) = shutdown.run_until_cancelled(serve(listener, shared)).await {
                tracing::error!(%error, "the listener of /metrics failed");
            }
        });
    })?;
    Ok((address, thread))
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // The semaphore is never closed.
        let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection for /metrics could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let shared = shared.clone();
        tokio::task::spawn_local(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let answer = answer(&shared, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .header_read_timeout(None)
                .half_close(true)
                .max_buf_size(8 << 10)
                .serve_connection(TokioIo::new(stream), service);
            if let Ok(Err(error)) = tokio::time::timeout(LIFE, connection).await {
                tracing::debug!(%peer, %error, "connection for /metrics ended");
            }
            drop(place);
        });
    }
}

fn answer(shared: &Shared, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let is_get = request.method() == Method::GET;
    let (status, content_type, body) = match request.uri().path() {
        _ if !is_get => (StatusCode::METHOD_NOT_ALLOWED, TEXT, Bytes::from_static(b"only GET\n")),
        "/metrics" => (StatusCode::OK, CONTENT_TYPE, page(shared).into()),
        path => match PROBES.iter().find(|(probed, _)| *probed == path) {
            Some((_, probe)) => {
                let (is_so, words) = probe(shared);
                let status = if is_so { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                (status, TEXT, Bytes::from_static(words.as_bytes()))
            }
            None => (StatusCode::NOT_FOUND, TEXT, Bytes::from_static(ONLY.as_bytes())),
        },
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE_HEADER, HeaderValue::from_static(content_type));
    response
}

const ONLY: &str = "only /metrics, /livez, /livez/reads, /readyz and /leaderz\n";
const TEXT: &str = "text/plain; charset=utf-8";
