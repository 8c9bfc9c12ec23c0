#!/usr/bin/env bash
# A real Prometheus scrapes two running exchanges, one with traders in it and one that watches a chain as well: the alert rules are
# checked by promtool and loaded, and every expression of the Grafana dashboard must return data. Prometheus is Debian's package,
# the chain's node and Grafana's types are npm's; installed where they are absent.
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
install_node grafana typescript@5.9.3 @grafana/schema@13.2.3
node scripts/operations/dashboard.mjs "$modules" scripts/operations/grafana.json
. scripts/chain/install.sh

folder=$(mktemp -d)
children=
end() {
    for child in $children; do
        kill "$child" 2>/dev/null && wait "$child" 2>/dev/null || true
    done
    rm -rf "$folder"
}
trap end EXIT

# start_demo NAME SETTING=VALUE...: a market maker and takers on spot and perpetual markets. Sets figures and page.
start_demo() {
    local name=$1
    shift
    page=
    env RINGSIDE_LISTEN=127.0.0.1:0 RINGSIDE_METRICS_LISTEN=127.0.0.1:0 RINGSIDE_LOG=warn RINGSIDE_SNAPSHOT_INTERVAL=5s RINGSIDE_FLUSH_SHED=30s "$@" \
        RINGSIDE_DATA_DIR="$folder/$name" "$ringside" demo >"$folder/$name.said" 2>"$folder/$name.log" &
    children="$! $children"
    figures=
    for _ in $(seq 300); do
        figures=$(sed -n 's|.*curl http://\([^/]*\)/metrics|\1|p' "$folder/$name.said")
        page=$(sed -n 's|.*page  *http://\([^/]*\)/|\1|p' "$folder/$name.said")
        [ -z "$figures" ] || [ -z "$page" ] || break
        sleep 0.1
    done
    [ -n "$figures" ] && [ -n "$page" ] || { cat "$folder/$name.said" "$folder/$name.log"; exit 1; }
    [ "$(curl -fsS "http://$figures/readyz")" = ready ]
    curl -fsS "http://$figures/metrics" | promtool check metrics
}

mkdir "$folder/chain"
node scripts/chain/ground.mjs "$modules" "$folder/chain" >"$folder/ground" 2>&1 &
children=$!
for _ in $(seq 300); do
    ! grep -q '^ready$' "$folder/ground" || break
    sleep 0.1
done
grep -q '^ready$' "$folder/ground" || { cat "$folder/ground"; exit 1; }
mapfile -t chain < <(grep '^RINGSIDE_' "$folder/ground")
admin_key=the-admin-key-of-this-test-exchange
# The first proof of reserves may come before the demo's first credit, and be of nothing.
start_demo watching "${chain[@]}" RINGSIDE_ADMIN_KEY=$admin_key RINGSIDE_PROOF_EVERY=5s
watching=$figures
# The vault is known from the first withdrawal on.
url=http://$page
send -H "X-API-Key: $admin_key" "$url/api/v1/admin/spot/balances/credit" \
    -d "{\"user_address\":\"$wallet_2\",\"token\":\"DF\",\"amount\":\"10\"}"
send -H "Authorization: Bearer $(log_in 2)" "$url/api/v1/spot/withdraw/request" -d '{"token":"DF","amount":"5"}'
start_demo trading
# What is not configured is not on the page.
if curl -fsS "http://$figures/metrics" | grep -E '^(# HELP )?ringside_(withdrawal|signer|chain|vault)'; then
    echo "figures of a chain where there is none"
    exit 1
fi

cat >"$folder/prometheus.yml" <<YAML
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$PWD/scripts/operations/alerts.yml]
scrape_configs:
  - job_name: ringside
    static_configs: [{targets: ["$figures", "$watching"]}]
YAML
promtool check config "$folder/prometheus.yml" >/dev/null
own_host
address=$host:20000
prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/series" --log.level=error \
    --web.listen-address="$address" >"$folder/prometheus" 2>&1 &
children="$! $children"
for _ in $(seq 100); do
    curl -fsS "http://$address/-/ready" >/dev/null 2>&1 && break
    sleep 0.1
done
python3 scripts/operations/queries.py "http://$address" scripts/operations/grafana.json
