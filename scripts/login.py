#!/usr/bin/env python3
"""Logs wallets in at two deployments of one chain, by REST and by WebSocket; signatures are eth-account's.

    login.py ONE OTHER      ONE takes version 2 alone, OTHER both
"""

import asyncio
import json
import sys
import urllib.error
import urllib.request

import websockets
from eth_account import Account

WALLET = Account.from_key((2).to_bytes(32, "big"))


def ask(url, path, body=None):
    data = json.dumps(body).encode() if body is not None else None
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data=data), timeout=15) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def issued(url):
    status, answer = ask(url, f"/api/v1/auth/nonce?address={WALLET.address}")
    equal(status, 200, "a nonce")
    return answer


def signed(typed_data):
    return "0x" + Account.sign_typed_data(WALLET.key, full_message=typed_data).signature.hex().removeprefix("0x")


def claim(nonce, typed_data, **more):
    return {"address": WALLET.address, "nonce": nonce["nonce"], "signature": signed(typed_data), **more}


def equal(found, expected, what):
    if found != expected:
        raise SystemExit(f"{what}: found {found!r}, expected {expected!r}")


def log_in(url, body):
    status, answer = ask(url, "/api/v1/auth/login", body)
    return status, answer.get("error")


async def by_socket(url, body):
    async with websockets.connect(url.replace("http", "ws", 1) + "/ws") as socket:
        await socket.send(json.dumps({"type": "auth_eip712", **body}))
        answer = json.loads(await socket.recv())
        return answer["success"], answer["message"]


def main(one, other):
    for url, member in [(one, "typed_data"), (other, "typed_data_2")]:
        nonce = issued(url)
        equal(nonce[member]["domain"]["version"], "2", "the version")
        good = claim(nonce, nonce[member], version=2)
        equal(log_in(url, good), (200, None), f"version 2 at {url}")
        equal(log_in(url, good), (401, "NONCE_INVALID"), "the same once more")
        nonce = issued(url)
        good = claim(nonce, nonce[member], version=2)
        equal(asyncio.run(by_socket(url, good)), (True, None), f"version 2 at {url}/ws")
    nonce = issued(other)
    equal(log_in(other, claim(nonce, nonce["typed_data"])), (200, None), "version 1 where it is taken")
    nonce = issued(one)
    equal(log_in(one, claim(nonce, nonce["typed_data"])), (400, "invalid version"), "version 1 where it is not")
    # The other deployment has the wallet sign the first one's nonce under its own name, and takes the signature there.
    nonce, lure = issued(one), issued(other)["typed_data_2"]
    lure["message"] |= {name: nonce["typed_data"]["message"][name] for name in ("nonce", "issuedAt", "expiresAt")}
    equal(log_in(one, claim(nonce, lure, version=2)), (401, "SIGNATURE_INVALID"), "what the other one asked for")
    # And its own nonce, signed for it, is none at the first.
    nonce = issued(other)
    stolen = claim(nonce, nonce["typed_data_2"], version=2)
    equal(log_in(one, stolen), (401, "NONCE_INVALID"), "the other one's nonce")
    print("version 2 logs in at its own deployment, and at no other")


if __name__ == "__main__":
    main(*sys.argv[1:])
