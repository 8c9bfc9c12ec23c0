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
, version INTEGER NOT NULL DEFAULT 1) STRICT;

CREATE INDEX fills_of ON fills (account, market, first_s);

CREATE TABLE balances (
    number INTEGER PRIMARY KEY, account INTEGER NOT NULL, market INTEGER NOT NULL,
    first_s INTEGER NOT NULL, last_s INTEGER NOT NULL, sequence INTEGER NOT NULL, entries BLOB NOT NULL
, version INTEGER NOT NULL DEFAULT 1) STRICT;

CREATE INDEX balances_of ON balances (account, market, first_s);

CREATE TABLE packs (
    number INTEGER PRIMARY KEY, list INTEGER NOT NULL, owner INTEGER NOT NULL, market INTEGER NOT NULL,
    first_ms INTEGER NOT NULL, first_id INTEGER NOT NULL, last_ms INTEGER NOT NULL, last_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL, through INTEGER NOT NULL, count INTEGER NOT NULL, entries BLOB NOT NULL
, version INTEGER NOT NULL DEFAULT 1) STRICT;

CREATE INDEX packs_time ON packs (list, owner, market, last_ms, last_id);

CREATE TABLE tags (
    list INTEGER NOT NULL, owner INTEGER NOT NULL, market INTEGER NOT NULL, tag INTEGER NOT NULL,
    last_id INTEGER NOT NULL, pack INTEGER NOT NULL,
    PRIMARY KEY (list, owner, market, tag, last_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    run INTEGER PRIMARY KEY, level INTEGER NOT NULL, count INTEGER NOT NULL
) STRICT;

CREATE TABLE names (
    number INTEGER PRIMARY KEY, run INTEGER NOT NULL, first INTEGER NOT NULL, pairs BLOB NOT NULL
) STRICT;

CREATE INDEX names_of ON names (run, first);

CREATE TABLE lists (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE heads (
    list INTEGER NOT NULL, owner INTEGER NOT NULL, market INTEGER NOT NULL, last_id INTEGER NOT NULL,
    first_ms INTEGER NOT NULL, first_id INTEGER NOT NULL, last_ms INTEGER NOT NULL,
    sequence INTEGER NOT NULL, through INTEGER NOT NULL, count INTEGER NOT NULL, facets BLOB NOT NULL,
    pack INTEGER NOT NULL,
    PRIMARY KEY (list, owner, market, last_id)
) STRICT, WITHOUT ROWID;
