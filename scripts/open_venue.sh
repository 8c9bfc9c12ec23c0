#!/usr/bin/env bash
# A venue is opened from nothing by scripts/operations/runbook.md, whose blocks are run here as they stand there: a production
# deployment beside a real node (anvil, from npm), with the signer as a process of its own, two nodes to ask, two operators by keys of
# their own, and a perpetual market whose three sources are read by https. In between two users deposit USDT and DF by their own
# transactions, move margin, trade on both venues; one is liquidated into the fund that was paid in, the other withdraws; and the
# exchange and its signer are killed with -9. In the end the vault holds what the ledgers owe, to the unit, and the folder is sound.
#   scripts/open_venue.sh [<ringside>]     the binary; default: built here
# Two programs are stood in for: systemctl runs what the units say, `Restart=` included, and secrets are handed over as
# `EnvironmentFile=` and `LoadCredential=` say; and nobody but the caller is needed, where the runbook has root and a user of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/blocks.sh
for program in curl openssl jq bc; do
    command -v $program >/dev/null 2>&1 || apt-get install -y --no-install-recommends $program >/dev/null 2>&1 ||
        { echo "skipped: no $program here"; exit 0; }
done
. scripts/chain/install.sh
chain_modules=$modules
install_node cast @foundry-rs/cast@1.7.1
cast_program=$(echo "$modules"/@foundry-rs/cast-*/bin/cast)
modules=$chain_modules
build_exchange "${1:-}"

folder=$(mktemp -d)
outside=
end() {
    local unit
    for unit in ringside ringside-signer; do systemctl stop $unit || true; done
    [ -z "$outside" ] || { kill "$outside" && wait "$outside"; } 2>/dev/null || true
    rm -rf "$folder"
}
fail() {
    echo "failed: $*"
    tail -n 60 "$folder"/*.log
    exit 1
}
trap end EXIT
mkdir "$folder/bin"
ln -s "$ringside" "$folder/bin/ringside"
ln -s "$cast_program" "$folder/bin/cast"
PATH=$folder/bin:$PATH

# What the runbook asks to be set, and what a machine of tests needs: any disk, its own authority, an address of this run.
SETTINGS=$folder/etc DATA=$folder/data BACKUPS=$folder/backups KEYS=$folder/keys UNITS=$folder/units AS=env
RUN=$folder/run CREDENTIALS=$folder/run/credentials SOCKET=$folder/run/socket SIGNER_LOG=$folder/signer.state
own_host
LISTEN=$host:20000 METRICS=$host:20001
OWNER="--private-key 0x$(printf '%064d' 4)" TREASURY="--private-key 0x$(printf '%064d' 5)"
CHAIN_ID=31337
export RINGSIDE_ANY_FILE_SYSTEM=true RINGSIDE_FEED_AUTHORITIES=$folder/authority.pem RINGSIDE_LOG=warn RINGSIDE_FLUSH_SHED=30s
mkdir -p "$CREDENTIALS"

# value UNIT NAME      what a unit says of NAME, each on a line, its paths those of this run
value() {
    sed -n "s|^$2=||p" "$UNITS/$1.service" |
        sed -e "s|/usr/local/bin|$folder/bin|" -e "s|/etc/ringside|$SETTINGS|" -e "s|/var/lib/ringside|$DATA|"
}

# Runs a unit until it ends as it should, and again where the unit says so.
supervise() {
    local unit=$1 status given child
    while read -r given; do cp "${given#*:}" "$CREDENTIALS/${given%%:*}"; done < <(value "$unit" LoadCredential)
    while true; do
        # shellcheck disable=SC2046
        env $(value "$unit" Environment) $(cat $(value "$unit" EnvironmentFile | sed 's/^-//') /dev/null) \
            $(value "$unit" ExecStart) >>"$folder/$unit.said" 2>>"$folder/$unit.log" &
        child=$!
        echo $child >"$folder/$unit.pid"
        status=0
        wait $child || status=$?
        [ $status != 0 ] && [ "$(value "$unit" Restart)" = on-failure ] || break
        ! value "$unit" RestartPreventExitStatus | grep -qw $status || break
        [ ! -e "$folder/$unit.stopped" ] || break
        sleep "$(value "$unit" RestartSec)"
    done
}
systemctl() {
    local action=$1 unit
    shift
    for unit in "$@"; do
        [ "$unit" != --now ] || continue
        case $action in
        enable | start)
            rm -f "$folder/$unit.stopped"
            supervise "$unit" &
            echo $! >"$folder/$unit.supervisor"
            ;;
        stop)
            [ -e "$folder/$unit.supervisor" ] || continue
            : >"$folder/$unit.stopped"
            kill "$(cat "$folder/$unit.pid")" 2>/dev/null || true
            wait "$(cat "$folder/$unit.supervisor")" 2>/dev/null || true
            rm "$folder/$unit.supervisor"
            ;;
        esac
    done
}

# run HEADING...      the runbook's blocks below them, in this shell
runbook=scripts/operations/runbook.md
run() {
    local heading
    for heading in "$@"; do
        block $runbook "$heading" >"$folder/block"
        echo "runbook: $heading"
        . "$folder/block" >>"$folder/runbook.log" 2>&1 || fail "$heading"
    done
}
users() {
    node scripts/chain/users.mjs "$modules" "$ringside" "http://$LISTEN" "$NODE_1" "$VAULT" "$DF" "$USDT" "$1" || fail "users: $1"
}
# By the signal that nobody can answer; the unit starts it again.
killed() {
    local unit
    for unit in "$@"; do kill -9 "$(cat "$folder/$unit.pid")"; done
    sleep 1
    for _ in $(seq 300); do
        ! curl -fsS "http://$METRICS/readyz" >/dev/null 2>&1 || { echo "killed: $*"; return; }
        sleep 0.1
    done
    fail "no start after a kill"
}
price() { echo "$1" >"$folder/price.next" && mv "$folder/price.next" "$folder/price"; }

# An authority, and a certificate of the sources by it.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=authority of a test" \
    -keyout "$folder/authority.key" -out "$folder/authority.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$folder/key.pem" -out "$folder/request.pem" 2>/dev/null
openssl x509 -req -in "$folder/request.pem" -CA "$folder/authority.pem" -CAkey "$folder/authority.key" -days 2 -copy_extensions copy \
    -out "$folder/certificate.pem" 2>/dev/null
price 60000
node scripts/chain/outside.mjs "$modules" "$folder" >"$folder/outside" 2>"$folder/outside.log" &
outside=$!
for _ in $(seq 300); do
    ! grep -q '^ready$' "$folder/outside" || break
    sleep 0.1
done
grep -q '^ready$' "$folder/outside" || fail "no chain"
. <(grep = "$folder/outside")
BINANCE=$SOURCES OKX=$SOURCES COINBASE=$SOURCES

run "What is yours" "Settings and secrets" "The vault" "Start" "Operators" "Tokens" "Prices" "The market" "The fund" "Open"
# Deposits are on their way while the exchange is killed.
users deposit
killed ringside
users credited
users trade
killed ringside ringside-signer
users kept
# Further at once than all of Bob's margin.
price 54000
users liquidated
users withdraw
killed ringside
users confirmed
run "Look" "A copy" "A restored folder" "When something stops"

# To the unit, once nothing is on its way.
for token in "USDT $USDT $USDT_DECIMALS" "DF $DF 18"; do
    read -r name contract decimals <<<"$token"
    [ "$(bc <<<"$(held "$contract" "$decimals") == $(owed "$name")")" = 1 ] ||
        fail "$name: held $(held "$contract" "$decimals"), owed $(owed "$name")"
    echo "$name: held $(held "$contract" "$decimals") = owed $(owed "$name")"
done
# What the fund took over it has for another value than that at which its other side is held.
costs=$(ann ledger proof | jq -r '.ledgers[].terms.position_costs // empty')
[ "$(bc <<<"$costs < 0")" = 1 ] || fail "the fund took nothing over: position costs $costs"
systemctl stop ringside
ringside verify "$DATA"
if grep -E '"level":"ERROR"|panicked' "$folder"/ringside*.log; then fail "an error in a log"; fi
echo "a venue was opened by the runbook, and holds what it owes"
