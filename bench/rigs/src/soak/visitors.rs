//! Those who come and go: logins, API keys, listen keys, sockets and reads of history.

use super::traders::random;
use super::{Lane, PERPETUAL, SPOT, Tour, call};
use anyhow::{Context, Result, ensure};
use futures_util::{SinkExt, StreamExt};
use ringside_bench::op::Random;
use ringside_load::api;
use ringside_load::connection::Connection;
use ringside_load::signed::Signing;
use ringside_load::wallet::Wallet;
use serde::Deserialize;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

/// Wallets that visit again; one visit in a hundred is a new one's.
const REGULARS: u32 = 64;
/// API keys of a visitor, of which the oldest is ended for the next.
const KEYS: usize = 3;
/// A visitor that reads a socket gives up on a frame after this.
const PATIENCE: Duration = Duration::from_millis(50);

/// See the module.
pub struct Visitor {
    seed: u64,
    random: Random,
    /// Accounts with something to be read.
    traders: Vec<Signing>,
    /// Wallets that have come so far.
    wallets: u32,
}

#[derive(Deserialize)]
struct Key {
    id: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listening {
    listen_key: String,
}

impl Visitor {
    /// Who reads what `traders` have done.
    pub fn new(seed: u64, traders: Vec<Signing>) -> Visitor {
        Visitor { seed, random: random(seed, u32::MAX - 2), traders, wallets: 0 }
    }

    fn trader(&mut self) -> Signing {
        self.traders[self.random.below(self.traders.len() as u32) as usize].clone()
    }

    /// Logs in, makes an API key in place of an old one, and sometimes logs out.
    async fn log_in(&mut self, connection: &mut Connection, tour: &Tour) -> Result<()> {
        let number = if self.wallets < REGULARS || self.random.below(100) == 0 {
            self.wallets += 1;
            tour.count(|counts| counts.accounts += 1);
            self.wallets - 1
        } else {
            self.wallets - 1 - self.random.below(REGULARS)
        };
        let wallet = Wallet::from_seed(self.seed ^ 0x5eed, number);
        let token = api::login(connection, &wallet).await?;
        let header = format!("authorization: Bearer {token}\r\n");
        let keys: serde_json::Value =
            api::ask(connection, &api::request("GET", "/account/api-keys", &header, None)).await?;
        let list = &keys;
        let keys: Vec<Key> = serde_json::from_value(list.clone()).with_context(|| keys.to_string())?;
        if keys.len() >= KEYS {
            let path = format!("/account/api-keys/{}", keys[0].id);
            call(connection, &api::request("DELETE", &path, &header, None)).await?;
        }
        let (key, secret) = api::create_signing_key(connection, &token).await?;
        self.listen(connection, tour, &Signing { key, secret }).await?;
        if self.random.below(4) == 0 {
            call(connection, &api::request("POST", "/auth/logout", &header, None)).await?;
        }
        Ok(())
    }

    /// Gets a listen key, listens with it, and keeps or ends it.
    async fn listen(&mut self, connection: &mut Connection, tour: &Tour, signing: &Signing) -> Result<()> {
        let (status, body) = call(connection, &signing.request("POST", "/v1/listenKey", "")?).await?;
        ensure!(status == 200, "listenKey: {body}");
        let Listening { listen_key } = serde_json::from_str(&body)?;
        let socket = open(tour.address, &format!("/ws/{listen_key}"), None).await?;
        read(socket, self.random.below(20)).await;
        let method = ["PUT", "DELETE", "PUT"][self.random.below(3) as usize];
        call(connection, &signing.request(method, "/v1/listenKey", "")?).await?;
        Ok(())
    }

    /// Opens a socket, subscribes, reads a little, and goes, with or without a word.
    async fn watch(&mut self, tour: &Tour) -> Result<()> {
        let streams = ["btcusdt@depth", "btcusdt@aggTrade", "btcusdt@markPrice@1s", "btcusdt@kline_1m"];
        let channels = ["depth", "trade", "ticker"];
        let pick = self.random.below(7) as usize;
        let socket = match streams.get(pick) {
            Some(stream) => open(tour.address, &format!("/ws/{stream}"), None).await?,
            None => {
                let channel = format!("spot:{}:{SPOT}", channels[pick - streams.len()]);
                let subscribe = format!(r#"{{"type":"subscribe","channel":"{channel}"}}"#);
                open(tour.address, "/ws", Some(subscribe)).await?
            }
        };
        read(socket, self.random.below(40)).await;
        Ok(())
    }

    /// Reads histories of one account, old rows and new.
    async fn look(&mut self, connection: &mut Connection) -> Result<()> {
        let signing = self.trader();
        let key = api::key_header(&signing.key);
        let request = match self.random.below(9) {
            0 => api::request("GET", "/spot/orders?limit=200", &key, None),
            1 => api::request("GET", "/spot/trades/me?limit=200", &key, None),
            2 => api::request("GET", &format!("/spot/klines?symbol={SPOT}&interval=1m&limit=500"), "", None),
            3 => api::request("GET", &format!("/spot/depth?symbol={SPOT}"), "", None),
            4 => signing.request("GET", "/v1/allOrders", &format!("symbol={PERPETUAL}&limit=500"))?,
            5 => signing.request("GET", "/v1/userTrades", &format!("symbol={PERPETUAL}&limit=500"))?,
            6 => {
                let from = self.random.below(10_000);
                signing.request("GET", "/v1/userTrades", &format!("symbol={PERPETUAL}&fromId={from}"))?
            }
            7 => signing.request("GET", "/v1/income", "limit=500")?,
            _ => signing.request("GET", "/v2/account", "")?,
        };
        let (status, body) = call(connection, &request).await?;
        ensure!(status == 200, "{}: {body}", String::from_utf8_lossy(&request));
        Ok(())
    }
}

impl Lane for Visitor {
    async fn step(&mut self, connection: &mut Connection, tour: &Tour) -> Result<()> {
        match self.random.below(10) {
            0 => self.log_in(connection, tour).await?,
            1..4 => self.watch(tour).await?,
            _ => self.look(connection).await?,
        }
        tour.count(|counts| counts.visits += 1);
        Ok(())
    }

    fn pause_max(&self) -> Duration {
        Duration::from_millis(60)
    }

    fn fraction(&mut self) -> f64 {
        self.random.unit()
    }
}

/// A socket, subscribed where it wants to be.
pub type Socket = WebSocketStream<TcpStream>;

/// Opens a socket.
pub async fn open(address: SocketAddr, path: &str, subscribe: Option<String>) -> Result<Socket> {
    let stream = TcpStream::connect(address).await?;
    let (mut socket, _) = client_async(format!("ws://ringside{path}"), stream).await?;
    if let Some(subscribe) = subscribe {
        socket.send(Message::text(subscribe)).await?;
    }
    Ok(socket)
}

/// Reads so many frames, where they come; says good-bye where their number is even, else just goes.
async fn read(mut socket: Socket, frames: u32) {
    for _ in 0..frames {
        if !matches!(tokio::time::timeout(PATIENCE, socket.next()).await, Ok(Some(Ok(_)))) {
            break;
        }
    }
    if frames.is_multiple_of(2) {
        // Whatever the other side says to it.
        let _ = socket.close(None).await;
    }
}
