"""freqtrade, unchanged, is liquidated: what the bot polls says so, as it has no stream."""

from datetime import UTC, datetime, timedelta

import liquidation
from freqtrade_client import PAIR, with_exchange
from venue import Venue, equal


def trade(venue, exchange):
    hour_ago = datetime.now(UTC) - timedelta(hours=1)

    def buy():
        exchange.create_order(
            pair=PAIR, ordertype="market", side="buy", amount=liquidation.QUANTITY, rate=60000.0, leverage=20.0,
            reduceOnly=False, time_in_force="GTC",
        )
        position = exchange.fetch_positions(PAIR)[0]
        equal((position["side"], position["contracts"]), ("long", liquidation.QUANTITY), "position")
        price = exchange.get_liquidation_price(
            pair=PAIR, open_rate=60000.0, is_short=False, amount=liquidation.QUANTITY, stake_amount=9000.0,
            leverage=20.0, wallet_balance=10000.0, open_trades=[],
        )
        equal(56000 < price < 58000, True, f"liquidation price {price}")

    liquidation.happen(venue, buy, lambda: exchange.fetch_positions(PAIR) == [])
    equal(exchange.fetch_positions(PAIR), [], "positions")
    orders = [order["info"] for order in exchange.fetch_orders(PAIR, hour_ago)]
    liquidation.judge_rows([order for order in orders if liquidation.is_closing(order)])
    # Nothing of what it had is left, and nothing is owed.
    left = exchange.get_balances()["USDT"]["total"]
    equal(0 <= left < 10000, True, f"balance {left}")


if __name__ == "__main__":
    with_exchange(Venue(), trade)
    print("freqtrade sees its liquidation")
