#!/usr/bin/env bash
# Existing clients of the Binance USD-M API, unchanged, from their package registry (ccxt, python-binance), against a fresh
# exchange by base URL alone: scripts/clients.py. Skips where they cannot be installed.
#
#   scripts/clients.sh [<ringside>]      the binary; default: built here
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
python=$target/clients/bin/python
if ! "$python" -c 'import ccxt, binance' 2>/dev/null; then
    if ! { python3 -m venv "$target/clients" && "$python" -m pip install --quiet 'ccxt==4.5.90' 'python-binance==1.0.37'; } >/dev/null 2>&1; then
        echo "skipped: the clients cannot be installed from here"
        exit 0
    fi
fi

folder=$(mktemp -d)
exchange=
trap '[ -z "$exchange" ] || { kill "$exchange" && wait "$exchange"; } 2>/dev/null || true; rm -rf "$folder"' EXIT
admin_key=the-admin-key-of-the-client-tests
env RINGSIDE_DATA_DIR="$folder/data" RINGSIDE_LISTEN=127.0.0.1:0 RINGSIDE_ANY_FILE_SYSTEM=true RINGSIDE_LOG=warn \
    RINGSIDE_ADMIN_KEY=$admin_key "$ringside" >"$folder/said" 2>"$folder/log" &
exchange=$!
url=
for _ in $(seq 300); do
    url=$(sed -n 's|.*curl \(http://[^/]*\)/openapi.json|\1|p' "$folder/said")
    [ -z "$url" ] || break
    sleep 0.1
done
[ -n "$url" ] || { cat "$folder/said" "$folder/log"; exit 1; }

# Wallets of the keys 2 and 3: their addresses follow from the keys.
keys=()
for wallet in 2:0x2b5ad5c4795c026514f8317c7a215e218dccd6cf 3:0x6813eb9362372eef6200f3b1dbc3f819671cba69; do
    token=$("$ringside" login --url "$url" --key "$(printf '%064d' "${wallet%%:*}")")
    curl -sS --fail -o "$folder/answer" -H "X-API-Key: $admin_key" "$url/admin/perpetual/credit" \
        -d "{\"user_address\":\"${wallet#*:}\",\"amount\":\"10000\",\"reason\":\"clients\"}"
    keys+=("$(curl -sS --fail -H "Authorization: Bearer $token" "$url/api/v1/account/api-keys" -d '{"label":"clients","permissions":["read","trade"]}')")
done
"$python" scripts/clients.py "$url" "${keys[@]}"
kill "$exchange"
wait "$exchange" || { echo "the exchange ended with $?"; cat "$folder/log"; exit 1; }
exchange=
"$ringside" verify "$folder/data"
if grep -E ' ERROR |panicked' "$folder/log"; then exit 1; fi
