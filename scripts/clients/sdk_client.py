"""The official USD-M SDK (binance-sdk-derivatives-trading-usds-futures), unchanged, trades here: typed models throughout; and
again over the socket of requests (`websocket_api`)."""

import asyncio

from binance_common.configuration import ConfigurationRestAPI, ConfigurationWebSocketAPI
from binance_common.errors import BadRequestError
from binance_sdk_derivatives_trading_usds_futures.derivatives_trading_usds_futures import DerivativesTradingUsdsFutures
from binance_sdk_derivatives_trading_usds_futures.rest_api.models import (
    KlineCandlestickDataIntervalEnum,
    ModifyOrderSideEnum,
    NewAlgoOrderAlgoTypeEnum,
    NewAlgoOrderSideEnum,
    NewAlgoOrderTypeEnum,
    NewAlgoOrderWorkingTypeEnum,
    NewOrderSideEnum,
    NewOrderTimeInForceEnum,
    NewOrderTypeEnum,
    PlaceMultipleOrdersBatchOrdersParameterInner,
)

from venue import SYMBOL, Venue, equal, eventually, refused


async def over_a_socket(venue):
    """What it offers over the socket of requests."""
    configuration = ConfigurationWebSocketAPI(
        api_key=venue.key["api_key"], api_secret=venue.key["api_secret"], stream_url=f"{venue.sockets}/ws-fapi/v1",
    )
    client = await DerivativesTradingUsdsFutures(config_ws_api=configuration).websocket_api.create_connection()
    try:
        order = {"symbol": SYMBOL, "side": "BUY", "type": "LIMIT", "time_in_force": "GTC"}
        answer = await client.new_order(**order, quantity=0.01, price=59000.0)
        placed = answer.data().result
        equal((placed.status, placed.price, placed.good_till_date), ("NEW", "59000", 0), "placed over the socket")
        equal([limit.rateLimitType for limit in answer.rate_limits], ["REQUEST_WEIGHT", "ORDERS", "ORDERS"], "limits over the socket")
        edited = (await client.modify_order(symbol=SYMBOL, side="BUY", quantity=0.02, price=59500.0, order_id=placed.order_id)).data().result
        equal((edited.order_id, edited.price), (placed.order_id, "59500"), "edited over the socket")
        found = (await client.query_order(symbol=SYMBOL, order_id=placed.order_id)).data().result
        equal((found.status, found.orig_qty), ("NEW", "0.02"), "order over the socket")
        equal((await client.order_book(symbol=SYMBOL, limit=5)).data().result.last_update_id > 0, True, "book over the socket")
        gone = (await client.cancel_order(symbol=SYMBOL, order_id=placed.order_id)).data().result
        equal(gone.status, "CANCELED", "canceled over the socket")
        stop = (await client.new_algo_order(
            algo_type="CONDITIONAL", symbol=SYMBOL, side="BUY", type="STOP_MARKET", quantity=0.005, trigger_price=70000.0,
        )).data().result
        equal(stop.algo_status, "NEW", "conditional order over the socket")
        gone = (await client.cancel_algo_order(algo_id=stop.algo_id)).data().result
        equal((gone.algo_id, gone.code), (stop.algo_id, "200"), "conditional order canceled over the socket")
        equal((await client.futures_account_balance_v2()).data().result[0].asset, "USDT", "balance over the socket")
        equal((await client.account_information_v2()).data().result.assets[0].asset, "USDT", "account over the socket")
        await client.position_information_v2(symbol=SYMBOL)
        key = (await client.start_user_data_stream()).data().result.listen_key
        equal((await client.keepalive_user_data_stream()).data().result.listen_key, key, "listen key over the socket")
        await client.close_user_data_stream()
        # It gives refusals as data.
        refusal = (await client.cancel_order(symbol=SYMBOL, order_id=999999)).data()["error"]
        equal(refusal, {"code": -2011, "msg": "Unknown order sent."}, "refusal over the socket")
    finally:
        await client.close_connection(close_session=True)


def main():
    venue = Venue()
    other = venue.other
    configuration = ConfigurationRestAPI(api_key=venue.key["api_key"], api_secret=venue.key["api_secret"], base_path=venue.url)
    client = DerivativesTradingUsdsFutures(config_rest_api=configuration).rest_api

    # Markets.
    symbols = client.exchange_information().data().symbols
    equal(sorted(row.symbol for row in symbols), ["BTCUSDT", "ETHUSDT", "SOLUSDT"], "symbols")
    equal(client.change_initial_leverage(symbol=SYMBOL, leverage=20).data().leverage, 20, "leverage")

    # Orders.
    buy = {"symbol": SYMBOL, "side": NewOrderSideEnum.BUY, "type": NewOrderTypeEnum.LIMIT, "time_in_force": NewOrderTimeInForceEnum.GTC}
    placed = client.new_order(**buy, quantity=0.01, price=59000.0).data()
    equal((placed.status, placed.price, placed.good_till_date), ("NEW", "59000", 0), "placed")
    edited = client.modify_order(symbol=SYMBOL, side=ModifyOrderSideEnum.BUY, quantity=0.02, price=59500.0, order_id=placed.order_id).data()
    equal((edited.order_id, edited.price), (placed.order_id, "59500"), "edited")
    # Its batches carry numbers as JSON numbers.
    batch = client.place_multiple_orders(batch_orders=[
        PlaceMultipleOrdersBatchOrdersParameterInner(
            symbol=SYMBOL, side="BUY", type="LIMIT", time_in_force="GTC", quantity=0.001, price=price
        ) for price in (58000.0, 58100.0)
    ]).data()
    equal([row.price for row in batch], ["58000", "58100"], "batch")
    gone = client.cancel_multiple_orders(symbol=SYMBOL, order_id_list=[row.order_id for row in batch]).data()
    equal([row.status for row in gone], ["CANCELED", "CANCELED"], "canceled")
    other.market("SELL", "0.005")
    eventually(
        lambda: client.query_order(symbol=SYMBOL, order_id=placed.order_id).data(),
        lambda row: (row.status, row.executed_qty) == ("PARTIALLY_FILLED", "0.005"), "fill",
    )
    trade = client.account_trade_list(symbol=SYMBOL).data()[0]
    equal((trade.price, trade.qty, trade.maker, trade.commission_asset), ("59500", "0.005", True, "USDT"), "trade")
    equal(client.cancel_all_open_orders(symbol=SYMBOL).data().code, 200, "cancel all")

    # A conditional order of its route for them; the mark falls, it sells.
    other.limit("BUY", "0.1", "58000")
    stop = client.new_algo_order(
        algo_type=NewAlgoOrderAlgoTypeEnum.CONDITIONAL if hasattr(NewAlgoOrderAlgoTypeEnum, "CONDITIONAL") else "CONDITIONAL",
        symbol=SYMBOL, side=NewAlgoOrderSideEnum.SELL, type=NewAlgoOrderTypeEnum.STOP_MARKET if hasattr(NewAlgoOrderTypeEnum, "STOP_MARKET") else "STOP_MARKET",
        quantity=0.005, trigger_price=59000.0, working_type=NewAlgoOrderWorkingTypeEnum.MARK_PRICE,
    ).data()
    equal((stop.algo_status, stop.order_type, stop.quantity), ("NEW", "STOP_MARKET", "0.005"), "conditional order")
    equal([row.algo_id for row in client.current_all_algo_open_orders(symbol=SYMBOL).data()], [stop.algo_id], "open conditional orders")
    venue.operator.index(58900)
    eventually(
        lambda: client.query_algo_order(algo_id=stop.algo_id).data(),
        lambda row: row.algo_status in ("TRIGGERED", "FINISHED"), "conditional order",
    )

    # Reads.
    eventually(lambda: client.position_information_v3(symbol=SYMBOL).data(), lambda rows: all(float(row.position_amt) == 0 for row in rows), "position")
    equal(client.futures_account_balance_v3().data()[0].asset, "USDT", "balance")
    equal(client.account_information_v3().data().assets[0].asset, "USDT", "account")
    equal(len(client.get_income_history().data()) > 0, True, "income")
    equal(len(client.notional_and_leverage_brackets(symbol=SYMBOL).data().actual_instance.brackets), 7, "brackets")
    candles = client.kline_candlestick_data(symbol=SYMBOL, interval=KlineCandlestickDataIntervalEnum.INTERVAL_1m).data()
    equal(float(candles[-1][4]), 58000.0, "candle")
    equal(client.symbol_configuration(symbol=SYMBOL).data()[0].leverage, 20, "symbol configuration")
    refused(lambda: client.cancel_order(symbol=SYMBOL, order_id=999999), BadRequestError, "a cancel of nothing")
    equal(len(client.start_user_data_stream().data().listen_key) > 20, True, "listen key")
    asyncio.run(over_a_socket(venue))
    print("the official USD-M SDK trades here unchanged")


if __name__ == "__main__":
    main()
