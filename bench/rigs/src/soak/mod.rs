//! Hours of mixed traffic, and what grows meanwhile: an exchange runs for months, so whatever has no bound is a defect.
//!
//! - [`traders`]: accounts that place, cancel and amend on both venues, some of them until they are liquidated; the operator who
//!   moves the marks; and the probe, whose latency is what the others feel.
//! - [`visitors`]: logins, keys, listen keys, sockets and reads that come and go.
//! - [`gauge`]: what the process takes of its machine, and how that grows with what it has answered.
//!
//! Traffic comes in rounds ([`Tour`]), between which nothing is on the way and the process is looked at. What is answered is
//! not audited order by order, which `kills` does: the ledgers' own proof and `ringside verify` must hold.

pub mod gauge;
pub mod traders;
pub mod visitors;

use anyhow::{Context, Result, bail};
use ringside_load::connection::Connection;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::Duration;

/// The spot market.
pub const SPOT: &str = "SOAK";
/// The perpetual market, which every test deployment ships.
pub const PERPETUAL: &str = "BTCUSDT";
/// Its index at the start, in whole quote.
pub const INDEX: i64 = 60_000;

/// What was answered since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Places, cancels and amendments.
    pub orders: u64,
    /// Placements among them with an idempotency key.
    pub keyed: u64,
    /// Accounts that logged in for the first time.
    pub accounts: u64,
    /// Logins, keys made and ended, sockets opened, histories read.
    pub visits: u64,
}

/// One round of traffic.
pub struct Tour {
    /// Where the exchange listens.
    pub address: SocketAddr,
    /// Its administrator's key.
    pub admin_key: String,
    /// The perpetual market's index, in whole quote.
    pub index: Cell<i64>,
    /// See there.
    pub counts: RefCell<Counts>,
    /// Latencies of the probe's orders in this round, microseconds.
    pub probed: RefCell<Vec<u64>>,
    is_over: Cell<bool>,
}

impl Tour {
    /// Before the first round.
    pub fn new(address: SocketAddr, admin_key: &str) -> Tour {
        Tour {
            address,
            admin_key: admin_key.to_owned(),
            index: Cell::new(INDEX),
            counts: RefCell::default(),
            probed: RefCell::default(),
            is_over: Cell::new(true),
        }
    }

    /// Opens the next round.
    pub fn begin(&self) {
        self.is_over.set(false);
        self.probed.borrow_mut().clear();
    }

    /// Ends it: everybody stops after the answer that is awaited, and a failure from here on is the kill's.
    pub fn end(&self) {
        self.is_over.set(true);
    }

    /// Whether everybody is to stop.
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Changes the counts.
    pub fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.borrow_mut());
    }
}

/// Somebody who does one thing after the other.
pub trait Lane {
    /// Does the next thing.
    ///
    /// Errors: an answer that the exchange must not give.
    fn step(&mut self, connection: &mut Connection, tour: &Tour) -> impl Future<Output = Result<()>>;

    /// Longest pause between two steps; their mean is half of it.
    fn pause_max(&self) -> Duration;

    /// A fraction of 1, at random.
    fn fraction(&mut self) -> f64;
}

/// Lets a lane go on until the round is over, on a connection of its own.
pub async fn run(lane: &mut impl Lane, tour: &Tour) -> Result<()> {
    let mut connection = Connection::open(tour.address).await?;
    while !tour.is_over() {
        match lane.step(&mut connection, tour).await {
            Err(_) if tour.is_over() => return Ok(()),
            outcome => outcome?,
        }
        let pause = lane.pause_max().mul_f64(lane.fraction());
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

/// Sends a request and gives status and body of the answer.
///
/// Errors: nothing is answered, or a status that says that the exchange or the load is at fault.
pub async fn call(connection: &mut Connection, request: &[u8]) -> Result<(u16, String)> {
    let answer = connection.call(request).await.context("the exchange does not answer")?;
    let body = String::from_utf8_lossy(answer.body).into_owned();
    if matches!(answer.status, 200 | 400 | 404 | 409) {
        return Ok((answer.status, body));
    }
    let line = String::from_utf8_lossy(request.split(|&byte| byte == b'\r').next().unwrap_or_default());
    bail!("{line}: {} {body}", answer.status)
}
