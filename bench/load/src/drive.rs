//! Drives many connections at once, either each as fast as it is answered or all together at a given rate.

use super::connection::Connection;
use super::pace::Alarm;
use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use ringside_bench::report;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How often a drive is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A connection that sends its prepared requests in turn.
pub struct Lane {
    connection: Connection,
    /// The requests.
    requests: Rc<[Vec<u8>]>,
    /// How many were answered.
    pub answered: u64,
}

impl Lane {
    /// Connects.
    pub async fn open(address: SocketAddr, requests: Vec<Vec<u8>>) -> Result<Lane> {
        let connection = Connection::open(address).await.context("cannot connect")?;
        Ok(Lane { connection, requests: requests.into(), answered: 0 })
    }

    /// How many of the answered requests were the one at `index`.
    pub fn answered_of(&self, index: u64) -> u64 {
        let turn = self.requests.len() as u64;
        self.answered / turn + u64::from(self.answered % turn > index)
    }
}

impl Turn for Lane {
    async fn turn(&mut self) -> Result<()> {
        let request = &self.requests[(self.answered % self.requests.len() as u64) as usize];
        let answer = self.connection.call(request).await?;
        ensure!(answer.status == 200, "{} {}", answer.status, String::from_utf8_lossy(answer.body));
        self.answered += 1;
        Ok(())
    }
}

/// Something that does one thing after the other, such as sending the next request and reading its answer.
pub trait Turn: 'static {
    /// Does the next; an error ends the drive.
    fn turn(&mut self) -> impl Future<Output = Result<()>>;
}

/// What a drive came to.
pub struct Driven {
    /// Answers in the measured time.
    pub answers: u64,
    /// The measured time.
    pub elapsed: Duration,
    /// Latency of each.
    pub latencies: Histogram<u64>,
}

impl Driven {
    /// Answers per second.
    pub fn per_second(&self) -> f64 {
        self.answers as f64 / self.elapsed.as_secs_f64()
    }
}

/// Each lane sends its next request as soon as the last is answered. Latency is from sending to answer; `warm_up` is
/// not measured; `started` is called when measuring begins, `ended` when it ends. Must run inside a `LocalSet`.
pub async fn closed(
    lanes: Vec<Lane>,
    warm_up: Duration,
    measured: Duration,
    started: impl FnOnce(),
    ended: impl FnOnce(),
) -> Result<(Vec<Lane>, Driven)> {
    let begin = Instant::now() + warm_up;
    let end = begin + measured;
    let latencies = Rc::new(RefCell::new(report::histogram()));
    let tasks: Vec<_> = lanes
        .into_iter()
        .map(|mut lane| {
            let latencies = Rc::clone(&latencies);
            tokio::task::spawn_local(async move {
                let mut sent = Instant::now();
                while sent < end {
                    lane.turn().await?;
                    let received = Instant::now();
                    if sent >= begin && received <= end {
                        latencies.borrow_mut().saturating_record((received - sent).as_nanos() as u64);
                    }
                    sent = received;
                }
                anyhow::Ok(lane)
            })
        })
        .collect();
    tokio::time::sleep_until(begin.into()).await;
    started();
    tokio::time::sleep_until(end.into()).await;
    ended();
    let mut lanes = Vec::new();
    for task in tasks {
        lanes.push(task.await??);
    }
    let latencies = latencies.borrow().clone();
    Ok((lanes, Driven { answers: latencies.len(), elapsed: measured, latencies }))
}

/// All lanes together send `rate` requests a second for `measured`, evenly, whatever the answers do. Latency is from
/// when a request was due, so waiting for a free lane counts. `watch` is told once a second how many were due and what came of
/// them so far. Must run inside a `LocalSet`.
pub async fn open<T: Turn>(
    lanes: Vec<T>,
    rate: f64,
    measured: Duration,
    mut watch: impl FnMut(u64, &Histogram<u64>),
) -> Result<(Vec<T>, Driven)> {
    let alarm = Alarm::new()?;
    let latencies = Rc::new(RefCell::new(report::histogram()));
    let next = Rc::new(Cell::new(0u64));
    let total = (rate * measured.as_secs_f64()) as u64;
    let start = Instant::now() + Duration::from_millis(1);
    let due = move |index: u64| start + Duration::from_secs_f64(index as f64 / rate);
    // Requests become due one after the other; a lane that is free takes the next one due.
    let permits = Rc::new(tokio::sync::Semaphore::new(0));
    let tasks: Vec<_> = lanes
        .into_iter()
        .map(|mut lane| {
            let (latencies, next, permits) = (Rc::clone(&latencies), Rc::clone(&next), Rc::clone(&permits));
            tokio::task::spawn_local(async move {
                while let Ok(permit) = permits.acquire().await {
                    permit.forget();
                    let index = next.replace(next.get() + 1);
                    lane.turn().await?;
                    let latency = Instant::now().saturating_duration_since(due(index));
                    latencies.borrow_mut().saturating_record(latency.as_nanos() as u64);
                }
                anyhow::Ok(lane)
            })
        })
        .collect();
    // Before the permits are closed a lane ends only by an error.
    let a_lane_failed = || tasks.iter().any(|task| task.is_finished());
    let (mut released, mut next_look) = (0, start + LOOK);
    while released < total && !a_lane_failed() {
        alarm.at(due(released)).await;
        let now = Instant::now();
        let mut batch = 0;
        while released + batch < total && due(released + batch) <= now {
            batch += 1;
        }
        permits.add_permits(batch as usize);
        released += batch;
        if now >= next_look {
            next_look += LOOK;
            watch(released, &latencies.borrow());
        }
    }
    // Closing lets waiting lanes end, and would take a permit back from one that has not woken up to it: all that were given out
    // must be used.
    while next.get() < released && !a_lane_failed() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    permits.close();
    let mut lanes = Vec::new();
    for task in tasks {
        lanes.push(task.await??);
    }
    let latencies = latencies.borrow().clone();
    Ok((lanes, Driven { answers: latencies.len(), elapsed: start.elapsed(), latencies }))
}
