"""Recorded market data as order flow through /fapi by many accounts, while ccxt.pro and python-binance's depth manager keep
their local books from the streams, each by its own rules, and are compared with GET /fapi/v1/depth.

    books.py <url> <admin key> <folder of the captures> <file: one answer that made an API key per line> <comparisons> <seconds>

The flow lasts that long, and on until it was a flow: a busy machine makes few orders in a second.

Each level of the recorded book is held by orders of one maker after the other; each recorded trade is an order, immediate or
cancel, of a taker. ccxt.pro keeps a book of diffs and knows its update id: a comparison takes the depth while the flow goes
on, waits until the book stands at that id, and wants equal levels; where it is past the id already, it is tried again.
python-binance keeps the levels of the partial depth stream and no id: the flow stands still for each comparison.
"""

import asyncio
import glob
import gzip
import hashlib
import hmac
import json
import random
import sys
import time
import urllib.parse
from decimal import Decimal

import aiohttp
import ccxt.pro
from binance import AsyncClient
from binance.ws.depthcache import FuturesDepthCacheManager

from ccxt_client import by_ccxt

SYMBOL = "BTCUSDT"
WINDOW = Decimal("0.01")  # of the price: levels further out are not traded anyway
TAKERS = 20
AT_ONCE = 24
LEVELS = 20
PARTIAL = 10  # levels of the partial depth stream that python-binance follows


class Account:
    def __init__(self, session, url, made):
        self.session, self.url, self.key, self.secret = session, url, made["api_key"], made["api_secret"].encode()

    async def send(self, method, path, **values):
        text = urllib.parse.urlencode(values | {"timestamp": int(time.time() * 1000)})
        signature = hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()
        url = f"{self.url}{path}?{text}&signature={signature}"
        async with self.session.request(method, url, headers={"X-MBX-APIKEY": self.key}) as answer:
            found = await answer.json()
            if answer.status >= 500:
                raise SystemExit(f"{method} {path}: {answer.status} {found}")
            return found


class Flow:
    """Turns recorded frames into orders. What the exchange holds of a level is known from its answers, and orders that traded
    meanwhile are simply gone."""

    def __init__(self, accounts):
        self.makers, self.takers = accounts[TAKERS:], accounts[:TAKERS]
        self.held = {}  # (side, price): [(maker, order id, quantity)]
        self.refused, self.placed, self.canceled, self.taken, self.next = 0, 0, 0, 0, 0
        self.gate = asyncio.Semaphore(AT_ONCE)
        self.busy = 0
        self.running = asyncio.Event()
        self.running.set()

    async def stand_still(self):
        self.running.clear()
        while self.busy:
            await asyncio.sleep(0.002)

    async def send(self, account, method, path, **values):
        while not self.running.is_set():
            await self.running.wait()
        self.busy += 1
        try:
            return await account.send(method, path, symbol=SYMBOL, **values)
        finally:
            self.busy -= 1

    def maker(self):
        self.next += 1
        return self.makers[self.next % len(self.makers)]

    async def level(self, side, price, wanted):
        """Brings one level to `wanted`: the orders there are canceled from the newest on, or one more is placed."""
        async with self.gate:
            held = self.held.setdefault((side, price), [])
            has = sum(quantity for _, _, quantity in held)
            while held and has > wanted:
                maker, order, quantity = held.pop()
                has -= quantity
                await self.send(maker, "DELETE", "/fapi/v1/order", orderId=order)
                self.canceled += 1
            if wanted > has:
                maker = self.maker()
                placed = await self.send(
                    maker, "POST", "/fapi/v1/order", side=side, type="LIMIT", timeInForce="GTX", price=price, quantity=wanted - has,
                )
                if "orderId" in placed:
                    held.append((maker, placed["orderId"], wanted - has))
                    self.placed += 1
                else:
                    self.refused += 1

    async def trade(self, side, price, quantity):
        async with self.gate:
            taker = random.choice(self.takers)
            found = await self.send(
                taker, "POST", "/fapi/v1/order", side=side, type="LIMIT", timeInForce="IOC", price=price, quantity=quantity,
            )
            self.taken += Decimal(found.get("executedQty", "0")) > 0

    def was_one(self):
        return self.placed >= 500 and self.taken >= 20

    async def play(self, frames, end):
        middle = None
        for frame in frames:
            if time.monotonic() > end and self.was_one():
                return
            data = frame.get("data", frame)
            if "lastUpdateId" in data:
                bids, asks = data["bids"], data["asks"]
                middle = (Decimal(bids[0][0]) + Decimal(asks[0][0])) / 2
            elif data.get("e") == "depthUpdate":
                bids, asks = data["b"], data["a"]
            elif data.get("e") == "trade":
                await self.trade("SELL" if data["m"] else "BUY", data["p"], Decimal(data["q"]))
                middle = Decimal(data["p"])
                continue
            else:
                continue
            if middle is None:
                continue
            near = lambda price: abs(Decimal(price) - middle) < middle * WINDOW
            await asyncio.gather(*(
                self.level(side, price, Decimal(quantity))
                for side, levels in (("BUY", bids), ("SELL", asks)) for price, quantity in levels if near(price)
            ))


def recorded(folder):
    """Frames of the newest capture, in their order: the snapshot first, and no diff from before it."""
    newest = sorted(glob.glob(f"{folder}/usdm_btcusdt_2024*.gz"))
    snapshot = None
    for path in newest:
        with gzip.open(path, "rt") as lines:
            for line in lines:
                frame = json.loads(line.split(" ", 1)[1])
                snapshot = snapshot or "stream" not in frame
                if snapshot:
                    yield frame


def levels(rows):
    return [(Decimal(str(row[0])), Decimal(str(row[1]))) for row in rows[:LEVELS]]


class ByCcxt:
    name = "ccxt.pro"

    async def start(self, url, key):
        self.client = by_ccxt(url, key, ccxt.pro.binanceusdm)
        await self.client.load_markets()
        self.book = None
        self.heard = set()
        market = "BTC/USDT:USDT"
        self.task = asyncio.gather(
            self.watch("watch_order_book", market), self.watch("watch_trades", market), self.watch("watch_ticker", market),
            self.watch("watch_ohlcv", market, "1m"), self.watch("watch_mark_price", market), self.watch("watch_bids_asks", [market]),
        )

    async def watch(self, stream, *arguments):
        """Follows a stream. Of those but the book it is only wanted that they speak."""
        while True:
            found = await getattr(self.client, stream)(*arguments)
            if stream == "watch_order_book":
                self.book = found
            else:
                self.heard.add(stream)

    def stands_at(self):
        return self.book and self.book["nonce"]

    def levels(self):
        return levels(self.book["bids"]), levels(self.book["asks"])

    async def stop(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.client.close()
        if len(self.heard) < 5:
            raise SystemExit(f"ccxt.pro heard only {sorted(self.heard)}")


class ByPythonBinance:
    name = "python-binance"

    async def start(self, url, key):
        client = AsyncClient(key["api_key"], key["api_secret"])
        client.FUTURES_URL = f"{url}/fapi"
        self.client = client
        self.manager = FuturesDepthCacheManager(client, SYMBOL)
        self.manager._bm.FSTREAM_URL = "ws" + url.removeprefix("http") + "/"
        self.cache = None
        self.task = asyncio.create_task(self.watch())

    async def watch(self):
        async with self.manager as manager:
            while True:
                found = await manager.recv()
                self.cache = found or self.cache

    def levels(self):
        return self.cache and (levels(self.cache.get_bids()), levels(self.cache.get_asks()))

    async def stop(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.client.close_connection()


async def depth(session, url, limit):
    async with session.get(f"{url}/fapi/v1/depth?symbol={SYMBOL}&limit={limit}") as answer:
        found = await answer.json()
    return found["lastUpdateId"], (levels(found["bids"]), levels(found["asks"]))


async def compare_moving(session, url, client, wanted):
    """Books at the same update id, while orders come and go."""
    equal, past = 0, 0
    while equal < wanted:
        await asyncio.sleep(random.uniform(0.02, 0.2))
        last, expected = await depth(session, url, LEVELS)
        end = time.monotonic() + 20
        while (client.stands_at() or 0) < last:
            if client.task.done():
                raise SystemExit(f"{client.name}: its task ended: {client.task.exception()!r}")
            if time.monotonic() > end:
                raise SystemExit(f"{client.name}: still at {client.stands_at()}, the depth is of {last}")
            await asyncio.sleep(0.002)
        if client.stands_at() != last:
            past += 1
            if past > 50 * wanted:
                raise SystemExit(f"{client.name}: never seen at an update id of the depth")
            continue
        if client.levels() != expected:
            raise SystemExit(f"{client.name} at {last}: {client.levels()} is not {expected}")
        equal += 1
    print(f"{client.name}: {equal} of {equal} books equal while orders come and go; {past} times it was past the depth", flush=True)


async def compare_still(session, url, flow, client, wanted):
    """Books while nothing moves. The stream is silent where nothing changes, so it must have been heard before that."""
    end = time.monotonic() + 20
    while not client.levels():
        if client.task.done():
            raise SystemExit(f"{client.name}: its task ended: {client.task.exception()!r}")
        if time.monotonic() > end:
            raise SystemExit(f"{client.name}: nothing heard while orders come and go")
        await asyncio.sleep(0.002)
    for done in range(wanted):
        await asyncio.sleep(random.uniform(0.02, 0.2))
        await flow.stand_still()
        _, expected = await depth(session, url, PARTIAL)
        end = time.monotonic() + 20
        while client.levels() != expected:
            if client.task.done():
                raise SystemExit(f"{client.name}: its task ended: {client.task.exception()!r}")
            if time.monotonic() > end:
                raise SystemExit(f"{client.name}, comparison {done}: {client.levels()} is not {expected}")
            await asyncio.sleep(0.002)
        flow.running.set()
    print(f"{client.name}: {wanted} of {wanted} books equal", flush=True)


async def main(url, admin_key, folder, answers, wanted, seconds):
    with open(answers) as file:
        made = [json.loads(line) for line in file]
    connector = aiohttp.TCPConnector(limit=AT_ONCE + 8)
    async with aiohttp.ClientSession(connector=connector) as session:
        first = next(frame for frame in recorded(folder))
        body = json.dumps({"symbol": SYMBOL, "price": first["bids"][0][0]})
        async with session.post(f"{url}/admin/perpetual/index-price", data=body, headers={"X-API-Key": admin_key}) as answer:
            if answer.status != 200:
                raise SystemExit(f"the index: {await answer.text()}")
        await asyncio.sleep(2)
        flow = Flow([Account(session, url, key) for key in made])
        clients = [ByCcxt(), ByPythonBinance()]
        for client in clients:
            await client.start(url, made[0])
        playing = asyncio.create_task(flow.play(recorded(folder), time.monotonic() + seconds))
        await asyncio.gather(
            playing, compare_moving(session, url, clients[0], wanted), compare_still(session, url, flow, clients[1], wanted),
        )
        for client in clients:
            await client.stop()
        print(
            f"{flow.placed} orders placed, {flow.refused} refused, {flow.canceled} canceled, {flow.taken} trades taken "
            f"by {len(made)} accounts"
        )
        if not flow.was_one():
            raise SystemExit("the recording ended before there was any flow")


if __name__ == "__main__":
    url, admin_key, folder, answers, wanted, seconds = sys.argv[1:]
    asyncio.run(main(url, admin_key, folder, answers, int(wanted), float(seconds)))
