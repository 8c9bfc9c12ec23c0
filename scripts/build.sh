# Binaries of this workspace for other scripts, which source this file after `set -euo pipefail` in the project's root.
#
#   find_target                 sets target, the folder that cargo builds into, and makes it
#   build PROFILE BINARY...     builds them: the exchange, rigs, counts; and sets target. With BUILT set in the environment, the names
#                               of binaries, these are there already: check.sh builds everything at once, since cargo makes
#                               much of what lies below a package anew for each choice of packages

find_target() {
    target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    mkdir -p "$target"
}

build() {
    local profile=$1 binary wanted=()
    shift
    find_target
    for binary in "$@"; do
        if [ -n "${BUILT:-}" ]; then
            [[ " $BUILT " = *" $binary "* ]] || { echo "$binary is not among what was built: $BUILT" >&2; return 1; }
            continue
        fi
        case $binary in
            ringside) wanted+=(-p ringside-gateway) ;;
            counts | bounds) wanted+=(-p ringside-bench) ;;
            ringside-bench) wanted+=(-p ringside-load) ;;
            # The exchange that they start is built beside them.
            *) wanted+=(-p ringside-gateway -p ringside-rigs) ;;
        esac
        wanted+=(--bin "$binary")
    done
    [ -n "${BUILT:-}" ] || cargo build --quiet --locked --profile "$profile" "${wanted[@]}"
}
