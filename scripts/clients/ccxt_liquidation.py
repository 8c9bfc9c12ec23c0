"""ccxt.pro, unchanged, is liquidated: its orders, positions and the public stream say so, and so does REST."""

import asyncio

import ccxt.pro

import liquidation
from ccxt_client import SYMBOL, by_ccxt
from venue import Venue, equal


async def watch(method, seen, *of):
    while True:
        seen.extend(row["info"] for row in await method(*of))


async def main():
    venue, seen = Venue(), liquidation.Seen()
    client = by_ccxt(venue.url, venue.key, ccxt.pro.binanceusdm)
    client.newUpdates = True
    client.options["watchPositions"] = {"fetchPositionsSnapshot": False}

    async def buy():
        bought = await client.create_order(SYMBOL, "market", "buy", liquidation.QUANTITY)
        equal((bought["status"], bought["filled"]), ("closed", liquidation.QUANTITY), "bought")

    try:
        await client.load_markets()
        watches = [
            watch(client.watch_orders, seen.orders, SYMBOL),
            watch(client.watch_positions, seen.positions, [SYMBOL]),
            watch(client.watch_liquidations, seen.forced, SYMBOL),
        ]
        await liquidation.happens(venue, buy, seen.is_over, watches)
        seen.judge([row["info"] for row in await client.fetch_my_liquidations(SYMBOL)])
        equal(await client.fetch_positions([SYMBOL]), [], "positions")
    finally:
        await client.close()
    print("ccxt.pro sees its liquidation")


asyncio.run(main())
