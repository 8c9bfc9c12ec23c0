"""What unmodified clients know of their accounts from their user streams, against REST.

    user.py <url> <rounds> <answer that made the first API key> <the second one>

Two accounts trade with each other at random through ccxt.pro: orders rest, meet, are edited and canceled. All the while each
watches its orders, trades, balance and positions by ccxt.pro, and listens by python-binance's user socket as well. When trading is
over, what the streams came to must be what REST says: every order that was ever seen, every trade with its fee, the wallet, the
position. Both clients must have heard of the same fills.
"""

import asyncio
import json
import random
import sys

import ccxt.pro
from binance import AsyncClient, BinanceSocketManager

SYMBOL = "BTC/USDT:USDT"


def by_ccxt(url, made):
    client = ccxt.pro.binanceusdm({
        "apiKey": made["api_key"],
        "secret": made["api_secret"],
        "newUpdates": True,
        "options": {
            "fetchCurrencies": False,
            "fetchMargins": False,
            "adjustForTimeDifference": True,
            "tradesLimit": 100000,
            "ordersLimit": 100000,
        },
    })
    api = client.urls["api"]
    for version in ("", "V2", "V3"):
        path = f"{url}/fapi/{version.lower() or 'v1'}"
        api["fapiPublic" + version] = path
        api["fapiPrivate" + version] = path
    api["ws"]["linear"] = url.replace("http", "ws", 1) + "/ws"
    return client


class Account:
    """One account as its streams tell of it."""

    def __init__(self, url, made):
        self.url, self.made = url, made
        self.client = by_ccxt(url, made)
        self.orders, self.trades, self.positions, self.balance = {}, {}, {}, None
        self.heard = []

    async def watch(self, method, take, *of):
        while True:
            take(await getattr(self.client, method)(*of))

    def take_orders(self, orders):
        self.orders.update({order["id"]: order for order in orders})

    def take_trades(self, trades):
        self.trades.update({(trade["id"], trade["order"]): trade for trade in trades})

    def take_positions(self, positions):
        self.positions.update({position["symbol"]: position for position in positions})

    def take_balance(self, balance):
        self.balance = balance["USDT"]["total"]

    async def listen(self):
        client = AsyncClient(self.made["api_key"], self.made["api_secret"])
        client.FUTURES_URL = f"{self.url}/fapi"
        manager = BinanceSocketManager(client)
        manager.FSTREAM_URL = self.url.replace("http", "ws", 1) + "/"
        async with manager.futures_user_socket() as socket:
            while True:
                self.heard.append(await socket.recv())

    def tasks(self):
        watches = [
            ("watch_orders", self.take_orders, SYMBOL),
            ("watch_my_trades", self.take_trades, SYMBOL),
            ("watch_positions", self.take_positions, [SYMBOL]),
            ("watch_balance", self.take_balance),
        ]
        return [self.watch(*watch) for watch in watches] + [self.listen()]

    async def trade(self, chance, rounds):
        resting = []
        for _ in range(rounds):
            side, amount = chance.choice(["buy", "sell"]), chance.randint(2, 20) / 1000
            price = round(60000 + chance.randint(-40, 40) / 10, 1)
            what = chance.random()
            try:
                if what < 0.2 and resting:
                    await self.client.cancel_order(resting.pop(), SYMBOL)
                elif what < 0.35 and resting:
                    await self.client.edit_order(resting[-1], SYMBOL, "limit", side, amount, price)
                elif what < 0.45:
                    await self.client.create_order(SYMBOL, "market", side, amount)
                else:
                    resting.append((await self.client.create_order(SYMBOL, "limit", side, amount, price))["id"])
            # It was filled meanwhile, is of the other side, or nobody is on the other side.
            except (ccxt.OrderNotFound, ccxt.InvalidOrder, ccxt.BadRequest, ccxt.ExchangeError):
                pass
            await asyncio.sleep(0.01)


def differs(what, streamed, rest):
    if streamed != rest:
        raise SystemExit(f"{what} differs\nstream: {str(streamed)[:1500]}\nREST:   {str(rest)[:1500]}")


def order_row(order):
    return (order["status"], order["amount"], order["filled"], order["price"], order["side"], order["type"])


def trade_row(trade):
    return (trade["price"], trade["amount"], trade["side"], trade["takerOrMaker"], trade["fee"]["cost"], trade["fee"]["currency"])


async def judge(name, account):
    client = account.client
    open_orders = {order["id"]: order_row(order) for order in await client.fetch_open_orders(SYMBOL)}
    streamed = {id: order_row(order) for id, order in account.orders.items() if order["status"] == "open"}
    differs(f"{name}: open orders", streamed, open_orders)
    ended = {order["id"]: order_row(order) for order in await client.fetch_orders(SYMBOL, limit=1000)}
    differs(f"{name}: all orders", {id: order_row(order) for id, order in account.orders.items()}, ended)
    trades = await client.fetch_my_trades(SYMBOL, limit=1000)
    rest = {(trade["id"], trade["order"]): trade_row(trade) for trade in trades}
    # ccxt.pro keeps one row per id, and a trade with oneself has two.
    ids = [trade["id"] for trade in trades]
    single = {key for key in rest if ids.count(key[0]) == 1}
    streamed = {key: trade_row(trade) for key, trade in account.trades.items() if key in single}
    differs(f"{name}: trades", streamed, {key: rest[key] for key in single})
    # Of the stream it is the wallet's; of REST ccxt's total has the profit that is not realised.
    wallet = float((await client.fetch_balance())["info"]["totalWalletBalance"])
    differs(f"{name}: balance", account.balance, wallet)
    held = {row["symbol"]: (row["contracts"], row["side"], row["entryPrice"]) for row in await client.fetch_positions([SYMBOL])}
    known = {s: (row["contracts"], row["side"], row["entryPrice"]) for s, row in account.positions.items() if row["contracts"]}
    differs(f"{name}: positions", known, held)
    fills = {(str(event["o"]["t"]), str(event["o"]["i"])) for event in account.heard if event.get("o", {}).get("x") == "TRADE"}
    differs(f"{name}: fills that python-binance heard of", fills, set(rest))
    words = sorted({event["e"] for event in account.heard})
    print(f"{name}: {len(ended)} orders, {len(rest)} trades, {len(account.heard)} events: {' '.join(words)}")
    if len(rest) < 10 or not {"ORDER_TRADE_UPDATE", "ACCOUNT_UPDATE", "TRADE_LITE"} <= set(words):
        raise SystemExit("too little happened to compare")


async def main(url, rounds, *made):
    accounts = [Account(url, json.loads(answer)) for answer in made]
    for account in accounts:
        await account.client.load_markets()
    tasks = [asyncio.create_task(watch) for account in accounts for watch in account.tasks()]
    await asyncio.sleep(3)
    trading = asyncio.gather(*(account.trade(random.Random(seed), rounds) for seed, account in enumerate(accounts)))
    done, _ = await asyncio.wait([asyncio.ensure_future(trading), *tasks], return_when=asyncio.FIRST_COMPLETED)
    # A watch ends by its fault alone.
    for task in done:
        task.result()
    await asyncio.sleep(2)
    for number, account in enumerate(accounts, 1):
        await judge(f"account {number}", account)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for account in accounts:
        await account.client.close()
    print("user streams of unchanged clients agree with REST")


asyncio.run(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
