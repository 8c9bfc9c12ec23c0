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
cargo build --quiet --profile "$profile" -p ringside-gateway -p ringside-bench --bin ringside --bin replay
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
python=$target/ws_book/bin/python
if ! "$python" -c 'import websockets' 2>/dev/null; then
    if ! { python3 -m venv "$target/ws_book" && "$python" -m pip install --quiet 'websockets>=13,<16'; } >/dev/null 2>&1; then
        echo "skipped: the WebSocket library of the independent client cannot be installed from here"
        exit 0
    fi
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- sse --limit 30000 --rate 1500
"$python" scripts/ws_book.py "$folder" --compare "${COMPARE:-1000}" &
client=$!
"$target/$profile/replay" --report "$target/replay" --folder "$folder" --no-kill --quiet "$@"
wait "$client"
