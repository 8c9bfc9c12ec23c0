#!/usr/bin/env python3
"""Clients of an exchange behind a proxy, each at an address of the loopback network of its own. The standard library alone.

    proxy.py URL LISTEN NGINX SOCKETS ROUNDS ANSWER
             URL: of the exchange itself; LISTEN: HOST:PORT of nginx before it; NGINX: its process; SOCKETS: of fifty addresses together, and
             five times what one address may have; ROUNDS: of each attack beside a calm, timed; 0: each once, and nothing is timed; ANSWER: that made an API key

An attack and a calm take turns. In the calm one process for the client and one for nginx burn as much of the processor as
these took for the attack, in the attack's own rhythm, so that what is compared is the exchange alone. Orders are sent past
nginx, whose own queues are not what is judged.
"""

import base64
import hashlib
import hmac
import http.client
import json
import multiprocessing
import os
import selectors
import socket
import struct
import sys
import time
import urllib.parse

ADDRESSES = 50
# How long an attack, or a calm, is timed.
WINDOW = 8
# Between two frames of a socket of an attack: all its sockets send at once, then all rest.
PAUSE = 0.1
# Addresses that orders are sent from, so that none of them spends the weight of its minute.
TRADERS = 20


def fail(text):
    raise SystemExit(text)


def frame(text):
    """A text frame of a client; a mask of zeros leaves the text as it is."""
    data = text.encode()
    length = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + struct.pack("!H", len(data))
    return b"\x81" + length + b"\0\0\0\0" + data


class Socket:
    """A WebSocket from an address of its own, or the status that refused it."""

    def __init__(self, listen, address, path="/ws"):
        self.raw = socket.create_connection(listen, timeout=30, source_address=(address, 0))
        key = base64.b64encode(os.urandom(16)).decode()
        self.raw.sendall(
            f"GET {path} HTTP/1.1\r\nHost: ringside\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.read()
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        self.status = int(head.split(b" ", 2)[1])
        if self.status != 101:
            self.raw.close()

    def read(self):
        more = self.raw.recv(65536)
        if not more:
            fail(f"a socket ended behind {self.data[:200]!r}")
        self.data += more

    def take(self, length):
        while len(self.data) < length:
            self.read()
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def ask(self, text):
        """Sends a frame; the next text frame that comes."""
        self.raw.sendall(frame(text))
        while True:
            kind, length = self.take(2)
            if length == 126:
                (length,) = struct.unpack("!H", self.take(2))
            body = self.take(length)
            if kind & 0x0F == 1:
                return json.loads(body)

    def close(self):
        self.raw.close()


def get(listen, address, path):
    connection = http.client.HTTPConnection(*listen, timeout=30, source_address=(address, 0))
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def of_many(listen, sockets):
    """As many sockets as wanted of fifty addresses; what one address may not have more of, others have."""
    ping, pong = '{"type":"ping"}', "pong"
    begin = time.monotonic()
    each = sockets // ADDRESSES
    held = [Socket(listen, f"127.0.1.{number + 1}") for _ in range(each) for number in range(ADDRESSES)]
    refused = [one.status for one in held if one.status != 101]
    if refused:
        fail(f"{len(refused)} of {len(held)} sockets were refused: {sorted(set(refused))}")
    for one in held:
        if one.ask(ping)["type"] != pong:
            fail("a ping was not answered")
    print(f"{len(held)} sockets of {ADDRESSES} addresses through nginx: each answered, {time.monotonic() - begin:.1f} s")
    # One address takes all it may have, and is refused then; the next one is not.
    greedy, more = "127.0.2.1", []
    most = sockets // 5
    while (one := Socket(listen, greedy)).status == 101:
        more.append(one)
    if (len(more), one.status) != (most, 429):
        fail(f"one address got {len(more)} sockets of {most}, and then {one.status}")
    for address in ["127.0.1.1", "127.0.2.2"]:
        if (other := Socket(listen, address)).status != 101 or other.ask(ping)["type"] != pong:
            fail(f"{address} was refused: {other.status}")
        other.close()
    more.pop().close()
    end = time.monotonic() + 10
    while (again := Socket(listen, greedy)).status != 101:
        if time.monotonic() > end:
            fail("a place that was left is not free again")
    print(f"one address got {most}, others went on, and what it left was free again")
    for one in held + more + [again]:
        one.close()


def attack_frames(listen, address, kind, count):
    """What each socket of an attack sends."""
    if kind == "brackets":
        return [frame('{"type":' + "[" * 60000)] * count
    if kind == "names":
        names = [f"junk{number}@depth" for number in range(3000)]
        return [frame(json.dumps({"method": "SUBSCRIBE", "params": names, "id": 1}))] * count
    wallet = "0x" + "ab" * 20
    frames = []
    for _ in range(count):
        status, body = get(listen, address, f"/api/v1/auth/nonce?address={wallet}")
        nonce = json.loads(body).get("nonce", "0" * 32)
        claim = {"type": "auth_eip712", "address": wallet, "nonce": nonce, "signature": "0x" + "11" * 64 + "1b"}
        frames.append(frame(json.dumps(claim)))
    return frames


def attack(listen, address, kind, count, orders, said):
    """A process: sockets that send a frame each 100 ms while told to, and read what they are answered."""
    frames = attack_frames(listen, address, kind, min(count, 200))
    sockets = [Socket(listen, address) for _ in range(count)]
    sockets = [one.raw for one in sockets if one.status == 101]
    selector = selectors.DefaultSelector()
    for raw in sockets:
        raw.setblocking(False)
        selector.register(raw, selectors.EVENT_READ)
    left = dict.fromkeys(sockets, b"")
    said.send(len(sockets))
    sent = limited = 0
    while (order := orders.recv()) != "end":
        end = time.monotonic() + order
        while time.monotonic() < end:
            begin = time.monotonic()
            for number, raw in enumerate(sockets):
                # What the other end does not take waits here, as in any client.
                data = left[raw] or frames[number % len(frames)]
                try:
                    done = raw.send(data)
                except OSError:
                    # Full, or closed, which the other direction tells.
                    continue
                left[raw] = data[done:]
                sent += not left[raw]
            for key, _ in selector.select(0):
                try:
                    data = key.fileobj.recv(65536)
                except OSError:
                    data = b""
                limited += data.count(b"RATE_LIMITED")
                if not data:
                    selector.unregister(key.fileobj)
                    sockets.remove(key.fileobj)
            time.sleep(max(0, begin + PAUSE - time.monotonic()))
        said.send((sent, limited, len(sockets)))


def burn(orders):
    """A process that uses up so much of a core for so long, all of it at the beginning of each pause, as an attack does."""
    while (order := orders.recv()) != "end":
        share, seconds = order
        end = time.monotonic() + seconds
        while (begin := time.monotonic()) < end:
            used = time.process_time()
            while time.process_time() < used + PAUSE * share:
                pass
            time.sleep(max(0, begin + PAUSE - time.monotonic()))


def processor_s(pids):
    """What these processes have used, in seconds."""
    used = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as stat:
            used += sum(int(field) for field in stat.read().rsplit(") ", 1)[1].split()[11:13])
    return used / os.sysconf("SC_CLK_TCK")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as listed:
        return [int(child) for child in listed.read().split()]


class Traders:
    """Signed orders that rest nowhere, from one address after the other."""

    def __init__(self, url, answer):
        self.key, self.secret = answer["api_key"], answer["api_secret"]
        host = urllib.parse.urlparse(url)
        self.connections = [
            http.client.HTTPConnection(host.hostname, host.port, timeout=30, source_address=(f"127.0.3.{number + 1}", 0))
            for number in range(TRADERS)
        ]
        self.turn = 0

    def order(self):
        """Seconds until one is answered."""
        self.turn += 1
        values = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "IOC", "quantity": "0.002",
                  "price": "57000", "timestamp": int(time.time() * 1000)}
        text = urllib.parse.urlencode(values)
        signature = hmac.new(self.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
        connection = self.connections[self.turn % TRADERS]
        begin = time.monotonic()
        connection.request("POST", f"/fapi/v1/order?{text}&signature={signature}", headers={"X-MBX-APIKEY": self.key})
        answer = connection.getresponse()
        body = answer.read()
        took = time.monotonic() - begin
        if answer.status != 200:
            fail(f"an order was refused: {answer.status} {body}")
        return took

    def times(self, seconds):
        end, times = time.monotonic() + seconds, []
        while time.monotonic() < end:
            times.append(self.order())
            time.sleep(0.002)
        return times


def process(target, *arguments):
    mine, its = multiprocessing.Pipe()
    child = multiprocessing.Process(target=target, args=(*arguments, its), daemon=True)
    child.start()
    return child, mine


def p99(times):
    return sorted(times)[len(times) * 99 // 100]


def under(kind, count, address, listen, nginx, traders, rounds):
    """An attack from one address beside somebody who trades; the ratio of the p99 of an order to that of a calm."""
    orders, its = multiprocessing.Pipe()
    said, own = multiprocessing.Pipe()
    attacker = multiprocessing.Process(target=attack, args=(listen, address, kind, count, its, own), daemon=True)
    attacker.start()
    print(f"{kind}: {said.recv()} sockets of one address", flush=True)
    attacked, calm = [], []
    used_by = [[attacker.pid], children(nginx)]
    burners = [process(burn) for _ in used_by]
    for _ in range(max(rounds, 1)):
        seconds = WINDOW if rounds else 3
        before = [processor_s(pids) for pids in used_by]
        orders.send(seconds)
        attacked += traders.times(seconds)
        sent, limited, left = said.recv()
        shares = [(processor_s(pids) - used) / seconds for pids, used in zip(used_by, before)]
        if rounds:
            for (_, order), share in zip(burners, shares):
                order.send((min(share, 0.95), seconds))
            calm += traders.times(seconds)
    orders.send("end")
    for _, order in burners:
        order.send("end")
    for child in [attacker] + [child for child, _ in burners]:
        child.join()
    print(f"  {sent} frames sent, {limited} answered RATE_LIMITED, {left} sockets left, {shares[0]:.2f} and {shares[1]:.2f} cores for it")
    if limited == 0:
        fail("nothing of it was limited")
    if not rounds:
        return None
    ratio = p99(attacked) / p99(calm)
    print(f"  an order's p99: {p99(attacked) * 1e3:.2f} ms, beside {p99(calm) * 1e3:.2f} ms in a calm "
          f"({len(attacked)} and {len(calm)} orders): {ratio:.2f} x", flush=True)
    return ratio


def main(url, listen, nginx, sockets, rounds, answer):
    host, port = listen.split(":")
    listen = (host, int(port))
    nginx, sockets, rounds = int(nginx), int(sockets), int(rounds)
    of_many(listen, sockets)
    traders = Traders(url, json.loads(answer))
    traders.times(1)
    worst = 0
    most = sockets // 5
    for number, (kind, count) in enumerate([("signatures", 800), ("names", 300), ("brackets", 300)]):
        ratio = under(kind, min(count, most), f"127.0.4.{number + 1}", listen, nginx, traders, rounds)
        worst = max(worst, ratio or 0)
    if worst > 2:
        fail(f"an attack of one address makes others wait {worst:.2f} times as long")


if __name__ == "__main__":
    main(*sys.argv[1:])
