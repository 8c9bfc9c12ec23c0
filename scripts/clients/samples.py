"""Samples of the API's document, as ccxt sends them: those that only read must be answered.

    samples.py URL
"""

import json
import sys
import urllib.request

import ccxt

URL = sys.argv[1]
# The second test wallet's; `gateway/auth/src/test_wallet.rs`.
KEY = "00000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c8"
SECRET = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
# Orders that are asked for by a number, which is nobody's or another's.
NOT_THERE = ("-2013", "-2011", "-4110")


def main():
    exchange = ccxt.binanceusdm({"apiKey": KEY, "secret": SECRET, "options": {"fetchCurrencies": False}})
    urls = exchange.urls["api"]
    urls.update({name: at.replace("https://fapi.binance.com", URL) for name, at in urls.items() if name.startswith("fapi")})
    with urllib.request.urlopen(f"{URL}/openapi.json") as answer:
        document = json.load(answer)
    asked, wrong = 0, []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            source = next((one["source"] for one in operation["x-codeSamples"] if one["label"] == "ccxt"), None)
            if method != "get" or source is None:
                continue
            asked += 1
            try:
                eval(source, {"exchange": exchange})
            except ccxt.BaseError as error:
                if not any(code in str(error) for code in NOT_THERE):
                    wrong.append(f"{method} {path}: {source}: {error}")
    if wrong or asked < 30:
        raise SystemExit("\n".join([f"{asked} samples asked for", *wrong]))
    print(f"{asked} samples of the document are answered to ccxt")


main()
