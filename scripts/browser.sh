# A headless Chromium for other scripts, which source this file after scripts/exchange.sh and build_exchange. From npm come into
# target/page Playwright, axe-core, which judges whom a page is hard to use for, and viem, a wallet; the browser from where
# Playwright gets it, else one that is installed, else Debian's. Sets page_modules, the folder of what npm gave, playwright, a
# module, and browser, a program or nothing; where none can be had it says so and the script passes.
have() { command -v "$1" >/dev/null 2>&1; }
skip() { echo "skipped: the page is not tested in a browser: $1"; exit 0; }

have node && have npm || skip "there is no node with npm"
folder=$target/page
mkdir -p "$folder"
if [ "$(ls -d "$folder"/node_modules/{playwright,axe-core,viem} 2>/dev/null | wc -l)" != 3 ]; then
    echo '{"private":true}' >"$folder/package.json"
    npm --prefix "$folder" install --no-fund --no-audit playwright@1.65.1 axe-core@4.14.1 viem@2.57.20 \
        >"$folder/npm.log" 2>&1 ||
        skip "playwright, axe-core or viem cannot be installed, see $folder/npm.log"
fi

installed() {
    for name in chromium-headless-shell chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    return 1
}
export PLAYWRIGHT_BROWSERS_PATH=$folder/browsers
browser=
if ! compgen -G "$PLAYWRIGHT_BROWSERS_PATH/chromium*/INSTALLATION_COMPLETE" >/dev/null && ! browser=$(installed); then
    if ! (cd "$folder" && npx playwright install chromium-headless-shell) >"$folder/browser.log" 2>&1; then
        if [ "$(id -u)" = 0 ] && have apt-get; then
            (apt-get update && apt-get install -y --no-install-recommends chromium-headless-shell) \
                >>"$folder/browser.log" 2>&1 || true
        fi
        browser=$(installed) || skip "no Chromium can be installed, see $folder/browser.log"
    fi
fi
page_modules=$folder/node_modules
playwright=$page_modules/playwright/index.mjs
