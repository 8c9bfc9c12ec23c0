// CppTrader's `MarketManager`, matching on.
#include "driver.hpp"
#include "trader/matching/market_manager.h"

using namespace CppTrader::Matching;

struct Fills : MarketHandler {
    FillSum* sum;
    std::uint64_t taker = 0;

protected:
    // It tells both sides of a fill, and not which is which.
    void onExecuteOrder(const Order& order, std::uint64_t price, std::uint64_t quantity) override {
        if (order.Id != taker) sum->fill(order.Id, taker, price - 1, quantity);
    }
};

struct Book {
    struct Input {
        Kind kind;
        std::uint64_t id;
        Order order;
    };
    FillSum sum;
    Fills handler;
    MarketManager market;

    static constexpr std::uint64_t levels() { return UINT32_MAX; }

    Book(std::uint32_t, std::uint32_t, std::uint32_t) : market(handler) {
        handler.sum = &sum;
        const char name[8] = {'F', 'L', 'O', 'W', ' ', ' ', ' ', ' '};
        Symbol symbol(0, name);
        market.AddSymbol(symbol);
        market.AddOrderBook(symbol);
        market.EnableMatching();
    }

    Input input(const Op& op) {
        const OrderSide side = op.is_buy ? OrderSide::BUY : OrderSide::SELL;
        const auto force = op.kind == Kind::ImmediateOrCancel ? OrderTimeInForce::IOC : OrderTimeInForce::GTC;
        return {op.kind, op.order, Order::Limit(op.order, 0, side, op.level + 1, op.quantity ? op.quantity : 1, force)};
    }

    void apply(const Input& input) {
        switch (input.kind) {
            case Kind::Cancel: market.DeleteOrder(input.id); return;
            case Kind::Replace:
                if (market.DeleteOrder(input.id) != ErrorCode::OK) return;
                break;
            default: break;
        }
        handler.taker = input.id;
        market.AddOrder(input.order);
    }
};

int main(int count, char** arguments) { return drive<Book>(count, arguments); }
