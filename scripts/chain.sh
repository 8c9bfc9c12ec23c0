#!/usr/bin/env bash
# Withdrawals end to end on a real node (anvil, from npm), with the signer as a process of its own and users who submit their
# releases through viem: scripts/chain/venue.mjs says what is shown.
#   scripts/chain.sh [<ringside>]     the binary; default: built here
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/chain/install.sh
build_exchange "${1:-}"
node scripts/chain/venue.mjs "$ringside" "$modules"
