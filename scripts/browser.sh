# A headless Chromium for other scripts, which source this file after scripts/exchange.sh and build_exchange. Playwright comes
# from npm into target/page; the browser from where Playwright gets it, else one that is installed, else Debian's. Sets
# playwright, a module, and browser, a program or nothing; where none can be had it says so and the script passes.
have() { command -v "$1" >/dev/null 2>&1; }
skip() { echo "skipped: the page is not tested in a browser: $1"; exit 0; }

have node && have npm || skip "there is no node with npm"
folder=$target/page
mkdir -p "$folder"
if [ ! -d "$folder/node_modules/playwright" ]; then
    echo '{"private":true}' >"$folder/package.json"
    npm --prefix "$folder" install --no-fund --no-audit playwright@1.65.1 >"$folder/npm.log" 2>&1 ||
        skip "playwright cannot be installed, see $folder/npm.log"
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
playwright=$folder/node_modules/playwright/index.mjs
