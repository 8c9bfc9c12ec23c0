// Keeps the account as its stream tells it. Routes are read at login, where the stream says that it lost something, and for the few
// figures that only the venue works out: liquidation prices and available margin, at most once in REFRESH_MS while something changes.
import { batch, effect } from '@preact/signals';
import { Refused } from '../api/client';
import * as exchange from '../api/exchange';
import { authenticate, subscribe, unsubscribe, whenOpen, type Frame } from '../api/stream';
import { fapiPosition, spotOrder, type SpotOrder } from '../api/venue';
import { isZero, plain } from '../lib/decimal';
import { countExpected, noteOrderEvent } from './latency';
import * as account from '../store/account';
import { session } from '../store/session';
import { toast } from '../store/toasts';
import type { Fill, Order } from '../store/types';
import { orderWords } from '../words/orders';
import { endSession } from './login';

const REFRESH_MS = 2_000;
const RECENT_MAX = 500;
const CHANNELS = ['user_data', 'spot:user:orders', 'spot:user:balances'];

let refreshing: ReturnType<typeof setTimeout> | undefined;
let refreshedAt = 0;
let reading: ReturnType<typeof setTimeout> | undefined;

// What was said of orders already, by id, state and what was filled: an act's answer and the stream tell the same.
const said = new Set<string>();
const waiting = new Map<string, Order>();

const markOf = (order: Order): string => `${account.orderKey(order)}:${order.status.replace('new', 'open')}:${order.filled}`;

// Nothing is said of each one where all were canceled at once.
export const hushCanceled = (orders: Order[]): void => orders.forEach((order) => said.add(markOf({ ...order, status: 'canceled' })));

// Says what became of an order, once.
export function tellOrder(order: Order): void {
  const mark = markOf(order);
  if (said.has(mark)) return;
  said.add(mark);
  const words = orderWords(order);
  if (words) toast(words.mood, words.title, words.text);
}

// The same of what the stream tells: only where it comes to rest, since one order may fill in many steps. That an order is open
// says whoever placed it.
function tellSoon(order: Order): void {
  const key = account.orderKey(order);
  if (!waiting.has(key)) {
    setTimeout(() => {
      const last = waiting.get(key);
      waiting.delete(key);
      if (last && last.status !== 'new' && last.status !== 'open' && last.status !== 'rejected') tellOrder(last);
    }, 300);
  }
  waiting.set(key, order);
}

export function takeOrder(order: Order): void {
  const key = account.orderKey(order);
  const before = account.orders.value.get(key);
  account.orders.value = account.withOrder(account.orders.value, order);
  const rest = account.recentOrders.value.filter((one) => account.orderKey(one) !== key);
  account.recentOrders.value = [{ ...order, created: before?.created ?? order.created }, ...rest].slice(0, RECENT_MAX);
}

function takeFill(fill: Fill): void {
  account.recentFills.value = [fill, ...account.recentFills.value].slice(0, RECENT_MAX);
}

// --- the perpetual account -------------------------------------------------------------------------------------------

interface AccountUpdate {
  T: number;
  a: { m: string; B: Array<{ wb: string; bc: string }>; P: account.PositionEvent[] };
}

function takeUserData({ type, data }: Frame): void {
  if (type === 'ORDER_TRADE_UPDATE') takeOrderEvent((data as { o: account.OrderEvent }).o);
  else if (type === 'ACCOUNT_UPDATE') takeAccountUpdate(data as AccountUpdate);
  else if (type === 'ACCOUNT_CONFIG_UPDATE') {
    const { ac } = data as { ac?: { s: string; l: number } };
    if (ac) setKnownLeverage(ac.s, { leverage: ac.l });
  } else if (type === 'ALGO_UPDATE') {
    const { T, o } = data as { T: number; o: account.AlgoEvent };
    takeAlgoEvent(o, T);
  } else if (type === 'CONDITIONAL_ORDER_TRIGGER_REJECT') {
    const { or } = data as { or: { s: string; r: string } };
    toast('bad', `A ${or.s} order fired and was refused`, or.r);
  } else if (type === 'MARGIN_CALL') {
    toast('bad', 'Margin call', 'Your margin is nearly used up: reduce a position or transfer USDT to it, or it will be liquidated.');
  } else return;
  refreshSoon();
}

function takeOrderEvent(event: account.OrderEvent): void {
  const order = account.orderOf(event, account.orders.value.get(`perpetual:${event.i}`));
  noteOrderEvent(order.id);
  takeOrder(order);
  if (event.x === 'TRADE' || event.x === 'CALCULATED') {
    takeFill(account.fillOf(event));
    addIncome(order.symbol, 'REALIZED_PNL', event.rp, event.T, `fill-${event.t}`);
  }
  if (event.o === 'LIQUIDATION' && event.x === 'CALCULATED') toast('bad', `${order.symbol} position liquidated`, `${plain(event.l)} at ${plain(event.L)}`);
  else tellSoon(order);
}

function takeAlgoEvent(event: account.AlgoEvent, time: number): void {
  const order = account.algoOf(event, time, account.orders.value.get(`perpetual:${event.aid}`));
  takeOrder(order);
  if (order.type === 'trailing_stop_market' && order.status === 'new') void readTrailing();
  // What it goes on as tells the rest.
  if (order.status === 'canceled' || order.status === 'expired' || order.status === 'triggered') tellSoon(order);
}

// How far an order trails stands in no event.
async function readTrailing(): Promise<void> {
  const signer = session.value?.signer;
  if (!signer) return;
  const open = await exchange.readOpenAlgos(signer).catch(() => []);
  if (session.value?.signer !== signer) return;
  for (const order of open) if (account.orders.value.has(account.orderKey(order))) takeOrder(order);
}

function takeAccountUpdate({ T, a }: AccountUpdate): void {
  batch(() => {
    for (const event of a.P) {
      account.positions.value = account.withPosition(account.positions.value, event, account.leverages.value[event.s]?.leverage ?? 1);
      setKnownLeverage(event.s, { isIsolated: event.mt.toLowerCase() === 'isolated' });
    }
    const usdt = a.B[0];
    if (usdt && a.m === 'FUNDING_FEE') addIncome('', 'FUNDING_FEE', usdt.bc, T, `funding-${T}`);
  });
}

function addIncome(symbol: string, type: string, amount: string, time: number, id: string): void {
  if (!isZero(amount)) account.incomes.value = [...account.incomes.value, { symbol, type, amount: plain(amount), time, id }];
}

export function setKnownLeverage(symbol: string, part: { leverage?: number; isIsolated?: boolean }): void {
  const known = account.leverages.value[symbol] ?? { leverage: 1, isIsolated: false };
  account.leverages.value = { ...account.leverages.value, [symbol]: { ...known, ...part } };
  const position = account.positions.value.get(symbol);
  if (position && part.leverage) {
    account.positions.value = new Map(account.positions.value).set(symbol, { ...position, leverage: part.leverage });
  }
}

// --- the spot account ------------------------------------------------------------------------------------------------

interface LastFill {
  trade_id: string;
  price: string;
  quantity: string;
  fee: string;
  fee_token: string;
}

function takeSpotOrder({ type, data }: Frame): void {
  if (type !== 'spot_user_order') return;
  const row = data as SpotOrder & { last_fill?: LastFill };
  const order = spotOrder(row);
  noteOrderEvent(order.id);
  // `new` says that it begins to match; the next event says what came of it.
  if (order.status === 'new') return;
  takeOrder(order);
  const fill = row.last_fill;
  if (fill) {
    takeFill({
      venue: 'spot', id: fill.trade_id, orderId: order.id, symbol: order.symbol, side: order.side, price: fill.price,
      quantity: fill.quantity, fee: fill.fee, feeToken: fill.fee_token, realised: null, isMaker: false, time: order.updated,
    });
  }
  tellSoon(order);
}

function takeBalance({ type, data }: Frame): void {
  if (type !== 'spot_user_balance') return;
  const { token, available, frozen } = data as { token: string; available: string; frozen: string };
  account.balances.value = account.withBalance(account.balances.value, { token, available, frozen });
  refreshSoon();
}

// --- reading ---------------------------------------------------------------------------------------------------------

export function refreshSoon(): void {
  refreshing ??= setTimeout(() => {
    refreshing = undefined;
    refreshedAt = Date.now();
    void refreshFigures();
  }, Math.max(150, refreshedAt + REFRESH_MS - Date.now()));
}

// The figures that events do not carry.
async function refreshFigures(): Promise<void> {
  const by = session.value;
  if (!by) return;
  try {
    const [unified, rows] = await Promise.all([exchange.readUnified(by.token), exchange.readPositions(by.token)]);
    if (session.value?.token !== by.token) return;
    const { perpetual } = unified;
    batch(() => {
      account.margin.value = {
        wallet: perpetual.wallet_balance, unrealised: perpetual.unrealized_pnl, equity: perpetual.margin_balance,
        available: perpetual.available_balance, withdrawable: perpetual.max_withdraw, initial: perpetual.initial_margin,
        maintenance: perpetual.maint_margin, ratio: perpetual.margin_ratio, total: unified.total_equity,
      };
      const known = account.positions.value;
      account.positions.value = new Map(rows.map((row) => [row.symbol, fapiPosition(row, known.get(row.symbol)?.realised ?? null)]));
    });
  } catch (error) {
    lookAt(error);
  }
}

// All of the account.
async function readAll(): Promise<void> {
  const by = session.value;
  if (!by) return;
  try {
    const [open, algos, balances] = await Promise.all([
      exchange.readOpenOrders(by.token), by.signer ? exchange.readOpenAlgos(by.signer) : [], exchange.readBalances(by.token),
    ]);
    if (session.value?.token !== by.token) return;
    batch(() => {
      account.orders.value = new Map([...open, ...algos].map((order) => [account.orderKey(order), order]));
      account.balances.value = balances;
    });
    await refreshFigures();
    if (session.value?.token === by.token) account.isAccountKnown.value = true;
    const { signer } = by;
    if (!signer) return;
    const [leverages, incomes] = await Promise.all([exchange.readLeverages(signer), exchange.readIncome(signer)]);
    if (session.value?.token !== by.token) return;
    account.leverages.value = Object.fromEntries(
      leverages.map(({ symbol, leverage, marginType }) => [symbol, { leverage, isIsolated: marginType === 'ISOLATED' }]));
    account.incomes.value = incomes;
  } catch (error) {
    lookAt(error);
  }
}

// Once, however many channels say that they lost something.
function readSoon(): void {
  reading ??= setTimeout(() => {
    reading = undefined;
    void readAll();
  }, 50);
}

function lookAt(error: unknown): void {
  if (error instanceof Refused && error.status === 401) endSession('Your login has ended: log in again.');
}

// Follows whoever is logged in.
export function startAccount(): void {
  effect(() => {
    const token = session.value?.token ?? null;
    account.forgetAccount();
    authenticate(token);
    if (!token) return;
    subscribe('user_data', takeUserData, readSoon);
    subscribe('spot:user:orders', takeSpotOrder, readSoon);
    subscribe('spot:user:balances', takeBalance, readSoon);
    void readAll();
    return () => CHANNELS.forEach(unsubscribe);
  });
  whenOpen((isAgain) => {
    countExpected();
    // What happened meanwhile is told; what prices made of it is not.
    if (isAgain) refreshSoon();
  });
}
