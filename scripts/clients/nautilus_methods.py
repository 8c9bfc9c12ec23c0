"""nautilus_trader, unchanged: a node that finds orders and a position at its start, and places every kind of order that it has."""

from datetime import timedelta
from decimal import Decimal

from nautilus_trader.model.data import BarType
from nautilus_trader.model.enums import OrderSide, OrderStatus, OrderType, TimeInForce, TrailingOffsetType

from nautilus_client import BITCOIN, Recorder, live, wait
from venue import Trader, Venue, equal

SYMBOL = {"symbol": "BTCUSDT"}


class Listener(Recorder):
    """Has candles, marks and histories told as well."""

    def __init__(self):
        super().__init__()
        self.bars, self.histories, self.marks = [], [], []

    def on_start(self):
        candles = BarType.from_str("BTCUSDT-PERP.BINANCE-1-MINUTE-LAST-EXTERNAL")
        self.subscribe_bars(candles)
        self.subscribe_mark_prices(BITCOIN)
        self.request_instrument(BITCOIN)
        self.request_trade_ticks(BITCOIN, start=self.clock.utc_now().floor("h"))
        super().on_start()

    def on_historical_data(self, data):
        self.histories.append(data)

    def on_mark_price(self, mark):
        self.marks.append(float(mark.value))


def before(venue):
    """What the account has when the node comes."""
    own = Trader(venue.url, venue.key)
    place = lambda side, kind, **values: own.call("POST", "/fapi/v1/order", **SYMBOL, side=side, type=kind, **values)["orderId"]
    venue.other.limit("SELL", "0.05", "60010")
    bought = own.market("BUY", "0.02")["orderId"]
    shared = own.limit("BUY", "0.01", "59995")["orderId"]
    venue.other.market("SELL", "0.004")
    gone = own.limit("BUY", "0.01", "59000")["orderId"]
    own.call("DELETE", "/fapi/v1/order", **SYMBOL, orderId=gone)
    sells = {"quantity": "0.01", "reduceOnly": "true"}
    return {
        bought: (OrderType.MARKET, OrderStatus.FILLED, 0.02),
        shared: (OrderType.LIMIT, OrderStatus.PARTIALLY_FILLED, 0.004),
        gone: (OrderType.LIMIT, OrderStatus.CANCELED, 0.0),
        own.limit("BUY", "0.01", "58700")["orderId"]: (OrderType.LIMIT, OrderStatus.ACCEPTED, 0.0),
        place("SELL", "STOP_MARKET", stopPrice="58000", **sells): (OrderType.STOP_MARKET, OrderStatus.ACCEPTED, 0.0),
        place("SELL", "STOP", stopPrice="57500", price="57400", **sells): (OrderType.STOP_LIMIT, OrderStatus.ACCEPTED, 0.0),
        place("SELL", "TAKE_PROFIT", stopPrice="63000", price="63000", **sells): (OrderType.LIMIT_IF_TOUCHED, OrderStatus.ACCEPTED, 0.0),
        place("SELL", "TRAILING_STOP_MARKET", callbackRate="1", activationPrice="62000", **sells):
            (OrderType.TRAILING_STOP_MARKET, OrderStatus.ACCEPTED, 0.0),
    }


async def trade(venue, node, recorder):
    await wait(lambda: recorder.is_started, "the start")
    found = {
        int(str(order.venue_order_id)): (order.order_type, order.status, float(order.filled_qty)) for order in recorder.cache.orders()
    }
    equal(found, venue.known, "the orders that were there")
    positions = [(float(position.signed_qty), round(position.avg_px_open, 1)) for position in recorder.cache.positions_open()]
    equal(positions, [(0.024, round((0.02 * 60010 + 0.004 * 59995) / 0.024, 1))], "the position that was there")
    bitcoin = recorder.cache.instrument(BITCOIN)
    price, quantity, make = bitcoin.make_price, bitcoin.make_qty, recorder.order_factory
    sell, buy = OrderSide.SELL, OrderSide.BUY

    async def send(what, order, status):
        recorder.submit_order(order)
        await wait(lambda: order.status == status, f"{what}, {status.name}", 10)
        if status == OrderStatus.ACCEPTED:
            recorder.cancel_order(order)
            await wait(lambda: order.status == OrderStatus.CANCELED, f"the cancel of {what}", 10)

    some, far, stop = quantity(0.01), price(58000), price(57100)
    hour = recorder.clock.utc_now() + timedelta(hours=1)
    for what, order, status in (
        ("a maker's order", make.limit(BITCOIN, buy, some, far, post_only=True), OrderStatus.ACCEPTED),
        ("a maker's order that crosses", make.limit(BITCOIN, buy, some, price(60500), post_only=True), OrderStatus.REJECTED),
        ("a dated order", make.limit(BITCOIN, buy, some, far, time_in_force=TimeInForce.GTD, expire_time=hour), OrderStatus.ACCEPTED),
        ("an order for now", make.limit(BITCOIN, buy, some, far, time_in_force=TimeInForce.IOC), OrderStatus.EXPIRED),
        ("all or nothing: nothing", make.limit(BITCOIN, buy, quantity(1), price(60020), time_in_force=TimeInForce.FOK), OrderStatus.REJECTED),
        ("all or nothing: all", make.limit(BITCOIN, buy, quantity(0.001), price(60020), time_in_force=TimeInForce.FOK), OrderStatus.FILLED),
        ("a stop with a limit", make.stop_limit(BITCOIN, sell, some, price(57000), stop, reduce_only=True), OrderStatus.ACCEPTED),
        ("a target", make.market_if_touched(BITCOIN, sell, some, price(62000), reduce_only=True), OrderStatus.ACCEPTED),
        ("a target with a limit", make.limit_if_touched(BITCOIN, sell, some, price(62000), price(62000)), OrderStatus.ACCEPTED),
        ("a trailing stop", make.trailing_stop_market(
            BITCOIN, sell, some, trailing_offset=Decimal(100), activation_price=price(62000),
            trailing_offset_type=TrailingOffsetType.BASIS_POINTS, reduce_only=True,
        ), OrderStatus.ACCEPTED),
    ):
        await send(what, order, status)
    await wait(lambda: recorder.marks and recorder.histories, "marks and histories")


if __name__ == "__main__":
    venue = Venue()
    venue.known = before(venue)
    live(venue, Listener(), trade)
    print("nautilus_trader finds its orders and places all kinds of them here")
