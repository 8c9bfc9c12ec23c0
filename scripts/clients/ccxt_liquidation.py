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
    venue = Venue()
    client = by_ccxt(venue.url, venue.key, ccxt.pro.binanceusdm)
    client.newUpdates = True
    client.options["watchPositions"] = {"fetchPositionsSnapshot": False}
    orders, positions, forced = [], [], []
    try:
        await client.load_markets()
        watches = [
            asyncio.create_task(watch(client.watch_orders, orders, SYMBOL)),
            asyncio.create_task(watch(client.watch_positions, positions, [SYMBOL])),
            asyncio.create_task(watch(client.watch_liquidations, forced, SYMBOL)),
        ]
        await asyncio.sleep(2)
        await asyncio.to_thread(liquidation.offer, venue)
        bought = await client.create_order(SYMBOL, "market", "buy", liquidation.QUANTITY)
        equal((bought["status"], bought["filled"]), ("closed", liquidation.QUANTITY), "bought")
        await asyncio.to_thread(liquidation.fall, venue)
        for _ in range(600):
            if liquidation.is_over(orders, positions, forced):
                break
            # A watch ends by its fault alone.
            [task.result() for task in watches if task.done()]
            await asyncio.sleep(0.05)
        rows = await client.fetch_my_liquidations(SYMBOL)
        liquidation.judge(orders, positions, forced, [row["info"] for row in rows])
        equal(await client.fetch_positions([SYMBOL]), [], "positions")
        for task in watches:
            task.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
    finally:
        await client.close()
    print("ccxt.pro sees its liquidation")


asyncio.run(main())
