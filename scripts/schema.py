"""Writes the OpenAPI document of a running exchange as the tool can use it, whole and narrowed to a market that exists.

    schema.py <url>/openapi.json <whole> <narrow>

Whole: schemathesis 4.32 turns `prefixItems` of an answer into a form that its own validator refuses, so arrays of fixed
places are said as an array of that length whose items are one of the kinds.

Narrow: values that the document allows rarely name a market that is listed, a price on its grid or a size that an account can
pay, so nearly all of them are refused at the first check. In the narrowed document they often do, and orders rest, trade
and are canceled. Nothing else that is said about answers is changed.
"""

import json
import sys
import urllib.request

SYMBOL = {"enum": ["DFUSDT", "dfusdt"]}
# A few ticks around one price, in few sizes: orders meet.
PRICE = {"type": "string", "pattern": r"^0\.20[0-9][0-9]$"}
QUANTITY = {"type": "string", "pattern": r"^[1-9][0-9]\.[0-9]$"}
AMOUNT = {"type": "string", "pattern": r"^[1-9][0-9]{0,2}$"}
# Parameters of the perpetual routes.
SIGNED = {
    "symbol": {"enum": ["BTCUSDT", "btcusdt"]},
    "pair": {"enum": ["BTCUSDT"]},
    "price": {"type": "string", "pattern": r"^600[0-9][0-9]$"},
    "quantity": {"type": "string", "pattern": r"^0\.00[1-9]$"},
}
BODIES = {
    "symbol": SYMBOL,
    "price": PRICE,
    "quantity": QUANTITY,
    "quote_quantity": AMOUNT,
    "amount": AMOUNT,
    "token": {"enum": ["DF", "USDT"]},
    "user_address": {"enum": ["0x2b5ad5c4795c026514f8317c7a215e218dccd6cf"]},
    # A delisted market stays so, and in a halted one nothing happens.
    "status": {"enum": ["listed"]},
}


def respelled(schema):
    """The same without `prefixItems`."""
    if isinstance(schema, list):
        return [respelled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: respelled(value) for name, value in schema.items()}
    places = schema.pop("prefixItems", None)
    return schema if places is None else {**schema, "items": {"anyOf": places}}


def narrow(document):
    for path, methods in document["paths"].items():
        for method in methods.values():
            for parameter in method.get("parameters", []):
                if path.startswith(("/fapi/", "/api/v3/")):
                    if parameter["name"] in SIGNED:
                        parameter["schema"] = SIGNED[parameter["name"]]
                elif parameter["name"] == "symbol" or path.startswith("/api/v1/admin/spot/markets/"):
                    parameter["schema"] = SYMBOL
            body = method.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            if path.endswith("/spot/orders") and body:
                body["required"] = list(body["properties"])
            for name in body.get("properties", {}):
                if name in BODIES and not (name == "id" or path.endswith("/spot/markets")):
                    body["properties"][name] = BODIES[name]


def main(url, whole, narrowed):
    document = respelled(json.load(urllib.request.urlopen(url, timeout=30)))
    for path, change in ((whole, None), (narrowed, narrow)):
        if change:
            change(document)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
