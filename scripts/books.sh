#!/usr/bin/env bash
# The recorded BTCUSDT market as orders of 200 accounts through /fapi, while ccxt.pro and python-binance's depth manager keep
# local books from the streams: scripts/clients/books.py. Skips where clients or recordings are missing.
#
#   scripts/books.sh [<comparisons of each client> [<seconds of flow>]]      default: 100, 30.   ACCOUNTS=200
# RINGSIDE names a binary; without it one is built here.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
data=../shared/data/binance-usdm-ws-btcusdt
if [ ! -d "$data" ]; then
    echo "skipped: the recorded market is not beside this folder"
    exit 0
fi
build_exchange "${RINGSIDE:-}"
install_python clients/books 'ccxt, binance' ccxt==4.5.90 python-binance==1.0.37
start_exchange RINGSIDE_WEIGHT_PER_MINUTE=4000000000 RINGSIDE_ORDERS_PER_TEN_SECONDS=4000000000
"$python" scripts/clients/accounts.py "$ringside" "$url" "$admin_key" "${ACCOUNTS:-200}" >"$folder/keys"
"$python" scripts/clients/books.py "$url" "$admin_key" "$data" "$folder/keys" "${1:-100}" "${2:-30}"
end_exchange
