"""The official USD-M SDK, unchanged, is liquidated: its typed streams and REST say so."""

import asyncio

from binance_common.configuration import ConfigurationRestAPI, ConfigurationWebSocketStreams
from binance_sdk_derivatives_trading_usds_futures.derivatives_trading_usds_futures import DerivativesTradingUsdsFutures
from binance_sdk_derivatives_trading_usds_futures.rest_api.models import NewOrderSideEnum, NewOrderTypeEnum
from binance_sdk_derivatives_trading_usds_futures.websocket_streams.models import AccountUpdate, OrderTradeUpdate

import liquidation
from venue import SYMBOL, Venue, equal


def raw(model):
    """The object that a typed one was read from. An event that fits no type would be one already, and is a fault."""
    return (getattr(model, "actual_instance", None) or model).to_dict()


async def main():
    venue, seen = Venue(), liquidation.Seen()
    client = DerivativesTradingUsdsFutures(
        config_rest_api=ConfigurationRestAPI(
            api_key=venue.key["api_key"], api_secret=venue.key["api_secret"], base_path=venue.url,
        ),
        config_ws_streams=ConfigurationWebSocketStreams(stream_url=venue.sockets),
    )

    def take(event):
        # Which event it is is its type.
        if isinstance(event.actual_instance, OrderTradeUpdate):
            seen.orders.append(raw(event)["o"])
        if isinstance(event.actual_instance, AccountUpdate):
            seen.positions.extend(raw(event)["a"]["P"])

    async def buy():
        order = {"symbol": SYMBOL, "side": NewOrderSideEnum.BUY, "type": NewOrderTypeEnum.MARKET, "quantity": liquidation.QUANTITY}
        await asyncio.to_thread(lambda: client.rest_api.new_order(**order))

    streams = client.websocket_streams
    await streams.create_connection()
    try:
        key = await asyncio.to_thread(lambda: client.rest_api.start_user_data_stream().data().listen_key)
        (await streams.user_data(key)).on("message", take)
        public = await streams.liquidation_order_streams(symbol=SYMBOL.lower())
        public.on("message", lambda event: seen.forced.append(raw(event)["o"]))
        await liquidation.happens(venue, buy, seen.is_over)
        rows = await asyncio.to_thread(lambda: client.rest_api.users_force_orders(symbol=SYMBOL).data())
        seen.judge([raw(row) for row in rows])
        held = await asyncio.to_thread(lambda: client.rest_api.position_information_v3(symbol=SYMBOL).data())
        equal([row for row in held if float(row.position_amt) != 0], [], "positions")
    finally:
        await streams.close_connection(close_session=True)
    print("the official USD-M SDK sees its liquidation")


asyncio.run(main())
