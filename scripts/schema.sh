#!/usr/bin/env bash
# Property-based tests of the API from its own OpenAPI document (schemathesis, from PyPI into target/schema): requests that
# fit the document and requests that do not, to a test exchange of this script's. No answer may be a fault of the server,
# and none may differ from what the document says of its status, body and headers. One seed, so a failure comes again;
# the tool prints the request that shows it. Skips where the tool cannot be had.
#
#   scripts/schema.sh [<ringside>]      the binary; default: built here.   EXAMPLES=100 SEED=7 for a longer, other run
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(realpath "${CARGO_TARGET_DIR:-target}")
ringside=${1:-}
if [ -z "$ringside" ]; then
    cargo build --quiet --locked --profile "${PROFILE:-tested}" -p ringside-gateway
    ringside=$target/${PROFILE:-tested}/ringside
fi
ringside=$(realpath "$ringside")
tool=$target/schema/bin/schemathesis
if ! "$tool" --version >/dev/null 2>&1; then
    if ! { python3 -m venv "$target/schema" && "$target/schema/bin/python" -m pip install --quiet 'schemathesis==4.32.5'; } >/dev/null 2>&1; then
        echo "skipped: schemathesis cannot be installed from here"
        exit 0
    fi
fi

folder=$(mktemp -d)
exchange=
trap '[ -z "$exchange" ] || { kill "$exchange" && wait "$exchange"; } 2>/dev/null || true; rm -rf "$folder"' EXIT
admin_key=the-admin-key-of-the-schema-tests
# The limits have tests of their own; here they would hide everything else.
env RINGSIDE_DATA_DIR="$folder/data" RINGSIDE_LISTEN=127.0.0.1:0 RINGSIDE_ANY_FILE_SYSTEM=true RINGSIDE_LOG=warn \
    RINGSIDE_ADMIN_KEY=$admin_key RINGSIDE_WEIGHT_PER_MINUTE=4000000000 RINGSIDE_ORDERS_PER_TEN_SECONDS=4000000000 \
    "$ringside" >"$folder/said" 2>"$folder/log" &
exchange=$!
url=
for _ in $(seq 300); do
    url=$(sed -n 's|.*curl \(http://[^/]*\)/openapi.json|\1|p' "$folder/said")
    [ -z "$url" ] || break
    sleep 0.1
done
[ -n "$url" ] || { cat "$folder/said" "$folder/log"; exit 1; }

# Wallet 2 sends the requests; wallet 3 has orders for it to meet. Their addresses follow from their keys, 2 and 3.
log_in() { "$ringside" login --url "$url" --key "$(printf '%064d' "$1")"; }
send() { curl -sS --fail -o "$folder/answer" "$@"; }
token=$(log_in 2)
other=$(log_in 3)
for address in 0x2b5ad5c4795c026514f8317c7a215e218dccd6cf 0x6813eb9362372eef6200f3b1dbc3f819671cba69; do
    for name in DF USDT; do
        send -H "X-API-Key: $admin_key" "$url/api/v1/admin/spot/balances/credit" \
            -d "{\"user_address\":\"$address\",\"token\":\"$name\",\"amount\":\"1000000\"}"
    done
done
for order in sell:0.205 buy:0.204; do
    send -H "Authorization: Bearer $other" "$url/api/v1/spot/orders" \
        -d "{\"symbol\":\"DFUSDT\",\"side\":\"${order%:*}\",\"type\":\"limit\",\"price\":\"${order#*:}\",\"quantity\":\"100000\"}"
done
cat >"$folder/schemathesis.toml" <<SETTINGS
[auth.openapi.token]
bearer = "$token"
[auth.openapi.adminKey]
api_key = "$admin_key"
SETTINGS
"$target/schema/bin/python" scripts/schema.py "$url/openapi.json" "$folder/whole.json" "$folder/narrow.json"

# What is left out: a request that fits the document may still ask for what an account cannot pay, so 400 is no fault.
# Warnings say the same in other words.
run() {
    (cd "$folder" && "$tool" --config-file schemathesis.toml run "$@" --seed "${SEED:-1}" --workers 1 --no-color \
        --generation-database none --exclude-checks positive_data_acceptance --warnings off --request-timeout 15)
}
run "$folder/whole.json" --url "$url" --max-examples "${EXAMPLES:-40}"
run "$folder/narrow.json" --url "$url" --mode positive --phases fuzzing,stateful --max-examples "${EXAMPLES:-40}"

# What the two runs did to the books must be sound, and the exchange still there.
count() { { curl -sS --fail -H "Authorization: Bearer $token" "$url/api/v1/spot/$1?limit=200" | grep -o updated_at\\\|trade_id || true; } | wc -l; }
orders=$(count orders)
trades=$(count trades/me)
kill "$exchange"
wait "$exchange" || { echo "the exchange ended with $?"; cat "$folder/log"; exit 1; }
exchange=
"$ringside" verify "$folder/data"
if grep -E ' ERROR |panicked' "$folder/log"; then exit 1; fi
echo "the exchange held: $orders orders and $trades trades came of it (200 of each are counted at most)"
[ "$orders" -gt 0 ] && [ "$trades" -gt 0 ] || { echo "the requests never got as far as a trade"; exit 1; }
