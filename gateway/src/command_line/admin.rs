//! `ringside admin`: requests to the routes of operators of a running exchange, by words or by method and path; JSON in and out.

pub(super) mod words;

use super::target::Target;
use anyhow::{Context, Result, bail, ensure};
use hyper::{Method, StatusCode};
use ringside_config::Config;
use serde_json::Value;
use std::io::Read;

/// Methods by which a request is asked for without words.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// What to send, and where.
#[derive(Debug)]
pub(super) struct Wanted {
    /// A noun, a verb and what they take; or a method, a path and a body.
    pub(super) words: Vec<String>,
    pub(super) target: Target,
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct Request {
    method: Method,
    path: String,
    body: Option<Value>,
}

/// What the words ask for.
#[derive(Debug)]
pub(super) enum Asked {
    /// What can be asked.
    Help(String),
    /// A request.
    Request(Request),
}

/// Reads the words; `Err` says what is wrong with them.
pub(super) fn read(wanted: &Wanted) -> Result<Asked> {
    let [first, rest @ ..] = wanted.words.as_slice() else {
        bail!("nothing to ask; `ringside admin help` has the words")
    };
    if first == "help" {
        return Ok(Asked::Help(words::help(rest)?));
    }
    let method = first.to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        let asked = words::ask(&wanted.words, body)?;
        let method = Method::from_bytes(asked.method.name().as_bytes())?;
        return Ok(Asked::Request(Request { method, path: asked.path, body: asked.body }));
    }
    let method = Method::from_bytes(method.as_bytes())?;
    let (path, sent) = match rest {
        [path] => (path, None),
        [path, sent] => (path, Some(body(sent)?.with_context(|| format!("{sent}: no JSON, @FILE or -"))?)),
        _ => bail!("{method} takes a path and, where there is one, a body"),
    };
    ensure!(path.starts_with('/'), "{path}: a path begins with /");
    Ok(Asked::Request(Request { method, path: path.clone(), body: sent }))
}

/// JSON as it was given: itself, `@FILE`, or `-` for standard input. Nothing where it is none of these.
fn body(given: &str) -> Result<Option<Value>> {
    let text = match given.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("@{file}"))?,
        None if given == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("standard input")?;
            text
        }
        None if given.starts_with(['{', '[']) => given.to_owned(),
        None => return Ok(None),
    };
    let name = if given.starts_with(['{', '[']) { "the body" } else { given };
    serde_json::from_str(&text).map(Some).with_context(|| format!("{name}: no JSON"))
}

/// Sends it; status and answer, whatever they are.
pub(super) fn send(config: &Config, wanted: &Wanted, request: Request) -> Result<(StatusCode, Value)> {
    let client = wanted.target.client(config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(client.send(request.method, &request.path, request.body))
}
