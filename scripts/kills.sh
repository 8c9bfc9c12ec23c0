#!/usr/bin/env bash
# Builds the exchange, kills it with -9 again and again under load, and looks for what was lost or doubled.
#
#   scripts/kills.sh                          300 kills
#   scripts/kills.sh --cycles 20 --seed 7     --help shows the rest
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
. scripts/build.sh
build "$profile" ringside kills
# Beside the build, because the folder for temporary files may be in memory.
exec "$target/$profile/kills" --folder "$target" "$@"
