#!/usr/bin/env bash
# Builds the page: gateway/web/src into gateway/web/dist, which the binary takes in. Types and unit tests are judged before.
#   scripts/web.sh              builds
#   scripts/web.sh --check      fails where dist is not what the source gives; skipped where there is no node
set -euo pipefail
cd "$(dirname "$0")/../gateway/web"
check=${1:-}
skip() { echo "skipped: the page is not built: $1"; exit 0; }
if [ "$check" = --check ]; then
    command -v npm >/dev/null 2>&1 || skip "there is no node with npm"
fi
# Only what the lock names, once for each lock.
lock=$(sha256sum package-lock.json | cut -d' ' -f1)
if [ "$(cat node_modules/.lock 2>/dev/null)" != "$lock" ]; then
    if ! npm ci --no-fund --no-audit >/dev/null; then
        [ "$check" = --check ] && skip "its libraries cannot be had"
        exit 1
    fi
    echo "$lock" >node_modules/.lock
fi
npx tsc --noEmit
npx vitest run --reporter=dot
if [ "$check" != --check ]; then
    npx vite build --logLevel warn
    exit 0
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
npx vite build --logLevel warn --outDir "$made"
# Compressed copies are compared by what is in them: another node may pack the same otherwise.
for file in "$made"/*; do
    name=$(basename "$file")
    case $name in *.br | *.gz) continue ;; esac
    cmp "$file" "dist/$name" || { echo "dist/$name is not what gateway/web/src gives: run scripts/web.sh"; exit 1; }
    if [ -e "$file.gz" ]; then
        gzip -dc "dist/$name.gz" | cmp - "dist/$name"
        node -e 'process.stdout.write(require("zlib").brotliDecompressSync(require("fs").readFileSync(process.argv[1])))' "dist/$name.br" | cmp - "dist/$name"
    fi
done
diff <(cd "$made" && ls) <(ls dist)
echo "dist is what the source gives"
