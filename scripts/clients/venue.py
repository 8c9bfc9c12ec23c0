"""What every scenario needs besides the client it is about: the operator, a second trader, comparisons.

A scenario is started as `<client>.py <url> <admin key> <answer that made the first API key> <the second one>`; the client
trades with the first key, `Trader` (nothing but the standard library) with the second.
"""

import hashlib
import hmac
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

SYMBOL = "BTCUSDT"


def equal(found, expected, what):
    if found != expected:
        raise SystemExit(f"{what}: found {found!r}, expected {expected!r}")


def eventually(read, is_there, what, seconds=15):
    """Calls `read` until `is_there` holds for what it gives, and returns that."""
    end = time.monotonic() + seconds
    while True:
        found = read()
        if is_there(found):
            return found
        if time.monotonic() > end:
            raise SystemExit(f"{what}: after {seconds} s still {found!r}")
        time.sleep(0.1)


def refused(act, errors, what):
    """The error that `act` must raise."""
    try:
        answer = act()
    except errors as error:
        return error
    raise SystemExit(f"{what} was accepted: {answer!r}")


def send(method, url, headers, body=None):
    request = urllib.request.Request(url, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{method} {url}: {error.code} {error.read().decode()}") from None


class Trader:
    """The other side of the client's trades."""

    def __init__(self, url, made):
        self.url, self.key, self.secret = url, made["api_key"], made["api_secret"]

    def call(self, method, path, **values):
        text = urllib.parse.urlencode(values | {"timestamp": int(time.time() * 1000)})
        signature = hmac.new(self.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
        return send(method, f"{self.url}{path}?{text}&signature={signature}", {"X-MBX-APIKEY": self.key})

    def limit(self, side, quantity, price, symbol=SYMBOL):
        values = {"symbol": symbol, "side": side, "type": "LIMIT", "timeInForce": "GTC", "quantity": quantity, "price": price}
        return self.call("POST", "/fapi/v1/order", **values)

    def market(self, side, quantity, symbol=SYMBOL):
        return self.call("POST", "/fapi/v1/order", symbol=symbol, side=side, type="MARKET", quantity=quantity)

    def clear(self, symbol=SYMBOL):
        return self.call("DELETE", "/fapi/v1/allOpenOrders", symbol=symbol)


class Operator:
    """Moves the index of a test deployment."""

    def __init__(self, url, admin_key):
        self.url, self.admin_key = url, admin_key

    def index(self, price, symbol=SYMBOL):
        """Pins the index and waits until the mark has followed."""
        body = json.dumps({"symbol": symbol, "price": str(price)}).encode()
        send("POST", f"{self.url}/admin/perpetual/index-price", {"X-API-Key": self.admin_key}, body)
        mark = lambda: float(send("GET", f"{self.url}/fapi/v1/premiumIndex?symbol={symbol}", {})["markPrice"])
        eventually(mark, lambda found: abs(found - float(price)) < float(price) * 0.005, "mark")


class Venue:
    """The arguments of a scenario: where the exchange is, the client's key, the other trader, the operator."""

    def __init__(self):
        self.url, admin_key, first, second = sys.argv[1:]
        self.key = json.loads(first)
        self.other_key = json.loads(second)
        self.sockets = "ws" + self.url.removeprefix("http")
        self.other = Trader(self.url, self.other_key)
        self.operator = Operator(self.url, admin_key)
