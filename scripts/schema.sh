#!/usr/bin/env bash
# Property-based tests of the API from its own OpenAPI document (schemathesis, from PyPI into target/schema): requests that
# fit the document and requests that do not, to a test exchange of this script's. No answer may be a fault of the server,
# and none may differ from what the document says of its status, body and headers. One seed, so a failure comes again;
# the tool prints the request that shows it. Skips where the tool cannot be had.
#
#   scripts/schema.sh [<ringside>]      the binary; default: built here.   EXAMPLES=100 SEED=7 for a longer, other run
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
build_exchange "${1:-}"
install_python schema schemathesis 'schemathesis==4.32.5'
tool=$target/schema/bin/schemathesis
# The limits have tests of their own; here they would hide everything else.
start_exchange RINGSIDE_TEST_DEPLOYMENT=true RINGSIDE_WEIGHT_PER_MINUTE=4000000000 \
    RINGSIDE_ORDERS_PER_TEN_SECONDS=4000000000 RINGSIDE_ORDERS_PER_MINUTE=4000000000 RINGSIDE_FUNDING_REQUESTS=4000000000

# Wallet 2 sends the requests; wallet 3 has orders for it to meet.
token=$(log_in 2)
other=$(log_in 3)
for address in $wallet_2 $wallet_3; do
    for name in DF USDT; do
        send -H "X-API-Key: $admin_key" "$url/api/v1/admin/spot/balances/credit" \
            -d "{\"user_address\":\"$address\",\"token\":\"$name\",\"amount\":\"1000000\"}"
    done
    send -H "X-API-Key: $admin_key" "$url/admin/perpetual/credit" -d "{\"user_address\":\"$address\",\"amount\":\"1000000\"}"
done
send -H "Authorization: Bearer $token" "$url/api/v1/account/api-keys" -d '{"label":"schema","permissions":["read","trade"]}'
part() { sed -n "s/.*\"$1\":\"\([A-Za-z0-9]*\)\".*/\1/p" "$folder/answer"; }
export SCHEMA_KEY=$(part api_key) SCHEMA_SECRET=$(part api_secret)
for order in sell:0.205 buy:0.204; do
    send -H "Authorization: Bearer $other" "$url/api/v1/spot/orders" \
        -d "{\"symbol\":\"DFUSDT\",\"side\":\"${order%:*}\",\"type\":\"limit\",\"price\":\"${order#*:}\",\"quantity\":\"100000\"}"
done
cat >"$folder/schemathesis.toml" <<SETTINGS
hooks = "$PWD/scripts/schema_sign.py"
[auth.openapi.token]
bearer = "$token"
[auth.openapi.adminKey]
api_key = "$admin_key"
SETTINGS
"$target/schema/bin/python" scripts/schema.py "$url/openapi.json" "$folder/whole.json" "$folder/narrow.json"

# What is left out: a request that fits the document may still ask for what an account cannot pay, so 400 is no fault.
# Warnings say the same in other words.
run() {
    local checks=positive_data_acceptance
    [ "$1" = spot ] || checks+=,unsupported_method
    shift
    (cd "$folder" && "$tool" --config-file schemathesis.toml run "$@" --seed "${SEED:-1}" --workers 1 --no-color \
        --generation-database none --exclude-checks "$checks" --warnings off --request-timeout 15)
}
# A method that a path of the perpetual venue, or one that its clients ask at other addresses, does not have is answered 404
# and -5000 there, not 405 as elsewhere.
perpetual='^/(fapi|futures|sapi|api/v3)/'
# This exchange has no chain behind it, which these routes answer as a fault of the server.
chain='^(/referral/|(/api/v1/spot|/spot)/deposits/address$|/withdraw/request$|/api/v1/spot/withdraw/request$)'
# The runs go on after it.
logout='^/api/v1/auth/logout$'
run spot "$folder/whole.json" --url "$url" --max-examples "${EXAMPLES:-40}" --exclude-path-regex "$perpetual|$chain|$logout"
run perpetual "$folder/whole.json" --url "$url" --max-examples "${EXAMPLES:-20}" --include-path-regex "$perpetual"
# Here signed requests are signed, and so get as far as others.
export SCHEMA_SIGN=1
run perpetual "$folder/narrow.json" --url "$url" --exclude-path-regex "$chain|$logout" --mode positive --phases fuzzing,stateful --max-examples "${EXAMPLES:-40}"

# What the two runs did to the books must be sound, and the exchange still there.
count() { { curl -sS --fail -H "Authorization: Bearer $token" "$url/api/v1/spot/$1?limit=200" | grep -o updated_at\\\|trade_id || true; } | wc -l; }
orders=$(count orders)
trades=$(count trades/me)
end_exchange
echo "the exchange held: $orders orders and $trades trades came of it (200 of each are counted at most)"
[ "$orders" -gt 0 ] && [ "$trades" -gt 0 ] || { echo "the requests never got as far as a trade"; exit 1; }
