//! Keys of user streams over the kills: what was answered of a key before a kill holds after it (`interface.md`, lifecycle).
//!
//! Between two kills each account gets, renews or ends its key, and is answered; the kill comes at any moment after that.
//! Requests that a kill interrupts are not made here, and an hour does not pass.

use super::futures::FuturesTrader;
use anyhow::{Context, Result, ensure};
use ringside_bench::op::Random;
use ringside_load::connection::Connection;
use serde::Deserialize;
use std::collections::BTreeSet;
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;

/// `PUT` without an active key.
const NO_KEY: &str = r#""code":-1125"#;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    listen_key: String,
}

/// What an account was last told of its key.
#[derive(Clone, Default)]
enum Told {
    #[default]
    Nothing,
    Active(String),
    Ended,
}

/// What all accounts were last told.
#[derive(Default)]
pub struct StreamKeys {
    /// By trader.
    told: Vec<Told>,
    /// All keys ever told: none may come again.
    seen: BTreeSet<String>,
    /// Keys that were found again after a kill.
    pub found: u64,
    /// Ended keys that stayed ended over a kill.
    pub ended: u64,
}

impl StreamKeys {
    /// After a restart: every key is as it was told, and opens a stream. Then each account does something else with its own.
    pub async fn all(
        &mut self,
        connection: &mut Connection,
        traders: &[FuturesTrader],
        random: &mut Random,
    ) -> Result<()> {
        self.told.resize(traders.len(), Told::Nothing);
        for (index, trader) in traders.iter().enumerate() {
            self.one(connection, index, trader, random)
                .await
                .with_context(|| format!("the stream key of perpetual trader {}", trader.number))?;
        }
        Ok(())
    }

    async fn one(
        &mut self,
        connection: &mut Connection,
        index: usize,
        trader: &FuturesTrader,
        random: &mut Random,
    ) -> Result<()> {
        let renewed = call(connection, trader, "PUT").await?;
        let told = std::mem::take(&mut self.told[index]);
        if let Told::Active(key) = &told {
            ensure!(key_of(&renewed)? == *key, "told {key}, after the kill {}", renewed.1);
            let stream = TcpStream::connect(connection.address()).await?;
            client_async(format!("ws://ringside/ws/{key}"), stream).await.context("its stream")?;
            self.found += 1;
        } else {
            ensure!(renewed.0 == 400 && renewed.1.contains(NO_KEY), "without a key: {}", renewed.1);
            self.ended += u64::from(matches!(told, Told::Ended));
        }
        if matches!(told, Told::Active(_)) && random.below(3) == 0 {
            let ended = call(connection, trader, "DELETE").await?;
            ensure!(ended.0 == 200, "{}", ended.1);
            self.told[index] = Told::Ended;
            return Ok(());
        }
        let key = key_of(&call(connection, trader, "POST").await?)?;
        match told {
            Told::Active(active) => ensure!(key == active, "the active key {active} became {key}"),
            Told::Nothing | Told::Ended => ensure!(self.seen.insert(key.clone()), "the key {key} came again"),
        }
        self.told[index] = Told::Active(key);
        Ok(())
    }
}

/// Status and body.
async fn call(connection: &mut Connection, trader: &FuturesTrader, method: &str) -> Result<(u16, String)> {
    let answer = connection.call(&trader.signing.request(method, "/v1/listenKey", "")?).await?;
    Ok((answer.status, String::from_utf8_lossy(answer.body).into_owned()))
}

fn key_of((status, body): &(u16, String)) -> Result<String> {
    ensure!(*status == 200, "{status} {body}");
    let answer: Answer = serde_json::from_str(body).with_context(|| body.clone())?;
    Ok(answer.listen_key)
}
