//! Pages of fills and orders, by offset and by cursor (`account.md` 4).

use super::{SECOND_MS, venue_after, venue_with};
use crate::exchange::venue::Venue;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Fills of account 2 in two markets, several in one millisecond, and orders that stay open.
fn traded() -> Venue {
    let mut venue = venue_after(&[]);
    for round in 0..8 {
        // Three makers of one price are met by one order: three fills of one millisecond.
        for _ in 0..3 {
            venue.place(1, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.001&price=60000");
        }
        venue.place(2, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.003");
        // In another market within the same millisecond, where trades are numbered from 1 again.
        venue.place(1, "symbol=ETHUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.1&price=3000");
        venue.place(2, "symbol=ETHUSDT&side=SELL&type=MARKET&quantity=0.1");
        if round % 2 == 0 {
            venue.pass(SECOND_MS);
        }
    }
    venue.place(2, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=58000");
    venue
}

fn items(page: &Value) -> Vec<Value> {
    page["items"].as_array().unwrap().clone()
}

/// Every page by cursor; `between` happens between two of them.
fn all(venue: &mut Venue, path: &str, limit: usize, mut between: impl FnMut(&mut Venue)) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = venue.sees(2, &format!("{path}&limit={limit}&cursor={cursor}"));
        assert_eq!((&page["total"], &page["limit"]), (&json!(-1), &json!(limit)));
        assert!(page.get("offset").is_none(), "{page}");
        let found = items(&page);
        assert!(found.len() <= limit);
        rows.extend(found);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => return rows,
        }
        between(venue);
    }
}

fn key(row: &Value) -> String {
    format!("{} {} {}", row["symbol"], row["time"], row.get("id").unwrap_or(&row["orderId"]))
}

#[test]
fn pages_by_cursor_are_the_whole_list_once() {
    let mut venue = traded();
    for path in ["/account/trades?symbol=btcusdt", "/account/trades?order=asc", "/account/orders?order=asc"] {
        let whole = items(&venue.sees(2, &format!("{path}&limit=500")));
        assert!(whole.is_sorted_by_key(|row| row["time"].as_i64().unwrap()), "{path}");
        assert!(whole.len() >= 17, "{path}: {}", whole.len());
        for limit in [1, 2, 3, 5, 500] {
            assert_eq!(all(&mut venue, path, limit, |_| {}), whole, "{path} by {limit}");
            let mut backwards = all(&mut venue, &path.replace("order=asc", "order=desc"), limit, |_| {});
            if path.contains("order") {
                backwards.reverse();
            }
            assert_eq!(backwards, whole, "{path} backwards by {limit}");
        }
    }
    // The objects are those of the other namespace.
    let fills = venue.call(2, "GET", "/fapi/v1/userTrades", "symbol=BTCUSDT");
    assert_eq!(json!(items(&venue.sees(2, "/account/trades?symbol=BTCUSDT&limit=500"))), fills);
    assert_eq!(items(&venue.sees(2, "/account/orders?symbol=BTCUSDT&limit=500")).len(), 9);
}

#[test]
fn a_page_repeats_and_skips_nothing_while_rows_come() {
    let mut venue = traded();
    let before: BTreeSet<String> = all(&mut venue, "/account/trades?", 500, |_| {}).iter().map(key).collect();
    let mut count = 0;
    let rows = all(&mut venue, "/account/trades?", 4, |venue| {
        // In the same millisecond as the last of those there are: in a market whose ids are smaller, and in the other.
        if count < 5 {
            count += 1;
            for (symbol, price, quantity) in [("SOLUSDT", "150", "1"), ("ETHUSDT", "3000", "0.1")] {
                venue.place(1, &format!("symbol={symbol}&side=BUY&type=LIMIT&timeInForce=GTC&quantity={quantity}&price={price}"));
                venue.place(2, &format!("symbol={symbol}&side=SELL&type=MARKET&quantity={quantity}"));
            }
        }
    });
    let seen: BTreeSet<String> = rows.iter().map(key).collect();
    assert_eq!(seen.len(), rows.len(), "a row came twice");
    assert!(seen.is_superset(&before), "a row was skipped");
    let after: BTreeSet<String> = all(&mut venue, "/account/trades?", 500, |_| {}).iter().map(key).collect();
    assert_eq!(seen, after, "what came behind the cursor is on the later pages");
    assert_eq!(after.len(), before.len() + 10);
}

#[test]
fn pages_by_offset_count_everything() {
    let mut venue = traded();
    let whole = items(&venue.sees(2, "/account/trades?limit=500"));
    let page = venue.sees(2, "/account/trades?limit=5&offset=7");
    assert_eq!([&page["total"], &page["limit"], &page["offset"]], [&json!(32), &json!(5), &json!(7)]);
    assert_eq!(items(&page), whole[7..12]);
    // The cursor behind it goes on where the page ends.
    let next = page["next_cursor"].as_str().unwrap();
    let rest = venue.sees(2, &format!("/account/trades?limit=500&cursor={next}"));
    assert_eq!(items(&rest), whole[12..]);
    let last = venue.sees(2, "/account/trades?limit=5&offset=27");
    assert_eq!((items(&last).len(), &last["next_cursor"]), (5, &Value::Null));
    assert_eq!(items(&venue.sees(2, "/account/trades?offset=40")), [json!(null); 0]);
    let sells = venue.sees(2, "/account/trades?side=sell&limit=3&offset=6");
    assert_eq!((&sells["total"], items(&sells).len()), (&json!(8), 2));
    // An offset beside a cursor is not looked at.
    let page = venue.sees(2, "/account/trades?cursor=&offset=7&limit=2");
    assert_eq!(items(&page), whole[..2]);
    let default = venue.sees(2, "/account/trades");
    assert_eq!(default["limit"], 50);
    assert_eq!(venue.sees(2, "/account/trades?limit=9999")["limit"], 500);
    assert_eq!(venue.sees(3, "/account/trades")["total"], 0, "nothing of another account's");
}

#[test]
fn filters_hold_on_every_page() {
    let mut venue = traded();
    let orders = items(&venue.sees(2, "/account/orders?limit=500"));
    assert_eq!(orders.len(), 17);
    let of = |status: &str| {
        orders.iter().filter(|order| status.contains(order["status"].as_str().unwrap())).count()
    };
    for (status, count) in [("NEW", 1), ("filled", 16), ("NEW,FILLED", 17), ("EXPIRED", 0)] {
        assert_eq!(of(&status.to_uppercase()), count);
        assert_eq!(
            all(&mut venue, &format!("/account/orders?status={status}"), 3, |_| {}).len(),
            count,
            "{status}"
        );
        assert_eq!(venue.sees(2, &format!("/account/orders?status={status}"))["total"], count, "{status}");
    }
    let times: Vec<i64> = orders.iter().map(|order| order["time"].as_i64().unwrap()).collect();
    let (start, end) = (times[4], times[12]);
    let within: Vec<Value> = orders
        .iter()
        .filter(|order| (start..=end).contains(&order["time"].as_i64().unwrap()))
        .cloned()
        .collect();
    let path = format!("/account/orders?start_time={start}&end_time={end}");
    assert_eq!(all(&mut venue, &path, 2, |_| {}), within);
    assert_eq!(all(&mut venue, &format!("{path}&order=desc"), 2, |_| {}).len(), within.len());
    assert_eq!(venue.sees(2, &path)["total"], within.len());
    assert_eq!(venue.sees(2, "/account/orders?start_time=9&end_time=5")["total"], 0);
    assert_eq!(all(&mut venue, "/account/trades?side=BUY&symbol=BTCUSDT", 5, |_| {}).len(), 24);
    assert!(all(&mut venue, "/account/trades?side=SELL&symbol=BTCUSDT", 5, |_| {}).is_empty());
}

#[test]
fn a_cursor_is_good_for_its_filters_alone() {
    let mut venue = traded();
    let page = venue.sees(2, "/account/trades?cursor=&limit=2&symbol=BTCUSDT");
    let cursor = page["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(venue.sees(2, &format!("/account/trades?cursor={cursor}&limit=3&symbol=btcusdt"))["limit"], 3);
    for (number, path) in [
        (2, format!("/account/trades?cursor={cursor}")),
        (2, format!("/account/trades?cursor={cursor}&symbol=ETHUSDT")),
        (2, format!("/account/trades?cursor={cursor}&symbol=BTCUSDT&order=desc")),
        (2, format!("/account/trades?cursor={cursor}&symbol=BTCUSDT&side=BUY")),
        (2, format!("/account/orders?cursor={cursor}&symbol=BTCUSDT")),
        (1, format!("/account/trades?cursor={cursor}&symbol=BTCUSDT")),
        (2, format!("/account/trades?cursor={}&symbol=BTCUSDT", &cursor[1..])),
        (2, "/account/trades?cursor=x".to_owned()),
    ] {
        venue.fails(number, ("GET", &path, ""), (400, "INVALID_CURSOR", "cursor"));
    }
    for (query, name) in [
        ("limit=x", "limit"),
        ("order=up", "order"),
        ("side=long", "side"),
        ("start_time=-1", "start_time"),
        ("end_time=soon", "end_time"),
        ("offset=-1", "offset"),
    ] {
        venue.fails(2, ("GET", &format!("/account/trades?{query}"), ""), (400, "INVALID_PARAMETER", name));
    }
    venue.fails(2, ("GET", "/account/orders?status=NEW,OPEN", ""), (400, "INVALID_PARAMETER", "status"));
    venue.fails(2, ("GET", "/account/orders?symbol=NONE", ""), (404, "SYMBOL_NOT_FOUND", ""));
    venue.fails(0, ("GET", "/account/orders", ""), (401, "UNAUTHORIZED", ""));
}

#[test]
fn the_newest_orders_and_the_open_ones() {
    let mut venue = traded();
    for _ in 0..60 {
        venue.place(1, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=59000");
        venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001");
    }
    for _ in 0..50 {
        let placed =
            venue.place(2, "symbol=ETHUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.1&price=2900");
        let order = placed["orderId"].as_i64().unwrap();
        venue.call(2, "DELETE", "/fapi/v1/order", &format!("symbol=ETHUSDT&orderId={order}"));
    }
    let all = all(&mut venue, "/account/orders?", 500, |_| {});
    let newest = venue.sees(2, "/orders");
    assert_eq!(newest.as_array().unwrap()[..], all[all.len() - 100..]);
    assert_eq!(venue.sees(2, "/orders?symbol=ethusdt").as_array().unwrap().len(), 58);
    let open = venue.sees(2, "/orders/open");
    let mut expected = venue.call(2, "GET", "/fapi/v1/openOrders", "");
    // Only clients of the other namespace's header are told this as a number.
    expected[0]["goodTillDate"] = json!("0");
    assert_eq!((open.as_array().unwrap().len(), &open), (1, &expected));
    assert_eq!(venue.sees(2, "/orders/open?symbol=ETHUSDT"), json!([]));
    venue.fails(2, ("GET", "/orders?symbol=NONE", ""), (404, "SYMBOL_NOT_FOUND", ""));
}

/// Of 3,500 orders of account 2, every third of the other side, every seventh of another market, and two that stay open.
fn ordered() -> Venue {
    let mut venue = venue_with(&[], |config| config.weight_per_minute = 100_000);
    let order = |number: usize| {
        let (side, price) = if number.is_multiple_of(3) { ("SELL", 1) } else { ("BUY", -1) };
        let (symbol, price) = if number.is_multiple_of(7) {
            ("ETHUSDT", 3_000 + price * 30)
        } else {
            ("BTCUSDT", 60_000 + price * 600)
        };
        let force = if number == 1_700 || number == 40 { "GTC" } else { "IOC" };
        format!(
            "{{%22symbol%22:%22{symbol}%22,%22side%22:%22{side}%22,%22type%22:%22LIMIT%22,%22timeInForce%22:%22{force}%22,%22quantity%22:%220.01%22,%22price%22:%22{price}%22}}"
        )
    };
    for first in (0..3_500).step_by(5) {
        let batch: Vec<String> = (first..first + 5).map(order).collect();
        venue.call(2, "POST", "/fapi/v1/batchOrders", &format!("batchOrders=[{}]", batch.join(",")));
        if first % 70 == 0 {
            venue.pass(SECOND_MS);
        }
    }
    venue
}

#[test]
fn any_offset_is_answered_and_weighs_what_it_passes_over() {
    let mut venue = ordered();
    let headers = venue.exchange.account(2).to_vec();
    // Used weight runs by the minute.
    let mut ask = |path: &str| {
        let answer = venue.exchange.request("GET", path, &headers, "");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let used: u32 = answer.header("x-ex-used-weight-1m").unwrap().parse().unwrap();
        (serde_json::from_str::<Value>(&answer.body).unwrap(), used)
    };
    let whole: Vec<Value> = (0..7)
        .flat_map(|page| items(&ask(&format!("/account/orders?limit=500&offset={}", page * 500)).0))
        .collect();
    assert_eq!(whole.len(), 3_500);
    assert!(whole.is_sorted_by_key(|row| (row["time"].as_i64(), row["orderId"].as_i64())));
    let (_, mut before) = ask("/account/orders?limit=1");
    for (offset, more) in
        [(0, 0), (999, 0), (1_000, 1), (2_047, 2), (3_499, 3), (3_500, 3), (i64::MAX as u64, 3)]
    {
        for direction in ["asc", "desc"] {
            let path = format!("/account/orders?limit=3&offset={offset}&order={direction}");
            let (page, used) = ask(&path);
            let mut expected = whole.clone();
            if direction == "desc" {
                expected.reverse();
            }
            let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(3_500);
            assert_eq!(items(&page), expected[begin..(begin + 3).min(3_500)], "{path}");
            assert_eq!((&page["total"], &page["offset"]), (&json!(3_500), &json!(offset)));
            assert_eq!(page["next_cursor"].is_null(), begin + 3 >= 3_500, "{path}");
            assert_eq!(used - before, 1 + more, "{path}");
            before = used;
        }
    }
    // What does not fit is passed over as well.
    let is = |row: &Value, side: &str, status: &str| row["side"] == side && row["status"] == status;
    for (filter, side, status) in [
        ("side=sell&status=EXPIRED", "SELL", "EXPIRED"),
        ("side=BUY&status=expired", "BUY", "EXPIRED"),
        ("status=NEW&side=BUY", "BUY", "NEW"),
    ] {
        let of: Vec<Value> = whole.iter().filter(|row| is(row, side, status)).cloned().collect();
        for offset in [0, 1, of.len() / 2, of.len() - 1, of.len()] {
            let path = format!("/account/orders?{filter}&limit=4&offset={offset}");
            let (page, _) = ask(&path);
            assert_eq!(items(&page), of[offset..(offset + 4).min(of.len())], "{path}");
            assert_eq!(page["total"], of.len(), "{path}");
        }
        let by_cursor = ask(&format!("/account/orders?{filter}&limit=500&cursor=")).0;
        assert_eq!(items(&by_cursor), of[..500.min(of.len())]);
    }
    // And the pages of the other API that are numbered.
    let (_, before) = ask("/account/orders?limit=1");
    let income = venue.call(2, "GET", "/fapi/v1/income", "page=900000000&limit=1000");
    assert_eq!(income, json!([]));
    let answer = venue.exchange.request("GET", "/account/orders?limit=1", &headers, "");
    let used: u32 = answer.header("x-ex-used-weight-1m").unwrap().parse().unwrap();
    assert_eq!(used - before, 31, "nothing was passed over");
}
