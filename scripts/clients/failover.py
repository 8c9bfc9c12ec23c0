"""A trading session on three hosts while the one that leads is killed, twice: what a program around an existing client has to do, and what
must come of it. No step is lost, no order is there twice, and the session goes on alone.

A scenario is started as `<client>_failover.py <answer that made the first API key> <the second one> <folder> <url> <url> <url>`; the
folder has the processes' ids, and whoever started them starts them again.

Around a client there is one function, `Hosts.call`: the same call again, at the next host, until one takes it. A placement carries an
`idempotencyKey`, so that sending it again does nothing that was done already; a cancel that nobody answered is asked about.
"""

import json
import os
import random
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

from venue import equal

# Longest that all three may take nothing.
PATIENCE = 30
STEPS = 60


class NotNow(Exception):
    """What a host says is not what it should be; another may know more."""


class Hosts:
    """A client of every host, and which of them is asked first."""

    def __init__(self, clients, not_now):
        self.clients, self.not_now, self.at, self.again = clients, (NotNow, *not_now), 0, 0

    def call(self, act):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return act(self.clients[self.at])
            except self.not_now as error:
                if time.monotonic() > end:
                    raise SystemExit(f"nobody takes it: {error!r}") from None
                self.at, self.again = (self.at + 1) % len(self.clients), self.again + 1
                time.sleep(0.02)


class Members:
    """The three processes, as whoever kills them sees them."""

    def __init__(self, folder, urls):
        self.folder, self.urls, self.outages = folder, urls, []

    def leader(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for index, url in enumerate(self.urls):
                try:
                    with urllib.request.urlopen(f"{url}/leaderz", timeout=1):
                        return index
                except (urllib.error.URLError, OSError):
                    continue
            time.sleep(0.01)
        raise SystemExit("nobody leads")

    def kill_leader(self):
        with open(f"{self.folder}/{self.leader() + 1}.pid") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        begun = time.monotonic()
        self.leader()
        self.outages.append(time.monotonic() - begun)


class Killer(threading.Thread):
    """Kills the leader at any moment of the steps that are a third and two thirds of all."""

    def __init__(self, members):
        super().__init__(daemon=True)
        self.members, self.step = members, 0

    def run(self):
        for part in (STEPS // 3, 2 * STEPS // 3):
            while self.step < part:
                time.sleep(0.001)
            time.sleep(random.random() * 0.05)
            self.members.kill_leader()


def session(name, connect, not_now, order, cancel, rows):
    """`connect(url, key)` makes a client; `order(client, name, side, quantity, price)` places, `cancel(client, name)` cancels, both raise
    what `not_now` names where a host takes nothing now; `rows(client)` gives (name, status, executed) of each order of its account."""
    first, second, folder, *urls = sys.argv[1:]
    members = Members(folder, urls)
    maker, taker = (Hosts([connect(url, json.loads(key)) for url in urls], not_now) for key in (first, second))
    killer = Killer(members)
    killer.start()
    expected = [{}, {}]
    for step in range(STEPS):
        killer.step = step
        bid, hit = f"{name}-bid-{step}", f"{name}-hit-{step}"
        maker.call(lambda client: order(client, bid, "buy", 0.002, 60000))
        if step % 3 == 0:
            maker.call(lambda client: cancel(client, bid))
            expected[0][bid] = ("CANCELED", 0)
        else:
            taker.call(lambda client: order(client, hit, "sell", 0.002, 60000))
            expected[0][bid] = expected[1][hit] = ("FILLED", 0.002)
    killer.join()
    equal(len(members.outages), 2, "deaths of a leader")
    for hosts, wanted in zip((maker, taker), expected):
        hosts.at = members.leader()
        found = hosts.call(rows)
        equal(len(found), len(wanted), "orders, each once")
        equal({row[0]: row[1:] for row in found}, wanted, "orders as they ended")
    shown = " and ".join(f"{outage * 1000:.0f}" for outage in members.outages)
    print(
        f"{name}: {STEPS} steps over two deaths of the leader, no step lost, no order twice; {maker.again + taker.again} calls were made again; "
        f"another led after {shown} ms"
    )
