"""python-binance, unchanged, is liquidated: its user socket, its market socket and REST say so."""

import asyncio

from binance import AsyncClient, BinanceSocketManager

import liquidation
from venue import SYMBOL, Venue, equal


async def listen(socket, take):
    async with socket:
        while True:
            take(await socket.recv())


async def main():
    venue = Venue()
    client = AsyncClient(venue.key["api_key"], venue.key["api_secret"])
    client.FUTURES_URL = f"{venue.url}/fapi"
    manager = BinanceSocketManager(client)
    manager.FSTREAM_URL = f"{venue.sockets}/"
    orders, positions, forced = [], [], []

    def take(event):
        if event["e"] == "ORDER_TRADE_UPDATE":
            orders.append(event["o"])
        if event["e"] == "ACCOUNT_UPDATE":
            positions.extend(event["a"]["P"])

    try:
        streams = manager.futures_multiplex_socket([f"{SYMBOL.lower()}@forceOrder"])
        watches = [
            asyncio.create_task(listen(manager.futures_user_socket(), take)),
            asyncio.create_task(listen(streams, lambda message: forced.append(message["data"]["o"]))),
        ]
        await asyncio.sleep(2)
        await asyncio.to_thread(liquidation.offer, venue)
        await client.futures_create_order(symbol=SYMBOL, side="BUY", type="MARKET", quantity=liquidation.QUANTITY)
        await asyncio.to_thread(liquidation.fall, venue)
        for _ in range(600):
            if liquidation.is_over(orders, positions, forced):
                break
            # A socket ends by its fault alone.
            [task.result() for task in watches if task.done()]
            await asyncio.sleep(0.05)
        liquidation.judge(orders, positions, forced, await client.futures_liquidation_orders(symbol=SYMBOL))
        rows = await client.futures_position_information(symbol=SYMBOL)
        equal([row for row in rows if float(row["positionAmt"]) != 0], [], "positions")
        for task in watches:
            task.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
    finally:
        await client.close_connection()
    print("python-binance sees its liquidation")


asyncio.run(main())
