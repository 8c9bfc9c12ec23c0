"""The official USD-M SDK, unchanged, by its other methods: every read and every stream that exists here, the events of an account.
Whatever does not fit its typed models it logs as a warning: there must be none."""

import asyncio
import logging

from binance_common.configuration import ConfigurationRestAPI, ConfigurationWebSocketStreams
from binance_sdk_derivatives_trading_usds_futures.derivatives_trading_usds_futures import DerivativesTradingUsdsFutures
from binance_sdk_derivatives_trading_usds_futures.websocket_streams import models

from venue import SYMBOL, Venue, equal

SYMBOLS = {"symbol": SYMBOL}
USER_EVENTS = (
    models.AccountConfigUpdate, models.AccountUpdate, models.AlgoUpdate, models.ConditionalOrderTriggerReject,
    models.ListenKeyExpired, models.OrderTradeUpdate, models.TradeLite,
)


class Faults(logging.Handler):
    """Warnings that were logged."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def reads(venue, client):
    order = {"side": "BUY", "type": "LIMIT", "time_in_force": "GTC", "quantity": 0.01}
    placed = {**SYMBOLS, "order_id": client.new_order(**SYMBOLS, **order, price=59900.0).data().order_id}
    client.modify_order(**placed, side="BUY", quantity=0.01, price=59901.0)
    client.new_order(**SYMBOLS, side="SELL", type="LIMIT", time_in_force="GTC", quantity=0.01, price=59901.0, self_trade_prevention_mode="EXPIRE_TAKER")
    venue.other.limit("SELL", "0.02", "60010")
    client.new_order(**SYMBOLS, side="BUY", type="MARKET", quantity=0.01)
    stop = {"algo_type": "CONDITIONAL", **SYMBOLS, "side": "SELL", "type": "STOP_MARKET", "quantity": 0.01, "trigger_price": 59000.0}
    waits = {"algo_id": client.new_algo_order(**stop).data().algo_id}
    candles = {"interval": "1m"}
    pair = {"pair": SYMBOL, **candles}
    period = {**SYMBOLS, "period": "5m"}
    for method, values in (
        ("adl_risk", {}), ("adl_risk", SYMBOLS), ("composite_index_symbol_information", {}),
        ("query_insurance_fund_balance_snapshot", {}), ("query_insurance_fund_balance_snapshot", SYMBOLS), ("trading_schedule", {}), ("rpi_order_book", SYMBOLS),
        ("account_information_v2", {}), ("account_information_v3", {}), ("account_trade_list", SYMBOLS), ("all_orders", SYMBOLS),
        ("asset_index", {}), ("asset_index", {"symbol": "USDTUSD"}), ("change_margin_type", {**SYMBOLS, "margin_type": "CROSSED"}),
        ("change_multi_assets_mode", {"multi_assets_margin": "false"}), ("change_position_mode", {"dual_side_position": "false"}),
        ("check_server_time", {}), ("compressed_aggregate_trades_list", SYMBOLS),
        ("continuous_contract_kline_candlestick_data", {**pair, "contract_type": "PERPETUAL"}),
        ("current_all_algo_open_orders", {}), ("current_all_open_orders", {}), ("exchange_information", {}),
        ("futures_account_balance_v2", {}), ("futures_account_balance_v3", {}), ("futures_account_configuration", {}),
        ("futures_trading_quantitative_rules_indicators", {}), ("get_bnb_burn_status", {}), ("get_current_multi_assets_mode", {}),
        ("get_current_position_mode", {}), ("get_funding_rate_history", {}), ("get_funding_rate_info", {}), ("get_income_history", {}),
        ("get_order_modify_history", placed), ("get_position_margin_change_history", SYMBOLS), ("index_price_kline_candlestick_data", pair),
        ("kline_candlestick_data", {**SYMBOLS, **candles}), ("long_short_ratio", period), ("mark_price", {}), ("mark_price", SYMBOLS),
        ("mark_price_kline_candlestick_data", {**SYMBOLS, **candles}), ("notional_and_leverage_brackets", {}), ("old_trades_lookup", SYMBOLS),
        ("open_interest", SYMBOLS), ("open_interest_statistics", period), ("order_book", SYMBOLS), ("position_adl_quantile_estimation", {}),
        ("position_information_v2", {}), ("position_information_v3", {}), ("premium_index_kline_data", {**SYMBOLS, **candles}),
        ("query_algo_order", waits), ("query_all_algo_orders", SYMBOLS), ("query_current_open_order", placed),
        ("query_index_price_constituents", SYMBOLS), ("query_order", placed), ("query_user_rate_limit", {}), ("recent_trades_list", SYMBOLS),
        ("symbol_configuration", {}), ("symbol_order_book_ticker", {}), ("symbol_order_book_ticker", SYMBOLS), ("symbol_price_ticker", {}),
        ("symbol_price_ticker_v2", {}), ("taker_buy_sell_volume", period), ("test_order", {**SYMBOLS, **order, "price": 59000.0}),
        ("ticker24hr_price_change_statistics", {}), ("ticker24hr_price_change_statistics", SYMBOLS),
        ("toggle_bnb_burn_on_futures_trade", {"fee_burn": "false"}), ("top_trader_long_short_ratio_accounts", period),
        ("user_commission_rate", SYMBOLS), ("users_force_orders", {}),
    ):
        found = getattr(client, method)(**values).data()
        equal(isinstance(found, dict), False, f"{method} fits no model: {found}")
    client.cancel_all_open_orders(**SYMBOLS)
    client.cancel_all_algo_open_orders(**SYMBOLS)
    venue.other.clear()


async def streams(venue, client):
    """Each stream until it has told something, the account's until each of its events has come."""
    own, live = client.rest_api, client.websocket_streams
    name = {"symbol": SYMBOL.lower()}
    aside = lambda act, **values: asyncio.to_thread(lambda: act(**values))
    await live.create_connection()
    try:
        heard, events = set(), set()

        async def listen(what, stream):
            (await stream).on("message", lambda event: heard.add(what))

        wanted = {
            "joined trades": live.aggregate_trade_streams(**name),
            "candles": live.kline_candlestick_streams(**name, interval="1m"),
            "continuous candles": live.continuous_contract_kline_candlestick_streams(
                pair=SYMBOL.lower(), contract_type="perpetual", interval="1m"
            ),
            "mark": live.mark_price_stream(**name), "marks": live.mark_price_stream_for_all_market(),
            "the day": live.individual_symbol_ticker_streams(**name), "days": live.all_market_tickers_streams(),
            "the day in short": live.individual_symbol_mini_ticker_stream(**name), "days in short": live.all_market_mini_tickers_stream(),
            "best prices": live.individual_symbol_book_ticker_streams(**name), "all best prices": live.all_book_tickers_stream(),
            "levels": live.partial_book_depth_streams(**name, levels=5), "changes": live.diff_book_depth_streams(**name),
        }
        for what, stream in wanted.items():
            await listen(what, stream)
        key = (await aside(own.start_user_data_stream)).data().listen_key
        (await live.user_data(key)).on("message", lambda event: events.add(type(event.actual_instance)))
        stop = {"algo_type": "CONDITIONAL", **SYMBOLS, "side": "SELL", "type": "STOP_MARKET", "quantity": 0.001, "trigger_price": 59000.0}
        await aside(own.change_initial_leverage, **SYMBOLS, leverage=17)
        await aside(own.new_algo_order, **stop)
        # Reduces nothing when it fires, so that it is refused then.
        reduce = {"side": "BUY", "type": "STOP_MARKET", "quantity": "0.001", "stopPrice": "60015", "reduceOnly": "true"}
        await asyncio.to_thread(lambda: venue.own.call("POST", "/fapi/v1/order", **SYMBOLS, **reduce))
        end = asyncio.get_running_loop().time() + 30
        while len(heard) < len(wanted) or len(events) < len(USER_EVENTS) - 1:
            await asyncio.to_thread(venue.other.limit, "SELL", "0.002", "60020")
            await aside(own.new_order, **SYMBOLS, side="BUY", type="MARKET", quantity=0.001)
            await asyncio.sleep(0.3)
            if asyncio.get_running_loop().time() > end:
                raise SystemExit(f"not heard: {set(wanted) - heard}, {set(USER_EVENTS) - events}")
        await aside(own.close_user_data_stream)
        await asyncio.sleep(1)
        equal(events, set(USER_EVENTS), "events of the account")
    finally:
        await live.close_connection(close_session=True)


def main():
    faults = Faults()
    logging.getLogger().addHandler(faults)
    venue = Venue()
    venue.own = type(venue.other)(venue.url, venue.key)
    client = DerivativesTradingUsdsFutures(
        config_rest_api=ConfigurationRestAPI(
            api_key=venue.key["api_key"], api_secret=venue.key["api_secret"], base_path=venue.url,
        ),
        config_ws_streams=ConfigurationWebSocketStreams(stream_url=venue.sockets),
    )
    reads(venue, client.rest_api)
    asyncio.run(streams(venue, client))
    equal(faults.texts, [], "warnings of the client")
    print("the official USD-M SDK finds its methods here")


if __name__ == "__main__":
    main()
