// llmes: levels in an array of 4,096 ticks. It names orders by handles of its own; whoever calls it keeps them by id.
#include "driver.hpp"
#include "llme/matching/order_book.hpp"

using namespace llme::matching;

struct Book {
    struct Input {
        Kind kind;
        Side side;
        std::uint32_t id;
        std::uint64_t quantity;
        std::int64_t price;
    };
    FillSum sum;
    std::uint32_t lowest;
    std::vector<OrderHandle> handles;
    std::vector<std::uint64_t> open;
    OrderBook book;

    static constexpr std::uint64_t levels() { return 4096; }

    Book(std::uint32_t orders, std::uint32_t lowest, std::uint32_t)
        : lowest(lowest), handles(orders, kInvalidHandle), open(orders), book(orders) {}

    Input input(const Op& op) {
        return {op.kind, op.is_buy ? Side::Buy : Side::Sell, op.order, op.quantity, std::int64_t(op.level) - lowest};
    }

    void apply(const Input& input) {
        OrderHandle& handle = handles[input.id];
        AddResult result;
        switch (input.kind) {
            case Kind::Cancel:
                if (handle != kInvalidHandle) book.cancel_order(handle);
                handle = kInvalidHandle;
                return;
            case Kind::Replace:
                if (handle == kInvalidHandle) return;
                result = book.modify_order(handle, input.side, input.price, input.quantity, 0);
                break;
            default: result = book.add_limit_order(input.id, input.side, input.price, input.quantity, 0);
        }
        handle = result.handle;
        open[input.id] = result.remaining_quantity;
        if (input.kind == Kind::ImmediateOrCancel && handle != kInvalidHandle) {
            book.cancel_order(handle);
            handle = kInvalidHandle;
        }
        for (const Trade& trade : result.trades) {
            sum.fill(trade.maker_order_id, trade.taker_order_id, std::uint64_t(trade.price) + lowest, trade.quantity);
            // It does not tell which makers are gone, and the handle of one that is names somebody else's order soon.
            if ((open[trade.maker_order_id] -= trade.quantity) == 0) handles[trade.maker_order_id] = kInvalidHandle;
        }
    }
};

int main(int count, char** arguments) { return drive<Book>(count, arguments); }
