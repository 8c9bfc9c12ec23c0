"""python-binance, unchanged, trades here: its batches are signed over the unencoded text, its cancels carry a form."""

from binance.client import Client
from binance.exceptions import BinanceAPIException

from venue import Venue, equal


def connect(url, made):
    client = Client(made["api_key"], made["api_secret"], ping=False)
    client.FUTURES_URL = f"{url}/fapi"
    client.FUTURES_DATA_URL = f"{url}/futures/data"
    return client


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
    print("python-binance trades here unchanged")


if __name__ == "__main__":
    main()
