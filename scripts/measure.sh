#!/usr/bin/env bash
# The commands of "Measure it on your host" (scripts/operations/measure.md), cut out of it and run as they stand there, at a low rate for
# a few seconds: on a host with few cores with the settings that the page names for it. What it says of the files must hold.
#
#   scripts/measure.sh
# RINGSIDE and LOAD name binaries; without them they are built here. Only addresses, rate and duration are replaced.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/blocks.sh
page=scripts/operations/measure.md
build_exchange "${RINGSIDE:-}"
if [ -n "${LOAD:-}" ]; then load=$(realpath "$LOAD"); else build "${PROFILE:-release}" ringside-bench; load=$target/${PROFILE:-release}/ringside-bench; fi

# A mistake is named before anything is sent, and help needs no exchange.
"$load" load --help | grep -q -- --rate
! "$load" load --url https://example.org 2>"$target/measure.said" && grep -q 'http://host:port' "$target/measure.said"

folder=$(mktemp -d)
pid=
# It is no child of this shell, so its end is looked for.
stop() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    pid=
}
end() {
    stop
    rm -rf "$folder"
}
trap end EXIT
own_host
url=http://$host:20000
settings=pinned.toml
[ "$(nproc)" -ge 8 ] || settings=two-cores.toml
ln -s "$PWD/scripts" "$folder/scripts"
mkdir "$folder/bin"
ln -s "$ringside" "$folder/bin/ringside"
ln -s "$load" "$folder/bin/ringside-bench"
{
    echo "export PATH=$folder/bin:\$PATH RINGSIDE_LISTEN=$host:20000 RINGSIDE_METRICS_LISTEN=127.0.0.1:0 RINGSIDE_ANY_FILE_SYSTEM=true"
    for part in "1. Prepare the host" "2. Run the exchange"; do block $page "$part"; done
    echo "echo \$! >pid; for _ in \$(seq 300); do curl -fs $url/readyz >ready && break; sleep 0.1; done; cat ready"
    for part in "3. Measure" "Read it"; do block $page "$part"; done
} | sed -e "s|http://127.0.0.1:8080|$url|" -e "s/pinned.toml/$settings/" -e 's/--rate 1000 --seconds 30/--rate 60 --seconds 4 --traders 6 --warm-up 1/' \
    -e 's|^ringside &|ringside >log 2>\&1 \&|' -e "s#^ringside \(latency\|top\)#& --url $url#" >"$folder/blocks"
for word in tune-host 'ringside >log' 'ringside-bench load' 'ringside latency' 'ringside top'; do
    grep -q "$word" "$folder/blocks" || { echo "$page no longer has $word"; exit 1; }
done
if ! (cd "$folder" && bash -e blocks) >"$folder/answers" 2>&1; then
    pid=$(cat "$folder/pid" 2>/dev/null || true)
    cat "$folder/answers" "$folder/log"
    exit 1
fi
pid=$(cat "$folder/pid")
for word in 'changes; none was made|nothing to change|too few to give' '^ready' 'requests/s for 4 s, acknowledged durable' \
    'acknowledge durable' 'since it was due +240 ' 'order, since it was sent' 'commit [0-9a-f]+' 'seed 1' '^journal +[0-9]+' 'limits hit'; do
    grep -qE "$word" "$folder/answers" || { echo "no $word in:"; cat "$folder/answers"; exit 1; }
done
! grep -E 'answers:.*(429|503)' "$folder/answers"
grep -q 'Total count    =          240' "$folder/load/load.hgrm"
for word in '<polyline' 'acknowledged durable' 'commit' 'seed 1' 'acknowledge durable'; do
    grep -q "$word" "$folder/load/load.svg" || { echo "no $word in load.svg"; exit 1; }
done
stop
echo "measure.md: its commands do what it says"
