#!/usr/bin/env python3
"""An independent WebSocket client: keeps the book by the rules of the protocol and compares it with GET /spot/depth.

Knows nothing of the exchange but its public protocol. Every tenth connection subscribes and then stops reading. Each of the
others compares at random moments: it holds its book still, asks for the depth, applies diffs until it stands at the same
update id, and wants every level equal. A loss that the update ids show is answered by subscribing again, as a client should.

    ws_book.py FOLDER --compare 1000      FOLDER: where the exchange under test makes its data folder and log
"""

import argparse
import asyncio
import glob
import json
import random
import re
import sys
import time
import urllib.error
import urllib.request
from decimal import Decimal

import websockets


class Book:
    """Levels by price, as text."""

    def __init__(self, data):
        self.update_id = data["last_update_id"]
        self.bids, self.asks = dict(data["bids"]), dict(data["asks"])
        # A snapshot of 1,000 levels may leave deeper ones out.
        self.is_whole = max(len(data["bids"]), len(data["asks"])) < 1000

    def apply(self, data):
        for side, levels in ((self.bids, data["bids"]), (self.asks, data["asks"])):
            for price, total in levels:
                if total == "0":
                    side.pop(price, None)
                else:
                    side[price] = total
        self.update_id = data["update_id_last"]

    def top(self, count):
        ascending = lambda side: sorted(side.items(), key=lambda level: Decimal(level[0]))
        return ([list(level) for level in reversed(ascending(self.bids))][:count],
                [list(level) for level in ascending(self.asks)][:count])


class Watch:
    """What all connections have seen together."""

    def __init__(self, wanted):
        self.wanted, self.equal, self.diffs, self.losses, self.faults = wanted, 0, 0, 0, []


def get(base, path):
    with urllib.request.urlopen(f"http://{base}{path}", timeout=30) as answer:
        return json.load(answer)


async def follow(base, symbol, watch, chance):
    channel = f"spot:depth:{symbol}"
    subscribe = json.dumps({"type": "subscribe", "channel": channel})
    book, target = None, None
    async with websockets.connect(f"ws://{base}/ws", max_size=None, compression=None) as socket:
        await socket.send(subscribe)
        async for text in socket:
            frame = json.loads(text)
            data = frame.get("data")
            if frame["type"] == "spot_depth_snapshot":
                book, target = Book(data), None
            elif frame["type"] == "spot_depth_diff":
                watch.diffs += 1
                if book is None or data["update_id_last"] <= book.update_id:
                    continue
                if data["update_id_first"] != book.update_id + 1:
                    watch.losses += 1
                    book, target = None, None
                    await socket.send(subscribe)
                    continue
                book.apply(data)
            elif frame["type"] != "subscribed":
                watch.faults.append(f"unexpected {text}")
                return
            if book is None:
                continue
            if target is None and random.random() < chance:
                path = f"/api/v1/spot/depth?symbol={symbol}&limit=1000"
                target = await asyncio.get_running_loop().run_in_executor(None, get, base, path)
            if target is not None and book.update_id >= target["last_update_id"]:
                count = 1000 if book.is_whole else 200
                shown = (target["bids"][:count], target["asks"][:count])
                if book.update_id != target["last_update_id"] or book.top(count) != shown:
                    watch.faults.append(f"at {target['last_update_id']}: book at {book.update_id} is not the depth")
                    return
                watch.equal += 1
                target = None


async def stall(base, symbol):
    """Subscribes with a library that reads one frame ahead, and never takes it."""
    async with websockets.connect(f"ws://{base}/ws", max_size=None, max_queue=1, ping_interval=None) as socket:
        await socket.send(json.dumps({"type": "subscribe", "channel": f"spot:depth:{symbol}"}))
        await asyncio.Future()


def find(folder, deadline):
    """The address of the exchange, and the market that the replay lists."""
    while time.monotonic() < deadline:
        for log in glob.glob(f"{folder}/**/server.log", recursive=True):
            found = re.search(r"running on +http://([0-9.:]+)/", open(log, encoding="utf-8").read())
            if found:
                try:
                    for market in get(found.group(1), "/api/v1/spot/markets"):
                        if market["id"] != "DFUSDT":
                            return found.group(1), market["id"]
                except (urllib.error.URLError, OSError):
                    pass
        time.sleep(0.05)
    sys.exit("no exchange was found")


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--compare", type=int, default=1000)
    parser.add_argument("--chance", type=float, default=0.02, help="of a comparison, per frame")
    arguments = parser.parse_args()
    base, symbol = find(arguments.folder, time.monotonic() + 120)
    watch = Watch(arguments.compare)
    stalled = max(1, arguments.connections // 10)
    stalling = [asyncio.create_task(stall(base, symbol)) for _ in range(stalled)]
    # The exchange ends with the replay, and the connections with it.
    following = [follow(base, symbol, watch, arguments.chance) for _ in range(arguments.connections - stalled)]
    ends = await asyncio.gather(*following, return_exceptions=True)
    for task in stalling:
        task.cancel()
    await asyncio.gather(*stalling, return_exceptions=True)
    expected = (websockets.ConnectionClosed, urllib.error.URLError, OSError)
    watch.faults += [repr(end) for end in ends if end is not None and not isinstance(end, expected)]
    print(f"ws_book: {watch.equal} comparisons equal, {watch.diffs} diffs on {len(following)} connections, "
          f"{watch.losses} losses healed, {stalled} connections stalled")
    if watch.equal < watch.wanted:
        watch.faults.append(f"only {watch.equal} of {watch.wanted} comparisons")
    for fault in watch.faults[:10]:
        print(f"ws_book: FAULT {fault}")
    sys.exit(bool(watch.faults))


asyncio.run(main())
