"""ccxt, unchanged, trades here: markets, books, orders of every kind, batches, edits, cancels, positions, balances; and the
same again over the socket of requests (`*Ws`)."""

import asyncio

import ccxt
import ccxt.pro

from venue import Venue, equal

SYMBOL = "BTC/USDT:USDT"


def by_ccxt(url, made, kind=ccxt.binanceusdm):
    client = kind({
        "apiKey": made["api_key"],
        "secret": made["api_secret"],
        "options": {"adjustForTimeDifference": True},
    })
    api = client.urls["api"]
    for version in ("", "V2", "V3"):
        path = f"{url}/fapi/{version.lower() or 'v1'}"
        api["fapiPublic" + version] = path
        api["fapiPrivate" + version] = path
    api["fapiData"] = f"{url}/futures/data"
    api["sapi"] = f"{url}/sapi/v1"
    sockets = f"ws{url.removeprefix('http')}"
    api.setdefault("ws", {})["linear"] = f"{sockets}/ws"
    api["ws"].setdefault("ws-api", {})["linear"] = f"{sockets}/ws-fapi/v1"
    return client


async def over_a_socket(venue):
    """What it offers of this venue over the socket of requests."""
    client = by_ccxt(venue.url, venue.key, ccxt.pro.binanceusdm)
    try:
        placed = await client.create_order_ws(SYMBOL, "limit", "buy", 0.01, 59000, {"clientOrderId": "ccxt-ws"})
        equal((placed["status"], placed["price"], placed["clientOrderId"]), ("open", 59000.0, "ccxt-ws"), "placed over the socket")
        edited = await client.edit_order_ws(placed["id"], SYMBOL, "limit", "buy", 0.02, 60000)
        equal((edited["id"], edited["price"], edited["amount"]), (placed["id"], 60000.0, 0.02), "edited over the socket")
        equal((await client.fetch_order_book_ws(SYMBOL, 5))["bids"], [[60000.0, 0.02]], "book over the socket")
        equal((await client.fetch_ticker_ws(SYMBOL))["bid"], 60000.0, "ticker over the socket")
        await asyncio.to_thread(venue.other.market, "SELL", "0.005")
        order = await client.fetch_order_ws(placed["id"], SYMBOL)
        equal((order["status"], order["filled"], order["average"]), ("open", 0.005, 60000.0), "order over the socket")
        position = (await client.fetch_positions_ws([SYMBOL]))[0]
        equal(position["symbol"], SYMBOL, "position over the socket")
        equal((await client.fetch_my_trades_ws(SYMBOL))[-1]["amount"], 0.005, "trade over the socket")
        equal((await client.fetch_ohlcv_ws(SYMBOL, "1m"))[-1][4], 60000.0, "candle over the socket")
        balance = await client.fetch_balance_ws({"method": "v2/account.balance"})
        equal(balance["info"][0]["asset"], "USDT", "balance over the socket")
        equal((await client.fetch_balance_ws())["info"]["canTrade"], True, "account over the socket")
        equal((await client.cancel_order_ws(placed["id"], SYMBOL))["status"], "canceled", "canceled over the socket")
        stop = await client.create_order_ws(SYMBOL, "market", "sell", 0.005, None, {"stopLossPrice": 50000})
        equal(stop["status"], "open", "conditional order over the socket")
        await client.cancel_order_ws(stop["id"], SYMBOL, {"trigger": True})
        # Several at once over the one connection.
        several = await asyncio.gather(*[client.create_order_ws(SYMBOL, "limit", "buy", 0.001, 58000 + n) for n in range(20)])
        equal([order["price"] for order in several], [58000.0 + n for n in range(20)], "orders at once")
        gone = await asyncio.gather(*[client.cancel_order_ws(order["id"], SYMBOL) for order in several])
        equal({order["status"] for order in gone}, {"canceled"}, "canceled at once")
        for act, error in (
            (lambda: client.cancel_order_ws("999999", SYMBOL), ccxt.OrderNotFound),
            (lambda: client.create_order_ws(SYMBOL, "limit", "buy", 10, 60000), ccxt.ExchangeError),
        ):
            try:
                await act()
            except error:
                continue
            raise SystemExit(f"{error} was expected over the socket")
    finally:
        await client.close()


def main():
    venue = Venue()
    one, two = by_ccxt(venue.url, venue.key), by_ccxt(venue.url, venue.other_key)
    equal(one.fetch_status()["status"], "ok", "status")
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
    asyncio.run(over_a_socket(venue))
    print("ccxt trades here unchanged")


if __name__ == "__main__":
    main()
