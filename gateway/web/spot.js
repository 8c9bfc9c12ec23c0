// The spot venue as the page sees it: what a market shows, and what an account has and does there.
import { request } from './api.js';

const here = (market) => `symbol=${market.id}`;
const kline = (data) => [data.open_time, data.open, data.high, data.low, data.close, data.volume];
const PRIVATE = ['spot:user:orders', 'spot:user:balances'];

export class Spot {
  constructor(stream) {
    this.stream = stream;
    this.channels = [];
    this.isAccountStreaming = false;
  }

  async markets() {
    const markets = await request('GET', '/api/v1/spot/markets');
    return markets.filter((market) => market.status !== 'delisted').map((market) => ({ ...market, venue: this, label: market.id }));
  }

  depth(market) {
    return request('GET', `/api/v1/spot/depth?${here(market)}&limit=100`);
  }

  trades(market, limit) {
    return request('GET', `/api/v1/spot/trades?${here(market)}&limit=${limit}`);
  }

  async ticker(market) {
    try {
      return await request('GET', `/api/v1/spot/ticker/24hr?${here(market)}`);
    } catch (error) {
      if (error.code === 'TICKER_NOT_FOUND') return null;
      throw error;
    }
  }

  candles(market, interval, limit) {
    return request('GET', `/api/v1/spot/klines?${here(market)}&interval=${interval}&limit=${limit}`);
  }

  async extra() {
    return [];
  }

  // Follows a market by the stream: depth into `book`, the rest into the functions given.
  watch(market, interval, book, { onTrades, onTicker, onCandle, onChange }) {
    const depth = `spot:depth:${market.id}`;
    const handlers = {
      [depth]: ({ type, data }) => {
        if (type === 'spot_depth_snapshot') book.snapshot(data);
        else if (type === 'spot_depth_diff' && !book.diff(data) && book.updateId !== null) {
          // A diff is missing: nothing counts until the next snapshot.
          book.updateId = null;
          this.stream.send({ type: 'subscribe', channel: depth });
        }
      },
      [`spot:trade:${market.id}`]: ({ type, data }) => type === 'spot_trade' && onTrades([data]),
      [`spot:ticker:${market.id}`]: ({ type, data }) => { if (type === 'spot_ticker') onTicker(data); },
      [`spot:kline:${market.id}:${interval}`]: ({ type, data }) => type?.startsWith('spot_kline') && onCandle(kline(data)),
    };
    this.channels = Object.keys(handlers);
    for (const [channel, take] of Object.entries(handlers)) {
      this.stream.subscribe(channel, (frame) => {
        if (frame.data === undefined) return;
        take(frame);
        onChange();
      });
    }
  }

  unwatch() {
    this.channels.forEach((channel) => this.stream.unsubscribe(channel));
    this.channels = [];
  }

  // What an account has: open orders, balances, no positions.
  async account(token) {
    const [open, partly, balances] = await Promise.all([
      request('GET', '/api/v1/spot/orders?status=open&limit=200', { token }),
      request('GET', '/api/v1/spot/orders?status=partially_filled&limit=200', { token }),
      request('GET', '/api/v1/spot/balances', { token }),
    ]);
    this.orders = new Map([...open, ...partly].map((order) => [order.id, order]));
    this.balances = new Map(balances.map((balance) => [balance.token, balance]));
    return this.shown();
  }

  shown() {
    const orders = [...this.orders.values()].sort((a, b) => (b.created_at ?? b.updated_at) - (a.created_at ?? a.updated_at));
    const balances = [...this.balances.values()].sort((a, b) => (a.token < b.token ? -1 : 1));
    return { orders, balances, positions: [] };
  }

  takeOrder(order) {
    if (['open', 'partially_filled'].includes(order.status)) {
      this.orders.set(order.id, { ...this.orders.get(order.id), ...order });
    } else if (order.status !== 'new') {
      this.orders.delete(order.id);
    }
  }

  // Hears of the account's orders and balances by the stream. `onRead` asks for all of it again.
  follow(token, onShow, onRead) {
    this.stream.subscribe(PRIVATE[0], ({ type, data }) => {
      if (type === 'spot_user_order') this.takeOrder({ ...data, tif: data.tif.toLowerCase() });
      if (type === 'subscribed') { this.isAccountStreaming = true; onRead(); }
      if (type === 'error') this.isAccountStreaming = false;
      onShow();
    });
    this.stream.subscribe(PRIVATE[1], ({ type, data }) => {
      if (type === 'spot_user_balance') this.balances.set(data.token, data);
      onShow();
    });
    this.stream.authenticate(token);
    // The two channels again, now that the connection knows who asks.
    for (const channel of PRIVATE) this.stream.send({ type: 'subscribe', channel });
  }

  leave() {
    for (const channel of PRIVATE) this.stream.unsubscribe(channel);
    this.stream.authenticate(null);
    this.isAccountStreaming = false;
  }

  // Places what the form holds; gives what to say of it.
  async place(token, market, entry) {
    const { side, type } = entry;
    const body = { symbol: market.id, side, type };
    const names = type === 'limit' ? ['price', 'quantity', 'tif'] : [side === 'buy' ? 'quote_quantity' : 'quantity'];
    for (const name of names) body[name] = entry[name];
    const order = await request('POST', '/api/v1/spot/orders', { token, body });
    this.takeOrder(order);
    const filled = Number(order.filled_qty) > 0 ? `, ${order.filled_qty} at ${order.avg_fill_price}` : '';
    return order.status.replace('_', ' ') + filled;
  }

  async cancel(token, order) {
    this.takeOrder(await request('DELETE', `/api/v1/spot/orders/${order.id}`, { token }));
  }

  cancelAll(token) {
    return request('DELETE', '/api/v1/spot/orders', { token });
  }

  // What may still be spent on that side, and its token.
  free(market, side) {
    const balance = this.balances?.get(side === 'buy' ? market.quote_token : market.base_token);
    return balance && [balance.available, balance.token];
  }
}
