#!/usr/bin/env bash
# The page in a headless Chromium, see scripts/browser.sh. Pictures of every view are kept under target/page/screens.
#   scripts/page.sh [--long] [<ringside>]      the binary; default: built here. --long goes through every tab and dialog
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
long=
if [ "${1:-}" = --long ]; then long=--long && shift; fi
build_exchange "${1:-}"
. scripts/browser.sh
node scripts/page.mjs "$ringside" "$page_modules" "$folder/screens" "$browser" $long
