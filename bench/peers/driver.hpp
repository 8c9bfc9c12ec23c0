// What every driver of a peer has in common: reads a flow that `ringside-bench --bin peers` wrote, carries it out on the
// peer's book, times it as `bench/src/variant.rs` times ours, and prints the fills' checksum before the times.
//
// The flow: little-endian, u64 count of preload operations, u64 count of timed ones, then 16 bytes each: u32 order (dense, from
// 1), u32 level, u32 quantity, u8 kind, u8 is_buy, u16 nothing. See `bench/src/op.rs` for what they ask for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

enum class Kind : std::uint8_t { New = 0, ImmediateOrCancel = 1, Cancel = 2, Replace = 3 };

struct Op {
    std::uint32_t order;
    std::uint32_t level;
    std::uint32_t quantity;
    Kind kind;
    std::uint8_t is_buy;
    std::uint16_t nothing;
};
static_assert(sizeof(Op) == 16);

// Count and order-sensitive checksum of fills, as `FillSum` of `bench/src/op.rs`.
struct FillSum {
    std::uint64_t fills = 0;
    std::uint64_t hash = 0x9e3779b97f4a7c15;

    void fill(std::uint64_t maker, std::uint64_t taker, std::uint64_t level, std::uint64_t quantity) {
        ++fills;
        std::uint64_t word = ((maker | taker << 32) * 0xff51afd7ed558ccd) ^ (level << 32 | quantity);
        hash = (((hash << 23) | (hash >> 41)) ^ word) * 0x9fb21c651e98df25;
    }
};

// Operations converted, then timed, at a time.
constexpr std::size_t CHUNK = 256;

inline std::uint64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::uint64_t(now.tv_sec) * 1'000'000'000 + std::uint64_t(now.tv_nsec);
}

inline std::vector<Op> read_ops(std::FILE* file, std::uint64_t count) {
    std::vector<Op> ops(count);
    if (std::fread(ops.data(), sizeof(Op), count, file) != count) {
        std::fprintf(stderr, "the flow is cut short\n");
        std::exit(2);
    }
    return ops;
}

// `Book` has `Book(orders, lowest, highest)` (most ids and the levels of the flow), `Input`, `Input input(const Op&)` (not timed),
// `void apply(const Input&)` (timed) and `FillSum sum`; `Book::levels()` is how many levels it can span at most.
template <class Book>
int drive(int count, char** arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: %s FLOW chunks|each\n", arguments[0]);
        return 2;
    }
    std::FILE* file = std::fopen(arguments[1], "rb");
    std::uint64_t counts[2];
    if (file == nullptr || std::fread(counts, sizeof counts[0], 2, file) != 2) {
        std::fprintf(stderr, "cannot read %s\n", arguments[1]);
        return 2;
    }
    const std::vector<Op> preload = read_ops(file, counts[0]), ops = read_ops(file, counts[1]);
    std::fclose(file);
    std::uint32_t orders = 0, lowest = UINT32_MAX, highest = 0;
    for (const auto* part : {&preload, &ops}) {
        for (const Op& op : *part) {
            orders = op.order > orders ? op.order : orders;
            if (op.kind != Kind::Cancel) {
                lowest = op.level < lowest ? op.level : lowest;
                highest = op.level > highest ? op.level : highest;
            }
        }
    }
    if (std::uint64_t(highest) - lowest >= Book::levels()) {
        std::printf("unable: the flow spans %u levels, the book at most %llu\n", highest - lowest + 1,
                    static_cast<unsigned long long>(Book::levels()));
        return 0;
    }

    Book book(orders + 1, lowest, highest);
    for (const Op& op : preload) book.apply(book.input(op));
    book.sum = FillSum{};
    const bool each = std::string(arguments[2]) == "each";
    std::vector<std::uint64_t> times;
    times.reserve(each ? ops.size() : ops.size() / CHUNK + 1);
    std::vector<typename Book::Input> inputs;
    inputs.reserve(CHUNK);
    for (std::size_t at = 0; at < ops.size(); at += CHUNK) {
        const std::size_t end = at + CHUNK < ops.size() ? at + CHUNK : ops.size();
        inputs.clear();
        for (std::size_t index = at; index < end; ++index) inputs.push_back(book.input(ops[index]));
        if (each) {
            for (const auto& input : inputs) {
                const std::uint64_t start = now_ns();
                book.apply(input);
                times.push_back(now_ns() - start);
            }
        } else {
            const std::uint64_t start = now_ns();
            for (const auto& input : inputs) book.apply(input);
            times.push_back(now_ns() - start);
        }
    }
    std::printf("%llu %016llx\n", static_cast<unsigned long long>(book.sum.fills),
                static_cast<unsigned long long>(book.sum.hash));
    std::fwrite(times.data(), sizeof times[0], times.size(), stdout);
    return 0;
}
