"""nautilus_trader, unchanged: a live node whose strategy trades here, follows the user stream and keeps a book."""

import asyncio
import sys
import time

from nautilus_trader.adapters.binance import BINANCE, BinanceAccountType, BinanceDataClientConfig, BinanceExecClientConfig
from nautilus_trader.adapters.binance import BinanceLiveDataClientFactory, BinanceLiveExecClientFactory
from nautilus_trader.config import InstrumentProviderConfig, LiveExecEngineConfig, LoggingConfig, StrategyConfig, TradingNodeConfig
from nautilus_trader.live.node import TradingNode
from nautilus_trader.model.enums import BookType, OrderSide, OrderStatus, TriggerType
from nautilus_trader.model.identifiers import InstrumentId
from nautilus_trader.trading.strategy import Strategy

from venue import Venue, equal

BITCOIN = InstrumentId.from_str("BTCUSDT-PERP.BINANCE")


class Recorder(Strategy):
    """Keeps what the node tells it."""

    def __init__(self):
        super().__init__(StrategyConfig(strategy_id="SCENARIO-1"))
        self.is_started = False
        self.quotes, self.trades, self.marks, self.positions = [], [], [], []

    def on_start(self):
        self.subscribe_quote_ticks(BITCOIN)
        self.subscribe_trade_ticks(BITCOIN)
        self.subscribe_order_book_deltas(BITCOIN, BookType.L2_MBP)
        self.is_started = True

    def on_quote_tick(self, tick):
        self.quotes.append((float(tick.bid_price), float(tick.ask_price)))

    def on_trade_tick(self, tick):
        self.trades.append((float(tick.price), float(tick.size)))

    def on_position_event(self, event):
        self.positions.append(float(event.quantity))


async def wait(holds, what, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not come in {seconds} s")
        await asyncio.sleep(0.05)


async def trade(venue, node, recorder):
    other = venue.other
    aside = lambda act, *values: asyncio.to_thread(act, *values)
    await wait(lambda: recorder.is_started, "the start")
    bitcoin = recorder.cache.instrument(BITCOIN)
    equal((str(bitcoin.price_increment), str(bitcoin.size_increment)), ("0.1", "0.001"), "steps")
    price = bitcoin.make_price
    quantity = bitcoin.make_qty

    # Placed, changed in place, filled in part by the other side, canceled: all of it heard on the user stream.
    order = recorder.order_factory.limit(BITCOIN, OrderSide.BUY, quantity(0.01), price(59000))
    recorder.submit_order(order)
    await wait(lambda: order.status == OrderStatus.ACCEPTED, "acceptance")
    recorder.modify_order(order, quantity=quantity(0.02), price=price(59500))
    await wait(lambda: (float(order.price), float(order.quantity)) == (59500.0, 0.02), "the change")
    await aside(other.limit, "SELL", "0.1", "60000")
    await wait(lambda: recorder.quotes and recorder.quotes[-1] == (59500.0, 60000.0), "the quote")
    await aside(other.market, "SELL", "0.005")
    await wait(lambda: order.status == OrderStatus.PARTIALLY_FILLED, "the fill")
    equal((float(order.filled_qty), order.avg_px), (0.005, 59500.0), "the fill")
    await wait(lambda: (59500.0, 0.005) in recorder.trades, "the public trade")
    recorder.cancel_order(order)
    await wait(lambda: order.status == OrderStatus.CANCELED, "the cancel")

    # A market order, and a stop that sells all when the mark falls.
    order = recorder.order_factory.market(BITCOIN, OrderSide.BUY, quantity(0.005))
    recorder.submit_order(order)
    await wait(lambda: order.status == OrderStatus.FILLED, "the market order")
    equal(order.avg_px, 60000.0, "the market order")
    await wait(lambda: recorder.positions and recorder.positions[-1] == 0.01, "the position")
    stop = recorder.order_factory.stop_market(
        BITCOIN, OrderSide.SELL, quantity(0.01), price(59000), trigger_type=TriggerType.MARK_PRICE, reduce_only=True,
    )
    recorder.submit_order(stop)
    await wait(lambda: stop.status == OrderStatus.ACCEPTED, "the stop")
    await aside(other.clear)
    await aside(other.limit, "BUY", "0.1", "58500")
    await aside(venue.operator.index, 58900)
    await wait(lambda: stop.status == OrderStatus.FILLED, "the stop's fill")
    equal(stop.avg_px, 58500.0, "the stop")
    await wait(lambda: recorder.positions[-1] == 0.0, "the closed position")

    # The book it kept from the stream is the exchange's.
    book = recorder.cache.order_book(BITCOIN)
    await wait(lambda: book.best_bid_price() is not None and float(book.best_bid_price()) == 58500.0, "the book")
    equal((float(book.best_bid_size()), book.best_ask_price()), (0.09, None), "the book")
    # A refusal.
    order = recorder.order_factory.limit(BITCOIN, OrderSide.BUY, quantity(100), price(58000))
    recorder.submit_order(order)
    await wait(lambda: order.status == OrderStatus.REJECTED, "the refusal")


def live(venue, recorder, scenario):
    """Runs a node with a strategy, and beside it what is done with both; ends the program where that fails."""
    common = {
        "api_key": venue.key["api_key"], "api_secret": venue.key["api_secret"], "account_type": BinanceAccountType.USDT_FUTURES,
        "base_url_http": venue.url, "base_url_ws": venue.sockets, "instrument_provider": InstrumentProviderConfig(load_all=True),
    }
    node = TradingNode(config=TradingNodeConfig(
        trader_id="RINGSIDE-001", logging=LoggingConfig(log_level="WARNING", log_colors=False),
        exec_engine=LiveExecEngineConfig(reconciliation=True),
        data_clients={BINANCE: BinanceDataClientConfig(**common)}, exec_clients={BINANCE: BinanceExecClientConfig(**common)},
        timeout_connection=30.0, timeout_disconnection=5.0, timeout_post_stop=1.0,
    ))
    node.trader.add_strategy(recorder)
    node.add_data_client_factory(BINANCE, BinanceLiveDataClientFactory)
    node.add_exec_client_factory(BINANCE, BinanceLiveExecClientFactory)
    node.build()
    failure = []

    async def run():
        try:
            await scenario(venue, node, recorder)
        except BaseException as error:  # noqa: BLE001: whatever it is, it is reported below
            failure.append(error)
        await node.stop_async()

    loop = node.get_event_loop()
    task = loop.create_task(run())
    try:
        node.run()
        loop.run_until_complete(task) if not task.done() and not loop.is_closed() else None
    finally:
        node.dispose()
    if failure:
        sys.exit(f"{type(failure[0]).__name__}: {failure[0]}")


if __name__ == "__main__":
    live(Venue(), Recorder(), trade)
    print("nautilus_trader trades here unchanged")
