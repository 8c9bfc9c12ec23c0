#!/usr/bin/env bash
# The page in a headless Chromium, see scripts/browser.sh. Pictures of every view are kept under target/page/screens.
#   scripts/page.sh [--long | --picture] [<ringside>]      the binary; default: built here. --long goes through every tab and dialog,
#                                                          --picture takes the one that README.md shows
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
how=
case ${1:-} in --long | --picture) how=$1 && shift ;; esac
build_exchange "${1:-}"
. scripts/browser.sh
node scripts/page.mjs "$ringside" "$page_modules" "$folder/screens" "$browser" $how
