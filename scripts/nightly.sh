#!/usr/bin/env bash
# The long proofs whole, with one seed: models over 10,000,000 commands, 20,000 simulated clusters, 300 kills, 300 rounds of faults
# over three members, soaks, the model checker and Miri, minutes of fuzzing, overload, every client. scripts/check.sh has each of them
# shorter. Hours; wants the machine for itself.
#   scripts/nightly.sh [SEED]      SEED: today's date by default, so that each night sees other numbers; a failure names it
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
SEED=${1:-$(date +%Y%m%d)}
# Random tests take other seeds than the suite's, and sixteen times as many; what the suite does with a part is done with all.
export RINGSIDE_NIGHT=$SEED RINGSIDE_TIMES=16
echo "seed $SEED"
failed=()
# proof NAME COMMAND...      one that fails does not keep the others from running
proof() {
    local name=$1
    shift
    step "$name"
    "$@" || { failed+=("$name"); echo "FAILED: $name, seed $SEED"; }
}

step "build"
export PROFILE=release BUILT="ringside kills cluster_kills overload replay soak"
# shellcheck disable=SC2086
cargo build --workspace --locked --release --lib --tests $(printf -- '--bin %s ' $BUILT)

proof "every test" nextest
proof "the models over 10,000,000 commands" env RINGSIDE_COMMANDS=10000000 bash -c '. scripts/steps.sh; nextest -E "test(/random_streams/)"'
# The golden digests are the same constants in both profiles: what overflow checks and assertions change would show.
proof "the same decisions in debug" env CARGO_PROFILE_DEV_DEBUG=0 \
    cargo test --quiet --locked -p ringside-core --lib --test spot --test perpetual -- replay:: layout:: scripts::
proof "the same journal and state of a million commands in debug" env CARGO_PROFILE_DEV_DEBUG=0 \
    cargo test --quiet --locked -p ringside-persist --test journal in_every_build
proof "a busy exchange copied, verified and inspected, 100 times each" env RINGSIDE_LOOKS=100 \
    bash -c '. scripts/steps.sh; nextest -E "test(=backup::a_busy_exchange_is_copied_verified_and_inspected)"'
proof "300 kills" scripts/kills.sh --seed "$SEED"
proof "60 kills in mode written" scripts/kills.sh --cycles 60 --acknowledge written --seed "$SEED"
proof "20,000 lives of a cluster, simulated" env RINGSIDE_TIMES=100 \
    bash -c '. scripts/steps.sh; nextest -E "test(=cluster::nothing_acknowledged_is_lost_and_one_history_comes_of_it)"'
proof "300 rounds of faults over three members" scripts/cluster_kills.sh --seed "$SEED"
proof "ten minutes of what strangers can send" env FUZZ_SECONDS=600 scripts/fuzz.sh
proof "the ring under the model checker, without a bound" scripts/loom.sh
proof "the ring under Miri, 16 schedules" env MIRI_SEEDS=16 scripts/miri.sh
proof "instructions a command, also with a million accounts and orders" scripts/counts.sh --check --all
proof "a soak of an hour" scripts/soak.sh --minutes 60
proof "a soak over midnight" env FROM=23:28 scripts/soak.sh --minutes 40
proof "three times what can be taken, for a minute" scripts/overload.sh
proof "5,000 sockets behind a real nginx, and an order beside attacks" scripts/proxy.sh
proof "every view of the page, judged and photographed" scripts/page.sh --long
proof "what an operator installs, static and as a package" scripts/dist.sh
proof "logins signed by a wallet library of others" scripts/login.sh
proof "requests made of the API's own document" env EXAMPLES=100 SEED="$SEED" scripts/schema.sh
proof "every client in all its versions" scripts/clients.sh all
proof "the user streams of two clients" env ROUNDS=60 scripts/client_user.sh
proof "the books of two clients" scripts/books.sh
for session in "" aapl bitstamp flow; do
    # shellcheck disable=SC2086
    proof "the session ${session:-sse}, killed in the middle" scripts/replay.sh $session --quiet
done
proof "an independent WebSocket client keeps the book" scripts/ws_book.sh
proof "the same of a market that hardly trades" scripts/ws_book.sh bitstamp --limit 12000 --rate 1500

step "done"
[ ${#failed[@]} = 0 ] || { printf 'failed, seed %s: %s\n' "$SEED" "${failed[@]}"; exit 1; }
echo "every proof held, seed $SEED"
