//! Where clients of three hosts go, as programs of traders do: to the one that answered last, and to the next one where it does not;
//! now and then somewhere else. Every call and every read is written down, with its begin and its end.

use super::HOSTS;
use super::history::{Asked, Call, History, Read, Said, Saw, Venue, Who};
use super::hosts::Hosts;
use crate::kills::futures::{self, FuturesTrader};
use crate::kills::trader::{self, Trader};
use crate::kills::{Outcome, SEQUENCE, Shown};
use anyhow::{Context, Result, ensure};
use ringside_bench::op::Random;
use ringside_load::api;
use ringside_load::connection::Connection;
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest wait for an answer, and for the next host to try.
const ANSWER: Duration = Duration::from_millis(700);
const NEXT: Duration = Duration::from_millis(8);
/// Longest pause between an answer and the next request of a trader that has little to be looked up.
const PAUSE_MAX_US: u32 = 30_000;
/// Orders to be looked up from which on pauses grow: lists show so many rows and no more.
const FRESH: usize = 40;
/// Pause of a reader.
const READ_US: u32 = 12_000;
/// How long a trader may look for a host that takes what it has begun, after all is over.
const LAST: Duration = Duration::from_secs(30);

/// What all clients share.
pub struct Field {
    addresses: [SocketAddr; HOSTS],
    begun: Instant,
    /// Whether to end.
    pub is_over: Cell<bool>,
    /// How often each host was started.
    lives: Rc<[Cell<u32>; HOSTS]>,
    /// What was written down.
    pub history: RefCell<History>,
    /// Acknowledged so far: all, and orders that were placed.
    pub acknowledged: Cell<u64>,
    /// See `acknowledged`.
    pub placed: Cell<u64>,
}

impl Field {
    /// Of these hosts.
    pub fn new(hosts: &Hosts) -> Field {
        Field {
            addresses: hosts.addresses,
            begun: Instant::now(),
            is_over: Cell::new(false),
            lives: hosts.lives.clone(),
            history: RefCell::default(),
            acknowledged: Cell::new(0),
            placed: Cell::new(0),
        }
    }

    /// Nanoseconds since its begin.
    pub fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// What was asked for like this before.
    fn tries(&self, who: Who, asked: Asked) -> Vec<Call> {
        let history = self.history.borrow();
        history.calls.iter().filter(|call| call.who == who && call.asked == asked).copied().collect()
    }

    fn call(&self, call: Call) {
        if let Said::Told(_) = call.said {
            self.acknowledged.set(self.acknowledged.get() + 1);
            let is_placed = matches!(call.asked, Asked::Place(_));
            self.placed.set(self.placed.get() + u64::from(is_placed));
        }
        self.history.borrow_mut().calls.push(call);
    }
}

/// A client's connections, made when they are needed.
#[derive(Default)]
struct Links([Option<Connection>; HOSTS]);

impl Links {
    async fn to(&mut self, field: &Field, host: usize) -> Option<&mut Connection> {
        let link = &mut self.0[host];
        if link.is_none() {
            let opened = tokio::time::timeout(ANSWER, Connection::open(field.addresses[host])).await;
            *link = opened.ok().and_then(Result::ok);
        }
        link.as_mut()
    }

    fn drop(&mut self, host: usize) {
        self.0[host] = None;
    }
}

/// A trader that may go anywhere.
#[allow(async_fn_in_trait, reason = "both run on one thread")]
pub trait Client {
    /// What it sends.
    type Sent;
    /// It.
    fn who(&self) -> Who;
    /// What is to be asked now.
    fn next(&mut self) -> Self::Sent;
    /// Whether something it asked for is not answered yet.
    fn is_waiting(&self) -> bool;
    /// The same in the words of the history.
    fn asked(sent: &Self::Sent) -> Option<Asked>;
    /// Orders that are to be looked up.
    fn fresh(&self) -> usize;
    /// Sends it.
    fn send(
        &mut self,
        connection: &mut Connection,
        sent: &Self::Sent,
    ) -> impl Future<Output = Result<Outcome>>;
    /// The host that it stays with, whatever that answers: of each host one client finds out at once when it takes orders again.
    fn stays_with(&self) -> Option<usize> {
        None
    }
    /// Nobody knows what became of the last.
    fn lost(&mut self);
    /// An order of its own as a host shows it, where it looks at one now.
    fn look(
        &mut self,
        connection: &mut Connection,
        random: &mut Random,
    ) -> impl Future<Output = Result<Option<(Shown, Option<u64>)>>>;
}

impl Client for Trader {
    type Sent = trader::Sent;

    fn who(&self) -> Who {
        Who { venue: Venue::Spot, number: self.number }
    }

    fn next(&mut self) -> trader::Sent {
        Trader::choose_next(self)
    }

    fn is_waiting(&self) -> bool {
        Trader::is_waiting(self)
    }

    fn asked(sent: &trader::Sent) -> Option<Asked> {
        Some(match sent {
            trader::Sent::Place(wish) => Asked::Place(wish.number),
            trader::Sent::Cancel(id) => Asked::Cancel(trader::order_number(id)?),
        })
    }

    fn fresh(&self) -> usize {
        self.fresh.len()
    }

    async fn send(&mut self, connection: &mut Connection, sent: &trader::Sent) -> Result<Outcome> {
        Trader::send(self, connection, sent).await
    }

    /// It has an idempotency key, so it is sent again.
    fn lost(&mut self) {
        self.sent_again += 1;
    }

    async fn look(&mut self, _: &mut Connection, _: &mut Random) -> Result<Option<(Shown, Option<u64>)>> {
        Ok(None)
    }
}

impl Client for FuturesTrader {
    type Sent = futures::Sent;

    fn who(&self) -> Who {
        Who { venue: Venue::Perpetual, number: self.number }
    }

    fn next(&mut self) -> futures::Sent {
        FuturesTrader::choose_next(self)
    }

    /// What was refused for the time being is nothing.
    fn is_waiting(&self) -> bool {
        false
    }

    fn asked(sent: &futures::Sent) -> Option<Asked> {
        Some(match sent {
            futures::Sent::Place(wish) => Asked::Place(wish.number),
            futures::Sent::Cancel(id) => Asked::Cancel(*id),
            futures::Sent::Shorten(id, quantity) => Asked::Shorten(*id, *quantity),
        })
    }

    fn fresh(&self) -> usize {
        self.fresh.len()
    }

    async fn send(&mut self, connection: &mut Connection, sent: &futures::Sent) -> Result<Outcome> {
        FuturesTrader::send(self, connection, sent).await
    }

    fn stays_with(&self) -> Option<usize> {
        Some(self.number as usize).filter(|host| *host < HOSTS)
    }

    fn lost(&mut self) {
        self.put_aside();
    }

    async fn look(
        &mut self,
        connection: &mut Connection,
        random: &mut Random,
    ) -> Result<Option<(Shown, Option<u64>)>> {
        if random.below(4) > 0 {
            return Ok(None);
        }
        match self.any_open() {
            Some(order) => FuturesTrader::look(self, connection, order).await,
            None => Ok(None),
        }
    }
}

/// Trades until it is over, and until what was begun is answered. `client` is its number among all clients.
///
/// Errors: an answer that no exchange must give; nobody takes what was begun.
pub async fn roam<C: Client>(field: &Field, trader: &mut C, client: u32, random: &mut Random) -> Result<()> {
    let mut links = Links::default();
    let mut host = client as usize % HOSTS;
    let mut last: Option<Instant> = None;
    while !field.is_over.get() || trader.is_waiting() {
        if field.is_over.get() {
            let begun = *last.get_or_insert_with(Instant::now);
            ensure!(begun.elapsed() < LAST, "{:?}: nobody takes what was begun", trader.who());
        }
        let elsewhere = (random.below(16) == 0).then(|| random.below(HOSTS as u32) as usize);
        let to = trader.stays_with().or(elsewhere).unwrap_or(host);
        let sent = trader.next();
        let asked = C::asked(&sent).context("no number of an order")?;
        let life = field.lives[to].get();
        let begun = field.now();
        let outcome = match links.to(field, to).await {
            None => None,
            Some(connection) => {
                let answer = tokio::time::timeout(ANSWER, trader.send(connection, &sent)).await;
                let answer = answer.unwrap_or(Ok(Outcome::Lost));
                let before =
                    || format!("at {to} from {begun} on, after {:#?}", field.tries(trader.who(), asked));
                Some(answer.with_context(before)?)
            }
        };
        // What could not be sent is no call.
        let Some(outcome) = outcome else {
            host = (to + 1) % HOSTS;
            tokio::time::sleep(NEXT).await;
            continue;
        };
        let said = match &outcome {
            Outcome::Told(shown) => Said::Told(*shown),
            Outcome::Ruled(_) | Outcome::Refused(_) => Said::Refused,
            Outcome::Lost => Said::Unknown,
        };
        let (who, ended) = (trader.who(), field.now());
        field.call(Call { who, host: to, begun, ended, asked, said });
        if let (Outcome::Ruled(named), Asked::Cancel(order)) = (&outcome, asked) {
            let saw = Saw::Gone(who.venue, order);
            let read = Read { client, host: to, life, begun, ended, named: *named, is_leaders: false, saw };
            field.history.borrow_mut().reads.push(read);
        }
        match outcome {
            Outcome::Told(_) | Outcome::Ruled(_) => host = to,
            Outcome::Refused(_) => {
                host = (to + 1) % HOSTS;
                tokio::time::sleep(NEXT).await;
                continue;
            }
            Outcome::Lost => {
                trader.lost();
                links.drop(to);
                host = (to + 1) % HOSTS;
                continue;
            }
        }
        look(field, trader, client, random, &mut links).await?;
        let crowd = (trader.fresh() / FRESH) as u32;
        let pause = u64::from(random.below(PAUSE_MAX_US * (1 + crowd * crowd)));
        tokio::time::sleep(Duration::from_micros(pause)).await;
    }
    Ok(())
}

/// Looks at an order of one's own at any host, now and then.
async fn look<C: Client>(
    field: &Field,
    trader: &mut C,
    client: u32,
    random: &mut Random,
    links: &mut Links,
) -> Result<()> {
    let host = random.below(HOSTS as u32) as usize;
    let life = field.lives[host].get();
    let Some(connection) = links.to(field, host).await else { return Ok(()) };
    let begun = field.now();
    let Ok(shown) = tokio::time::timeout(ANSWER, trader.look(connection, random)).await else {
        links.drop(host);
        return Ok(());
    };
    if let Some((shown, named)) = shown? {
        let saw = Saw::Order(trader.who().venue, shown);
        let read = Read { client, host, life, begun, ended: field.now(), named, is_leaders: false, saw };
        field.history.borrow_mut().reads.push(read);
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DepthRow {
    last_update_id: u64,
}

/// Reads the book of one host until it is over. A read between two answers that the host leads is a leader's.
pub async fn read(field: &Field, host: usize, client: u32, random: &mut Random) -> Result<()> {
    let mut links = Links::default();
    let path = format!("/fapi/v1/depth?symbol={}&limit=5", futures::SYMBOL);
    let book = api::request_at("GET", &path, "", None);
    let leads = api::request_at("GET", "/leaderz", "", None);
    let mut last: Option<Read> = None;
    let mut led = false;
    while !field.is_over.get() {
        let pause = Duration::from_micros(u64::from(random.below(READ_US)));
        tokio::time::sleep(pause).await;
        let life = field.lives[host].get();
        let is_leader = ask(field, &mut links, host, &leads).await.is_some_and(|(status, ..)| status == 200);
        if let Some(read) = last.take() {
            let is_leaders = led && is_leader && read.life == life;
            field.history.borrow_mut().reads.push(Read { is_leaders, ..read });
        }
        led = is_leader;
        let begun = field.now();
        let Some((200, named, body)) = ask(field, &mut links, host, &book).await else { continue };
        let row: DepthRow = serde_json::from_slice(&body)?;
        let saw = Saw::Update(row.last_update_id);
        last = Some(Read { client, host, life, begun, ended: field.now(), named, is_leaders: false, saw });
    }
    field.history.borrow_mut().reads.extend(last);
    Ok(())
}

/// Status, the sequence that the answer names, and its body; nothing where there is none.
async fn ask(
    field: &Field,
    links: &mut Links,
    host: usize,
    request: &[u8],
) -> Option<(u16, Option<u64>, Vec<u8>)> {
    let asked = async {
        let connection = links.to(field, host).await?;
        let answer = connection.call(request).await.ok()?;
        let named = answer.header(SEQUENCE).and_then(|value| value.parse().ok());
        Some((answer.status, named, answer.body.to_vec()))
    };
    let answer = tokio::time::timeout(ANSWER, asked).await.ok().flatten();
    if answer.is_none() {
        links.drop(host);
    }
    answer
}
