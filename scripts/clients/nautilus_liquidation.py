"""nautilus_trader, unchanged, is liquidated: its account falls with the stream, the trades that close it are public, and what it
reads to reconcile with is flat.

It does not know the type of order that events of a liquidation name, and logs them, here as on the original; so the node's own
position stands until it reconciles.
"""

from nautilus_trader.core.uuid import UUID4
from nautilus_trader.execution.messages import GenerateFillReports, GeneratePositionStatusReports
from nautilus_trader.model.enums import OrderSide, OrderStatus, PositionSide
from nautilus_trader.model.objects import Currency

import liquidation
from nautilus_client import BITCOIN, Recorder, live, wait
from venue import Venue, equal


async def trade(venue, node, recorder):
    await wait(lambda: recorder.is_started, "the start")
    quantity = recorder.cache.instrument(BITCOIN).make_qty
    order = recorder.order_factory.market(BITCOIN, OrderSide.BUY, quantity(liquidation.QUANTITY))
    balance = lambda: float(recorder.portfolio.account(BITCOIN.venue).balance_total(Currency.from_str("USDT")))

    async def buy():
        recorder.submit_order(order)
        await wait(lambda: order.status == OrderStatus.FILLED, "the market order")
        await wait(lambda: recorder.positions and recorder.positions[-1] == liquidation.QUANTITY, "the position")
        equal(9000 < balance() < 10000, True, f"the balance {balance()}")

    # The first trade is the purchase.
    public = lambda: round(sum(size for _, size in recorder.trades), 8)
    whole = 2 * liquidation.QUANTITY
    await liquidation.happens(venue, buy, lambda: public() == whole and balance() < 9000)
    equal(public(), whole, "public trades")
    equal(0 <= balance() < 9000, True, f"the balance {balance()}")

    (client,) = node.kernel.exec_engine.get_clients_for_orders([order])
    asked = lambda kind, *of: kind(BITCOIN, *of, None, None, UUID4(), recorder.clock.timestamp_ns())
    (held,) = await client.generate_position_status_reports(asked(GeneratePositionStatusReports))
    equal((held.position_side, float(held.quantity)), (PositionSide.FLAT, 0.0), "the position")
    fills = await client.generate_fill_reports(asked(GenerateFillReports, None))
    sold = [fill for fill in fills if fill.order_side == OrderSide.SELL]
    equal(round(sum(float(fill.last_qty) for fill in sold), 8), liquidation.QUANTITY, "what the exchange sold")


if __name__ == "__main__":
    live(Venue(), Recorder(), trade)
    print("nautilus_trader sees its liquidation")
