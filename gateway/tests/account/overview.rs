//! Positions, and both ledgers together (`account.md` 2 and 6).

use super::venue_after;
use serde_json::json;

#[test]
fn positions_that_are_open() {
    let mut venue = venue_after(&[]);
    assert_eq!(venue.sees(2, "/positions/active"), json!([]));
    venue.trade("BUY", "0.5", "60000");
    // An order alone is no position.
    venue.place(2, "symbol=ETHUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=2900");
    let shown = venue.sees(2, "/positions/active");
    assert_eq!(shown.as_array().unwrap().len(), 1);
    let mut row = shown[0].clone();
    assert_eq!([&row["positionAmt"], &row["leverage"], &row["marginType"]], ["-0.5", "20", "cross"]);
    let members = row.as_object_mut().unwrap();
    members.remove("leverage");
    members.remove("marginType");
    let held = venue.call(2, "GET", "/fapi/v3/positionRisk", "symbol=BTCUSDT");
    assert_eq!(row, held[0]);
    assert_eq!(venue.sees(2, "/positions/active?symbol=ethusdt"), json!([]));
    assert_eq!(venue.sees(2, "/positions/active?symbol=btcusdt"), shown);
    venue.fails(2, ("GET", "/positions/active?symbol=NONE", ""), (404, "SYMBOL_NOT_FOUND", ""));
}

#[test]
fn both_ledgers_together() {
    let mut venue = venue_after(&[]);
    venue.exchange.open();
    venue.trade("BUY", "0.5", "60000");
    venue.place(2, "symbol=ETHUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=2900");
    // DF trades at 0.25 on the spot side, where each account has 1000 of it and 1000 USDT.
    for (number, side) in [(1, "sell"), (2, "buy")] {
        let body = format!(
            r#"{{"symbol":"DFUSDT","side":"{side}","type":"limit","price":"0.25","quantity":"100"}}"#
        );
        assert_eq!(venue.asks(number, "POST", "/api/v1/spot/orders", &body).0, 200);
    }
    let shown = venue.sees(2, "/unified/account");
    let account = venue.call(2, "GET", "/fapi/v2/account", "");
    let perpetual = &shown["perpetual"];
    for (name, other) in [
        ("wallet_balance", "totalWalletBalance"),
        ("unrealized_pnl", "totalUnrealizedProfit"),
        ("margin_balance", "totalMarginBalance"),
        ("available_balance", "availableBalance"),
        ("max_withdraw", "maxWithdrawAmount"),
        ("initial_margin", "totalInitialMargin"),
        ("maint_margin", "totalMaintMargin"),
    ] {
        assert_eq!(perpetual[name], account[other], "{name}");
    }
    // 120 of 999985, up.
    assert_eq!([&perpetual["maint_margin"], &perpetual["margin_ratio"]], ["120.00000000", "0.000120"]);
    assert_eq!(
        shown["spot"],
        json!([
            { "token": "DF", "available": "1099.9", "frozen": "0", "usdt_value": "274.97500000" },
            { "token": "USDT", "available": "975", "frozen": "0", "usdt_value": "975.00000000" },
        ])
    );
    assert_eq!(shown["total_equity"], "1001234.97500000", "999985 + 274.975 + 975");
    assert_eq!(
        [&shown["account_id"], &shown["tier"], &shown["positions"], &shown["open_orders"]],
        [2, 0, 1, 1]
    );
    assert_eq!(
        [&shown["margin_mode"], &shown["address"]],
        ["CROSSED", crate::exchange::wallet_text(2).as_str()]
    );
    assert_eq!(shown["update_time"], venue.exchange.clock.now_ms());
    let other = venue.sees(3, "/unified/account");
    assert_eq!([&other["perpetual"]["margin_ratio"], &other["positions"]], [&json!("0"), &json!(0)]);
    venue.fails(0, ("GET", "/unified/account", ""), (401, "UNAUTHORIZED", ""));
}
