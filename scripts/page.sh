#!/usr/bin/env bash
# The page in a headless Chromium, see scripts/browser.sh.
#   scripts/page.sh [<ringside>]      the binary; default: built here
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
build_exchange "${1:-}"
. scripts/browser.sh
node scripts/page.mjs "$ringside" "$playwright" "$browser"
