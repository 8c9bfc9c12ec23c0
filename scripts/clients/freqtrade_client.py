"""freqtrade, unchanged: its live exchange layer, which is what the bot trades through, in futures mode with cross margin."""

from datetime import UTC, datetime, timedelta

from freqtrade.enums import CandleType
from freqtrade.exceptions import InvalidOrderException
from freqtrade.resolvers import ExchangeResolver

from venue import Venue, equal, eventually, refused

PAIR = "BTC/USDT:USDT"


def configuration(venue):
    versions = {name + version: f"{venue.url}/fapi/{version.lower() or 'v1'}"
                for name in ("fapiPublic", "fapiPrivate") for version in ("", "V2", "V3")}
    ccxt = {
        "urls": {"api": versions | {"fapiData": f"{venue.url}/futures/data"}},
        "options": {
            "fetchMarkets": {"types": ["linear"]}, "defaultSubType": "linear", "fetchCurrencies": False, "fetchMargins": False,
        },
    }
    return {
        "exchange": {
            "name": "binance", "key": venue.key["api_key"], "secret": venue.key["api_secret"],
            "pair_whitelist": [PAIR], "pair_blacklist": [], "ccxt_config": ccxt, "ccxt_async_config": ccxt,
            "only_from_ccxt": True, "enable_ws": False, "skip_pair_validation": True,
        },
        "trading_mode": "futures", "margin_mode": "cross", "stake_currency": "USDT", "dry_run": False, "timeframe": "1m",
        "candle_type_def": CandleType.FUTURES, "runmode": "live", "stake_amount": 100, "liquidation_buffer": 0.05,
        "order_types": {"entry": "limit", "exit": "limit", "stoploss": "market", "stoploss_on_exchange": True},
        "entry_pricing": {"price_side": "other", "use_order_book": True, "order_book_top": 1},
        "exit_pricing": {"price_side": "other", "use_order_book": True, "order_book_top": 1},
    }


def with_exchange(venue, scenario):
    """Loads the exchange layer as the bot does, and closes it in the end."""
    exchange = ExchangeResolver.load_exchange(configuration(venue), validate=True, load_leverage_tiers=True)
    try:
        scenario(venue, exchange)
    finally:
        exchange.close()


def trade(venue, exchange):
    other = venue.other
    other.limit("SELL", "0.1", "60000.0")
    other.limit("BUY", "0.1", "59900.0")
    equal(PAIR in exchange.markets, True, "markets")
    equal(exchange.get_max_leverage(PAIR, 100.0) >= 20, True, "leverage tiers")

    # In: a price from the book, leverage and margin mode set, the order fills.
    price = exchange.get_rate(PAIR, side="entry", is_short=False, refresh=True)
    equal(price, 60000.0, "rate")
    order = exchange.create_order(
        pair=PAIR, ordertype="limit", side="buy", amount=0.01, rate=price, leverage=5.0, reduceOnly=False, time_in_force="GTC",
    )
    order = eventually(lambda: exchange.fetch_order(order["id"], PAIR), lambda order: order["status"] == "closed", "entry")
    equal((order["filled"], order["average"]), (0.01, 60000.0), "entry")
    position = exchange.fetch_positions(PAIR)[0]
    equal((position["side"], position["contracts"]), ("long", 0.01), "position")
    equal(exchange.get_balances()["USDT"]["total"] < 10000, True, "balance")
    trades = exchange.get_trades_for_order(order["id"], PAIR, datetime.now(UTC) - timedelta(minutes=1))
    equal(sum(trade["amount"] for trade in trades), 0.01, "its trades")

    # The stop rests on the exchange; it is replaced, as a trailing bot does, and then it fires.
    stop = exchange.create_stoploss(pair=PAIR, amount=0.01, stop_price=58000.0, order_types={"stoploss": "market", "stoploss_price_type": "mark"}, side="sell", leverage=5.0)
    equal(exchange.fetch_stoploss_order(stop["id"], PAIR)["status"], "open", "stop")
    equal(exchange.cancel_stoploss_order_with_result(stop["id"], PAIR, 0.01)["status"], "canceled", "stop")
    stop = exchange.create_stoploss(pair=PAIR, amount=0.01, stop_price=59000.0, order_types={"stoploss": "market", "stoploss_price_type": "mark"}, side="sell", leverage=5.0)
    other.clear()
    other.limit("BUY", "0.1", "58500.0")
    venue.operator.index(58900)
    stop = eventually(lambda: exchange.fetch_stoploss_order(stop["id"], PAIR), lambda stop: stop["status"] == "closed", "stop")
    equal((stop["filled"], stop["average"]), (0.01, 58500.0), "stop")
    equal(exchange.fetch_positions(PAIR), [], "position")

    # What the bot polls.
    equal(exchange.fetch_l2_order_book(PAIR, 5)["bids"][0][0], 58500.0, "book")
    equal(exchange.fetch_ticker(PAIR)["last"], 58500.0, "ticker")
    candles = exchange.refresh_latest_ohlcv([(PAIR, "1m", CandleType.FUTURES)], drop_incomplete=False)
    equal(float(candles[(PAIR, "1m", CandleType.FUTURES)]["close"].iloc[-1]), 58500.0, "candle")
    exchange.get_funding_fees(PAIR, 0.01, False, datetime.now(UTC) - timedelta(hours=1))
    equal(len(exchange.fetch_orders(PAIR, datetime.now(UTC) - timedelta(hours=1))) >= 2, True, "orders")
    refused(lambda: exchange.cancel_order("999999", PAIR), InvalidOrderException, "a cancel of nothing")
    print("freqtrade trades here unchanged")


if __name__ == "__main__":
    with_exchange(Venue(), trade)
