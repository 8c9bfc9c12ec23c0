"""Every expression of the dashboard against a running Prometheus: each must return data. Alerts must be loaded and quiet.

    python3 queries.py <url of Prometheus> <grafana.json> [<alert that must fire>...]
"""

import json
import sys
import time
import urllib.parse
import urllib.request

PATIENCE_S = 30


def ask(url, path, **parameters):
    with urllib.request.urlopen(f"{url}{path}?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
        body = json.load(answer)
    assert body["status"] == "success", body
    return body["data"]


def expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$__rate_interval", "10s")


def main():
    url, path, *expected = sys.argv[1:]
    wanted = list(expressions(json.load(open(path))))
    assert len(wanted) > 30, "the dashboard has been emptied"
    until = time.monotonic() + PATIENCE_S
    while True:
        # NaN is what a percentile over nothing gives: no data.
        silent = [
            f"{title}: {expression}"
            for title, expression in wanted
            if not any(row["value"][1] != "NaN" for row in ask(url, "/api/v1/query", query=expression)["result"])
        ]
        if not silent:
            break
        if time.monotonic() > until:
            sys.exit("no data for\n  " + "\n  ".join(silent))
        time.sleep(1)
    rules = [rule for group in ask(url, "/api/v1/rules")["groups"] for rule in group["rules"]]
    broken = [f"{rule['name']}: {rule['lastError']}" for rule in rules if rule["health"] == "err"]
    assert rules and not broken, broken
    firing = sorted({rule["name"] for rule in rules if rule["state"] == "firing"})
    assert firing == sorted(expected), f"firing: {firing}, expected: {expected}"
    print(f"{len(wanted)} expressions of the dashboard have data; {len(rules)} alert rules, firing: {firing or 'none'}")


main()
