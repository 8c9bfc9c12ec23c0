//! `ringside cluster`: makes a data folder that of a member, and has a running cluster's members shown and changed.

use super::client::Client;
use super::mirror::key;
use super::target::Target;
use crate::boot::{credentials, is_blank};
use anyhow::{Context, Result, anyhow, bail, ensure};
use hyper::{Method, StatusCode};
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_config::member;
use ringside_mirror::members::Member;
use ringside_persist::quorum::vote;
use ringside_persist::storage::disk::{Disk, make_folder};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Makes the data folder of the settings that of the member they name; says what the other hosts are given.
pub(super) fn init(config: &Config, cluster: Option<&str>, join: bool) -> Result<String> {
    let member = config.cluster_member.context("set `cluster_member`: which of the members is this host?")?;
    let wanted = cluster.map(id).transpose()?;
    // The key is made with the folder.
    let key = key(config)?;
    let journal = config.data_dir.join("journal");
    make_folder(&journal).with_context(|| format!("{}", journal.display()))?;
    let disk = Disk::open_existing(&journal)?;
    let taken = disk.lock()?;
    if !is_blank(&journal) {
        // A member writes what its leader wrote, and nothing else.
        credentials::take_along(config, &Clock::SYSTEM, &taken)?;
    }
    if let Some(cluster) = wanted.filter(|_| join) {
        vote::join(&disk, member, cluster)?;
        return Ok(format!(
            "ringside: this host is ready to be member {member}; its key is {}\nringside: start it, then where the others run: `ringside cluster \
             add {member}@HOST:PORT=KEY`, or `replace`\n",
            key.trim()
        ));
    }
    let cluster: String =
        vote::init(&disk, member, wanted)?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!(
        "ringside: member {member} of cluster {cluster}; its key is {}\n\
         ringside: on each of the other hosts: `ringside cluster init --cluster {cluster}`. Where this one has a journal, they need a copy \
         of it first\n",
        key.trim()
    ))
}

/// The id of a cluster: 32 hex digits.
fn id(text: &str) -> Result<[u8; 16]> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32 && !text.starts_with('+'));
    let number = number.with_context(|| format!("{text} is no id of a cluster: it has 32 hex digits"))?;
    Ok(number.to_be_bytes())
}

/// Where a change is asked for, and why.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Asked {
    #[command(flatten)]
    pub(super) target: Target,
    /// Why, for the audit log: at most 256 bytes.
    #[arg(long, default_value = "")]
    pub(super) reason: String,
}

/// How often it is looked how far one has come who is to get a vote.
const LOOK: Duration = Duration::from_millis(200);
/// How long a member that does not take commands just now is asked again: while not all of few answer it may be so for moments.
const BUSY: Duration = Duration::from_secs(30);
/// How long one who comes may bring no batch nearer.
const PATIENCE: Duration = Duration::from_secs(600);

fn run<T>(asked: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(asked)
}

/// Shows the members.
pub(super) fn status(config: &Config, target: &Target, as_json: bool) -> Result<String> {
    let client = target.client(config)?;
    let status = run(show(&client))?;
    if as_json {
        return Ok(format!("{status}\n"));
    }
    let mut text = String::new();
    let number = |value: &Value| value.as_u64().map_or_else(|| "-".to_owned(), |number| number.to_string());
    writeln!(
        text,
        "member {} in term {}; {} leads; {} of {} batches agreed on; engine version {}",
        number(&status["member"]),
        number(&status["term"]),
        match status["leader"].as_u64() {
            Some(leader) => format!("member {leader}"),
            None => "nobody".to_owned(),
        },
        number(&status["agreed"]),
        number(&status["batch"]),
        number(&status["engine_version"]),
    )?;
    for member in status["members"].as_array().into_iter().flatten() {
        let is = |name: &str| member[name] == true;
        let role = match (is("leads"), is("votes")) {
            (true, _) => "leads",
            (false, true) => "votes",
            (false, false) => "comes",
        };
        let state = match (&member["answers"], is("fetches")) {
            (_, true) => "fetches the files of another",
            (Value::Bool(false), _) => "does not answer",
            _ if is("connected") => "is connected",
            _ => "is not connected",
        };
        let (id, batch, behind) =
            (number(&member["member"]), number(&member["batch"]), number(&member["behind"]));
        let address = member["address"].as_str().unwrap_or_default();
        writeln!(text, "{id:>4}  {role}  {address:<24} batch {batch:>12}  behind {behind:>8}  {state}")?;
    }
    Ok(text)
}

async fn show(client: &Client) -> Result<Value> {
    client.call(Method::GET, "/admin/cluster", None).await
}

/// A member as `ID@HOST:PORT=KEY`.
fn parse(text: &str) -> Result<Member> {
    member(text)
        .map_err(|_| anyhow!("{text} is no member: it is written ID@HOST:PORT=KEY, the key as 64 hex digits"))
}

/// Has one more taken in, and waits until it votes.
pub(super) fn add(config: &Config, member: &str, asked: &Asked) -> Result<String> {
    let (client, member) = (asked.target.client(config)?, parse(member)?);
    run(added(&client, &member, &asked.reason))?;
    Ok(format!("ringside: member {} votes\n", member.id))
}

/// One that was taken in before is waited for: a command that did not come to its end is given again.
async fn added(client: &Client, member: &Member, reason: &str) -> Result<()> {
    let Member { id, address, key } = member;
    let body = json!({"member": id, "address": address, "key": key.to_string(), "reason": reason});
    let status = show(client).await?;
    let is_it = |found: &Value| ["member", "address", "key"].iter().all(|name| found[name] == body[name]);
    if !status["members"].as_array().into_iter().flatten().any(is_it) {
        ask(client, "add", &body).await?;
    }
    let (mut at, mut moved) = (0, Instant::now());
    loop {
        let status = show(client).await?;
        let mut all = status["members"].as_array().into_iter().flatten();
        let Some(found) = all.find(|found| found["member"] == *id) else {
            bail!("member {id} is none any more: somebody else has taken it out");
        };
        if found["votes"] == true {
            return Ok(());
        }
        let batch = found["batch"].as_u64().unwrap_or(0);
        if batch > at {
            (at, moved) = (batch, Instant::now());
        }
        ensure!(
            moved.elapsed() < PATIENCE,
            "member {id} comes no nearer: it stays without a vote; `cluster remove {id}` takes it out"
        );
        tokio::time::sleep(LOOK).await;
    }
}

/// Has one taken out.
pub(super) fn remove(config: &Config, member: u64, asked: &Asked) -> Result<String> {
    let client = asked.target.client(config)?;
    run(change(&client, "remove", member, &asked.reason))?;
    Ok(format!("ringside: member {member} is none any more\n"))
}

async fn change(client: &Client, what: &str, member: u64, reason: &str) -> Result<Value> {
    ask(client, what, &json!({"member": member, "reason": reason})).await
}

/// Asks for a change; again where it was not taken, which the answer says.
async fn ask(client: &Client, what: &str, body: &Value) -> Result<Value> {
    let (path, begun) = (format!("/admin/cluster/{what}"), Instant::now());
    loop {
        let (status, answer) = client.send(Method::POST, &path, Some(body.clone())).await?;
        let is_refused = answer["code"] == "SERVICE_UNAVAILABLE";
        match status {
            StatusCode::OK => return Ok(answer),
            StatusCode::SERVICE_UNAVAILABLE if is_refused && begun.elapsed() < BUSY => {
                tokio::time::sleep(LOOK).await;
            }
            _ => bail!("{path}: {status} {answer}"),
        }
    }
}

/// Has one taken in, and another out once the first votes.
pub(super) fn replace(config: &Config, old: u64, new: &str, asked: &Asked) -> Result<String> {
    let (client, new) = (asked.target.client(config)?, parse(new)?);
    let replaced = async {
        let status = show(&client).await?;
        let is_there = status["members"].as_array().into_iter().flatten().any(|found| found["member"] == old);
        ensure!(is_there, "there is no member {old}");
        ensure!(status["leader"] != old, "member {old} leads: have another lead first (`cluster transfer`)");
        added(&client, &new, &asked.reason).await?;
        change(&client, "remove", old, &asked.reason).await
    };
    run(replaced)?;
    Ok(format!("ringside: member {} votes, and member {old} is none any more\n", new.id))
}

/// Has another lead.
pub(super) fn transfer(config: &Config, member: u64, asked: &Asked) -> Result<String> {
    let client = asked.target.client(config)?;
    run(change(&client, "transfer", member, &asked.reason))?;
    Ok(format!("ringside: member {member} is to lead\n"))
}
