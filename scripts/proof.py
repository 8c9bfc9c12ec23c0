#!/usr/bin/env python3
"""Checks what an exchange owes you against the root that it publishes for everybody (proof of reserves).

    scripts/proof.py --url http://127.0.0.1:8080 --token JWT      # or --key API_KEY
    scripts/proof.py --proof proof.json --me me.json              # answers saved from /api/v1/proof and /api/v1/proof/me
    scripts/proof.py --url http://127.0.0.1:8080                  # the published sums alone

Standard library only, written from the description in the exchange's /openapi.json; shares no code with it. Says what is wrong and
ends with 1. What it cannot know: whether the amounts are what you think you have (it prints
them, compare), whether others see the same root (compare it with them, or where it is published), and what the vault holds (any node of
the chain tells: balanceOf of the vault as of the block).
"""

import argparse
import hashlib
import json
import re
import sys
import urllib.error
import urllib.request

STEPS = 18
SIDES = ("left", "right")


class Wrong(Exception):
    """What does not hold."""


def need(holds, what):
    if not holds:
        raise Wrong(what)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def steps(text, what, signed=False):
    """A decimal as whole steps of 10^-18, without ever being a float."""
    form = r"(-?)(\d{1,21})(?:\.(\d{1,18}))?" if signed else r"()(\d{1,21})(?:\.(\d{1,18}))?"
    found = re.fullmatch(form, text, re.ASCII) if isinstance(text, str) else None
    need(found, f"{what} is no amount: {text!r}")
    amount = int(found[2]) * 10**STEPS + int((found[3] or "").ljust(STEPS, "0"))
    return -amount if found[1] else amount


def sixteen(amount, what):
    need(0 <= amount < 2**128, f"{what} is out of range")
    return amount.to_bytes(16, "big")


def hexes(text, length, what):
    text = text.removeprefix("0x") if isinstance(text, str) else ""
    need(re.fullmatch(f"[0-9a-f]{{{2 * length}}}", text, re.ASCII), f"{what} is not {length} bytes of hex")
    return bytes.fromhex(text)


def number(value, what):
    need(type(value) is int and 0 <= value < 2**64, f"{what} is no number")
    return value.to_bytes(8, "big")


def name(token):
    form = isinstance(token, str) and re.fullmatch("[A-Z0-9]{1,10}", token, re.ASCII)
    need(form, f"{token!r} is no token")
    return token.encode().ljust(10, b"\0")


def member(of, key, what):
    need(isinstance(of, dict) and key in of, f"{what} has no {key}")
    return of[key]


def rows(of, key, what):
    found = member(of, key, what)
    need(isinstance(found, list), f"{key} of {what} is no list")
    return found


def check_proof(proof):
    """The published sums and roots hang together; gives each token's root and sum."""
    what = "the proof"
    block = member(proof, "block", what)
    vaults = rows(proof, "vaults", what)
    need((block is None) == (not vaults), "the proof has a block and no vault, or the other way round")
    if vaults:
        need(member(vaults[0], "block", "a vault") == block, "the block is not that of the vault in use")
    parts = [number(member(proof, "sequence", what), "sequence"), number(block or 0, "block")]
    parts.append(hexes(member(proof, "state_hash", what), 16, "state_hash"))
    tokens = {}
    for row in rows(proof, "tokens", what):
        token = member(row, "token", "a token")
        padded = name(token)
        need(token not in tokens, f"{token} is there twice")
        signed = ("owed", "negative_equity", "funds", "unbacked")
        plain = ("accounts", "spot", "perpetual", "in_flight", "fees", "held_deposits", "missing")
        sums = {key: steps(member(row, key, token), f"{key} of {token}", True) for key in signed}
        sums |= {key: steps(member(row, key, token), f"{key} of {token}") for key in plain}
        accounts = sums["spot"] + sums["perpetual"] + sums["in_flight"]
        need(sums["accounts"] == accounts, f"accounts of {token} is not spot + perpetual + in_flight")
        need(sums["negative_equity"] <= 0, f"negative_equity of {token} is above 0")
        rest = sums["negative_equity"] + sums["funds"] + sums["fees"] + sums["held_deposits"]
        need(sums["owed"] == accounts + rest, f"owed of {token} is not the sum of its parts")
        held = member(row, "held", token)
        need(held is None or steps(held, f"held of {token}") < 2**127, f"held of {token} is out of range")
        need((held is None) == (not vaults), f"held of {token} is told without a vault, or not told with one")
        missing = 0 if held is None else sums["owed"] - sums["unbacked"] - steps(held, f"held of {token}")
        need(sums["missing"] == max(0, missing), f"missing of {token} is not owed - unbacked - held")
        root = hexes(member(row, "root", token), 32, f"root of {token}")
        parts += [padded, sixteen(accounts, f"accounts of {token}"), root]
        need(all(abs(amount) < 2**127 for amount in sums.values()), f"a sum of {token} is out of range")
        told = (sums["owed"], sums["unbacked"], -1 if held is None else steps(held, f"held of {token}"))
        parts += [amount.to_bytes(16, "big", signed=True) for amount in told]
        tokens[token] = (root, accounts)
    root = sha256(b"\x02", *parts)
    need(root.hex() == member(proof, "root", what), "root is not the hash of sequence, block, state_hash and tokens")
    return tokens


def check_own(me, proof, tokens):
    """Each leaf is what it says and leads to the published root; gives the amounts."""
    for key in ("sequence", "block", "root"):
        same = member(me, key, "the own answer") == member(proof, key, "the proof")
        need(same, f"{key} is not that of the published proof (a newer one may have been made: ask again)")
    amounts, accounts = {}, set()
    for leaf in rows(me, "leaves", "the own answer"):
        token = member(leaf, "token", "a leaf")
        padded = name(token)
        need(token in tokens, f"{token} is not in the published proof")
        need(token not in amounts, f"{token} has two leaves")
        account = hexes(member(leaf, "account", token), 20, "account")
        accounts.add(account)
        salt = hexes(member(leaf, "salt", token), 32, "salt")
        total = steps(member(leaf, "amount", token), f"amount of {token}")
        amounts[token] = leaf["amount"]
        here = sha256(b"\x00", salt, account, padded, sixteen(total, "amount"))
        need(here.hex() == member(leaf, "leaf", token), f"the leaf of {token} is not the hash of what it says")
        for step in rows(leaf, "path", token):
            side, other = member(step, "side", "a step"), hexes(member(step, "hash", "a step"), 32, "a hash")
            need(side in SIDES, f"a step of {token} is neither left nor right")
            beside = steps(member(step, "sum", "a step"), f"a sum on the path of {token}")
            own, neighbour = (here, sixteen(total, "a sum")), (other, sixteen(beside, "a sum"))
            left, right = (neighbour, own) if side == "left" else (own, neighbour)
            here, total = sha256(b"\x01", *left, *right), total + beside
        root, accounts_sum = tokens[token]
        need(here == root, f"the path of {token} does not lead to the published root")
        need(total == accounts_sum, f"the sums on the path of {token} do not come to the published sum")
        need(member(leaf, "root", token) == root.hex(), f"the leaf of {token} names another root")
        need(steps(member(leaf, "sum", token), "sum") == accounts_sum, f"the leaf of {token} names another sum")
    need(len(accounts) <= 1, "leaves are of several accounts")
    return amounts


def ask(url, headers=()):
    request = urllib.request.Request(url, headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.code} {error.read().decode(errors='replace')}") from None
    except (urllib.error.URLError, ValueError) as error:
        raise SystemExit(f"{url}: {error}") from None


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def answers(options):
    if options.proof:
        return load(options.proof), load(options.me) if options.me else None
    headers = []
    if options.token:
        headers.append(("Authorization", f"Bearer {options.token}"))
    elif options.key:
        headers.append(("X-API-Key", options.key))
    for _ in range(3):
        proof = ask(f"{options.url}/api/v1/proof")
        me = ask(f"{options.url}/api/v1/proof/me", headers) if headers else None
        if me is None or me.get("sequence") == proof.get("sequence"):
            break
    return proof, me


def main():
    parser = argparse.ArgumentParser(description="Checks a leaf of a proof of reserves against the published root.")
    parser.add_argument("--url", help="where the exchange is")
    parser.add_argument("--token", help="a login token")
    parser.add_argument("--key", help="an API key with permission to read")
    parser.add_argument("--proof", metavar="FILE", help="a saved answer of /api/v1/proof")
    parser.add_argument("--me", metavar="FILE", help="a saved answer of /api/v1/proof/me")
    options = parser.parse_args()
    if bool(options.url) == bool(options.proof):
        parser.error("either --url or --proof")
    proof, me = answers(options)
    try:
        tokens = check_proof(proof)
        amounts = check_own(me, proof, tokens) if me is not None else {}
    except Wrong as wrong:
        print(f"WRONG: {wrong}", file=sys.stderr)
        return 1
    for row in proof["tokens"]:
        held = "nothing known to be held" if row["held"] is None else f"held {row['held']}"
        print(f"{row['token']}: owed {row['owed']}, {held}, unbacked {row['unbacked']}, missing {row['missing']}")
    for token, amount in amounts.items():
        print(f"yours: {amount} {token}, part of the sum")
    if me is not None and not amounts:
        print("yours: nothing is owed to you in this proof")
    print(f"root {proof['root']} at sequence {proof['sequence']}, block {proof['block']}: holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
