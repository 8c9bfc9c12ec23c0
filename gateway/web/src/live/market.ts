// Keeps the market that is shown, and the list of all, as the streams tell them. Routes are read at the start, after a gap and
// after every reconnect.
import { batch, effect, signal } from '@preact/signals';
import * as exchange from '../api/exchange';
import { follow, subscribe, unfollow, unsubscribe, whenOpen, type Frame } from '../api/stream';
import { candle, fapiTrade, spotTicker, spotTrade, type SpotTicker, type SpotTrade } from '../api/venue';
import type { Snapshot } from '../store/book';
import { book, bookChanged, joinTrades, lastPrice, market, marketKey, markets, openInterest, premiums, show, tickers, trades } from '../store/market';
import { interval, lastMarket } from '../store/preferences';
import type { Candle, Market, Ticker } from '../store/types';

const CANDLES = 500;
const TRADES = 60;

// The chart hears of candles by these: all of them anew, or the newest one.
type TakeCandles = { set: (rows: Candle[]) => void; update: (row: Candle) => void };
let chart: TakeCandles | null = null;
export const isCandlesLoading = signal(false);

// Steps of forced sales as they happen, newest first.
export interface Liquidation {
  symbol: string;
  account: string;
  side: string;
  quantity: string;
  price: string;
  reason: string;
  fund_change: string;
  ts: number;
}
export const liquidations = signal<Liquidation[]>([]);

export function attachChart(taken: TakeCandles): () => void {
  chart = taken;
  void loadCandles();
  return () => {
    chart = null;
  };
}

// --- all markets -----------------------------------------------------------------------------------------------------

interface TickerEvent {
  s: string;
  c: string;
  o: string;
  h: string;
  l: string;
  v: string;
  q: string;
}
interface MarkEvent {
  s: string;
  p: string;
  i: string;
  r: string;
  T: number;
}

const tickerOf = ({ c, o, h, l, v, q }: TickerEvent): Ticker => ({ last: c, open: o, high: h, low: l, volume: v, quoteVolume: q });

function takeTickers(rows: Record<string, Ticker>): void {
  tickers.value = { ...tickers.value, ...rows };
}

// Reads what markets there are; throws where the exchange is not there yet.
export async function loadMarkets(): Promise<void> {
  const [{ markets: all, listed }, spot] = await Promise.all([exchange.readMarkets(), exchange.readSpotTickers()]);
  const rows: Record<string, Ticker> = {};
  const interests: Record<string, string> = {};
  const premia = { ...premiums.value };
  for (const row of listed) {
    const key = `perpetual:${row.symbol}`;
    const open = Number(row.last_price) / (1 + Number(row.price_change_percent_24h) / 100);
    if (Number(row.last_price) > 0) {
      rows[key] = { last: row.last_price, open: String(open), high: row.high_24h, low: row.low_24h, volume: row.volume_24h, quoteVolume: row.quote_volume_24h };
    }
    premia[key] ??= { mark: row.mark_price, index: row.index_price, rate: row.funding_rate, next: row.next_funding_time };
    interests[key] = row.open_interest;
  }
  for (const row of spot) rows[`spot:${row.symbol}`] = spotTicker(row);
  batch(() => {
    openInterest.value = interests;
    premiums.value = premia;
    takeTickers(rows);
    // What is watched stays as it is where nothing was listed or changed.
    if (JSON.stringify(all) !== JSON.stringify(markets.value)) markets.value = all;
  });
}

export function followAll(): void {
  follow<TickerEvent[]>('!ticker@arr', (events) => takeTickers(Object.fromEntries(events.map((event) => [`perpetual:${event.s}`, tickerOf(event)]))));
  follow<MarkEvent[]>('!markPrice@arr@1s', (events) => {
    const news = events.map(({ s, p, i, r, T }) => [`perpetual:${s}`, { mark: p, index: i, rate: r, next: T }]);
    premiums.value = { ...premiums.value, ...Object.fromEntries(news) };
  });
  for (const { venue, symbol, key } of markets.value) {
    if (venue === 'spot') {
      subscribe(`spot:ticker:${symbol}`, ({ type, data }: Frame) => {
        if (type === 'spot_ticker') takeTickers({ [key]: spotTicker(data as SpotTicker) });
      });
    } else {
      subscribe(`liquidations:${symbol}`, ({ type, data }: Frame) => {
        if (type === 'liquidation') liquidations.value = [data as Liquidation, ...liquidations.value].slice(0, 100);
      });
    }
  }
}

// --- the one that is shown -------------------------------------------------------------------------------------------

let isDepthAsked = false;
async function loadDepth(of: Market): Promise<void> {
  if (isDepthAsked) return;
  isDepthAsked = true;
  try {
    const depth = await exchange.readDepth(of);
    if (market.value?.key === of.key) {
      book.snapshot(depth);
      bookChanged();
    }
  } catch {
    // The next event finds the book without a snapshot and asks again.
  } finally {
    isDepthAsked = false;
  }
}

async function loadTrades(of: Market): Promise<void> {
  const rows = await exchange.readTrades(of, TRADES).catch(() => []);
  if (market.value?.key === of.key) trades.value = joinTrades(trades.value, rows);
}

async function loadCandles(): Promise<void> {
  const [of, at] = [market.value, interval.value];
  if (!of || !chart) return;
  isCandlesLoading.value = true;
  const rows = await exchange.readCandles(of, at, CANDLES).catch(() => null);
  if (market.value?.key !== of.key || interval.value !== at) return;
  isCandlesLoading.value = false;
  if (rows) chart?.set(rows);
}

export async function olderCandles(before: number): Promise<Candle[]> {
  const [of, at] = [market.value, interval.value];
  if (!of) return [];
  const rows = await exchange.readCandles(of, at, CANDLES, before).catch(() => []);
  return market.value?.key === of.key && interval.value === at ? rows : [];
}

interface DepthEvent {
  U: number;
  u: number;
  pu: number;
  b: [string, string][];
  a: [string, string][];
}
interface TradeEvent {
  t: number;
  p: string;
  q: string;
  m: boolean;
  T: number;
}

function watchPerpetual(of: Market): string[] {
  const name = of.symbol.toLowerCase();
  follow<DepthEvent>(`${name}@depth@100ms`, ({ U, u, pu, b, a }) => {
    const isNext = book.diff({ first: U, last: u, previous: pu, bids: b, asks: a });
    if (!isNext) void loadDepth(of);
    bookChanged();
  });
  follow<TradeEvent>(`${name}@trade`, ({ t, p, q, m, T }) => {
    trades.value = joinTrades(trades.value, [fapiTrade({ id: t, price: p, qty: q, isBuyerMaker: m, time: T })]);
  });
  void loadDepth(of);
  return [`${name}@depth`, `${name}@trade`];
}

interface SpotDiff {
  update_id_first: number;
  update_id_last: number;
  bids: [string, string][];
  asks: [string, string][];
}

function watchSpot(of: Market): string[] {
  const depth = `spot:depth:${of.symbol}`;
  const take = ({ type, data }: Frame): void => {
    if (type === 'spot_depth_snapshot') book.snapshot(data as Snapshot);
    else if (type === 'spot_depth_diff') {
      const { update_id_first: first, update_id_last: last, bids, asks } = data as SpotDiff;
      const wasKnown = book.updateId !== null;
      // Subscribing again gives the snapshot anew.
      if (!book.diff({ first, last, bids, asks }) && wasKnown) subscribe(depth, take);
    } else return;
    bookChanged();
  };
  subscribe(depth, take);
  subscribe(`spot:trade:${of.symbol}`, ({ type, data }: Frame) => {
    if (type === 'spot_trade') trades.value = joinTrades(trades.value, [spotTrade(data as SpotTrade)]);
  });
  return [depth, `spot:trade:${of.symbol}`];
}

function watch(of: Market): () => void {
  const isSpot = of.venue === 'spot';
  const names = isSpot ? watchSpot(of) : watchPerpetual(of);
  void loadTrades(of);
  return () => names.forEach((name) => (isSpot ? unsubscribe(name) : unfollow(name)));
}

interface SpotKline {
  open_time: number;
  open: string;
  high: string;
  low: string;
  close: string;
  volume: string;
}

function watchCandles(of: Market, at: string): () => void {
  void loadCandles();
  if (of.venue === 'spot') {
    const name = `spot:kline:${of.symbol}:${at}`;
    subscribe(name, ({ type, data }: Frame) => {
      if (!type.startsWith('spot_kline')) return;
      const k = data as SpotKline;
      chart?.update(candle([k.open_time, k.open, k.high, k.low, k.close, k.volume], false));
    });
    return () => unsubscribe(name);
  }
  const name = `${of.symbol.toLowerCase()}@kline_${at}`;
  type Kline = { k: { t: number; o: string; h: string; l: string; c: string; v: string } };
  follow<Kline>(name, ({ k }) => chart?.update(candle([k.t, k.o, k.h, k.l, k.c, k.v], true)));
  return () => unfollow(name);
}

// Follows whatever is shown from now on.
export function startMarket(): void {
  const first = markets.value.find(({ key }) => key === lastMarket.value) ?? markets.value[0];
  if (first) show(first.key);
  followAll();
  effect(() => {
    const of = markets.value.find(({ key }) => key === marketKey.value);
    return of && watch(of);
  });
  effect(() => {
    const of = markets.value.find(({ key }) => key === marketKey.value);
    return of && watchCandles(of, interval.value);
  });
  effect(() => {
    document.title = market.value && lastPrice.value ? `${lastPrice.value} ${market.value.symbol} · Ringside` : 'Ringside';
  });
  // What was missed in between. Spot books send their snapshot with the subscription.
  whenOpen((isAgain) => {
    const of = market.value;
    if (!isAgain || !of) return;
    book.clear();
    void loadMarkets().catch(() => {});
    if (of.venue === 'perpetual') void loadDepth(of);
    void loadTrades(of);
    void loadCandles();
  });
}
