#!/usr/bin/env bash
# Withdrawals and deposits on the page in a headless Chromium, with a real node, signer and exchange: scripts/chain/page.mjs and
# page_deposits.mjs say what is shown.
#   scripts/chain_page.sh [<ringside>]      the binary; default: built here
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/chain/install.sh
build_exchange "${1:-}"
. scripts/browser.sh
node scripts/chain/page.mjs "$ringside" "$modules" "$playwright" "$browser"
