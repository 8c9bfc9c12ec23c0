#!/usr/bin/env bash
# Three times more than the exchange can take for a minute (failure model, row 18): every cancel carried out, what is admitted
# answered in bounded time, nothing lost. Measures, so wants a machine of its own; check.sh runs it short, for its audit.
#   scripts/overload.sh [options of the benchmark]      e.g. --seconds 10 --multiple 5 --slots 1024
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
. scripts/build.sh
build "$profile" ringside overload
exec "$target/$profile/overload" "$@"
