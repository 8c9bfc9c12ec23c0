#!/usr/bin/env bash
# Books that existing clients (ccxt.pro, python-binance's depth manager), unchanged, keep from the streams of a fresh exchange,
# compared with its REST book while two accounts trade: scripts/client_streams.py. Skips where they cannot be installed.
#
#   [COMPARE=25] scripts/client_streams.sh [<ringside>]      the binary; default: built here
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
build_exchange "${1:-}"
install_python clients 'ccxt, binance' 'ccxt==4.5.90' 'python-binance==1.0.37'
start_exchange RINGSIDE_WEIGHT_PER_MINUTE=100000000 RINGSIDE_ORDERS_PER_MINUTE=100000000 RINGSIDE_ORDERS_PER_TEN_SECONDS=100000000

keys=()
for wallet in "2 $wallet_2" "3 $wallet_3"; do
    token=$(log_in "${wallet%% *}")
    send -H "X-API-Key: $admin_key" "$url/admin/perpetual/credit" \
        -d "{\"user_address\":\"${wallet#* }\",\"amount\":\"100000\",\"reason\":\"client streams\"}"
    send -H "Authorization: Bearer $token" "$url/api/v1/account/api-keys" -d '{"label":"streams","permissions":["read","trade"]}'
    keys+=("$(cat "$folder/answer")")
done
"$python" scripts/client_streams.py "$url" "${COMPARE:-25}" "${keys[@]}"
end_exchange
