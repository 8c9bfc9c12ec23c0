#!/usr/bin/env bash
# Builds and starts the exchange on a temporary folder, replays a recorded session through its public API, kills it
# on the way, and checks every fill, order, balance and book. Exit code 0: everything was equal.
#
#   scripts/replay.sh                          Shanghai, 600519, one morning
#   scripts/replay.sh aapl                     NASDAQ, AAPL, one hour
#   scripts/replay.sh bitstamp                 Bitstamp, BTC/USD, five hours, with the fills of an obvious book
#   scripts/replay.sh flow [--scenario static] the public engine benchmark's flow
#   scripts/replay.sh journal FOLDER           an exchange's data folder or journal, or a copy: one spot market of it, with the
#                                              fills of an engine that is given that market's orders; --market SYMBOL
#   ... --rate max|recorded|60x|20000          --help shows the rest
set -euo pipefail
# The folder is named from where the caller is.
if [ "${1:-}" = journal ] && [ -e "${2:-}" ]; then
    set -- journal "$(realpath "$2")" "${@:3}"
fi
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
. scripts/build.sh
build "$profile" ringside replay
exec "$target/$profile/replay" --report "$target/replay" "$@"
