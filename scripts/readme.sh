#!/usr/bin/env bash
# The commands of README's "A first trade" and "A first bot", cut out of it and run as pasted into one shell beside a running
# exchange; what README says of them must come out.
#
#   scripts/readme.sh
# RINGSIDE names a binary; without it one is built here. Only the address and the folder of the binary are replaced by those
# of this run.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/blocks.sh
for program in curl openssl; do
    command -v $program >/dev/null 2>&1 || { echo "skipped: no $program here"; exit 0; }
done
build_exchange "${RINGSIDE:-}"
# With no key given, it makes the one that the blocks read.
start_exchange env -u RINGSIDE_ADMIN_KEY
admin_key=$(cat "$folder/data/auth/admin_key")

# `ringside login` asks the default address unless told otherwise, so that one is told.
{
    echo "ringside() { command ringside \"\$@\" --url $url; }"
    { block README.md "A first trade"; block README.md "A first bot"; } |
        sed -e "s|http://127.0.0.1:8080|$url|g" -e "s|\$PWD/target/release|$(dirname "$ringside")|"
} >"$folder/blocks"
for word in 'ringside login' 'admin/spot/balances/credit' 'spot/orders' 'spot/depth' '/fapi/v1/order' '/fapi/v2/balance'; do
    grep -q "$word" "$folder/blocks" || { echo "README's blocks no longer have $word"; exit 1; }
done
(cd "$folder" && bash blocks) >"$folder/answers" 2>&1 || { cat "$folder/answers"; exit 1; }

# expect WHAT PATTERN...      a line of the answers that has all of these
expect() {
    local what=$1 pattern lines
    shift
    lines=$(cat "$folder/answers")
    for pattern in "$@"; do
        lines=$(grep -E "$pattern" <<<"$lines") || { echo "no $what in:"; cat "$folder/answers"; exit 1; }
    done
}
expect "sell of Alice" '"side":"sell"' '"status":"open"' '"price":"0\.20*"'
expect "buy of Bob that fills 50 at 0.2" '"side":"buy"' '"filled_qty":"50(\.0*)?"' '"avg_fill_price":"0\.20*"'
expect "depth with 30 at 0.21" '"bids":\[\["0\.210*","30(\.0*)?"\]\]' '"asks":\[\]'
expect "balance of Bob" '"token":"DF","available":"50"' '"token":"USDT","available":"983\.7","frozen":"6\.3"'
expect "order with its number" '"orderId":' '"symbol":"BTCUSDT"' '"price":"59000'
expect "balance of margin" '"asset":"USDT"' '"balance":"10000(\.0*)?"'
end_exchange
echo "README: both blocks do what it says"
