# A test exchange for other scripts, which source this file after `set -euo pipefail` in the project's root. Brings scripts/build.sh
# with it.
#
#   build_exchange [<ringside>]     sets target and ringside: the binary given, else built here (PROFILE, default release)
#   install_python NAME MODULE PACKAGE...
#                                   Python packages into target/NAME; sets python; ends the script with "skipped" where
#                                   they cannot be had. MODULE is what a test of their presence imports. What `alone`
#                                   names is installed after them without its requirements;
#                                   `interpreter` is another Python than python3
#   install_node NAME PACKAGE...    the same with packages of npm; sets modules
#   start_exchange NAME=VALUE...    on a folder and a port of its own; sets folder, url, admin_key; what is given is its
#                                   environment. Ended, and the folder removed, when the script ends
#   own_host                        sets host: an address of this machine that is this shell's own. There nobody else listens, and no
#                                   connection begins; a port that was free a moment ago may be anybody's when it is listened on
#   log_in N                        a token of the wallet with the key N
#   fund_traders AMOUNT [LABEL]     gives both wallets so many USDT of margin and an API key each; sets keys, an array of what
#                                   the exchange answered
#   send ARGUMENTS...               curl that fails on a refusal and keeps the answer in $folder/answer
#   end_exchange                    asks it to stop, verifies what it left, fails on an error in its log, and removes the folder

. scripts/build.sh

# Addresses of the wallets with the keys 2 and 3.
wallet_2=0x2b5ad5c4795c026514f8317c7a215e218dccd6cf
wallet_3=0x6813eb9362372eef6200f3b1dbc3f819671cba69

own_host() {
    host=127.$((BASHPID >> 16 | 64)).$((BASHPID >> 8 & 255)).$((BASHPID & 255))
}

build_exchange() {
    local profile=${PROFILE:-release}
    if [ -n "${1:-}" ]; then find_target; else build "$profile" ringside; fi
    ringside=$(realpath "${1:-$target/$profile/ringside}")
}

install_python() {
    local name=$1 module=$2
    shift 2
    python=$target/$name/bin/python
    "$python" -c "import $module" 2>/dev/null && return
    if ! {
        "${interpreter:-python3}" -m venv "$target/$name" && "$python" -m pip install --quiet "$@" &&
            { [ -z "${alone:-}" ] || "$python" -m pip install --quiet --no-deps --no-build-isolation "$alone"; }
    } >/dev/null 2>&1; then
        echo "skipped: $* ${alone:-} cannot be installed from here"
        exit 0
    fi
}

install_node() {
    local name=$1
    shift
    modules=$target/$name/node_modules
    [ ! -d "$modules" ] || return 0
    mkdir -p "$target/$name"
    echo '{"private":true}' >"$target/$name/package.json"
    if ! npm --prefix "$target/$name" install --no-fund --no-audit "$@" >"$target/$name/npm.log" 2>&1; then
        echo "skipped: $* cannot be installed, see $target/$name/npm.log"
        rm -rf "$modules"
        exit 0
    fi
}

start_exchange() {
    folder=$(mktemp -d)
    : >"$folder/said"
    exchange=
    trap '[ -z "$exchange" ] || { kill "$exchange" && wait "$exchange"; } 2>/dev/null || true; rm -rf "$folder"' EXIT
    admin_key=the-admin-key-of-this-test-exchange
    # A disk that others use too is slow now and then: that sheds no orders here.
    env RINGSIDE_DATA_DIR="$folder/data" RINGSIDE_LISTEN=127.0.0.1:0 RINGSIDE_ANY_FILE_SYSTEM=true RINGSIDE_LOG=warn \
        RINGSIDE_FLUSH_SHED=30s RINGSIDE_ADMIN_KEY=$admin_key "$@" "$ringside" >"$folder/said" 2>"$folder/log" &
    exchange=$!
    url=
    for _ in $(seq 300); do
        url=$(sed -n 's|.*curl \(http://[^/]*\)/openapi.json|\1|p' "$folder/said")
        [ -z "$url" ] || return 0
        sleep 0.1
    done
    cat "$folder/said" "$folder/log"
    exit 1
}

log_in() { "$ringside" login --url "$url" --key "$(printf '%064d' "$1")"; }

send() { curl -sS --fail -o "$folder/answer" "$@"; }

fund_traders() {
    local wallet token
    keys=()
    for wallet in "2 $wallet_2" "3 $wallet_3"; do
        token=$(log_in "${wallet%% *}")
        send -H "X-API-Key: $admin_key" "$url/admin/perpetual/credit" \
            -d "{\"user_address\":\"${wallet#* }\",\"amount\":\"$1\",\"reason\":\"${2:-clients}\"}"
        send -H "Authorization: Bearer $token" "$url/api/v1/account/api-keys" \
            -d "{\"label\":\"${2:-clients}\",\"permissions\":[\"read\",\"trade\"]}"
        keys+=("$(cat "$folder/answer")")
    done
}

end_exchange() {
    kill "$exchange"
    wait "$exchange" || { echo "the exchange ended with $?"; cat "$folder/log"; exit 1; }
    exchange=
    "$ringside" verify "$folder/data"
    if grep -E ' ERROR |panicked' "$folder/log"; then exit 1; fi
    rm -rf "$folder"
}
