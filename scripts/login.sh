#!/usr/bin/env bash
# Logins of version 2 (`spot.md` 2.1), signed by a wallet library of others (eth-account, in an environment of its own under target/)
# at two deployments of one chain: scripts/login.py. Skips where the library cannot be had.
#
#   scripts/login.sh
# RINGSIDE names a binary; without it one is built here.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
build_exchange "${RINGSIDE:-}"
install_python login 'eth_account, websockets' 'eth-account>=0.13,<0.14' 'websockets>=13,<16'
start_exchange RINGSIDE_PUBLIC_URL=https://one.example RINGSIDE_LOGIN_VERSION_1=false
one=("$exchange" "$folder" "$url")
# The first of them ends with the script as well.
first=$exchange first_folder=$folder
start_exchange RINGSIDE_PUBLIC_URL=https://other.example RINGSIDE_LOGIN_VERSION_1=true
trap 'kill "$first" "$exchange" 2>/dev/null && wait "$first" "$exchange" 2>/dev/null || true; rm -rf "$first_folder" "$folder"' EXIT
"$python" scripts/login.py "${one[2]}" "$url"
# The tool of this project does the same.
for url in "${one[2]}" "$url"; do [ -n "$(log_in 2)" ]; done
end_exchange
exchange=${one[0]} folder=${one[1]}
end_exchange
