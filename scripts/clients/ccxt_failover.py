"""ccxt, unchanged, goes on trading while the host that leads is killed."""

import ccxt

from ccxt_client import SYMBOL, by_ccxt
from failover import NotNow, session


def connect(url, made):
    client = by_ccxt(url, made)
    client.timeout = 3000
    # The venue counts for itself, and this one takes what comes.
    client.enableRateLimit = False
    client.load_markets()
    return client


def told(act, *values):
    """The body of a 503 has a code that ccxt takes for a bad request, and a host that follows may not have heard of the key: both are for
    another host."""
    try:
        return act(*values)
    except ccxt.AuthenticationError as error:
        raise NotNow from error
    except ccxt.BadRequest as error:
        if '"code":-1016' in str(error):
            raise NotNow from error
        raise


def order(client, name, side, quantity, price):
    told(client.create_order, SYMBOL, "limit", side, quantity, price, {"clientOrderId": name, "idempotencyKey": name})


def cancel(client, name):
    by_name = {"clientOrderId": name}
    try:
        told(client.cancel_order, None, SYMBOL, by_name)
    except ccxt.OrderNotFound:
        # Done by a try before that nobody answered; or this host follows, and has not heard of the order.
        pass
    try:
        status = told(client.fetch_order, None, SYMBOL, by_name)["status"]
    except ccxt.OrderNotFound as error:
        raise NotNow from error
    if status != "canceled":
        raise NotNow(status)


def rows(client):
    found = told(client.fetch_orders, SYMBOL, None, 1000)
    return [(row["clientOrderId"], row["info"]["status"], row["filled"]) for row in found]


if __name__ == "__main__":
    # What says that the host is gone, or takes no orders now: connections refused and broken, 503.
    session("ccxt", connect, (ccxt.NetworkError,), order, cancel, rows)
