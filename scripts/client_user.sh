#!/usr/bin/env bash
# What existing clients (ccxt.pro, python-binance), unchanged, know of their accounts from their user streams on a fresh exchange,
# compared with what REST tells them afterwards: scripts/clients/user.py. Skips where they cannot be installed.
#
#   [ROUNDS=60] scripts/client_user.sh [<ringside>]      the binary; default: built here
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
build_exchange "${1:-}"
install_python clients/books 'ccxt, binance' 'ccxt==4.5.90' 'python-binance==1.0.37'
start_exchange RINGSIDE_WEIGHT_PER_MINUTE=100000000 RINGSIDE_ORDERS_PER_MINUTE=100000000 RINGSIDE_ORDERS_PER_TEN_SECONDS=100000000
fund_traders 100000 user
"$python" scripts/clients/user.py "$url" "${ROUNDS:-60}" "${keys[@]}"
end_exchange
