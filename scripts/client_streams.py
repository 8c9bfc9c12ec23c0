"""Books that unmodified clients keep from the streams of a running exchange, against its REST book.

    client_streams.py <url> <comparisons> <answer that made the first API key> <the second one>

Two accounts trade at random. Meanwhile ccxt.pro keeps a whole book from depth diffs (snapshot and chain by its own rules), and
python-binance's depth manager the best ten levels from its partial stream. Every now and then trading pauses for as long as
the slowest of their streams takes, and both books must be exactly those of GET /fapi/v1/depth. Other streams that ccxt.pro
watches meanwhile must have spoken by the end. A client that has to begin its book anew ends the run.
"""

import asyncio
import json
import random
import sys
import urllib.request

import ccxt.pro
from binance import AsyncClient, BinanceSocketManager
from binance.ws.depthcache import FuturesDepthCacheManager

SYMBOL = "BTC/USDT:USDT"
PAUSE_S = 0.8


def by_ccxt(url, made):
    client = ccxt.pro.binanceusdm({
        "apiKey": made["api_key"],
        "secret": made["api_secret"],
        # The exchange is our own: the more happens between two comparisons, the better.
        "enableRateLimit": False,
        "options": {"fetchCurrencies": False, "fetchMargins": False, "adjustForTimeDifference": True},
    })
    api = client.urls["api"]
    for version in ("", "V2", "V3"):
        path = f"{url}/fapi/{version.lower() or 'v1'}"
        api["fapiPublic" + version] = path
        api["fapiPrivate" + version] = path
    api["ws"]["linear"] = url.replace("http", "ws", 1) + "/ws"
    return client


def rest_book(url, limit):
    with urllib.request.urlopen(f"{url}/fapi/v1/depth?symbol=BTCUSDT&limit={limit}") as answer:
        book = json.load(answer)
    return [[[float(price), float(amount)] for price, amount in book[side]] for side in ("bids", "asks")]


class Traders:
    """Two accounts whose orders rest, meet and go, around 60000; paused while `is_open` is cleared."""

    def __init__(self, clients):
        self.clients = clients
        self.random = random.Random(7)
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.placed = 0

    async def run(self, number):
        client, resting = self.clients[number], []
        while True:
            await self.is_open.wait()
            side = self.random.choice(["buy", "sell"])
            amount = self.random.randint(1, 20) / 1000
            if len(resting) > 30 or (resting and self.random.random() < 0.3):
                order = resting.pop(self.random.randrange(len(resting)))
                try:
                    await client.cancel_order(order, SYMBOL)
                except ccxt.OrderNotFound:
                    pass
                continue
            away = self.random.randint(-5, 60) / 10
            price = 60000 - away if side == "buy" else 60000 + away
            order = await client.create_order(SYMBOL, "limit", side, amount, round(price, 1))
            resting.append(order["id"])
            self.placed += 1


async def compare(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what} differs: {str(found)[:600]}\nREST has {str(expected)[:600]}")


async def main(url, comparisons, *answers):
    made = [json.loads(answer) for answer in answers]
    traders = Traders([by_ccxt(url, each) for each in made])
    watcher = by_ccxt(url, made[0])
    await asyncio.gather(*(client.load_markets() for client in [*traders.clients, watcher]))
    seen = {}

    async def watch(name, *arguments):
        while True:
            seen[name] = await getattr(watcher, name)(*arguments)

    python_binance = AsyncClient(made[0]["api_key"], made[0]["api_secret"])
    python_binance.FUTURES_URL = f"{url}/fapi"
    sockets = BinanceSocketManager(python_binance)
    sockets.FSTREAM_URL = url.replace("http", "ws", 1) + "/"

    async def follow(manager):
        while True:
            seen["depth manager"] = await manager.recv()

    async with FuturesDepthCacheManager(python_binance, "BTCUSDT", bm=sockets, refresh_interval=0) as manager:
        tasks = [asyncio.create_task(task) for task in (
            watch("watch_order_book", SYMBOL),
            watch("watch_trades", SYMBOL),
            watch("watch_ticker", SYMBOL),
            watch("watch_ohlcv", SYMBOL, "1m"),
            watch("watch_mark_price", SYMBOL),
            watch("watch_bids_asks", [SYMBOL]),
            follow(manager),
            traders.run(0),
            traders.run(1),
        )]
        pick = random.Random(11)
        for _ in range(int(comparisons)):
            await asyncio.sleep(pick.uniform(0.2, 1.0))
            traders.is_open.clear()
            await asyncio.sleep(PAUSE_S)
            for task in tasks:
                if task.done():
                    task.result()
            whole = await asyncio.to_thread(rest_book, url, 1000)
            book = seen["watch_order_book"]
            await compare("the book of ccxt.pro", [[list(level) for level in book[side]] for side in ("bids", "asks")], whole)
            cache = seen["depth manager"]
            await compare("python-binance's depth manager", [cache.get_bids(), cache.get_asks()], [side[:10] for side in whole])
            traders.is_open.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    missing = {"watch_trades", "watch_ticker", "watch_ohlcv", "watch_mark_price", "watch_bids_asks"} - set(seen)
    if missing:
        raise SystemExit(f"silent: {sorted(missing)}")
    await python_binance.close_connection()
    await asyncio.gather(*(client.close() for client in [*traders.clients, watcher]))
    print(f"{comparisons} times both books were those of REST, over {traders.placed} orders")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
