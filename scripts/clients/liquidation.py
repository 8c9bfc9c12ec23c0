"""What every liquidation scenario shares: the fall that takes a client's position away, and what the client must have seen.

The client trades through its own API only: it buys `QUANTITY` with all it has, and from then on it watches. The other trader
sells to it, and bids below; the operator lets the index fall until the engine closes the position.

The figures are in `liquidation.json`, which clients in other languages read as well. Each step of the fall is small enough for
the mark to follow. At 56,800 the 10,000 USDT no longer carry 3 BTC, and a part is closed; what is left falls with the last step.
"""

import asyncio
import json
import time
from pathlib import Path

from venue import SYMBOL, equal

FIGURES = json.loads(Path(__file__).with_suffix(".json").read_text())
QUANTITY = float(FIGURES["quantity"])
PRICE = FIGURES["price"]
BID = FIGURES["bid"]
FALL = FIGURES["fall"]
PATIENCE = 30


class Seen:
    """What a client's streams told it: objects o of ORDER_TRADE_UPDATE and of forceOrder, rows P of ACCOUNT_UPDATE."""

    def __init__(self):
        self.orders, self.positions, self.forced = [], [], []

    def take(self, event):
        """An event as it came, of whichever stream."""
        if event.get("e") == "ORDER_TRADE_UPDATE":
            self.orders.append(event["o"])
        elif event.get("e") == "ACCOUNT_UPDATE":
            self.positions.extend(event["a"]["P"])
        elif event.get("e") == "forceOrder":
            self.forced.append(event["o"])

    def is_over(self):
        """Whether everything that is to be seen is there."""
        is_flat = any(float(row["pa"]) == 0 for row in self.positions)
        return closed(self.orders) == QUANTITY and is_flat and len(self.forced) > 0

    def judge(self, rows):
        """What was seen, and `rows`, which is what forceOrders answers."""
        own = [order for order in self.orders if is_closing(order)]
        equal({(order["o"], order["S"], order["f"]) for order in own}, {("LIQUIDATION", "SELL", "IOC")}, "the closing orders")
        equal(closed(own), QUANTITY, "what they closed")
        equal(float([row for row in self.positions if row["s"] == SYMBOL][-1]["pa"]), 0.0, "the position")
        equal(
            {(order["s"], order["S"], order["o"], order["f"]) for order in self.forced},
            {(SYMBOL, "SELL", "LIMIT", "IOC")}, "forceOrder",
        )
        judge_rows(rows)


def judge_rows(rows):
    """What forceOrders answers, or whatever a client makes of it with the exchange's own names."""
    equal(all(is_closing(row) and row["side"].upper() == "SELL" for row in rows), True, "forceOrders")
    equal(round(sum(float(row["executedQty"]) for row in rows), 8), QUANTITY, "forceOrders")


def is_closing(order):
    """Whether an order, as the stream or REST tells of it, is the exchange's own."""
    return str(order.get("c", order.get("clientOrderId"))).startswith("autoclose-")


def closed(orders):
    return round(sum(float(order["l"]) for order in orders if order["x"] == "CALCULATED"), 8)


def fall(venue):
    """Lets the index fall; somebody bids, so that the book takes the position."""
    venue.operator.index(FALL[0])
    venue.other.limit("BUY", QUANTITY, BID)
    for price in FALL[1:]:
        venue.operator.index(price)


def happen(venue, buy, is_over):
    """The whole of it for a client that blocks: `buy` buys, `is_over` says when everything was seen."""
    venue.other.limit("SELL", QUANTITY, PRICE)
    buy()
    fall(venue)
    end = time.monotonic() + PATIENCE
    while not is_over() and time.monotonic() < end:
        time.sleep(0.05)


async def happens(venue, buy, is_over, watches=()):
    """The same for a client that waits. `watches` are coroutines that listen, started before anything happens; one ends by its
    fault alone, which is raised here."""
    tasks = [asyncio.create_task(watch) for watch in watches]
    try:
        # Whoever listens is subscribed by then.
        await asyncio.sleep(2)
        await asyncio.to_thread(venue.other.limit, "SELL", QUANTITY, PRICE)
        await buy()
        await asyncio.to_thread(fall, venue)
        end = time.monotonic() + PATIENCE
        while not is_over() and time.monotonic() < end:
            [task.result() for task in tasks if task.done()]
            await asyncio.sleep(0.05)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
