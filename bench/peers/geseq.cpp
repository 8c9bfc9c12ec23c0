// geseq/cpp-orderbook with its own default: levels in an array of ticks under a bitmap, ids in a Fibonacci hash. A tick is one
// unit of its decimals, so that nothing is divided.
#include "driver.hpp"
#include "orderbook.hpp"

using namespace orderbook;

struct Fills : NotificationInterface<Fills> {
    FillSum* sum;

    void onExecutionReport(const ExecutionReport& report) {
        if (report.exec_type != ExecType::Trade) return;
        sum->fill(report.maker_order_id, report.taker_order_id, report.last_price.fp - 1, report.last_qty.fp);
    }
};

struct Book {
    struct Input {
        Kind kind;
        Side side;
        Flag flag;
        OrderID id;
        Decimal quantity, price;
    };
    FillSum sum;
    Fills fills;
    orderbook::OrderBook<Fills> book;

    static constexpr std::uint64_t levels() { return UINT32_MAX; }

    // Pools and hash as large as it makes them by itself: it grows, and larger ones of its own leave the processor's cache.
    Book(std::uint32_t, std::uint32_t, std::uint32_t) : book(fills, 16384, 16384, 16384, 0, 1) {
        fills.sum = &sum;
    }

    Input input(const Op& op) {
        return {op.kind, op.is_buy ? Side::Buy : Side::Sell, op.kind == Kind::ImmediateOrCancel ? IoC : None, op.order,
                Decimal(std::uint64_t(op.quantity)), Decimal(std::uint64_t(op.level) + 1)};
    }

    void apply(const Input& input) {
        switch (input.kind) {
            case Kind::Cancel: book.cancelOrder(input.id); return;
            case Kind::Replace:
                if (!book.hasOrder(input.id)) return;
                book.cancelOrder(input.id);
                break;
            default: break;
        }
        book.addOrder(input.id, Type::Limit, input.side, input.quantity, input.price, input.flag);
    }
};

int main(int count, char** arguments) { return drive<Book>(count, arguments); }
