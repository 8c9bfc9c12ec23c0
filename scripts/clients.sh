#!/usr/bin/env bash
# Existing clients of the Binance USD-M API, unchanged, from their package registries, each against a fresh exchange by base
# URL alone: what each does is in scripts/clients/. A client that cannot be installed is skipped.
#
#   scripts/clients.sh                    those that install in a minute: ccxt python_binance connector sdk npm
#   scripts/clients.sh all                and the bots: freqtrade nautilus nautilus_rust hummingbot
#   scripts/clients.sh <client>...        these
# RINGSIDE names a binary; without it one is built here.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/members.sh
quick="ccxt python_binance connector sdk npm"
bots="freqtrade nautilus nautilus_rust hummingbot"
[ $# -gt 0 ] || set -- $quick
[ "$1" != all ] || set -- $quick $bots
build_exchange "${RINGSIDE:-}"

# A fresh exchange with two funded traders, and the client's scenario against it. Candles and funding begin anew with the
# hour: an exchange that started before it would have an hour's rate that the scenarios do not expect.
try() {
    local left=$((3600 - $(date +%s) % 3600))
    [ $left -ge 120 ] || sleep $((left + 1))
    start_exchange
    local keys
    fund_traders 10000
    "$@" "$url" "$admin_key" "${keys[@]}"
    end_exchange >"$folder.verified" || { cat "$folder.verified"; exit 1; }
    rm -f "$folder.verified"
}

# The same with three exchanges that agree: the client's session goes on while the one that leads is killed, and each that is killed
# is started again.
try_failover() {
    folder=$(mktemp -d)
    trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT
    admin_key=the-admin-key-of-these-test-exchanges
    export RINGSIDE_ADMIN_KEY=$admin_key RINGSIDE_JWT_SECRET=a-secret-of-three-exchanges-for-the-clients
    export RINGSIDE_ANY_FILE_SYSTEM=true RINGSIDE_LOG=warn RINGSIDE_FLUSH_SHED=30s RINGSIDE_KEY_ENCRYPTION_KEY
    RINGSIDE_KEY_ENCRYPTION_KEY=$(printf '11%.0s' {1..32})
    local keys number session host
    own_host
    make_members "$host" 20000
    for number in 1 2 3; do start_member $number; done
    await_leader
    url=${urls[leader - 1]}
    fund_traders 10000
    # Those that follow learn at their next start of keys that were made since their last.
    for number in 1 2 3; do
        [ $number = "$leader" ] || { kill "${members[number]}" && wait "${members[number]}" && start_member $number; }
    done
    "$@" "${keys[@]}" "$folder" "${urls[@]}" &
    session=$!
    # In silence, or the shell would say of each that it was killed.
    while kill -0 $session; do
        for number in 1 2 3; do
            kill -0 "${members[number]}" || { wait "${members[number]}" || start_member $number; }
        done
        sleep 0.5
    done 2>/dev/null
    wait $session || { tail -n 20 "$folder"/[123].log; exit 1; }
    end_members >"$folder.verified" || { cat "$folder.verified"; exit 1; }
    rm -rf "$folder" "$folder.verified"
}

in_python() {
    local name=$1 module=$2
    shift 2
    local part
    install_python "clients/$name" "$module" "$@"
    for part in client methods liquidation; do
        [ ! -f "scripts/clients/${name}_$part.py" ] || try "$python" "scripts/clients/${name}_$part.py"
    done
    [ ! -f "scripts/clients/${name}_failover.py" ] || (try_failover "$python" "scripts/clients/${name}_failover.py")
}

for client in "$@"; do
    (
        case $client in
        ccxt) in_python ccxt ccxt ccxt==4.5.90 ;;
        python_binance) in_python python_binance binance python-binance==1.0.37 ;;
        connector) in_python connector binance.um_futures binance-futures-connector==4.2.0 ;;
        sdk)
            in_python sdk binance_sdk_derivatives_trading_usds_futures \
                binance-sdk-derivatives-trading-usds-futures==18.0.1
            ;;
        freqtrade) in_python freqtrade freqtrade freqtrade==2026.9 ;;
        nautilus) in_python nautilus nautilus_trader nautilus_trader==1.221.0 ;;
        # The releases with this adapter want a newer Python than the other clients run on.
        nautilus_rust) interpreter=python3.12 in_python nautilus_rust nautilus_trader nautilus_trader==1.231.0 ;;
        hummingbot)
            # Its requirements exclude each other. These are the ones that its connector imports; its own C++ is built here.
            alone=hummingbot==20260922 WITHOUT_CYTHON_OPTIMIZATIONS=1 in_python hummingbot \
                hummingbot.connector.derivative.binance_perpetual.binance_perpetual_derivative setuptools wheel Cython \
                numpy aiohttp aioprocessing async-timeout base58 bidict cachetools cryptography eth-account msgpack-python \
                objgraph pandas prompt_toolkit protobuf psutil pydantic pyjwt pyperclip PyYaml requests ruamel.yaml scipy six \
                sqlalchemy tabulate==0.9.0 tqdm typer ujson "urllib3<2"
            ;;
        npm)
            install_node clients/npm binance@3.6.5
            try node scripts/clients/binance.mjs "$modules"
            try node scripts/clients/binance_liquidation.mjs "$modules"
            ;;
        *)
            echo "no such client: $client"
            exit 2
            ;;
        esac
    )
done
