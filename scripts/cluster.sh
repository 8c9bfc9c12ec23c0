#!/usr/bin/env bash
# Three members of a cluster on this machine, for a look: kill one and see who leads. Ends with Ctrl-C, and keeps nothing.
#
#   scripts/cluster.sh [<ringside>]
# CLUSTER_PORT is the first of six ports in a row (7401).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
build_exchange "${1:-}"
folder=$(mktemp -d)
port=${CLUSTER_PORT:-7401}
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT
export RINGSIDE_JWT_SECRET=a-secret-of-three-processes-for-a-look
export RINGSIDE_KEY_ENCRYPTION_KEY RINGSIDE_ADMIN_KEY=administrator-of-three-processes RINGSIDE_CLUSTER_MEMBERS=
RINGSIDE_KEY_ENCRYPTION_KEY=$(printf '11%.0s' {1..32})

# What member $1 is started with.
settings() {
    vars=(RINGSIDE_DATA_DIR="$folder/$1" RINGSIDE_LISTEN=127.0.0.1:$((port + $1 - 1)) RINGSIDE_CLUSTER_MEMBER="$1"
        RINGSIDE_CLUSTER_LISTEN=127.0.0.1:$((port + $1 + 2)))
}

members=
for number in 1 2 3; do
    key=$(RINGSIDE_DATA_DIR=$folder/$number "$ringside" mirror-key)
    members=$members${members:+,}$number@127.0.0.1:$((port + number + 2))=$key
done
RINGSIDE_CLUSTER_MEMBERS=$members
cluster=()
for number in 1 2 3; do
    settings $number
    said=$(env "${vars[@]}" "$ringside" cluster init "${cluster[@]}")
    cluster=(--cluster "$(grep -o 'of cluster [0-9a-f]*' <<<"$said" | cut -d' ' -f3)")
done
for number in 1 2 3; do
    settings $number
    env "${vars[@]}" "$ringside" >"$folder/$number.log" 2>&1 &
    echo "member $number: process $!, http://127.0.0.1:$((port + number - 1)), log $folder/$number.log"
done
leader=
while sleep 0.2; do
    for number in 1 2 3; do
        [ "$(curl -s -o /dev/null -w '%{http_code}' --max-time 1 "http://127.0.0.1:$((port + number - 1))/readyz")" = 200 ] || continue
        [ "$leader" = "$number" ] || echo "$(date +%T) member $number leads"
        leader=$number
    done
    [ -n "$(jobs -pr)" ] || break
done
