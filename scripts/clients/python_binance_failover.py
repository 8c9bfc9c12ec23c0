"""python-binance, unchanged, goes on trading while the host that leads is killed."""

from binance.exceptions import BinanceAPIException
from requests.exceptions import RequestException

from failover import NotNow, session
from python_binance_client import connect as connect_to
from venue import SYMBOL

# Codes of the API: an order that cannot be canceled, or shown, since there is none.
UNKNOWN = (-2011, -2013)
# A key that is not known.
NO_KEY = -2015


def connect(url, made):
    client = connect_to(url, made)
    client.REQUEST_TIMEOUT = 3
    return client


def told(act, **values):
    """A 503 is for another host, as is a key that a host which follows may not have heard of; a refusal is not."""
    try:
        return act(symbol=SYMBOL, **values)
    except BinanceAPIException as error:
        if error.status_code == 503 or error.code == NO_KEY:
            raise NotNow from error
        raise


def order(client, name, side, quantity, price):
    told(
        client.futures_create_order, side=side.upper(), type="LIMIT", timeInForce="GTC", quantity=str(quantity), price=str(price),
        newClientOrderId=name, idempotencyKey=name,
    )


def cancel(client, name):
    try:
        told(client.futures_cancel_order, origClientOrderId=name)
    except BinanceAPIException as error:
        # Done by a try before that nobody answered; or this host follows, and has not heard of the order.
        if error.code not in UNKNOWN:
            raise
    try:
        status = told(client.futures_get_order, origClientOrderId=name)["status"]
    except BinanceAPIException as error:
        if error.code not in UNKNOWN:
            raise
        raise NotNow from error
    if status != "CANCELED":
        raise NotNow(status)


def rows(client):
    found = told(client.futures_get_all_orders, limit=1000)
    return [(row["clientOrderId"], row["status"], float(row["executedQty"])) for row in found]


if __name__ == "__main__":
    session("python-binance", connect, (RequestException,), order, cancel, rows)
