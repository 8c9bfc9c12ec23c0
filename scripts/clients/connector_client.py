"""binance-futures-connector, unchanged, trades here: the retired official connector, still widely installed."""

from binance.error import ClientError
from binance.um_futures import UMFutures

from venue import SYMBOL, Venue, equal, eventually, refused


def main():
    venue = Venue()
    other = venue.other
    client = UMFutures(key=venue.key["api_key"], secret=venue.key["api_secret"], base_url=venue.url)

    # Markets.
    equal(client.ping(), {}, "ping")
    equal(client.time()["serverTime"] > 0, True, "time")
    info = client.exchange_info()
    equal(sorted(row["symbol"] for row in info["symbols"]), ["BTCUSDT", "ETHUSDT", "SOLUSDT"], "symbols")
    equal(client.change_leverage(symbol=SYMBOL, leverage=20)["leverage"], 20, "leverage")
    equal(client.change_margin_type(symbol=SYMBOL, marginType="CROSSED")["msg"], "success", "margin type")
    error = refused(lambda: client.change_margin_type(symbol=SYMBOL, marginType="ISOLATED"), ClientError, "isolated margin")
    equal(error.error_code, -4046, "refusal")

    # Orders.
    rest = {"symbol": SYMBOL, "side": "BUY", "type": "LIMIT", "timeInForce": "GTC"}
    placed = client.new_order(**rest, quantity=0.01, price=59000, newClientOrderId="connector-1")
    equal((placed["status"], placed["price"], placed["clientOrderId"]), ("NEW", "59000", "connector-1"), "placed")
    edited = client.modify_order(symbol=SYMBOL, side="BUY", quantity=0.02, price=59500, orderId=placed["orderId"])
    equal((edited["orderId"], edited["price"], edited["origQty"]), (placed["orderId"], "59500", "0.02"), "edited")
    # Its batches are percent-encoded, with + for a blank.
    batch = client.new_batch_order([
        rest | {"quantity": "0.001", "price": "58000"}, rest | {"quantity": "0.001", "price": "1000"},
    ])
    equal((batch[0]["status"], batch[1]["code"]), ("NEW", -1013), "batch")
    equal(client.depth(symbol=SYMBOL, limit=5)["bids"][0], ["59500.0", "0.020"], "best bid")
    gone = client.cancel_batch_order(symbol=SYMBOL, orderIdList=[batch[0]["orderId"]], origClientOrderIdList=[])
    equal([row["status"] for row in gone], ["CANCELED"], "canceled")
    equal(len(client.get_orders(symbol=SYMBOL)), 1, "open orders")
    other.market("SELL", "0.005")
    row = eventually(lambda: client.query_order(symbol=SYMBOL, orderId=placed["orderId"]), lambda row: row["executedQty"] == "0.005", "fill")
    equal(row["status"], "PARTIALLY_FILLED", "status")
    trade = client.get_account_trades(symbol=SYMBOL)[0]
    equal((trade["price"], trade["qty"], trade["maker"]), ("59500", "0.005", True), "trade")
    equal(client.cancel_open_orders(symbol=SYMBOL)["code"], 200, "cancel all")

    # A stop that it sends to the order route, as it always has; the mark falls, the stop sells.
    other.limit("BUY", "0.1", "58000")
    stop = client.new_order(symbol=SYMBOL, side="SELL", type="STOP_MARKET", stopPrice=59000, quantity=0.005, workingType="MARK_PRICE")
    equal((stop["status"], stop["type"], stop["stopPrice"]), ("NEW", "STOP_MARKET", "59000"), "stop")
    venue.operator.index(58900)
    row = eventually(lambda: client.query_order(symbol=SYMBOL, orderId=stop["orderId"]), lambda row: row["status"] == "FILLED", "stop")
    equal((row["origType"], row["avgPrice"]), ("STOP_MARKET", "58000"), "stop filled")

    # Reads.
    equal(client.get_position_risk(symbol=SYMBOL), [], "position")
    equal({row["incomeType"] for row in client.get_income_history()} >= {"COMMISSION", "REALIZED_PNL"}, True, "income")
    equal(client.balance()[0]["asset"], "USDT", "balance")
    equal(client.account()["assets"][0]["asset"], "USDT", "account")
    equal(len(client.leverage_brackets(symbol=SYMBOL)["brackets"]), 7, "brackets")
    equal(client.commission_rate(symbol=SYMBOL)["symbol"], SYMBOL, "commission")
    equal(float(client.klines(SYMBOL, "1m")[-1][4]), 58000.0, "candle")
    equal(client.mark_price(SYMBOL)["symbol"], SYMBOL, "mark")
    error = refused(lambda: client.cancel_order(symbol=SYMBOL, orderId=999999), ClientError, "a cancel of nothing")
    equal((error.status_code, error.error_code, error.error_message), (400, -2011, "Unknown order sent."), "refusal")
    equal(len(client.new_listen_key()["listenKey"]) > 20, True, "listen key")
    print("binance-futures-connector trades here unchanged")


if __name__ == "__main__":
    main()
