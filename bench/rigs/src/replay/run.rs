//! Sends a session, waits, kills and restarts the exchange on the way, and judges everything.

use super::audit::{Audit, Audited, TRADES_MAX};
use super::cast::Cast;
use super::stage::Stage;
use super::verdict::Verdict;
use super::window::Window;
use crate::data::script::{Action, ImpliedBook, Script};
use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use ringside_bench::report;
use ringside_load::api::OwnTrade;
use ringside_load::connection::Connection;
use ringside_load::pace::{Alarm, Rate};
use ringside_load::server::Server;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Answered fills of an account that its trades have not shown: from here on they are asked for.
const TRADES_ASK: u32 = 80;

/// How a session is sent.
#[derive(Clone, Debug)]
pub struct Options {
    /// When.
    pub rate: Rate,
    /// Connections that carry orders.
    pub connections: usize,
    /// Connections that carry reads.
    pub readers: usize,
    /// Steps considered at once.
    pub window: usize,
    /// Books compared on the way.
    pub checkpoints: usize,
    /// Kill the exchange once so many steps have been answered.
    pub kill_after: Option<usize>,
}

/// What came of it.
pub struct Outcome {
    /// From sending to answer.
    pub places: Histogram<u64>,
    /// From sending to answer.
    pub cancels: Histogram<u64>,
    /// Reads of accounts' trades, from sending to answer.
    pub reads: Histogram<u64>,
    /// From when a step was due to its answer; empty at the greatest rate.
    pub due: Histogram<u64>,
    /// From the first step to the last answer, the restart left out.
    pub elapsed: Duration,
    /// Most steps on the way at once.
    pub most_at_once: usize,
    /// Sum over steps of how many were on the way when it was sent.
    pub at_once_sum: u64,
    /// Books compared on the way.
    pub books: usize,
    /// How long the restart took, and how many steps had been on the way.
    pub restart: Option<(Duration, usize)>,
    /// The state after the restart.
    pub after_restart: Option<Audited>,
}

/// What a request is about.
#[derive(Clone, Copy, Debug)]
enum Subject {
    Step(usize),
    Trades(u32),
}

struct Answered {
    connection: usize,
    subject: Subject,
    sent: Instant,
    received: Instant,
    answer: std::io::Result<(u16, Vec<u8>)>,
}

/// Connections as tasks of this thread, each with at most one request on the way.
struct Pool {
    senders: Vec<UnboundedSender<(Subject, Vec<u8>)>>,
    answers: UnboundedReceiver<Answered>,
}

impl Pool {
    async fn open(address: SocketAddr, count: usize) -> Result<Pool> {
        let (sender, answers) = unbounded_channel();
        let mut senders = Vec::new();
        for connection in 0..count {
            let mut stream = Connection::open(address).await.context("cannot connect")?;
            let (jobs, mut inbox) = unbounded_channel::<(Subject, Vec<u8>)>();
            let sender = sender.clone();
            tokio::task::spawn_local(async move {
                while let Some((subject, request)) = inbox.recv().await {
                    let sent = Instant::now();
                    let answer = stream.call(&request).await;
                    let received = Instant::now();
                    let answer = answer.map(|answer| (answer.status, answer.body.to_vec()));
                    let failed = answer.is_err();
                    if sender.send(Answered { connection, subject, sent, received, answer }).is_err()
                        || failed
                    {
                        return;
                    }
                }
            });
            senders.push(jobs);
        }
        Ok(Pool { senders, answers })
    }

    fn send(&self, connection: usize, subject: Subject, request: Vec<u8>) {
        // A task that has ended reports its failure with the answer that it owes; none can be lost here, because a
        // connection is idle only after a success.
        let _ = self.senders[connection].send((subject, request));
    }
}

/// One replay. Must run inside a `LocalSet`.
pub struct Run<'a> {
    server: &'a mut Server,
    audit: Audit<'a>,
    options: Options,
    verdict: Verdict<'a>,
    window: Window<'a>,
    pool: Pool,
    idle: Vec<usize>,
    idle_readers: Vec<usize>,
    /// Steps on the way.
    out: Vec<usize>,
    /// Reads on the way.
    reads_out: usize,
    /// Whether an account's trades are being asked for.
    asked: Vec<bool>,
    answered: usize,
    start: Instant,
    alarm: Alarm,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    /// Connects.
    pub async fn new(
        server: &'a mut Server,
        script: &'a Script,
        cast: &'a Cast,
        stage: &'a Stage,
        options: Options,
    ) -> Result<Run<'a>> {
        let pool = Pool::open(server.address, options.connections + options.readers).await?;
        Ok(Run {
            server,
            audit: Audit { script, cast, stage },
            verdict: Verdict::new(script, cast),
            window: Window::new(script, options.window),
            pool,
            idle: (0..options.connections).collect(),
            idle_readers: (options.connections..options.connections + options.readers).collect(),
            options,
            out: Vec::new(),
            reads_out: 0,
            asked: vec![false; cast.count as usize],
            answered: 0,
            start: Instant::now(),
            alarm: Alarm::new()?,
            outcome: Outcome {
                places: report::histogram(),
                cancels: report::histogram(),
                reads: report::histogram(),
                due: report::histogram(),
                elapsed: Duration::ZERO,
                most_at_once: 0,
                at_once_sum: 0,
                books: 0,
                restart: None,
                after_restart: None,
            },
        })
    }

    /// Sends every step; `progress` hears of the count answered.
    pub async fn steps(&mut self, mut progress: impl FnMut(usize)) -> Result<()> {
        let script = self.audit.script;
        let stops = self.stops();
        let mut stops = stops.into_iter().peekable();
        let mut book = ImpliedBook::new(script);
        let mut booked = 0;
        self.start = Instant::now();
        while self.window.answered() < script.steps.len() {
            let limit = stops.peek().map_or(script.steps.len(), |(after, _)| *after);
            self.window.fill(limit);
            let due = self.dispatch()?;
            if self.out.is_empty() && self.window.answered() == limit && self.window.ready().is_none() {
                if let Some((after, recorded)) = stops.next() {
                    script.steps[booked..after].iter().for_each(|step| book.apply(step));
                    booked = after;
                    let recorded = recorded.map(|at| &script.checkpoints[at]);
                    let mut connection = Connection::open(self.server.address).await?;
                    self.audit
                        .depth(&mut connection, &book, recorded)
                        .await
                        .with_context(|| format!("after step {after}"))?;
                    self.outcome.books += 1;
                }
                continue;
            }
            // Only with requests on the way, which a pause before a comparison has not.
            if self.options.kill_after.is_some_and(|after| self.answered >= after) && !self.out.is_empty() {
                self.options.kill_after = None;
                self.kill_and_resume().await?;
                continue;
            }
            self.wait(due).await?;
            progress(self.answered);
        }
        self.outcome.elapsed = self.start.elapsed();
        Ok(())
    }

    /// Compares the whole state and hands over the result.
    pub async fn finish(mut self) -> Result<(Outcome, Audited, Audited)> {
        while self.reads_out > 0 {
            self.wait(None).await?;
        }
        let end = self.full_audit().await.context("at the end")?;
        self.server.kill()?;
        self.server.restart().await?;
        let again = self.full_audit().await.context("after another kill and restart at the end")?;
        Ok((self.outcome, end, again))
    }

    async fn full_audit(&mut self) -> Result<Audited> {
        let mut connection = Connection::open(self.server.address).await?;
        let window = &self.window;
        self.audit.all(&mut connection, &mut self.verdict, |step| window.is_done(step)).await
    }

    /// Steps before which nothing may be on the way, with the recorded book to compare if there is one.
    fn stops(&self) -> Vec<(usize, Option<usize>)> {
        let (script, wanted) = (self.audit.script, self.options.checkpoints);
        let recorded = script.checkpoints.len();
        let mut stops: Vec<(usize, Option<usize>)> = match (wanted, recorded) {
            (0, _) => Vec::new(),
            (_, 0) => (1..=wanted).map(|at| (script.steps.len() * at / wanted, None)).collect(),
            _ => (1..=wanted.min(recorded))
                .map(|at| recorded * at / wanted.min(recorded) - 1)
                .map(|at| (script.checkpoints[at].after, Some(at)))
                .collect(),
        };
        // Before the first step there is nothing to compare yet.
        stops.retain(|(after, _)| *after > 0);
        stops
    }

    /// Sends what may be sent; says until when nothing else is due.
    fn dispatch(&mut self) -> Result<Option<Instant>> {
        let Audit { script, cast, stage } = self.audit;
        while let Some(index) = self.window.ready() {
            let step = &script.steps[index];
            let due = self.options.rate.due(index as u64, step.time_ns).map(|after| self.start + after);
            if let Some(due) = due.filter(|due| *due > Instant::now()) {
                return Ok(Some(due));
            }
            if !self.trades_have_room(index)? {
                break;
            }
            let Some(connection) = self.idle.pop() else { break };
            let request = match step.action {
                Action::Place | Action::PlaceImmediate => {
                    stage.place(script, cast, index, self.may_be_killed(index))
                }
                Action::Cancel => {
                    let id = self.verdict.ids[step.order as usize].as_deref();
                    let id = id.with_context(|| format!("step {index} cancels an order not placed"))?;
                    stage.about_order(cast, "DELETE", step, id)
                }
            };
            self.window.take();
            self.out.push(index);
            self.outcome.most_at_once = self.outcome.most_at_once.max(self.out.len());
            self.outcome.at_once_sum += self.out.len() as u64;
            self.pool.send(connection, Subject::Step(index), request);
        }
        Ok(None)
    }

    /// Whether every account that a step's fills concern could still show them all in one request for its trades;
    /// asks for the trades of those that could not.
    fn trades_have_room(&mut self, index: usize) -> Result<bool> {
        let script = self.audit.script;
        let fills = script.fills_of(&script.steps[index]);
        ensure!(fills.len() < TRADES_MAX as usize, "step {index} has more fills than an account can show");
        let mut has_room = true;
        for order in fills.iter().flat_map(|fill| [fill.maker, fill.taker]) {
            let account = self.audit.cast.accounts[order as usize];
            if self.verdict.unseen[account as usize] + fills.len() as u32 >= TRADES_MAX {
                has_room = false;
                self.ask_for_trades(account);
            }
        }
        Ok(has_room)
    }

    /// Asks for the trades of the account that has most to show, if that is worth it.
    fn ask_for_most_trades(&mut self) {
        if self.idle_readers.is_empty() {
            return;
        }
        let unseen = |account: u32| {
            if self.asked[account as usize] { 0 } else { self.verdict.unseen[account as usize] }
        };
        let most = (0..self.audit.cast.count).max_by_key(|account| unseen(*account));
        if let Some(account) = most.filter(|account| unseen(*account) >= TRADES_ASK) {
            self.ask_for_trades(account);
        }
    }

    fn ask_for_trades(&mut self, account: u32) {
        if self.asked[account as usize] {
            return;
        }
        let Some(reader) = self.idle_readers.pop() else { return };
        self.asked[account as usize] = true;
        self.reads_out += 1;
        self.pool.send(reader, Subject::Trades(account), self.audit.own_trades_request(account));
    }

    /// Waits for the next answer, or until `due`.
    async fn wait(&mut self, due: Option<Instant>) -> Result<()> {
        ensure!(
            due.is_some() || !self.out.is_empty() || self.reads_out > 0,
            "nothing is on the way and nothing may be sent"
        );
        let mut next = match due {
            None => self.pool.answers.recv().await,
            Some(due) => tokio::select! {
                biased;
                answered = self.pool.answers.recv() => answered,
                () = self.alarm.at(due) => return Ok(()),
            },
        };
        while let Some(answered) = next {
            self.take_in(answered)?;
            next = self.pool.answers.try_recv().ok();
        }
        self.ask_for_most_trades();
        Ok(())
    }

    fn take_in(&mut self, answered: Answered) -> Result<()> {
        let Answered { connection, subject, sent, received, answer } = answered;
        let (status, body) = answer
            .with_context(|| format!("{subject:?} failed; the server says:\n{}", self.server.log_tail()))?;
        let latency = received.duration_since(sent).as_nanos() as u64;
        match subject {
            Subject::Step(index) => {
                self.idle.push(connection);
                self.settle(index, status, &body)?;
                let step = &self.audit.script.steps[index];
                let kind = if step.action == Action::Cancel {
                    &mut self.outcome.cancels
                } else {
                    &mut self.outcome.places
                };
                kind.saturating_record(latency);
                if let Some(due) = self.options.rate.due(index as u64, step.time_ns) {
                    let due = received.duration_since(self.start + due).as_nanos() as u64;
                    self.outcome.due.saturating_record(due);
                }
            }
            Subject::Trades(account) => {
                self.idle_readers.push(connection);
                self.reads_out -= 1;
                self.asked[account as usize] = false;
                ensure!(
                    status == 200,
                    "trades of account {account}: {status} {}",
                    String::from_utf8_lossy(&body)
                );
                let trades: Vec<OwnTrade> = serde_json::from_slice(&body)?;
                self.verdict.own_trades(account, &trades)?;
                self.outcome.reads.saturating_record(latency);
            }
        }
        Ok(())
    }

    fn settle(&mut self, index: usize, status: u16, body: &[u8]) -> Result<()> {
        self.verdict.step(index, status, body)?;
        self.window.done(index);
        self.out.retain(|out| *out != index);
        self.answered += 1;
        Ok(())
    }

    /// Whether the kill may find this step on the way, so that it must be sent in a way that can be repeated.
    fn may_be_killed(&self, index: usize) -> bool {
        let Some(kill_after) = self.options.kill_after else { return false };
        // At the kill `kill_after` steps have been answered, and all unanswered ones are within one window.
        index + self.options.window >= kill_after && index <= kill_after + self.options.window
    }

    /// Kills the exchange with requests on the way, restarts it, repeats those requests, compares everything.
    async fn kill_and_resume(&mut self) -> Result<()> {
        let script = self.audit.script;
        let paused = Instant::now();
        // A moment that differs from run to run, while the exchange works on what it got.
        let strike = Duration::from_nanos(u64::from(paused.elapsed().subsec_nanos()) * 7_919 % 1_500_000);
        self.alarm.at(Instant::now() + strike).await;
        self.server.kill()?;
        // Every request on the way ends, with an answer that had left before the kill or with an error; those that
        // ended with an error stay in `out`.
        let mut owed = self.out.len() + self.reads_out;
        while owed > 0 {
            let Some(answered) = self.pool.answers.recv().await else { break };
            owed -= 1;
            if answered.answer.is_ok() {
                self.take_in(answered)?;
            }
        }
        self.reads_out = 0;
        let unknown = std::mem::take(&mut self.out);
        let recovery = self.server.restart().await.context("restart after kill")?;
        let mut connection = Connection::open(self.server.address).await?;
        for &index in &unknown {
            let step = &script.steps[index];
            let id = self.verdict.ids[step.order as usize].clone();
            let request = match (&step.action, &id) {
                (Action::Cancel, Some(id)) => {
                    self.audit.stage.about_order(self.audit.cast, "DELETE", step, id)
                }
                (Action::Cancel, None) => bail!("step {index} cancels an order not placed"),
                _ => self.audit.stage.place(script, self.audit.cast, index, true),
            };
            let answer = connection.call(&request).await.with_context(|| format!("step {index} repeated"))?;
            let (status, body) = (answer.status, answer.body.to_vec());
            if let (404, Some(id)) = (status, id.filter(|_| step.left > 0)) {
                self.audit.canceled_before(&mut connection, index, &id).await?;
                self.window.done(index);
                self.answered += 1;
            } else {
                self.settle(index, status, &body)?;
            }
        }
        self.outcome.after_restart = Some(self.full_audit().await.context("after kill and restart")?);
        self.outcome.restart = Some((recovery, unknown.len()));
        let count = self.options.connections + self.options.readers;
        self.pool = Pool::open(self.server.address, count).await?;
        self.idle = (0..self.options.connections).collect();
        self.idle_readers = (self.options.connections..count).collect();
        self.asked.fill(false);
        // The schedule stood still meanwhile.
        self.start += paused.elapsed();
        Ok(())
    }
}
