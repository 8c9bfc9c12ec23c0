#!/usr/bin/env bash
# README.md as a newcomer follows it: started, traded on with ccxt and with curl, a bot run, stopped, and the demo begun in the same
# folder and on the same port; then a demo in a new folder, whose candles outlive a kill -9. Blocks are run as they stand there, but
# for the port. What README says must come out, every command in it must be known here, and every sample of /docs that only reads
# must be answered.
#
#   scripts/readme.sh
# RINGSIDE names a binary; without it one is built here.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/blocks.sh
for program in curl openssl python3; do
    command -v $program >/dev/null 2>&1 || { echo "skipped: no $program here"; exit 0; }
done

# Commands that README names: these take minutes, or are what is run below. A test that is named must be there.
while read -r command; do
    case $command in
        'cargo run --release' | 'cargo run --release -- demo') ;; # The same binary is started below.
        'scripts/check.sh' | 'scripts/check.sh quick' | scripts/nightly.sh | 'scripts/kills.sh --cycles 20' | scripts/overload.sh) ;;
        'scripts/cluster_kills.sh --rounds 12') ;;
        'scripts/soak.sh --minutes 40' | scripts/peers.sh | scripts/counts.sh | scripts/replay.sh | scripts/open_venue.sh | scripts/dist.sh) ;;
        'cargo run --profile dist -p ringside-bench-'*) ;;
        'ringside settings --explain') settings=$command ;;
        scripts/cluster.sh) cluster=$command ;;
        'pip install ccxt') ;; # A pinned one is installed below.
        'cargo test -r -p ringside-'*)
            test=${command##* } package=${command#*ringside-}
            grep -rq "fn $test(" "${package%% *}/tests" || { echo "README names a test that is not there: $test"; exit 1; }
            ;;
        *) echo "README has a command that nothing runs: $command"; exit 1 ;;
    esac
    set -- $command
    [ "${1##*/}" = "$1" ] || [ -x "$1" ] || { echo "README names $1, which is not there"; exit 1; }
done < <(
    { block README.md "Two commands"; block README.md "Run it for real"; } | sed 's/ *#.*//'
    grep -oE '`(cargo|pip|ringside|scripts/[a-z_]+\.sh)( [^`]*)?`' README.md | tr -d '`' | sort -u
)

build_exchange "${RINGSIDE:-}"
install_python clients/ccxt ccxt ccxt==4.5.90
"$ringside" ${settings#ringside } >/dev/null

folder=$(mktemp -d)
exchange=
trap '[ -z "$exchange" ] || { kill "$exchange" && wait "$exchange"; } 2>/dev/null || true; rm -rf "$folder"' EXIT
listen=127.0.0.1:0

# begin [WORD]...      starts it in the folder, as README does in its own; sets url, and keeps the port
begin() {
    : >"$folder/said"
    (
        cd "$folder"
        exec env RINGSIDE_LISTEN=$listen RINGSIDE_ANY_FILE_SYSTEM=true RINGSIDE_LOG=warn RINGSIDE_FLUSH_SHED=30s "$ringside" "$@"
    ) >"$folder/said" 2>"$folder/log" &
    exchange=$!
    url=
    for _ in $(seq 600); do
        url=$(sed -n 's|.*curl \(http://[^/]*\)/openapi.json|\1|p' "$folder/said")
        [ -z "$url" ] || break
        sleep 0.1
    done
    [ -n "$url" ] || { cat "$folder/said" "$folder/log"; exit 1; }
    listen=${url#http://}
}

stop() {
    kill "-$1" "$exchange"
    wait "$exchange" 2>/dev/null || [ "$1" = KILL ] || { echo "it ended with $?"; cat "$folder/log"; exit 1; }
    exchange=
    if grep -E ' ERROR |panicked' "$folder/log"; then exit 1; fi
}

# expect WHAT PATTERN...      a line of the answers that has all of these
expect() {
    local what=$1 pattern lines
    shift
    lines=$(cat "$folder/answers")
    for pattern in "$@"; do
        lines=$(grep -E "$pattern" <<<"$lines") || { echo "no $what in:"; cat "$folder/answers"; exit 1; }
    done
}

# The first trade, in both languages, and the first bot.
trade() {
    local here="s|http://127.0.0.1:8080|$url|g"
    { block README.md "A first trade" python; block README.md "A first bot" python; } | sed "$here" >"$folder/blocks.py"
    block README.md "A first trade" | sed "$here" >"$folder/blocks.sh"
    { "$python" "$folder/blocks.py" && bash "$folder/blocks.sh"; } >"$folder/answers" 2>&1 || { cat "$folder/answers"; exit 1; }
    expect "fill of Bob's" '^bob: closed$'
    expect "position of Alice's" '^alice holds [0-9.]+$'
    expect "bot that quotes" '^bot quotes [0-2] and has [0-9]+\.'
    expect "order of Alice's by curl" '"side":"BUY"' '"origQty":"0.01' '"price":"60100'
    expect "fill of Bob's by curl" '"side":"SELL"' '"status":"FILLED"'
    expect "order on the spot market" '"symbol":"DFUSDT"' '"side":"buy"' '"price":"0\.20*"'
}

candles() { curl -sS "$url/fapi/v1/klines?symbol=BTCUSDT&interval=1h&limit=20"; }

begin
[ "$(grep -cE '^  [0-9a-f]{64}  [0-9a-f]{64}$' "$folder/said")" = 10 ] || { cat "$folder/said"; exit 1; }
trade
expect "one position, by ccxt" '^alice holds 0\.01$'
"$python" scripts/clients/samples.py "$url"
stop TERM
begin demo
for _ in $(seq 100); do
    [ "$(curl -sS "$url/fapi/v1/depth?symbol=BTCUSDT&limit=5" | grep -o '\[' | wc -l)" -gt 10 ] && break
    sleep 0.1
done
trade
stop TERM
"$ringside" verify "$folder/data"
echo "README: start, first trade, first bot, and again beside the demo's traders"

rm -rf "$folder/data"
begin demo
before=$(candles)
[ "$(grep -o '\[1' <<<"$before" | wc -l)" -ge 12 ] || { echo "a demo without a past: $before"; exit 1; }
stop KILL
begin
# The last one goes on.
[ "$(candles | cut -c1-1200)" = "$(cut -c1-1200 <<<"$before")" ] || { echo "candles differ after a kill -9:"; echo "$before"; candles; exit 1; }
stop TERM
"$ringside" verify "$folder/data"
echo "README: a demo in a new folder begins with twelve hours of candles, which outlive a kill -9"

# Three processes: one of them comes to lead.
said=$(mktemp)
CLUSTER_PORT=17401 $cluster "$ringside" >"$said" 2>&1 &
three=$!
for _ in {1..150}; do
    ! grep -q "leads" "$said" || break
    sleep 0.2
done
kill $three
wait $three 2>/dev/null || true
grep -q "leads" "$said" || { cat "$said"; exit 1; }
rm -f "$said"
echo "README: three processes, one of which leads"
