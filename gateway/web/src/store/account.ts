// The account as its stream tells it: what each event makes of orders, positions and balances.
import { computed, signal } from '@preact/signals';
import { add, compare, isZero, multiply, plain, subtract } from '../lib/decimal';
import type { Balance, Fill, Income, Margin, Order, Position } from './types';
import { premiums } from './market';

export const orders = signal<ReadonlyMap<string, Order>>(new Map());
export const positions = signal<ReadonlyMap<string, Position>>(new Map());
export const balances = signal<Balance[]>([]);
export const margin = signal<Margin | null>(null);
export const leverages = signal<Record<string, { leverage: number; isIsolated: boolean }>>({});
export const incomes = signal<Income[]>([]);
// What has happened since the page follows the account, newest first; histories read from the venue come behind it.
export const recentOrders = signal<Order[]>([]);
export const recentFills = signal<Fill[]>([]);
export const isAccountKnown = signal(false);

export const orderKey = ({ venue, id }: Pick<Order, 'venue' | 'id'>): string => `${venue}:${id}`;
export const openOrders = computed(() => [...orders.value.values()].sort((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1)));

const OPEN = new Set(['new', 'open', 'partially_filled']);
export const isOpen = ({ status }: Order): boolean => OPEN.has(status);

// --- orders ----------------------------------------------------------------------------------------------------------

// The order object of ORDER_TRADE_UPDATE.
export interface OrderEvent {
  s: string;
  S: string;
  o: string;
  ot: string;
  f: string;
  q: string;
  p: string;
  ap: string;
  sp: string;
  x: string;
  X: string;
  i: number;
  l: string;
  z: string;
  L: string;
  n: string;
  N: string;
  T: number;
  t: number;
  m: boolean;
  R: boolean;
  cp: boolean;
  rp: string;
  c: string;
  AP?: string;
  cr?: string;
  er?: string;
}

const unlessZero = (text: string | undefined): string | null => (text && Number(text) !== 0 ? plain(text) : null);

export function orderOf(event: OrderEvent, known: Order | undefined): Order {
  return {
    venue: 'perpetual', id: String(event.i), symbol: event.s, side: event.S === 'BUY' ? 'buy' : 'sell', type: event.o.toLowerCase(),
    price: unlessZero(event.p), quoteQuantity: null, trigger: unlessZero(event.sp), callback: unlessZero(event.cr),
    activation: unlessZero(event.AP), quantity: plain(event.q), filled: plain(event.z), average: plain(event.ap),
    status: event.X.toLowerCase(), tif: event.f.toLowerCase(), reduceOnly: event.R, closePosition: event.cp,
    parent: known?.parent ?? null, isOfService: false, reason: EXPIRY[event.er ?? '0'] ?? null, created: known?.created ?? event.T, updated: event.T,
  };
}

// The order object of ALGO_UPDATE. How far one trails it does not say.
export interface AlgoEvent {
  aid: number;
  o: string;
  s: string;
  S: string;
  f: string;
  q: string;
  X: string;
  tp: string;
  p: string;
  cp: boolean;
  R: boolean;
  rm: string;
}

export const algoOf = (event: AlgoEvent, time: number, known: Order | undefined): Order => ({
  venue: 'perpetual', id: String(event.aid), symbol: event.s, side: event.S === 'BUY' ? 'buy' : 'sell', type: event.o.toLowerCase(),
  price: unlessZero(event.p), quoteQuantity: null, trigger: unlessZero(event.tp) ?? known?.trigger ?? null,
  callback: known?.callback ?? null, activation: known?.activation ?? null, quantity: plain(event.q), filled: '0', average: '0',
  status: event.X.toLowerCase(), tif: event.f.toLowerCase(), reduceOnly: event.R, closePosition: event.cp, parent: null,
  isOfService: true, reason: event.rm || null, created: known?.created ?? time, updated: time,
});

// Why an order ended by itself (`er` of ORDER_TRADE_UPDATE).
const EXPIRY: Record<string, string> = {
  1: 'it would have met an order of your own', 2: 'the rest found nobody at once', 3: 'the rest would have met an order of your own',
  4: 'there is no position left to reduce', 5: 'the account is being liquidated', 6: 'there is no position to close',
  7: 'the market is closed', 8: 'its trigger came, but the order was refused', 9: 'nobody was left to trade with',
  10: 'the margin did not suffice when it met its match', 11: 'the price moved out of the allowed band', 12: 'the position was auto-deleveraged',
};

export function fillOf(event: OrderEvent): Fill {
  return {
    venue: 'perpetual', id: String(event.t), orderId: String(event.i), symbol: event.s, side: event.S === 'BUY' ? 'buy' : 'sell',
    price: plain(event.L), quantity: plain(event.l), fee: plain(event.n), feeToken: event.N, realised: plain(event.rp),
    isMaker: event.m, time: event.T,
  };
}

// The orders with this one in them while it is open, without it otherwise. A state older than the known one changes nothing.
export function withOrder(known: ReadonlyMap<string, Order>, order: Order): ReadonlyMap<string, Order> {
  const key = orderKey(order);
  const before = known.get(key);
  if (before && (before.updated > order.updated || compare(before.filled, order.filled) > 0)) return known;
  const next = new Map(known);
  if (isOpen(order)) next.set(key, before ? { ...order, created: before.created, parent: order.parent ?? before.parent } : order);
  else next.delete(key);
  return next;
}

// --- positions and balances ------------------------------------------------------------------------------------------

// Of ACCOUNT_UPDATE.
export interface PositionEvent {
  s: string;
  pa: string;
  ep: string;
  bep: string;
  cr: string;
  up: string;
  mt: string;
  iw: string;
}

export function withPosition(
  known: ReadonlyMap<string, Position>,
  event: PositionEvent,
  leverage: number,
): ReadonlyMap<string, Position> {
  const next = new Map(known);
  if (isZero(event.pa)) {
    next.delete(event.s);
    return next;
  }
  const before = known.get(event.s);
  next.set(event.s, {
    symbol: event.s, amount: plain(event.pa), entry: plain(event.ep), breakEven: plain(event.bep), mark: before?.mark ?? plain(event.ep),
    // Worked out by the venue, and read again soon.
    liquidation: before?.liquidation ?? '0',
    unrealised: plain(event.up), realised: plain(event.cr), leverage: before?.leverage ?? leverage,
    isIsolated: event.mt.toLowerCase() === 'isolated', isolatedWallet: plain(event.iw),
  });
  return next;
}

// A position at the mark of now.
export function atMark(position: Position, mark: string | undefined): Position {
  if (!mark) return position;
  return { ...position, mark, unrealised: multiply(subtract(mark, position.entry), position.amount) };
}

export const livePositions = computed(() =>
  [...positions.value.values()].map((position) => atMark(position, premiums.value[`perpetual:${position.symbol}`]?.mark)));

// The perpetual account's figures with profit at the marks of now.
export const liveMargin = computed(() => {
  const known = margin.value;
  if (!known) return null;
  const unrealised = livePositions.value.reduce((sum, position) => add(sum, position.unrealised), '0');
  const moved = subtract(unrealised, known.unrealised);
  const equity = add(known.equity, moved);
  const ratio = Number(equity) > 0 ? Number(known.maintenance) / Number(equity) : 0;
  return { ...known, unrealised, equity, total: add(known.total, moved), ratio: String(ratio) };
});

export function withBalance(known: Balance[], balance: Balance): Balance[] {
  const at = known.findIndex(({ token }) => token === balance.token);
  const rest = at < 0 ? known : known.toSpliced(at, 1);
  return [...rest, balance].sort((a, b) => (a.token < b.token ? -1 : 1));
}

export const realisedWeek = computed(() => sumOf('REALIZED_PNL'));
export const fundingWeek = computed(() => sumOf('FUNDING_FEE'));

function sumOf(type: string): string {
  return incomes.value.reduce((sum, row) => (row.type === type ? add(sum, row.amount) : sum), '0');
}

export function forgetAccount(): void {
  orders.value = new Map();
  positions.value = new Map();
  balances.value = [];
  margin.value = null;
  leverages.value = {};
  incomes.value = [];
  recentOrders.value = [];
  recentFills.value = [];
  isAccountKnown.value = false;
}
