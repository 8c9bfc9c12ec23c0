#!/usr/bin/env bash
# Replays a recorded morning through the public API while an independent WebSocket client (scripts/ws_book.py, a public
# library in an environment of its own under target/) keeps the book by the protocol's rules and compares it with
# GET /spot/depth at 1,000 random moments; a tenth of its connections is stalled. Skips where the library cannot be had.
#
#   scripts/ws_book.sh [session] [options of the replay]      default: sse --limit 30000 --rate 1500
#   scripts/ws_book.sh bitstamp --limit 12000 --rate 1500       orders that come and go, nearly all without trading
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
. scripts/exchange.sh
build "$profile" ringside replay
install_python ws_book websockets 'websockets>=13,<16'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- sse --limit 30000 --rate 1500
"$python" scripts/ws_book.py "$folder" --compare "${COMPARE:-1000}" &
client=$!
"$target/$profile/replay" --report "$target/replay" --folder "$folder" --no-kill --quiet "$@"
wait "$client"
