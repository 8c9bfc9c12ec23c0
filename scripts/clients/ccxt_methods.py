"""ccxt, unchanged, by its other methods: what an account has and did, page by page; candles and prices of every kind; orders that wait
for a trigger; batches; which refusal is which of its exceptions, also under the name of a public deployment; everything that
ccxt.pro watches."""

import asyncio

import ccxt
import ccxt.pro

from ccxt_client import SYMBOL, by_ccxt
from venue import Venue, equal, refused

ETHER = "ETH/USDT:USDT"


class Public(ccxt.binanceusdm):
    """As if the exchange had the name that it should have in public: only there all codes are known."""

    def handle_errors(self, code, reason, url, *rest):
        path = url.split("/", 3)[3]
        return super().handle_errors(code, reason, f"https://fapi.{self.hostname or 'binance.com'}/{path}", *rest)


def ids(rows):
    return [row["id"] for row in rows]


def history(one, other):
    """Twelve fills of 0.01 at 60000, 60010 ...: `limit` alone gives the newest, times are inclusive, ids begin."""
    for step in range(12):
        other.limit("SELL", "0.01", 60000 + 10 * step)
        one.create_order(SYMBOL, "market", "buy", 0.01)
    mine = one.fetch_my_trades(SYMBOL)
    equal(ids(mine), [str(number) for number in range(1, 13)], "own trades")
    equal(ids(one.fetch_my_trades(SYMBOL, limit=3)), ["10", "11", "12"], "the newest own trades")
    at = lambda number: mine[number - 1]["timestamp"]
    equal(ids(one.fetch_my_trades(SYMBOL, since=at(5)))[0], "5", "own trades since one of them")
    found = one.fetch_my_trades(SYMBOL, since=at(3), params={"until": at(6)})
    equal(ids(found), ["3", "4", "5", "6"], "own trades from one to another")
    equal(ids(one.fetch_my_trades(SYMBOL, limit=3, params={"fromId": "5"})), ["5", "6", "7"], "own trades from an id")
    public = one.fetch_trades(SYMBOL)
    equal(len(public), 12, "public trades")
    equal(ids(one.fetch_trades(SYMBOL, since=public[4]["timestamp"], limit=2)), ["5", "6"], "public trades since one of them")
    for method in ("fapiPublicGetTrades", "fapiPublicGetHistoricalTrades"):
        equal(ids(one.fetch_trades(SYMBOL, limit=3, params={"fetchTradesMethod": method})), ["10", "11", "12"], method)
    orders = one.fetch_orders(SYMBOL)
    equal(ids(one.fetch_orders(SYMBOL, limit=3)), ids(orders)[-3:], "the newest orders")
    equal(ids(one.fetch_orders(SYMBOL, since=orders[4]["timestamp"])), ids(orders)[4:], "orders since one of them")
    equal(ids(one.fetch_orders(SYMBOL, params={"until": orders[2]["timestamp"]})), ids(orders)[:3], "orders until one of them")
    equal([order["status"] for order in one.fetch_closed_orders(SYMBOL)], ["closed"] * 12, "closed orders")
    equal((one.fetch_canceled_orders(SYMBOL), one.fetch_my_liquidations(SYMBOL)), ([], []), "no other orders")
    equal(len(one.fetch_ledger(params={"type": "future", "incomeType": "COMMISSION"})), 12, "ledger")
    equal(one.fetch_funding_history(SYMBOL), [], "no funding yet")


def account(one):
    # Fees of 3.6033, and bought 6.6 above the mark.
    for params in ({}, {"useV2": True}, {"method": "fapiPrivateV2GetBalance"}, {"method": "fapiPrivateV3GetBalance"}):
        balance = one.fetch_balance(params)["USDT"]
        equal((balance["total"], balance["used"] > 0), (9989.7967, True), f"balance by {params}")
    for params in ({}, {"useV2": True}, {"method": "account"}):
        position = one.fetch_positions([SYMBOL], params)[0]
        found = [position[name] for name in ("symbol", "side", "contracts", "notional", "initialMargin", "maintenanceMargin", "marginMode")]
        equal(found, [SYMBOL, "long", 0.12, 7200.0, 360.0, 28.8, "cross"], f"position by {params}")
    equal(one.fetch_positions_risk([SYMBOL])[0]["entryPrice"], 60055.0, "entry price")
    equal(one.fetch_positions_adl_rank([SYMBOL])[0]["rank"], 4.0, "place in the order of deleveraging")
    equal(one.fetch_leverage(SYMBOL)["longLeverage"], 20, "leverage")
    equal(one.fetch_margin_mode(SYMBOL)["marginMode"], "cross", "margin mode")
    equal(one.set_margin_mode("cross", SYMBOL)["code"], 200, "margin mode again")
    equal(one.set_position_mode(False)["code"], 200, "position mode again")
    equal(one.fetch_trading_fee(SYMBOL)["taker"], 0.0005, "fee")
    equal(one.fetch_margin_adjustment_history(SYMBOL), [], "no margin moved")
    refused(lambda: one.set_margin_mode("isolated", SYMBOL), ccxt.OperationRejected, "isolated margin")
    refused(lambda: one.set_position_mode(True), ccxt.OperationRejected, "the two-way mode")
    refused(lambda: one.add_margin(SYMBOL, 5), ccxt.BadRequest, "margin of a crossed position")


def market(one):
    now = one.milliseconds()
    last = one.fetch_ohlcv(SYMBOL, "1h")[-1]
    equal(last[1:], [60000.0, 60110.0, 60000.0, 60110.0, 0.12], "candle")
    equal(one.fetch_ohlcv(SYMBOL, "1h", limit=1), [last], "the newest candle")
    equal(one.fetch_ohlcv(SYMBOL, "1h", since=last[0], limit=5), [last], "candles since one of them")
    equal(one.fetch_ohlcv(SYMBOL, "1h", params={"until": last[0] - 1}), [], "candles before the first")
    equal(one.fetch_ohlcv(SYMBOL, "1m", since=now + 600_000), [], "candles of the future")
    for fetch in (one.fetch_mark_ohlcv, one.fetch_index_ohlcv):
        equal(fetch(SYMBOL, "1h", limit=1)[0][1:], [60000.0] * 4 + [0.0], "candle of a price")
    premium = one.fetch_premium_index_ohlcv(SYMBOL, "1h", limit=1)
    equal(premium[0][1:], [0.0] * 5, "no premium of a book that no impact price can be had from")
    equal(one.fetch_last_prices([SYMBOL])[SYMBOL]["price"], 60110.0, "last price")
    equal(one.fetch_mark_price(SYMBOL)["indexPrice"], 60000.0, "index")
    equal(one.fetch_tickers([SYMBOL])[SYMBOL]["percentage"], 0.18, "ticker of the day")
    equal(one.fetch_bids_asks([SYMBOL])[SYMBOL]["bidVolume"], 0.0, "best bid")
    equal((one.fetch_funding_rates([SYMBOL])[SYMBOL]["fundingTimestamp"] - now) // 3_600_000, 0, "next funding")
    equal(one.fetch_funding_interval(SYMBOL)["interval"], "1h", "funding interval")
    equal(one.fetch_funding_rate_history(SYMBOL), [], "no funding yet")
    equal(one.fetch_open_interest(SYMBOL)["openInterestAmount"], 0.12, "open interest")
    samples = one.fetch_open_interest_history(SYMBOL, "5m")
    equal([row["timestamp"] % 300_000 for row in samples], [0] * len(samples), "open interest as it was")
    equal(one.fetch_long_short_ratio_history(SYMBOL), [], "statistics")
    equal(one.fetch_market_leverage_tiers(SYMBOL)[0]["maxLeverage"], 125.0, "tiers")
    equal(one.fapiPublicGetSymbolAdlRisk({"symbol": "BTCUSDT"})["adlRisk"], "high", "the fund is empty, and somebody is long")
    equal(one.fapiPublicGetInsuranceBalance()[0]["assets"][0]["asset"], "USDT", "insurance fund")
    equal(one.fapiPublicGetRpiDepth({"symbol": "BTCUSDT"})["bids"], one.fapiPublicGetDepth({"symbol": "BTCUSDT"})["bids"], "book")
    equal(one.fapiPublicGetIndexInfo(), [], "no composite indices")
    equal(one.fapiPublicGetTradingSchedule()["marketSchedules"]["EQUITY"]["sessions"], [], "no sessions")


def orders(one, other):
    place = lambda kind, side, price=None, **params: one.create_order(SYMBOL, kind, side, 0.01, price, params)
    later = one.milliseconds() + 1_000_000
    for params, tif in (({"postOnly": True}, "PO"), ({"timeInForce": "GTD", "goodTillDate": later}, "GTD"), ({"priceMatch": "QUEUE"}, "GTC")):
        order = place("limit", "buy", None if "priceMatch" in params else 59000, **params)
        equal((order["status"], order["timeInForce"], order["price"]), ("open", tif, 59000.0), f"order by {params}")
    equal(place("limit", "buy", 59000, timeInForce="IOC")["status"], "expired", "immediate or canceled")
    order = place("limit", "sell", 59000, selfTradePreventionMode="EXPIRE_BOTH")
    equal((order["status"], len(one.fetch_open_orders(SYMBOL))), ("expired", 2), "self-trade prevention")

    # What waits for a trigger goes to the conditional-order service.
    trigger = {"trigger": True}
    waiting = [
        place("market", "sell", stopLossPrice=58000),
        place("market", "sell", takeProfitPrice=62000),
        place("limit", "sell", 57900, triggerPrice=58000),
        place("STOP_MARKET", "sell", stopPrice=58000, closePosition=True),
        place("market", "sell", trailingPercent=1.5),
        place("market", "sell", trailingPercent=1.5, trailingTriggerPrice=61000),
    ]
    equal([order["status"] for order in waiting], ["open"] * 6, "conditional orders")
    found = one.fetch_open_orders(SYMBOL, params=trigger)
    equal([(order["id"], order["triggerPrice"]) for order in found], [(order["id"], order["triggerPrice"]) for order in waiting], "the same as open")
    equal(one.fetch_order(waiting[5]["id"], SYMBOL, trigger)["info"]["callbackRate"], "1.5", "a trailing stop")
    equal(one.cancel_order(waiting[0]["id"], SYMBOL, trigger)["id"], waiting[0]["id"], "a conditional cancel")
    equal(ids(one.fetch_orders(SYMBOL, limit=2, params=trigger)), ids(waiting)[-2:], "the newest conditional orders")
    one.cancel_all_orders(SYMBOL, trigger)
    equal([order["status"] for order in one.fetch_orders(SYMBOL, params=trigger)], ["canceled"] * 6, "conditional cancels")
    refused(lambda: place("market", "sell", stopLossPrice=62000), ccxt.ExchangeError, "a trigger that is met")

    # Batches, by ids and by names.
    batch = one.create_orders([
        {"symbol": SYMBOL, "type": "limit", "side": "buy", "amount": 0.01, "price": 58000},
        {"symbol": SYMBOL, "type": "limit", "side": "buy", "amount": 0.01, "price": 1},
        {"symbol": ETHER, "type": "limit", "side": "buy", "amount": 0.01, "price": 2900},
    ])
    equal(sorted(order["status"] for order in batch), ["open", "open", "rejected"], "a batch")
    placed = next(order for order in batch if order["price"] == 58000.0)
    one.cancel_all_orders(ETHER)
    changed = one.edit_orders([
        {"id": id, "symbol": SYMBOL, "type": "limit", "side": "buy", "amount": 0.02, "price": 58100} for id in (placed["id"], "99999")
    ])
    equal(sorted(order["status"] for order in changed), ["open", "rejected"], "a batch of edits")
    equal([order["status"] for order in one.cancel_orders([placed["id"]], SYMBOL)], ["canceled"], "canceled by ids")
    names = [place("limit", "buy", 58000 + step, clientOrderId=f"named-{step}")["clientOrderId"] for step in range(2)]
    gone = one.cancel_orders([], SYMBOL, {"origClientOrderIdList": names})
    equal([order["status"] for order in gone], ["canceled"] * 2, "canceled by names")
    one.cancel_all_orders(SYMBOL)
    other.clear()


def refusals(venue):
    """Under a public name: each by its class."""
    named = by_ccxt(venue.url, venue.key, Public)
    named.load_markets()
    place = lambda side, amount, price, **params: named.create_order(SYMBOL, "limit", side, amount, price, params)
    place("buy", 0.01, 59000, clientOrderId="same")
    for error, act in (
        (ccxt.InsufficientFunds, lambda: place("buy", 40, 60000)),
        (ccxt.InvalidOrder, lambda: place("buy", 0.01, 59000, reduceOnly=True)),
        (ccxt.InvalidOrder, lambda: place("buy", 0.01, 59000, clientOrderId="same")),
        (ccxt.OrderImmediatelyFillable, lambda: place("sell", 0.01, 58900, postOnly=True)),
        (ccxt.OrderNotFillable, lambda: place("buy", 1, 60060, timeInForce="FOK")),
        (ccxt.OrderImmediatelyFillable, lambda: named.create_order(SYMBOL, "market", "sell", 0.01, None, {"stopLossPrice": 62000})),
        (ccxt.OperationRejected, lambda: named.edit_order(named.fetch_open_orders(SYMBOL)[0]["id"], SYMBOL, "limit", "buy", 0.01, 59000)),
        (ccxt.OrderNotFound, lambda: named.cancel_order("99999", SYMBOL)),
        (ccxt.OrderNotFound, lambda: named.fetch_order("99999", SYMBOL)),
        (ccxt.BadSymbol, lambda: named.fapiPublicGetDepth({"symbol": "NONE"})),
        (ccxt.BadRequest, lambda: named.fetch_order_book(SYMBOL, 7)),
        (ccxt.OperationRejected, lambda: named.set_margin_mode("isolated", SYMBOL)),
    ):
        found = refused(act, ccxt.BaseError, error.__name__)
        equal(type(found), error, f"the class of {found}")
    named.cancel_all_orders(SYMBOL)
    named.secret = "x" * 64
    refused(named.fetch_balance, ccxt.AuthenticationError, "a wrong signature")


async def watched(venue):
    """Each thing that can be watched tells of one and the same fill."""
    client = by_ccxt(venue.url, venue.key, ccxt.pro.binanceusdm)
    aside = lambda act, *values: asyncio.to_thread(act, *values)
    try:
        await client.load_markets()
        raw = by_ccxt(venue.url, venue.key, ccxt.pro.binanceusdm)
        raw.options["watchTrades"] = {"name": "trade"}
        await aside(venue.other.limit, "SELL", "1", "60010")
        stop = asyncio.Event()

        async def flow():
            while not stop.is_set():
                await aside(venue.other.limit, "SELL", "0.001", "60010")
                await client.create_order(SYMBOL, "limit", "buy", 0.001, 60010)
                await asyncio.sleep(0.2)

        async def until(watch, holds, what):
            async with asyncio.timeout(20):
                while not holds(await watch()):
                    pass

        flowing = asyncio.create_task(flow())
        await asyncio.gather(
            until(lambda: client.watch_ticker(SYMBOL), lambda ticker: ticker["last"] == 60010.0, "ticker"),
            until(lambda: client.watch_tickers([SYMBOL]), lambda tickers: tickers[SYMBOL]["last"] == 60010.0, "tickers"),
            until(lambda: client.watch_bids_asks([SYMBOL]), lambda quotes: quotes[SYMBOL]["ask"] == 60010.0, "quotes"),
            until(lambda: client.watch_trades(SYMBOL), lambda trades: trades[-1]["price"] == 60010.0, "trades"),
            until(lambda: raw.watch_trades(SYMBOL), lambda trades: trades[-1]["amount"] == 0.001, "single trades"),
            until(lambda: client.watch_trades_for_symbols([SYMBOL, ETHER]), lambda trades: trades[-1]["amount"] >= 0.001, "trades of two"),
            until(lambda: client.watch_ohlcv(SYMBOL, "1m"), lambda candles: candles[-1][4] == 60010.0, "candles"),
            until(lambda: client.watch_ohlcv_for_symbols([[SYMBOL, "5m"]]), lambda found: found[SYMBOL]["5m"][-1][4] == 60010.0, "more candles"),
            until(lambda: client.watch_mark_price(SYMBOL), lambda ticker: ticker["markPrice"] > 0, "mark"),
            until(lambda: client.watch_mark_prices(), lambda tickers: len(tickers) == 3, "marks"),
            until(lambda: client.watch_order_book(SYMBOL, 5), lambda book: book["asks"][0][0] == 60010.0, "book"),
            until(lambda: client.watch_order_book_for_symbols([SYMBOL, ETHER], 5), lambda book: book["symbol"] == SYMBOL, "books"),
            until(client.watch_balance, lambda balance: balance["USDT"]["total"] < 10000, "balance"),
            until(lambda: client.watch_positions([SYMBOL]), lambda found: found and found[-1]["side"] == "long", "positions"),
            until(lambda: client.watch_my_trades(SYMBOL), lambda trades: trades[-1]["takerOrMaker"] == "taker", "own trades"),
            until(lambda: client.watch_orders(SYMBOL), lambda orders: orders[-1]["status"] == "closed", "orders"),
        )
        stop.set()
        await flowing
        for unwatch in (client.un_watch_ticker, client.un_watch_order_book, client.un_watch_trades, client.un_watch_mark_price):
            equal(await unwatch(SYMBOL), True, "an end of watching")

        # A conditional order, from its placement to the fill of the order that it became.
        placed = await client.create_order(SYMBOL, "market", "sell", 0.001, None, {"stopLossPrice": 59000})
        await aside(venue.other.clear)
        await aside(venue.other.limit, "BUY", "0.002", "58950")
        # The one trade below brings the last price to the trigger.
        heard = asyncio.create_task(until(
            lambda: client.watch_orders(SYMBOL, params={"trigger": True}),
            lambda found: any((order["id"], order["status"], order["filled"]) == (placed["id"], "closed", 0.001) for order in found),
            "the conditional order",
        ))
        await client.create_order(SYMBOL, "limit", "sell", 0.001, 58950)
        await heard
        equal((await client.fetch_orders(SYMBOL, params={"trigger": True}))[-1]["status"], "closed", "the conditional order")
        await raw.close()
    finally:
        await client.close()


def main():
    venue = Venue()
    one = by_ccxt(venue.url, venue.key)
    one.load_markets()
    history(one, venue.other)
    account(one)
    market(one)
    orders(one, venue.other)
    refusals(venue)
    asyncio.run(watched(venue))
    print("ccxt finds its methods here")


if __name__ == "__main__":
    main()
