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
    venue, seen = Venue(), liquidation.Seen()
    client = AsyncClient(venue.key["api_key"], venue.key["api_secret"])
    client.FUTURES_URL = f"{venue.url}/fapi"
    manager = BinanceSocketManager(client)
    manager.FSTREAM_URL = f"{venue.sockets}/"

    async def buy():
        await client.futures_create_order(symbol=SYMBOL, side="BUY", type="MARKET", quantity=liquidation.QUANTITY)

    try:
        streams = manager.futures_multiplex_socket([f"{SYMBOL.lower()}@forceOrder"])
        watches = [
            listen(manager.futures_user_socket(), seen.take),
            listen(streams, lambda message: seen.take(message["data"])),
        ]
        await liquidation.happens(venue, buy, seen.is_over, watches)
        seen.judge(await client.futures_liquidation_orders(symbol=SYMBOL))
        rows = await client.futures_position_information(symbol=SYMBOL)
        equal([row for row in rows if float(row["positionAmt"]) != 0], [], "positions")
    finally:
        await client.close_connection()
    print("python-binance sees its liquidation")


asyncio.run(main())
