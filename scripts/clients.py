"""Scenarios with unmodified clients of the Binance USD-M API against a running exchange.

    clients.py <url> <answer that made the first API key> <the second one>

Each client is pointed at the exchange by base URL alone (the settings of its documentation) and does what traders do:
markets, books, orders of every type, batches, edits, cancels, positions, balances, income. A value that differs from what
was asked for ends the run.
"""

import json
import sys

import ccxt
from binance.client import Client
from binance.exceptions import BinanceAPIException

SYMBOL = "BTC/USDT:USDT"


def equal(found, expected, what):
    if found != expected:
        raise SystemExit(f"{what}: found {found!r}, expected {expected!r}")


def by_ccxt(url, made):
    client = ccxt.binanceusdm({
        "apiKey": made["api_key"],
        "secret": made["api_secret"],
        "options": {"fetchCurrencies": False, "fetchMargins": False, "adjustForTimeDifference": True},
    })
    api = client.urls["api"]
    for version in ("", "V2", "V3"):
        path = f"{url}/fapi/{version.lower() or 'v1'}"
        api["fapiPublic" + version] = path
        api["fapiPrivate" + version] = path
    api["fapiData"] = f"{url}/futures/data"
    return client


def ccxt_trades(url, maker, taker):
    one, two = by_ccxt(url, maker), by_ccxt(url, taker)
    markets = one.load_markets()
    equal(sorted(m["id"] for m in markets.values()), ["BTCUSDT", "ETHUSDT", "SOLUSDT"], "markets")
    market = one.market(SYMBOL)
    equal((market["precision"]["price"], market["precision"]["amount"], market["limits"]["cost"]["min"]), (0.1, 0.001, 5.0), "limits")
    two.load_markets()
    equal(one.set_leverage(10, SYMBOL)["leverage"], 10, "leverage")

    bid = one.create_order(SYMBOL, "limit", "buy", 0.01, 59000, {"clientOrderId": "ccxt-bid"})
    equal((bid["status"], bid["price"], bid["clientOrderId"]), ("open", 59000.0, "ccxt-bid"), "bid")
    book = one.fetch_order_book(SYMBOL, 5)
    equal((book["bids"], book["asks"]), ([[59000.0, 0.01]], []), "book")
    edited = one.edit_order(bid["id"], SYMBOL, "limit", "buy", 0.02, 60000)
    equal((edited["id"], edited["price"], edited["amount"]), (bid["id"], 60000.0, 0.02), "edited")
    sold = two.create_order(SYMBOL, "market", "sell", 0.005)
    equal((sold["status"], sold["filled"], sold["average"]), ("closed", 0.005, 60000.0), "sold")
    rest = one.fetch_order(bid["id"], SYMBOL)
    equal((rest["status"], rest["filled"], rest["remaining"]), ("open", 0.005, 0.015), "rest")

    position = two.fetch_positions([SYMBOL])[0]
    equal((position["side"], position["contracts"], position["entryPrice"]), ("short", 0.005, 60000.0), "position")
    balance = two.fetch_balance()
    equal(balance["USDT"]["total"], 9999.85, "balance")
    trade = two.fetch_my_trades(SYMBOL)[0]
    equal((trade["price"], trade["amount"], trade["takerOrMaker"], trade["fee"]["cost"]), (60000.0, 0.005, "taker", 0.15), "trade")
    equal(two.fetch_trades(SYMBOL)[0]["price"], 60000.0, "public trade")
    equal(two.fetch_ohlcv(SYMBOL, "1m")[-1][1:5], [60000.0] * 4, "candle")
    equal(two.fetch_ticker(SYMBOL)["last"], 60000.0, "ticker")
    equal(two.fetch_funding_rate(SYMBOL)["markPrice"] > 0, True, "funding")
    equal(len(two.fetch_leverage_tiers([SYMBOL])[SYMBOL]), 7, "tiers")
    equal(two.fetch_position_mode(SYMBOL)["hedged"], False, "position mode")

    batch = one.create_orders([
        {"symbol": SYMBOL, "type": "limit", "side": "buy", "amount": 0.001, "price": price} for price in (58000, 58100)
    ])
    equal([order["price"] for order in batch], [58000.0, 58100.0], "batch")
    equal(len(one.fetch_open_orders(SYMBOL)), 3, "open orders")
    equal(one.cancel_order(batch[0]["id"], SYMBOL)["status"], "canceled", "canceled")
    one.cancel_all_orders(SYMBOL)
    equal(one.fetch_open_orders(SYMBOL), [], "no open orders")
    equal([order["status"] for order in one.fetch_orders(SYMBOL)], ["canceled"] * 3, "all orders")
    for act, error in (
        (lambda: one.cancel_order("999999", SYMBOL), ccxt.OrderNotFound),
        (lambda: one.fetch_order("999999", SYMBOL), ccxt.OrderNotFound),
        # By this name of the host the client does not know all codes; under fapi.<domain> it is InsufficientFunds.
        (lambda: one.create_order(SYMBOL, "limit", "buy", 10, 60000), ccxt.ExchangeError),
    ):
        try:
            act()
        except error:
            continue
        raise SystemExit(f"{error} was expected")
    return "ccxt " + ccxt.__version__


def python_binance_trades(url, maker, taker):
    def connect(made):
        client = Client(made["api_key"], made["api_secret"], ping=False)
        client.FUTURES_URL = f"{url}/fapi"
        client.FUTURES_DATA_URL = f"{url}/futures/data"
        return client

    one, two = connect(maker), connect(taker)
    equal(one.futures_ping(), {}, "ping")
    equal(len(one.futures_exchange_info()["symbols"]), 3, "symbols")
    placed = one.futures_create_order(
        symbol="BTCUSDT", side="BUY", type="LIMIT", timeInForce="GTC", quantity="0.010", price="59900"
    )
    equal((placed["status"], placed["origQty"], placed["goodTillDate"]), ("NEW", "0.01", 0), "placed")
    # Its batches are signed over the unencoded text.
    batch = one.futures_place_batch_order(batchOrders=[
        {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.001", "price": "59000"},
        {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.001", "price": "1000"},
    ])
    equal((batch[0]["status"], batch[1]["code"]), ("NEW", -1013), "batch")
    taken = two.futures_create_order(symbol="BTCUSDT", side="SELL", type="MARKET", quantity="0.010")
    equal((taken["status"], taken["avgPrice"]), ("FILLED", "59900"), "taken")
    equal(one.futures_get_order(symbol="BTCUSDT", orderId=placed["orderId"])["status"], "FILLED", "filled")
    rows = {row["symbol"]: row for row in one.futures_position_information()}
    equal(float(rows["BTCUSDT"]["positionAmt"]) > 0, True, "position")
    equal(one.futures_account_balance()[0]["asset"], "USDT", "balance")
    equal(len(one.futures_income_history(incomeType="COMMISSION")) > 0, True, "income")
    equal(one.futures_change_leverage(symbol="BTCUSDT", leverage=25)["leverage"], 25, "leverage")
    # Its cancels carry their parameters in a form.
    gone = one.futures_cancel_order(symbol="BTCUSDT", orderId=batch[0]["orderId"])
    equal(gone["status"], "CANCELED", "canceled")
    one.futures_cancel_all_open_orders(symbol="BTCUSDT")
    equal(one.futures_get_open_orders(symbol="BTCUSDT"), [], "no open orders")
    try:
        one.futures_cancel_order(symbol="BTCUSDT", orderId=gone["orderId"])
    except BinanceAPIException as error:
        equal((error.code, error.message), (-2011, "Unknown order sent."), "refusal")
    else:
        raise SystemExit("a second cancel was accepted")
    return "python-binance"


def main(url, *answers):
    maker, taker = (json.loads(answer) for answer in answers)
    for scenario in (ccxt_trades, python_binance_trades):
        print(scenario(url, maker, taker), "trades here unchanged")


if __name__ == "__main__":
    main(*sys.argv[1:])
