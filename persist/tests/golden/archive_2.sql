-- Tables and indexes of an archive of format 2.
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

CREATE TABLE fills (
    number INTEGER PRIMARY KEY, account INTEGER NOT NULL, market INTEGER NOT NULL,
    first_s INTEGER NOT NULL, last_s INTEGER NOT NULL, sequence INTEGER NOT NULL, entries BLOB NOT NULL
) STRICT;
CREATE INDEX fills_of ON fills (account, market, first_s);

CREATE TABLE balances (
    number INTEGER PRIMARY KEY, account INTEGER NOT NULL, market INTEGER NOT NULL,
    first_s INTEGER NOT NULL, last_s INTEGER NOT NULL, sequence INTEGER NOT NULL, entries BLOB NOT NULL
) STRICT;
CREATE INDEX balances_of ON balances (account, market, first_s);

CREATE TABLE entries (
    list INTEGER NOT NULL, owner INTEGER NOT NULL, market INTEGER NOT NULL,
    time_ms INTEGER NOT NULL, id INTEGER NOT NULL,
    sequence INTEGER NOT NULL, tag INTEGER, across INTEGER, bytes BLOB NOT NULL,
    PRIMARY KEY (list, owner, market, time_ms, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_id ON entries (list, owner, market, id);
CREATE INDEX entries_tag ON entries (list, owner, tag, time_ms, id) WHERE tag IS NOT NULL;
CREATE INDEX entries_across ON entries (list, across, time_ms, id) WHERE across IS NOT NULL;
