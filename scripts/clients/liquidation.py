"""What every liquidation scenario shares: the fall that takes a client's position away, and what the client must have seen.

The client trades through its own API only: it buys `QUANTITY` with all it has, and from then on it watches. The other trader
sells to it, and bids below; the operator lets the index fall until the engine closes the position.
"""

import time

from venue import SYMBOL, equal

QUANTITY = 3.0
PRICE = "60000"
BID = "57500"
# Each step is small enough for the mark to follow. At 56,800 the 10,000 USDT no longer carry 3 BTC, and a part is closed; what
# is left falls with the last step.
FALL = (58800, 57700, 56800, 55700, 54600, 53500, 52500)


def offer(venue):
    """What the client will buy."""
    venue.other.limit("SELL", QUANTITY, PRICE)


def fall(venue):
    """Lets the index fall; somebody bids, so that the book takes the position."""
    venue.operator.index(FALL[0])
    venue.other.limit("BUY", QUANTITY, BID)
    for price in FALL[1:]:
        venue.operator.index(price)


def is_closing(order):
    """Whether an order, as the stream or REST tells of it, is the exchange's own."""
    return str(order.get("c", order.get("clientOrderId"))).startswith("autoclose-")


def is_over(orders, positions, forced):
    """Whether everything that is to be seen on the streams is there."""
    return closed(orders) == QUANTITY and any(float(row["pa"]) == 0 for row in positions) and len(forced) > 0


def closed(orders):
    return round(sum(float(order["l"]) for order in orders if order["x"] == "CALCULATED"), 8)


def wait(holds, seconds=30):
    """For scenarios whose client listens on threads of its own."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)


def judge(orders, positions, forced, rows):
    """`orders`: objects o of ORDER_TRADE_UPDATE. `positions`: rows P of ACCOUNT_UPDATE. `forced`: objects o of forceOrder.
    `rows`: what forceOrders answers."""
    own = [order for order in orders if is_closing(order)]
    equal({(order["o"], order["S"], order["f"]) for order in own}, {("LIQUIDATION", "SELL", "IOC")}, "the closing orders")
    equal(closed(own), QUANTITY, "what they closed")
    equal(float([row for row in positions if row["s"] == SYMBOL][-1]["pa"]), 0.0, "the position")
    equal({(order["s"], order["S"], order["o"], order["f"]) for order in forced}, {(SYMBOL, "SELL", "LIMIT", "IOC")}, "forceOrder")
    equal(all(is_closing(row) and row["side"] == "SELL" for row in rows), True, "forceOrders")
    equal(round(sum(float(row["executedQty"]) for row in rows), 8), QUANTITY, "forceOrders")
