"""python-binance, unchanged, trades here: its batches are signed over the unencoded text, its cancels carry a form; and again
over the socket of requests (`ws_futures_*`)."""

import asyncio

from binance import AsyncClient
from binance.client import Client
from binance.exceptions import BinanceAPIException

from venue import Venue, equal


def connect(url, made):
    # Made in the default way, it pings the spot API first.
    Client.API_URL = f"{url}/api"
    client = Client(made["api_key"], made["api_secret"])
    client.FUTURES_URL = f"{url}/fapi"
    client.FUTURES_DATA_URL = f"{url}/futures/data"
    return client


async def over_a_socket(venue):
    """All that it offers over the socket of requests."""
    client = AsyncClient(venue.key["api_key"], venue.key["api_secret"])
    client.ws_future._url = f"{venue.sockets}/ws-fapi/v1"
    order = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC"}
    try:
        placed = await client.ws_futures_create_order(**order, quantity=0.01, price=59000, reduceOnly=False)
        equal((placed["status"], placed["price"], placed["goodTillDate"]), ("NEW", "59000", 0), "placed over the socket")
        name = {"symbol": "BTCUSDT", "orderId": placed["orderId"]}
        edited = await client.ws_futures_edit_order(**name, side="BUY", quantity="0.02", price="59500")
        equal((edited["orderId"], edited["price"]), (placed["orderId"], "59500"), "edited over the socket")
        equal((await client.ws_futures_get_order_book(symbol="BTCUSDT", limit=5))["bids"], [["59500.0", "0.020"]], "book over the socket")
        equal((await client.ws_futures_get_order_book_ticker(symbol="BTCUSDT"))["bidPrice"], "59500.0", "best bid over the socket")
        equal(len(await client.ws_futures_get_all_tickers()), 3, "prices over the socket")
        await asyncio.to_thread(venue.other.market, "SELL", "0.005")
        equal((await client.ws_futures_get_order(**name))["executedQty"], "0.005", "fill over the socket")
        for positions in (client.ws_futures_account_position, client.ws_futures_v2_account_position):
            equal((await positions(symbol="BTCUSDT"))[0]["symbol"], "BTCUSDT", "position over the socket")
        for balances in (client.ws_futures_account_balance, client.ws_futures_v2_account_balance):
            equal((await balances())[0]["asset"], "USDT", "balance over the socket")
        for account in (client.ws_futures_account_status, client.ws_futures_v2_account_status):
            equal((await account())["assets"][0]["asset"], "USDT", "account over the socket")
        stop = await client.ws_futures_create_order(symbol="BTCUSDT", side="SELL", type="STOP_MARKET", quantity="0.001", triggerPrice="50000")
        equal(stop["algoStatus"], "NEW", "conditional order over the socket")
        gone = await client.ws_futures_cancel_algo_order(algoId=stop["algoId"])
        equal((gone["algoId"], gone["code"]), (stop["algoId"], "200"), "conditional order canceled over the socket")
        equal((await client.ws_futures_cancel_order(**name))["status"], "CANCELED", "canceled over the socket")
        try:
            await client.ws_futures_cancel_order(**name)
        except BinanceAPIException as error:
            equal((error.code, error.message), (-2011, "Unknown order sent."), "refusal over the socket")
        else:
            raise SystemExit("a second cancel over the socket was accepted")
    finally:
        await client.close_connection()


def main():
    venue = Venue()
    one, two = connect(venue.url, venue.key), connect(venue.url, venue.other_key)
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
    asyncio.run(over_a_socket(venue))
    print("python-binance trades here unchanged")


if __name__ == "__main__":
    main()
