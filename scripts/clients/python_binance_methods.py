"""python-binance, unchanged, by its other methods: every read of its futures API that exists here, and every socket of its
manager."""

import asyncio

from binance import AsyncClient, BinanceSocketManager

from python_binance_client import connect
from venue import Venue, equal

SYMBOL = {"symbol": "BTCUSDT"}


def reads(venue, client):
    placed = client.futures_create_order(**SYMBOL, side="BUY", type="LIMIT", timeInForce="GTC", quantity="0.010", price="59900")
    venue.other.limit("SELL", "0.020", "60010")
    client.futures_create_order(**SYMBOL, side="BUY", type="MARKET", quantity="0.010")
    waiting = client.futures_create_order(**SYMBOL, side="SELL", type="STOP_MARKET", quantity="0.010", triggerPrice="59000")
    order = {**SYMBOL, "orderId": placed["orderId"]}
    candles = {"interval": "1m", "limit": 5}
    pair = {"pair": "BTCUSDT", **candles}
    # Method, parameters, what the answer is known by.
    for method, values, is_it in (
        ("account", {}, lambda found: found["assets"][0]["asset"] == "USDT"),
        ("account_balance", {}, lambda found: float(found[0]["balance"]) > 9999),
        ("account_config", {}, lambda found: found["tradeGroupId"] == -1),
        ("account_trades", SYMBOL, lambda found: found[0]["maker"] is False),
        ("adl_quantile_estimate", SYMBOL, lambda found: found[0]["adlQuantile"]["BOTH"] > 0),
        ("aggregate_trades", SYMBOL, lambda found: found[0]["p"] == "60010.0"),
        ("api_trading_status", {}, lambda found: found["indicators"] == {}),
        ("commission_rate", SYMBOL, lambda found: found["takerCommissionRate"] == "0.0005"),
        ("continuous_klines", {**pair, "contractType": "PERPETUAL"}, lambda found: found[-1][4] == "60010.0"),
        ("funding_rate", SYMBOL, lambda found: isinstance(found, list)),
        ("get_algo_order", {"algoId": waiting["algoId"]}, lambda found: found["algoStatus"] == "NEW"),
        ("get_all_algo_orders", SYMBOL, lambda found: len(found) == 1),
        ("get_open_algo_orders", SYMBOL, lambda found: len(found) == 1),
        ("get_all_orders", SYMBOL, lambda found: len(found) == 2),
        ("get_open_orders", SYMBOL, lambda found: len(found) == 1),
        ("get_order", order, lambda found: found["status"] == "NEW"),
        ("v1_get_open_order", order, lambda found: found["origQty"] == "0.01"),
        ("get_multi_assets_mode", {}, lambda found: found["multiAssetsMargin"] is False),
        ("get_position_mode", {}, lambda found: found["dualSidePosition"] is False),
        ("historical_klines", {**SYMBOL, "interval": "1m", "start_str": "1 hour ago UTC"}, lambda found: found[-1][4] == "60010.0"),
        ("historical_mark_price_klines", {**SYMBOL, "interval": "1m", "start_str": "1 hour ago UTC"}, lambda found: len(found) > 0),
        ("historical_trades", SYMBOL, lambda found: found[0]["qty"] == "0.010"),
        ("income_history", {"incomeType": "COMMISSION"}, lambda found: found[0]["income"] == "-0.30005000"),
        ("index_price_constituents", SYMBOL, lambda found: found["symbol"] == "BTCUSDT"),
        ("index_price_klines", pair, lambda found: len(found) > 0),
        ("klines", {**SYMBOL, **candles}, lambda found: found[-1][4] == "60010.0"),
        ("leverage_bracket", SYMBOL, lambda found: found["brackets"][0]["initialLeverage"] == 125),
        ("liquidation_orders", {}, lambda found: found == []),
        ("mark_price", SYMBOL, lambda found: found["nextFundingTime"] % 3_600_000 == 0),
        ("mark_price_klines", {**SYMBOL, **candles}, lambda found: len(found) > 0),
        ("open_interest", SYMBOL, lambda found: found["openInterest"] == "0.010"),
        ("order_book", SYMBOL, lambda found: found["bids"] == [["59900.0", "0.010"]]),
        ("orderbook_ticker", SYMBOL, lambda found: found["askQty"] == "0.010"),
        ("position_information", SYMBOL, lambda found: found[0]["entryPrice"] == "60010"),
        ("position_margin_history", SYMBOL, lambda found: found == []),
        ("premium_index_klines", {**SYMBOL, **candles}, lambda found: isinstance(found, list)),
        ("recent_trades", SYMBOL, lambda found: found[0]["quoteQty"] == "600.1000"),
        ("symbol_config", SYMBOL, lambda found: found[0]["leverage"] == 20),
        ("symbol_ticker", SYMBOL, lambda found: found["price"] == "60010.0"),
        ("ticker", SYMBOL, lambda found: found["count"] == 1),
        ("time", {}, lambda found: found["serverTime"] > 0),
        ("v1_get_fee_burn", {}, lambda found: found["feeBurn"] is False),
        ("v1_get_funding_info", {}, lambda found: len(found) == 3),
        ("v1_get_order_amendment", order, lambda found: found == []),
        ("v1_get_rate_limit_order", {}, lambda found: len(found) == 2),
        ("insurance_fund_balance_snapshot", {}, lambda found: found[0]["assets"][0]["asset"] == "USDT"),
        ("rpi_depth", SYMBOL, lambda found: found["bids"] == [["59900.0", "0.010"]]),
        ("index_info", {}, lambda found: found == []),
        ("symbol_adl_risk", SYMBOL, lambda found: found["adlRisk"] in ("low", "medium", "high")),
        ("v1_get_asset_index", {"symbol": "USDTUSD"}, lambda found: found["index"] == "1.00000000"),
        ("basis", {**pair, "contractType": "PERPETUAL", "period": "5m"}, lambda found: found == []),
        ("open_interest_hist", {**SYMBOL, "period": "5m"}, lambda found: all(int(row["timestamp"]) % 300_000 == 0 for row in found)),
        ("taker_longshort_ratio", {**SYMBOL, "period": "5m"}, lambda found: found == []),
    ):
        found = getattr(client, f"futures_{method}")(**values)
        equal(is_it(found), True, f"{method}: {found}")
    client.futures_cancel_all_open_orders(**SYMBOL)
    client.futures_cancel_algo_order(algoId=waiting["algoId"])
    venue.other.clear()


async def sockets(venue):
    client = AsyncClient(venue.key["api_key"], venue.key["api_secret"])
    client.FUTURES_URL = f"{venue.url}/fapi"
    manager = BinanceSocketManager(client)
    manager.FSTREAM_URL = f"{venue.sockets}/"
    is_over = asyncio.Event()

    async def flow():
        while not is_over.is_set():
            await asyncio.to_thread(venue.other.limit, "SELL", "0.002", "60010")
            await client.futures_create_order(**SYMBOL, side="BUY", type="MARKET", quantity="0.001")
            await asyncio.sleep(0.2)

    async def hear(what, socket, is_it):
        async with asyncio.timeout(20), socket as stream:
            while not is_it((message := await stream.recv()).get("data", message)):
                pass

    def named(event):
        return lambda data: (data[0] if isinstance(data, list) else data)["e"] == event

    flowing = asyncio.create_task(flow())
    try:
        await asyncio.gather(*[
            hear(what, socket, named(event))
            for what, socket, event in (
                ("candles", manager.kline_futures_socket("btcusdt"), "continuous_kline"),
                ("levels", manager.futures_depth_socket("btcusdt"), "depthUpdate"),
                ("joined trades", manager.aggtrade_futures_socket("btcusdt"), "aggTrade"),
                ("mark", manager.symbol_mark_price_socket("btcusdt"), "markPriceUpdate"),
                ("mark, slowly", manager.symbol_mark_price_socket("btcusdt", fast=False), "markPriceUpdate"),
                ("marks", manager.all_mark_price_socket(), "markPriceUpdate"),
                ("best prices", manager.symbol_ticker_futures_socket("btcusdt"), "bookTicker"),
                ("the day", manager.individual_symbol_ticker_futures_socket("btcusdt"), "24hrTicker"),
                ("all best prices", manager.all_ticker_futures_socket(), "bookTicker"),
                ("all days", manager.all_ticker_futures_socket("!ticker@arr"), "24hrTicker"),
                ("all days in short", manager.all_ticker_futures_socket("!miniTicker@arr"), "24hrMiniTicker"),
                ("several", manager.futures_multiplex_socket(["btcusdt@depth@100ms", "btcusdt@trade"]), "trade"),
                ("the account", manager.futures_user_socket(), "ACCOUNT_UPDATE"),
            )
        ])
    finally:
        is_over.set()
        await flowing
        await client.close_connection()


def main():
    venue = Venue()
    reads(venue, connect(venue.url, venue.key))
    asyncio.run(sockets(venue))
    print("python-binance finds its methods here")


if __name__ == "__main__":
    main()
