// The perpetual venue as the page sees it: /fapi, signed with an API key that the page makes for itself at login and takes
// back at logout, and its streams.
import { request } from './api.js';
import { hmac, sha256 } from './noble.js';
import { toHex } from './sign.js';
import { priceDecimals } from './view.js';

const KEY_LABEL = 'page at /';
const KEEP_ALIVE_MS = 30 * 60_000;
const SECOND = 1_000;
const text = new TextEncoder();
const here = (market) => `symbol=${market.id}`;
const trade = ({ id, price, qty, isBuyerMaker, time }) =>
  ({ trade_id: String(id), price, quantity: qty, side: isBuyerMaker ? 'sell' : 'buy', ts: time });
// Decimal text without zeros that say nothing.
const plain = (decimal) => (decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal);
// For the eye only: marks and indices have more digits than prices.
const near = (decimal, places = Math.max(2, priceDecimals())) => plain(Number(decimal).toFixed(places));

export class Perpetual {
  constructor(stream) {
    this.stream = stream;
    this.names = [];
    this.isAccountStreaming = false;
    this.key = null;
    this.ahead = 0;
  }

  async markets() {
    const { symbols, serverTime } = await request('GET', '/fapi/v1/exchangeInfo');
    this.ahead = serverTime - Date.now();
    return symbols.filter(({ status }) => status !== 'CLOSE').map((symbol) => {
      const filter = (name) => symbol.filters.find(({ filterType }) => filterType === name);
      return {
        venue: this, id: symbol.symbol, label: `${symbol.symbol} perpetual`, isPerpetual: true,
        status: symbol.status === 'TRADING' ? 'listed' : symbol.status.toLowerCase().replace('_', ' '),
        base_token: symbol.baseAsset, quote_token: symbol.quoteAsset,
        tick_size: plain(filter('PRICE_FILTER').tickSize), lot_size: plain(filter('LOT_SIZE').stepSize),
      };
    });
  }

  async depth(market) {
    const { lastUpdateId, bids, asks } = await request('GET', `/fapi/v1/depth?${here(market)}&limit=100`);
    return { last_update_id: lastUpdateId, bids, asks };
  }

  async trades(market, limit) {
    return (await request('GET', `/fapi/v1/trades?${here(market)}&limit=${limit}`)).map(trade).reverse();
  }

  async ticker(market) {
    const day = await request('GET', `/fapi/v1/ticker/24hr?${here(market)}`);
    return day.count === 0 ? null : {
      last_price: day.lastPrice, open_price: day.openPrice, high: day.highPrice, low: day.lowPrice, volume: day.volume,
      trade_count: day.count,
    };
  }

  async candles(market, interval, limit) {
    const rows = await request('GET', `/fapi/v1/klines?${here(market)}&interval=${interval}&limit=${limit}`);
    return rows.map(([time, ...row]) => [time / SECOND, ...row]);
  }

  // What a perpetual market shows besides: mark, index, funding and the time left to it.
  async extra(market) {
    const now = await request('GET', `/fapi/v1/premiumIndex?${here(market)}`);
    return this.facts(now.markPrice, now.indexPrice, now.lastFundingRate, now.nextFundingTime);
  }

  facts(mark, index, rate, next) {
    this.mark = mark;
    const left = Math.max(0, Math.floor((next - Date.now() - this.ahead) / SECOND));
    const clock = [left / 3600, (left / 60) % 60, left % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
    return [['Mark', near(mark)], ['Index', near(index)], ['Funding', `${plain((100 * Number(rate)).toFixed(4))} % in ${clock}`]];
  }

  watch(market, interval, book, { onTrades, onTicker, onCandle, onExtra, onChange }) {
    const name = market.id.toLowerCase();
    const fetchDepth = () => this.depth(market).then((depth) => { book.snapshot(depth); onChange(); }).catch(() => {});
    const handlers = {
      [`${name}@depth@100ms`]: ({ U, u, pu, b, a }) => {
        const isNext = book.diff({ update_id_first: U, update_id_last: u, update_id_previous: pu, bids: b, asks: a });
        // An event is missing, or none counts yet: from a fresh snapshot on.
        if (!isNext && book.isFetching !== true) {
          book.isFetching = true;
          fetchDepth().finally(() => { book.isFetching = false; });
        }
      },
      [`${name}@trade`]: ({ t, p, q, m, T }) => onTrades([trade({ id: t, price: p, qty: q, isBuyerMaker: m, time: T })]),
      [`${name}@ticker`]: ({ c, o, h, l, v, n }) =>
        onTicker({ last_price: c, open_price: o, high: h, low: l, volume: v, trade_count: n }),
      [`${name}@kline_${interval}`]: ({ k }) => onCandle([k.t / SECOND, k.o, k.h, k.l, k.c, k.v]),
      [`${name}@markPrice@1s`]: ({ p, i, r, T }) => onExtra(this.facts(p, i, r, T)),
    };
    this.names = Object.keys(handlers);
    for (const [stream, take] of Object.entries(handlers)) {
      this.stream.subscribeStream(stream, (event) => { take(event); onChange(); });
    }
  }

  unwatch() {
    this.names.forEach((name) => this.stream.unsubscribeStream(name));
    this.names = [];
  }

  // A request with the page's key, which is made when it is first needed.
  async signed(method, path, values = {}) {
    this.making ??= this.makeKey();
    const key = await this.making;
    const query = new URLSearchParams({ ...values, timestamp: String(Date.now() + this.ahead) }).toString();
    const signature = toHex(hmac(sha256, text.encode(key.api_secret), text.encode(query))).slice(2);
    return request(method, `${path}?${query}&signature=${signature}`, { headers: { 'X-MBX-APIKEY': key.api_key } });
  }

  // Keys that earlier visits left behind go; whoever pastes a wallet in two pages at once makes one of them ask again.
  async makeKey() {
    const { token } = this;
    const path = '/api/v1/account/api-keys';
    const known = await request('GET', path, { token });
    for (const { id, label } of known) if (label === KEY_LABEL) await request('DELETE', `${path}/${id}`, { token });
    this.key = await request('POST', path, { token, body: { label: KEY_LABEL, permissions: ['read', 'trade'] } });
    return this.key;
  }

  async account(token) {
    this.token = token;
    const read = (path) => this.signed('GET', path);
    const [orders, positions, account, configuration] = await Promise.all([
      read('/fapi/v1/openOrders'), read('/fapi/v3/positionRisk'), read('/fapi/v3/account'), read('/fapi/v1/symbolConfig'),
    ]);
    this.leverages = new Map(configuration.map(({ symbol, leverage }) => [symbol, leverage]));
    this.now = { orders, positions, account };
    return this.shown();
  }

  shown() {
    const { orders, positions, account } = this.now;
    return {
      orders: orders.toSorted((a, b) => b.orderId - a.orderId).map((order) => ({
        id: order.orderId, symbol: order.symbol, side: order.side.toLowerCase(), quantity: plain(order.origQty),
        filled_qty: plain(order.executedQty), price: this.level(order),
      })),
      balances: account.assets.map(({ asset, availableBalance, initialMargin }) =>
        ({ token: `${asset} margin`, available: near(availableBalance, 4), frozen: near(initialMargin, 4) })),
      positions: positions.filter(({ positionAmt }) => Number(positionAmt) !== 0).map((position) => ({
        symbol: position.symbol, amount: plain(position.positionAmt), entry: near(position.entryPrice),
        mark: near(position.markPrice), liquidation: Number(position.liquidationPrice) > 0 ? near(position.liquidationPrice) : '–',
        profit: Number(position.unRealizedProfit).toFixed(2), leverage: this.leverages.get(position.symbol),
      })),
    };
  }

  // The price of an order as people say it: with its trigger, where it waits for one.
  level({ type, origType, price, stopPrice, activatePrice, priceRate }) {
    const limit = Number(price) > 0 ? plain(price) : 'market';
    if (type === 'TRAILING_STOP_MARKET') return `trailing ${plain(priceRate ?? '0')} %${Number(activatePrice) > 0 ? ` from ${plain(activatePrice)}` : ''}`;
    if (!/^(STOP|TAKE_PROFIT)/.test(type)) return limit;
    return `${origType.startsWith('STOP') ? 'stop' : 'take'} ${plain(stopPrice)} → ${limit}`;
  }

  // Hears by the account's own stream that something changed, and reads it.
  async follow(token, _onShow, onRead) {
    this.token = token;
    const { listenKey } = await this.signed('POST', '/fapi/v1/listenKey');
    const url = new URL(`/ws/${listenKey}`, location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url);
    this.socket = socket;
    let waiting;
    const alive = setInterval(() => this.signed('PUT', '/fapi/v1/listenKey').catch(() => {}), KEEP_ALIVE_MS);
    socket.onopen = () => { this.isAccountStreaming = true; onRead(); };
    socket.onmessage = () => { waiting ??= setTimeout(() => { waiting = undefined; onRead(); }, 50); };
    socket.onclose = () => {
      clearInterval(alive);
      this.isAccountStreaming = false;
      if (this.socket === socket && this.token === token) {
        setTimeout(() => this.token === token && this.follow(token, _onShow, onRead).catch(() => {}), 5 * SECOND);
      }
    };
  }

  leave() {
    const { token, key, socket } = this;
    Object.assign(this, { token: null, key: null, making: null, socket: null, isAccountStreaming: false });
    socket?.close();
    if (key) request('DELETE', `/api/v1/account/api-keys/${key.id}`, { token }).catch(() => {});
  }

  async place(_token, market, entry) {
    const { side, type, when } = entry;
    const values = { symbol: market.id, side: side.toUpperCase(), quantity: entry.quantity, newOrderRespType: 'RESULT' };
    const suffix = type === 'market' ? '_MARKET' : '';
    values.type = { now: type.toUpperCase(), stop: `STOP${suffix}`, take: `TAKE_PROFIT${suffix}`, trail: 'TRAILING_STOP_MARKET' }[when];
    if (type === 'limit' && when !== 'trail') {
      Object.assign(values, { price: entry.price, timeInForce: { gtc: 'GTC', ioc: 'IOC', fok: 'FOK', post_only: 'GTX' }[entry.tif] });
    }
    if (when === 'stop' || when === 'take') Object.assign(values, { stopPrice: entry.trigger, workingType: 'MARK_PRICE' });
    if (when === 'trail') values.callbackRate = entry.callback;
    if (entry.reduce_only) values.reduceOnly = 'true';
    const order = await this.signed('POST', '/fapi/v1/order', values);
    const filled = Number(order.executedQty) > 0 ? `, ${plain(order.executedQty)} at ${plain(order.avgPrice)}` : '';
    const status = { NEW: when === 'now' ? 'open' : 'waiting' }[order.status] ?? order.status.toLowerCase().replaceAll('_', ' ');
    return status + filled;
  }

  // Closes a position at the market.
  close({ symbol, amount }) {
    const side = amount.startsWith('-') ? 'BUY' : 'SELL';
    return this.signed('POST', '/fapi/v1/order', { symbol, side, type: 'MARKET', quantity: amount.replace('-', ''), reduceOnly: 'true' });
  }

  cancel(_token, { symbol, id }) {
    return this.signed('DELETE', '/fapi/v1/order', { symbol, orderId: id });
  }

  async cancelAll() {
    const symbols = new Set(this.now.orders.map(({ symbol }) => symbol));
    for (const symbol of symbols) await this.signed('DELETE', '/fapi/v1/allOpenOrders', { symbol });
  }

  setLeverage(market, leverage) {
    return this.signed('POST', '/fapi/v1/leverage', { symbol: market.id, leverage });
  }

  leverage(market) {
    return this.leverages?.get(market.id);
  }

  free() {
    const [asset] = this.now?.account.assets ?? [];
    return asset && [plain(asset.availableBalance), asset.asset];
  }
}
