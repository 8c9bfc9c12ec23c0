//! The least that a hyper server can do: read a request whole, answer fixed bytes. Same library, same kind of threads
//! and runtime as the exchange's gateway, no routes, no credentials, no engine.

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

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

/// Serves on `address` with `workers` threads, connections dealt out in turn, until killed.
pub fn serve(address: SocketAddr, workers: usize, answer: &FixedAnswer) -> Result<()> {
    let listener = TcpListener::bind(address)?;
    let mut threads: Vec<UnboundedSender<std::net::TcpStream>> = Vec::new();
    for _ in 1..workers {
        let (sender, mut streams) = unbounded_channel::<std::net::TcpStream>();
        let response = answer.response()?;
        std::thread::spawn(move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let response = Rc::new(response);
            tokio::task::LocalSet::new().block_on(&runtime, async move {
                while let Some(stream) = streams.recv().await {
                    spawn_connection(stream, Rc::clone(&response))?;
                }
                Ok(())
            })
        });
        threads.push(sender);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let response = Rc::new(answer.response()?);
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        for turn in 0.. {
            let stream = listener.accept().await?.0.into_std()?;
            match (turn % workers).checked_sub(1) {
                None => spawn_connection(stream, Rc::clone(&response))?,
                Some(thread) => threads[thread].send(stream).context("a worker has ended")?,
            }
        }
        Ok(())
    })
}

fn spawn_connection(stream: std::net::TcpStream, response: Rc<Response<Full<Bytes>>>) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = tokio::net::TcpStream::from_std(stream)?;
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let response = Rc::clone(&response);
        async move {
            // A body that breaks off ends the connection by itself.
            let _ = request.into_body().collect().await;
            Ok::<_, Infallible>(Response::clone(&response))
        }
    });
    tokio::task::spawn_local(async move {
        // Clients close as they like.
        let _ =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    });
    Ok(())
}
