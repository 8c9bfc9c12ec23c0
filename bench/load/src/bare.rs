//! The least that a hyper server can do: read a request whole, check its signature where keys are given, answer fixed
//! bytes. Same library, same kind of threads and runtime as the exchange's gateway, no routes, no limits, no engine.

use super::connection::Connection;
use super::signed::{self, Keys, Signing};
use super::subject;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ringside_bench::address::own_address;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// The bare server as a process of its own, like the exchange: the running program, which calls [`serve`] when it is given
/// `--bare <address>`. Dropped, it is killed.
pub struct BareServer {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

/// What the bare server is told.
#[derive(Serialize, Deserialize)]
struct Orders {
    answer: FixedAnswer,
    /// Who may ask; nobody named, anybody may.
    keys: Vec<Signing>,
}

impl BareServer {
    /// Starts it with so many threads and waits until it answers.
    pub async fn start(
        answer: &FixedAnswer,
        keys: &[Signing],
        workers: usize,
        is_pinned: bool,
    ) -> Result<BareServer> {
        let address = own_address();
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--workers", &workers.to_string(), "--bare", &address.to_string()])
            .stdin(Stdio::piped())
            .spawn()?;
        let mut told = child.stdin.take().context("a pipe was asked for")?;
        let server = BareServer { child, address };
        told.write_all(&serde_json::to_vec(&Orders { answer: answer.clone(), keys: keys.to_vec() })?)?;
        drop(told);
        if is_pinned {
            subject::pin(server.process_id())?;
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while Connection::open(address).await.is_err() {
            ensure!(Instant::now() < deadline, "the bare server does not answer");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(server)
    }

    /// Its process id.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer to every request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FixedAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl FixedAnswer {
    /// What another server answered, without the headers that hyper writes by itself.
    pub fn recorded(status: u16, head: &[u8], body: &[u8]) -> Result<FixedAnswer> {
        let head = std::str::from_utf8(head).context("a head is text")?;
        let headers = head
            .split("\r\n")
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_string()))
            .filter(|(name, _)| !matches!(name.as_str(), "date" | "content-length" | "connection"))
            .collect();
        Ok(FixedAnswer { status, headers, body: String::from_utf8(body.to_vec()).context("a body is text")? })
    }

    /// Bytes of the body.
    pub fn body_len(&self) -> usize {
        self.body.len()
    }

    fn response(&self) -> Result<Response<Full<Bytes>>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body.clone())));
        *response.status_mut() = StatusCode::from_u16(self.status)?;
        for (name, value) in &self.headers {
            response
                .headers_mut()
                .insert(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value)?);
        }
        Ok(response)
    }
}

/// Serves on `address` with `workers` threads, connections dealt out in turn, until killed. What to answer, and whom, is read
/// from standard input.
pub fn serve(address: SocketAddr, workers: usize) -> Result<()> {
    let Orders { answer, keys } = serde_json::from_reader(std::io::stdin().lock())?;
    let listener = TcpListener::bind(address)?;
    let mut threads: Vec<UnboundedSender<std::net::TcpStream>> = Vec::new();
    for _ in 1..workers {
        let (sender, mut streams) = unbounded_channel::<std::net::TcpStream>();
        let service = Service { response: answer.response()?, keys: signed::schedules(&keys)? };
        std::thread::spawn(move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let service = Rc::new(service);
            tokio::task::LocalSet::new().block_on(&runtime, async move {
                while let Some(stream) = streams.recv().await {
                    spawn_connection(stream, Rc::clone(&service))?;
                }
                Ok(())
            })
        });
        threads.push(sender);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let service = Rc::new(Service { response: answer.response()?, keys: signed::schedules(&keys)? });
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        for turn in 0.. {
            let stream = listener.accept().await?.0.into_std()?;
            match (turn % workers).checked_sub(1) {
                None => spawn_connection(stream, Rc::clone(&service))?,
                Some(thread) => threads[thread].send(stream).context("a worker has ended")?,
            }
        }
        Ok(())
    })
}

/// What the connections of one thread share.
struct Service {
    response: Response<Full<Bytes>>,
    keys: Keys,
}

impl Service {
    async fn respond(&self, request: Request<hyper::body::Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        // A body that breaks off ends the connection by itself.
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        if self.keys.is_empty() || signed::is_signed(&self.keys, &head, &body) {
            return self.response.clone();
        }
        let mut refusal = Response::new(Full::default());
        *refusal.status_mut() = StatusCode::UNAUTHORIZED;
        refusal
    }
}

fn spawn_connection(stream: std::net::TcpStream, service: Rc<Service>) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = tokio::net::TcpStream::from_std(stream)?;
    let answer = service_fn(move |request| {
        let service = Rc::clone(&service);
        async move { Ok::<_, Infallible>(service.respond(request).await) }
    });
    tokio::task::spawn_local(async move {
        // Clients close as they like.
        let _ =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
    });
    Ok(())
}
