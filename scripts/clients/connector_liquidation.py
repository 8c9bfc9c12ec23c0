"""binance-futures-connector, unchanged, is liquidated: its sockets and REST say so."""

import json

from binance.um_futures import UMFutures
from binance.websocket.um_futures.websocket_client import UMFuturesWebsocketClient

import liquidation
from venue import SYMBOL, Venue, equal, eventually


def main():
    venue, seen = Venue(), liquidation.Seen()
    client = UMFutures(key=venue.key["api_key"], secret=venue.key["api_secret"], base_url=venue.url)
    answered = []

    def take(_, text):
        event = json.loads(text)
        seen.take(event)
        if "result" in event:
            answered.append(event)

    sockets = UMFuturesWebsocketClient(stream_url=venue.sockets, on_message=take)
    try:
        sockets.user_data(listen_key=client.new_listen_key()["listenKey"], id=1)
        sockets.liquidation_order(symbol=SYMBOL, id=2)
        eventually(lambda: len(answered), lambda count: count == 2, "subscriptions")
        buy = lambda: client.new_order(symbol=SYMBOL, side="BUY", type="MARKET", quantity=liquidation.QUANTITY)
        liquidation.happen(venue, buy, seen.is_over)
        seen.judge(client.force_orders(symbol=SYMBOL))
        equal([row for row in client.get_position_risk(symbol=SYMBOL) if float(row["positionAmt"]) != 0], [], "positions")
    finally:
        sockets.stop()
    print("binance-futures-connector sees its liquidation")


if __name__ == "__main__":
    main()
