"""hummingbot, unchanged: its binance_perpetual connector, driven by its own clock as a strategy would drive it.

A refused order is not tried: what the connector reports of one goes through hummingbot's whole terminal application, which is not
installed here.
"""

import asyncio
import time
from decimal import Decimal

from hummingbot.connector.derivative.binance_perpetual import binance_perpetual_constants as constants
from hummingbot.connector.derivative.binance_perpetual.binance_perpetual_derivative import BinancePerpetualDerivative
from hummingbot.core.clock import Clock, ClockMode
from hummingbot.core.data_type.common import OrderType, PositionAction

from venue import SYMBOL, Venue, equal

PAIR = "BTC-USDT"


async def wait(holds, what, seconds=40):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not come in {seconds} s")
        await asyncio.sleep(0.05)


async def trade(venue, connector):
    other = venue.other
    aside = lambda act, *values: asyncio.to_thread(act, *values)
    await wait(lambda: connector.ready, "readiness")
    rule = connector.trading_rules[PAIR]
    equal((rule.min_price_increment, rule.min_base_amount_increment), (Decimal("0.1"), Decimal("0.001")), "steps")
    equal(connector.get_balance("USDT"), Decimal("10000"), "balance")
    order = lambda name: connector._order_tracker.fetch_order(client_order_id=name)

    # Placed, and canceled.
    bid = connector.buy(PAIR, Decimal("0.01"), OrderType.LIMIT, Decimal("59000"), position_action=PositionAction.OPEN)
    await wait(lambda: order(bid) is not None and order(bid).is_open and order(bid).exchange_order_id, "acceptance")
    rows = await aside(lambda: other.call("GET", "/fapi/v1/depth", symbol=SYMBOL, limit=5)["bids"])
    equal(rows, [["59000.0", "0.010"]], "the book")
    connector.cancel(PAIR, bid)
    await wait(lambda: order(bid).is_cancelled, "the cancel")

    # Filled in two parts by the other side, which only the user stream tells in time; the position follows.
    bid = connector.buy(PAIR, Decimal("0.01"), OrderType.LIMIT, Decimal("60000"), position_action=PositionAction.OPEN)
    await wait(lambda: order(bid) is not None and order(bid).is_open and order(bid).exchange_order_id, "acceptance")
    await aside(other.market, "SELL", "0.004")
    await wait(lambda: order(bid).executed_amount_base == Decimal("0.004"), "the first fill", 5)
    await aside(other.market, "SELL", "0.006")
    await wait(lambda: order(bid).is_filled, "the fill", 5)
    equal((order(bid).average_executed_price, len(order(bid).order_fills)), (Decimal("60000"), 2), "the fill")
    held = lambda: [(row.trading_pair, row.amount) for row in connector.account_positions.values()]
    await wait(lambda: held() == [(PAIR, Decimal("0.01"))], "the position")

    # The book it keeps from the stream, and a market order that closes the position.
    await aside(other.limit, "BUY", "0.5", "59900")
    await aside(other.limit, "SELL", "0.5", "60100")
    prices = lambda: (connector.get_price(PAIR, True), connector.get_price(PAIR, False))
    await wait(lambda: prices() == (Decimal("60100"), Decimal("59900")), "the book")
    sold = connector.sell(PAIR, Decimal("0.01"), OrderType.MARKET, position_action=PositionAction.CLOSE)
    await wait(lambda: order(sold) is not None and order(sold).is_filled, "the market order")
    equal(order(sold).average_executed_price, Decimal("59900"), "the market order")
    await wait(lambda: held() == [], "the closed position")
    # 0.01 x 100 lost, and both fees.
    await wait(lambda: connector.get_balance("USDT") < Decimal("9999"), "the balance")


async def main():
    venue = Venue()
    # It has no setting for this.
    constants.PERPETUAL_BASE_URL = f"{venue.url}/fapi/"
    constants.PERPETUAL_WS_URL = f"{venue.sockets}/"
    connector = BinancePerpetualDerivative(
        binance_perpetual_api_key=venue.key["api_key"], binance_perpetual_api_secret=venue.key["api_secret"], trading_pairs=[PAIR],
    )
    with Clock(ClockMode.REALTIME, 1.0) as clock:
        clock.add_iterator(connector)
        ticking = asyncio.create_task(clock.run())
        try:
            await trade(venue, connector)
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
            await connector.stop_network()
    print("hummingbot trades here unchanged")


asyncio.run(main())
