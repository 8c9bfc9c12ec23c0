#!/usr/bin/env bash
# The contracts of gateway/contracts: whether the committed artifacts are what the sources compile to, byte for byte, and
# whether they do on a real node what they should. Compiler, node and the client library that asks come from npm.
#   scripts/contracts.sh           compares and tests
#   scripts/contracts.sh write     compiles anew, then tests
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/chain/install.sh
node scripts/chain/build.mjs "$modules" "${1:-check}"
node scripts/chain/contracts.mjs "$modules"
