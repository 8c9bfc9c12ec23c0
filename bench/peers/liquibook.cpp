// liquibook's `OrderBook` with orders of its own example's kind.
#include "driver.hpp"
#include "book/order_book.h"

using namespace liquibook::book;

struct Placed {
    std::uint32_t id;
    bool buys;
    Price at;
    Quantity quantity;
    bool immediate;

    bool is_limit() const { return true; }
    bool is_buy() const { return buys; }
    Price price() const { return at; }
    Price stop_price() const { return 0; }
    Quantity order_qty() const { return quantity; }
    bool all_or_none() const { return false; }
    bool immediate_or_cancel() const { return immediate; }
};

struct Book : OrderListener<Placed*> {
    using Input = Op;
    FillSum sum;
    std::vector<Placed> placed;
    // What rests of each order.
    std::vector<Quantity> open;
    OrderBook<Placed*> book;

    static constexpr std::uint64_t levels() { return UINT32_MAX; }

    Book(std::uint32_t orders, std::uint32_t, std::uint32_t) : placed(orders), open(orders) { book.set_order_listener(this); }

    Input input(const Op& op) { return op; }

    void apply(const Input& op) {
        Placed& order = placed[op.order];
        if (op.kind == Kind::Cancel || op.kind == Kind::Replace) {
            // A second cancel of an order that is gone ends somebody else's.
            if (open[op.order] == 0) return;
            book.cancel(&order);
            open[op.order] = 0;
            if (op.kind == Kind::Cancel) return;
        }
        order = {op.order, op.is_buy != 0, op.level + 1, op.quantity, op.kind == Kind::ImmediateOrCancel};
        open[op.order] = op.quantity;
        book.add(&order, order.immediate ? oc_immediate_or_cancel : oc_no_conditions);
        if (order.immediate) open[op.order] = 0;
    }

    void on_accept(Placed* const&) override {}
    void on_reject(Placed* const&, const char*) override {}
    void on_fill(Placed* const& order, Placed* const& matched, Quantity quantity, Cost) override {
        sum.fill(matched->id, order->id, matched->at - 1, quantity);
        for (Placed* side : {order, matched}) open[side->id] -= quantity;
    }
    void on_cancel(Placed* const&) override {}
    void on_cancel_reject(Placed* const&, const char*) override {}
    void on_replace(Placed* const&, const std::int32_t&, Price) override {}
    void on_replace_reject(Placed* const&, const char*) override {}
};

int main(int count, char** arguments) { return drive<Book>(count, arguments); }
