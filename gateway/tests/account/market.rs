//! Perpetual markets for anyone, outside quotes, and meetings that self-trade prevention ended (`account.md` 9 and 10).

use super::{HOUR_MS, venue_after, venue_with};
use crate::exchange::wallet_text;
use ringside_config::feed::{Feed, FeedKind, PricePaths};
use ringside_outbound::url::Url;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

#[test]
fn markets_with_their_day() {
    let mut venue = venue_after(&[]);
    venue.trade("BUY", "0.5", "60000");
    venue.trade("SELL", "0.1", "61000");
    let all = venue.sees(0, "/api/v1/markets");
    let names: Vec<&str> =
        all.as_array().unwrap().iter().map(|row| row["symbol"].as_str().unwrap()).collect();
    assert_eq!(names, ["BTCUSDT", "ETHUSDT", "SOLUSDT"]);
    let now_ms = venue.exchange.clock.now_ms();
    let market = venue.sees(0, "/api/v1/markets/btcusdt");
    assert_eq!(market, all[0]);
    let premium = venue.public("/fapi/v1/premiumIndex?symbol=BTCUSDT");
    assert_eq!(
        market,
        json!({
            "symbol": "BTCUSDT", "base_asset": "BTC", "quote_asset": "USDT", "status": "TRADING", "last_price": "61000.0",
            "mark_price": premium["markPrice"], "index_price": premium["indexPrice"], "price_change_percent_24h": "1.67",
            "high_24h": "61000.0", "low_24h": "60000.0", "volume_24h": "0.600", "quote_volume_24h": "36100.00000000",
            "open_interest": "0.400", "funding_rate": premium["lastFundingRate"],
            "next_funding_time": now_ms - now_ms % HOUR_MS + HOUR_MS, "tick_size": "0.1",
            "step_size": "0.001", "min_quantity": "0.001", "max_quantity": "1000", "min_notional": "5",
            "max_notional": market["max_notional"], "max_leverage": 125, "maker_rate": "0.0002", "taker_rate": "0.0005",
        })
    );
    let brackets = venue.sees(0, "/api/v1/markets/BtcUsdt/brackets");
    assert_eq!(brackets, venue.call(1, "GET", "/fapi/v1/leverageBracket", "symbol=BTCUSDT"));
    for path in ["/api/v1/markets/NONE", "/api/v1/markets/NONE/brackets", "/external/markets/NONE/ticker"] {
        venue.fails(0, ("GET", path, ""), (404, "SYMBOL_NOT_FOUND", ""));
    }
    venue.fails(0, ("GET", "/external/markets/BTCUSDT/ticker", ""), (503, "EXTERNAL_UNAVAILABLE", ""));
    venue.fails(0, ("GET", "/account/nothing", ""), (404, "NOT_FOUND", ""));
    venue.fails(0, ("PUT", "/orders", ""), (405, "METHOD_NOT_ALLOWED", ""));
}

/// A venue of the outside that says the same to everyone.
fn outside() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut buffer = [0; 4096];
            while stream.read(&mut buffer).is_ok_and(|len| len > 0) {
                let body = r#"{"bid":"60000.5","ask":"60001.5","day":{"base":"1234.5"}}"#;
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    address
}

#[test]
fn what_the_outside_says_is_shown_while_it_is_new() {
    let authority = outside();
    let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<String>>();
    let kind = FeedKind::Http {
        url: Url { authority: authority.clone(), path: "/".to_owned() },
        is_encrypted: false,
        price: PricePaths::Middle(path("bid"), path("ask")),
        volume: Some(path("day.base")),
    };
    let feed = Feed { market: "BTCUSDT".to_owned(), source: 7, every: Duration::from_millis(50), kind };
    let mut venue = venue_with(&[], |config| config.feeds = vec![feed]);
    let shutdown = CancellationToken::new();
    let thread = ringside_feed::start(venue.exchange.shared.for_feeds(), shutdown.clone()).unwrap();
    let begin = Instant::now();
    let shown = loop {
        let (status, shown) = venue.asks(0, "GET", "/external/markets/btcusdt/ticker", "");
        if status == 200 {
            break shown;
        }
        assert_eq!((status, &shown["code"]), (503, &json!("EXTERNAL_UNAVAILABLE")));
        assert!(begin.elapsed() < Duration::from_secs(60), "no quote came");
        std::thread::sleep(Duration::from_millis(10));
    };
    shutdown.cancel();
    thread.join().unwrap();
    assert_eq!(
        shown,
        json!({
            "symbol": "BTCUSDT", "source": authority, "last_price": "60001", "bid_price": "60000.5", "ask_price": "60001.5",
            "volume_24h": "1234.5", "ts": venue.exchange.clock.now_ms(),
        })
    );
    venue.pass(60_000);
    assert_eq!(venue.sees(0, "/external/markets/BTCUSDT/ticker"), shown, "a minute is not too old");
    venue.pass(1);
    venue.fails(0, ("GET", "/external/markets/BTCUSDT/ticker", ""), (503, "EXTERNAL_UNAVAILABLE", ""));
}

#[test]
fn both_accounts_of_a_group_see_a_meeting_that_was_prevented() {
    let mut venue = venue_after(&[]);
    for number in 1..=2 {
        venue.operate(
            "PATCH",
            &format!("/admin/accounts/{}", wallet_text(number)),
            r#"{"trade_group_id":7}"#,
        );
    }
    assert_eq!(venue.call(2, "GET", "/fapi/v1/accountConfig", "")["tradeGroupId"], 7);
    let maker =
        venue.place(1, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=60000");
    let taker = venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.004&price=60000&selfTradePreventionMode=EXPIRE_BOTH");
    assert_eq!(taker["status"], "EXPIRED_IN_MATCH");
    let row = json!({
        "symbol": "BTCUSDT", "preventedMatchId": 1, "takerOrderId": taker["orderId"], "makerSymbol": "BTCUSDT",
        "makerOrderId": maker["orderId"], "tradeGroupId": 7, "selfTradePreventionMode": "EXPIRE_BOTH", "price": "60000",
        "takerPreventedQuantity": "0.004", "makerPreventedQuantity": "0.01", "transactTime": venue.exchange.clock.now_ms(),
    });
    let (maker, taker) = (&maker["orderId"], &taker["orderId"]);
    for (number, order) in [(1, maker), (1, taker), (2, maker), (2, taker)] {
        for path in ["/api/v3/preventedMatches", "/api/v3/myPreventedMatches"] {
            assert_eq!(venue.call(number, "GET", path, "symbol=BTCUSDT&preventedMatchId=1"), json!([row]));
            let of_order = venue.call(number, "GET", path, &format!("symbol=BTCUSDT&orderId={order}"));
            assert_eq!(of_order, json!([row]), "{path} of account {number} by {order}");
            let later = venue.call(
                number,
                "GET",
                path,
                &format!("symbol=BTCUSDT&orderId={order}&fromPreventedMatchId=2"),
            );
            assert_eq!(later, json!([]));
        }
    }
    assert_eq!(
        venue.call(3, "GET", "/api/v3/preventedMatches", "symbol=BTCUSDT&preventedMatchId=1"),
        json!([])
    );
    venue.refuses(
        1,
        "GET",
        "/api/v3/preventedMatches",
        "symbol=BTCUSDT",
        -1128,
        "Combination of optional parameters invalid.",
    );
}
