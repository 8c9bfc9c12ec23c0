#!/usr/bin/env bash
# A real Prometheus scrapes a running exchange with traders in it: its alert rules are checked by promtool and loaded, and every
# expression of the Grafana dashboard must return data. Prometheus is Debian's package; installed where it is absent.
#
#   scripts/metrics.sh
# RINGSIDE names a binary; without it one is built here.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
if ! command -v prometheus >/dev/null 2>&1; then
    if ! { apt-get install -y --no-install-recommends prometheus; } >/dev/null 2>&1; then
        echo "skipped: the package prometheus cannot be installed from here"
        exit 0
    fi
fi
promtool check rules scripts/operations/alerts.yml
promtool test rules scripts/operations/alerts.test.yml
build_exchange "${RINGSIDE:-}"

folder=$(mktemp -d)
exchange= prometheus=
end() {
    for child in $prometheus $exchange; do
        kill "$child" 2>/dev/null && wait "$child" 2>/dev/null || true
    done
    rm -rf "$folder"
}
trap end EXIT

# The demo: a market maker and takers on spot and perpetual markets.
env RINGSIDE_LISTEN=127.0.0.1:0 RINGSIDE_METRICS_LISTEN=127.0.0.1:0 RINGSIDE_LOG=warn RINGSIDE_SNAPSHOT_INTERVAL=5s \
    "$ringside" demo --folder "$folder/data" >"$folder/said" 2>"$folder/log" &
exchange=$!
figures= page=
for _ in $(seq 300); do
    figures=$(sed -n 's|.*curl http://\([^/]*\)/metrics|\1|p' "$folder/said")
    page=$(sed -n 's|.*page  *http://\([^/]*\)/|\1|p' "$folder/said")
    [ -z "$figures" ] || [ -z "$page" ] || break
    sleep 0.1
done
[ -n "$figures" ] && [ -n "$page" ] || { cat "$folder/said" "$folder/log"; exit 1; }
[ "$(curl -fsS "http://$figures/readyz")" = ready ]
curl -fsS "http://$figures/metrics" | promtool check metrics

cat >"$folder/prometheus.yml" <<YAML
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$PWD/scripts/operations/alerts.yml]
scrape_configs:
  - job_name: ringside
    static_configs: [{targets: ["$figures"]}]
YAML
promtool check config "$folder/prometheus.yml" >/dev/null
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/series" --log.level=error \
    --web.listen-address="127.0.0.1:$port" >"$folder/prometheus" 2>&1 &
prometheus=$!
for _ in $(seq 100); do
    curl -fsS "http://127.0.0.1:$port/-/ready" >/dev/null 2>&1 && break
    sleep 0.1
done
python3 scripts/operations/queries.py "http://127.0.0.1:$port" scripts/operations/grafana.json
