#!/usr/bin/env bash
# Open order books beside ours, on the same flows in one run. Fetches the sources of each at a fixed commit, builds the drivers
# of bench/peers against them as their authors build releases, and runs the benchmark `peers`, whose arguments it takes.
#   scripts/peers.sh                                      everything
#   scripts/peers.sh --only A --repetitions 3
#   RESULTS=bench/results scripts/peers.sh                keeps the report as a file
#   SOURCES=folder scripts/peers.sh                       where the sources are, or are to be kept
# Wants git, g++ 12 or later, and github.com; a peer whose sources cannot be fetched is left out, and said so.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/build.sh
find_target
sources=${SOURCES:-$target/peers/sources}
drivers=$target/peers/bin
rm -rf "$drivers"
mkdir -p "$sources" "$drivers"

# fetch NAME REPOSITORY COMMIT
fetch() {
    local folder=$sources/$1
    [ "$(git -C "$folder" rev-parse --verify --quiet HEAD 2>/dev/null)" = "$3" ] && return
    rm -rf "$folder"
    git init --quiet "$folder"
    git -C "$folder" fetch --quiet --depth 1 "https://github.com/$2" "$3" && git -C "$folder" checkout --quiet FETCH_HEAD
}

# build NAME ARGUMENTS...: bench/peers/NAME.cpp
build() {
    local name=$1
    shift
    g++ -std=c++20 -O3 -DNDEBUG -march=native -flto=auto -w "bench/peers/$name.cpp" "$@" -o "$drivers/$name"
    echo "built: $name"
}

without() { echo "left out: $1, its sources cannot be fetched from here"; }

if fetch CppTrader chronoxor/CppTrader 99e579988b3634fac3c00cb29bc78bbc921c1f5b &&
    fetch CppCommon chronoxor/CppCommon e14011974b8d463cc854239bf351275b5a857de6 &&
    fetch fmt fmtlib/fmt 60ccad511fd680cb91d8b60a315759f71c67bef9; then
    build cpptrader "$sources"/CppTrader/source/trader/matching/*.cpp -DFMT_HEADER_ONLY \
        -I"$sources/CppTrader/include" -I"$sources/CppCommon/include" -I"$sources/fmt/include"
else
    without cpptrader
fi

if fetch cpp-orderbook geseq/cpp-orderbook b47be24421d30e335a156313a1ebab1ab016ca0c &&
    fetch cpp-decimal geseq/cpp-decimal 0db51233ff54faa776ee8d65d695480953fc2254 &&
    fetch boost-intrusive boostorg/intrusive f6ebf4aab1d23596097db253b83dd53be475cd60 &&
    fetch boost-move boostorg/move 48553828cde5d053a0cab613b20d1680969bb152 &&
    fetch boost-assert boostorg/assert fc2a476cc7d9f42b65ec104e90d24bfd6290efdc &&
    fetch boost-config boostorg/config 115e718e0fd72329e69fc776dac99811385d6f77 &&
    fetch boost-core boostorg/core f3cae495d325c654dd01883d83b0c5b8abb64a70 &&
    fetch boost-container_hash boostorg/container_hash 2698b43803c012601e6bb1a6116e83767b97986c; then
    includes=()
    for part in "$sources"/boost-*; do includes+=(-I"$part/include"); done
    build geseq "$sources"/cpp-orderbook/src/*.cpp \
        -I"$sources/cpp-orderbook/include" -I"$sources/cpp-decimal/include" "${includes[@]}"
else
    without geseq
fi

if fetch liquibook objectcomputing/liquibook bfcb41e0b6dc9b705b746c444de5f958e3f419e2; then
    build liquibook -I"$sources/liquibook/src"
else
    without liquibook
fi

if fetch llmes Keyuan-Wang/llmes 66424a1b52627ba96ad6087628435771ffff20e6; then
    build llmes "$sources"/llmes/core/matching_engine/src/*.cpp -I"$sources/llmes/core/matching_engine/include"
else
    without llmes
fi

cargo run --quiet --profile dist -p ringside-bench --bin peers -- --drivers "$drivers" ${RESULTS:+--results "$RESULTS"} "$@"
