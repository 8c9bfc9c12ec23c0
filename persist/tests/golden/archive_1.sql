-- Tables and indexes of an archive of format 1.
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    format INTEGER NOT NULL, journal_id BLOB NOT NULL,
    sequence INTEGER NOT NULL, time_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE orders (
    id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL,
    account INTEGER NOT NULL, market INTEGER NOT NULL, status INTEGER NOT NULL,
    side INTEGER NOT NULL, type INTEGER NOT NULL, tif INTEGER NOT NULL, reject INTEGER NOT NULL,
    price INTEGER NOT NULL, quantity INTEGER NOT NULL, filled INTEGER NOT NULL,
    quote_quantity ANY NOT NULL, traded ANY NOT NULL,
    created_s INTEGER NOT NULL, created_rest INTEGER NOT NULL, lasted INTEGER NOT NULL
) STRICT;
CREATE INDEX orders_account ON orders (account, created_s);
CREATE INDEX orders_market ON orders (account, market, created_s);
CREATE INDEX orders_status ON orders (account, status, created_s);
CREATE INDEX orders_market_status ON orders (account, market, status, created_s);

CREATE TABLE trades (
    key INTEGER PRIMARY KEY, sequence INTEGER NOT NULL,
    market INTEGER NOT NULL, taker_side INTEGER NOT NULL, price INTEGER NOT NULL, quantity INTEGER NOT NULL,
    maker_order INTEGER NOT NULL, taker_order INTEGER NOT NULL,
    maker_account INTEGER NOT NULL, taker_account INTEGER NOT NULL,
    maker_fee ANY NOT NULL, taker_fee ANY NOT NULL,
    time_s INTEGER NOT NULL, time_rest INTEGER NOT NULL
) STRICT;
CREATE INDEX trades_maker ON trades (maker_account, time_s, sequence);
CREATE INDEX trades_taker ON trades (taker_account, time_s, sequence);
CREATE INDEX trades_maker_market ON trades (maker_account, market, time_s, sequence);
CREATE INDEX trades_taker_market ON trades (taker_account, market, time_s, sequence);

CREATE TABLE balances (
    number INTEGER PRIMARY KEY, sequence INTEGER NOT NULL,
    time_s INTEGER NOT NULL, time_rest INTEGER NOT NULL,
    account INTEGER NOT NULL, asset INTEGER NOT NULL,
    available ANY NOT NULL, frozen ANY NOT NULL
) STRICT;
CREATE INDEX balances_account ON balances (account, time_s);

CREATE TABLE credits (
    number INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, time_ns INTEGER NOT NULL,
    account INTEGER NOT NULL, asset INTEGER NOT NULL, amount ANY NOT NULL, reason BLOB NOT NULL
) STRICT;

CREATE TABLE candles (
    market INTEGER NOT NULL, interval_s INTEGER NOT NULL, open_s INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    open INTEGER NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL, close INTEGER NOT NULL,
    volume ANY NOT NULL, quote_volume ANY NOT NULL, trades INTEGER NOT NULL,
    PRIMARY KEY (market, interval_s, open_s)
) STRICT, WITHOUT ROWID;
