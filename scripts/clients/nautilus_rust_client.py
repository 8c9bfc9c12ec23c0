"""The Rust adapter of nautilus_trader, unchanged: a live node that trades over the socket of requests (`use_ws_trading`)."""

import os
import signal
import threading
import time

from nautilus_trader.core import nautilus_pyo3 as nautilus

from venue import Venue, equal

BITCOIN = nautilus.InstrumentId.from_str("BTCUSDT-PERP.BINANCE")
TRADER = nautilus.TraderId("RINGSIDE-001")
SECONDS = 60


class Recorder(nautilus.Strategy):
    """Places an order, changes it, cancels it; then asks for one that the exchange refuses. Keeps what it is told of them."""

    def on_start(self):
        self.told = []
        self.order = self.bid("0.010", "59000.0")

    def bid(self, quantity, price):
        order = self.order_factory.limit(
            BITCOIN, nautilus.OrderSide.BUY, nautilus.Quantity.from_str(quantity), nautilus.Price.from_str(price)
        )
        self.submit_order(order)
        return order

    def on_order_accepted(self, event):
        self.told.append("accepted")
        changed = {"quantity": nautilus.Quantity.from_str("0.020"), "price": nautilus.Price.from_str("59500.0")}
        self.modify_order(self.order.client_order_id, **changed)

    def on_order_updated(self, event):
        self.told.append(("updated", str(event.price), str(event.quantity)))
        self.cancel_order(self.order.client_order_id)

    def on_order_canceled(self, event):
        self.told.append("canceled")
        # Too far above the mark, which nobody but the exchange knows.
        self.order = self.bid("0.010", "90000.0")

    def on_order_rejected(self, event):
        self.told.append(("rejected", "-4016" in event.reason))
        end()

    def on_order_modify_rejected(self, event):
        self.told.append(("not modified", event.reason))
        end()

    def on_order_cancel_rejected(self, event):
        self.told.append(("not canceled", event.reason))
        end()


def end():
    """Stops the node, which listens for this signal."""
    os.kill(os.getpid(), signal.SIGINT)


def late():
    time.sleep(SECONDS)
    end()
    # A node that does not stop is no success either.
    time.sleep(SECONDS)
    os._exit(1)


def main():
    venue = Venue()
    common = {
        "product_type": nautilus.BinanceProductType.USD_M, "base_url_http": venue.url, "base_url_ws": f"{venue.sockets}/ws",
        "api_key": venue.key["api_key"], "api_secret": venue.key["api_secret"],
    }
    trading = {"use_ws_trading": True, "base_url_ws_trading": f"{venue.sockets}/ws-fapi/v1"}
    account = nautilus.AccountId("BINANCE-001")
    node = (
        nautilus.LiveNode.builder("NODE", TRADER, nautilus.Environment.LIVE)
        .with_logging(nautilus.LoggerConfig(stdout_level=nautilus.LogLevel.WARNING, is_colored=False))
        .add_data_client(None, nautilus.BinanceDataClientFactory(), nautilus.BinanceDataClientConfig(**common))
        .add_exec_client(
            None, nautilus.BinanceExecutionClientFactory(), nautilus.BinanceExecClientConfig(TRADER, account, **trading, **common)
        )
        .build()
    )
    # Tags of three digits: others do not survive its spelling of names of orders.
    recorder = Recorder(nautilus.StrategyConfig(strategy_id=nautilus.StrategyId("SCENARIO-001")))
    node.add_strategy(recorder)
    threading.Thread(target=late, daemon=True).start()
    node.run()
    equal(recorder.told, ["accepted", ("updated", "59500.0", "0.020"), "canceled", ("rejected", True)], "what it was told")
    equal(venue.other.call("GET", "/fapi/v1/depth", symbol="BTCUSDT")["bids"], [], "nothing rests")
    print("the Rust adapter of nautilus_trader trades here unchanged")


if __name__ == "__main__":
    main()
