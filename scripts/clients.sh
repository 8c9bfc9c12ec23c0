#!/usr/bin/env bash
# Existing clients of the Binance USD-M API, unchanged, from their package registry (ccxt, python-binance), against a fresh
# exchange by base URL alone: scripts/clients.py. Skips where they cannot be installed.
#
#   scripts/clients.sh [<ringside>]      the binary; default: built here
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
build_exchange "${1:-}"
install_python clients 'ccxt, binance' 'ccxt==4.5.90' 'python-binance==1.0.37'
start_exchange

keys=()
for wallet in "2 $wallet_2" "3 $wallet_3"; do
    token=$(log_in "${wallet%% *}")
    send -H "X-API-Key: $admin_key" "$url/admin/perpetual/credit" \
        -d "{\"user_address\":\"${wallet#* }\",\"amount\":\"10000\",\"reason\":\"clients\"}"
    send -H "Authorization: Bearer $token" "$url/api/v1/account/api-keys" -d '{"label":"clients","permissions":["read","trade"]}'
    keys+=("$(cat "$folder/answer")")
done
"$python" scripts/clients.py "$url" "${keys[@]}"
end_exchange
