// The levels of one market: a snapshot, then diffs that follow each other. What comes before the snapshot waits for it.
import { add, ceilTo, compare, floorTo, isZero, multiply } from '../lib/decimal';

export type Level = [price: string, quantity: string];

export interface Snapshot {
  last_update_id: number;
  bids: Level[];
  asks: Level[];
}

export interface Diff {
  first: number;
  last: number;
  // Of perpetual markets, which name the event before.
  previous?: number;
  bids: Level[];
  asks: Level[];
}

// A row that is shown: all of it up to here is `sum`.
export interface Row {
  price: string;
  quantity: string;
  sum: string;
}

const WAITING_MAX = 1_000;

export class Book {
  bids = new Map<string, string>();
  asks = new Map<string, string>();
  updateId: number | null = null;
  private isFresh = false;
  private waiting: Diff[] = [];

  clear(): void {
    this.bids.clear();
    this.asks.clear();
    this.updateId = null;
    this.isFresh = false;
    this.waiting = [];
  }

  snapshot({ last_update_id: id, bids, asks }: Snapshot): void {
    this.bids = new Map(bids);
    this.asks = new Map(asks);
    this.updateId = id;
    this.isFresh = true;
    const waiting = this.waiting;
    this.waiting = [];
    for (const diff of waiting) if (!this.diff(diff)) break;
  }

  // False when a diff was lost, or none counts yet: a snapshot is needed. A diff follows when its first id is the one after
  // ours or when it names ours as the one before it; the first after a snapshot may also reach back past it.
  diff(diff: Diff): boolean {
    const { first, last, previous, bids, asks } = diff;
    if (this.updateId === null) {
      if (previous !== undefined) this.waiting = [...this.waiting, diff].slice(-WAITING_MAX);
      return false;
    }
    if (last <= this.updateId) return true;
    const follows =
      previous === undefined
        ? first === this.updateId + 1
        : previous === this.updateId || (this.isFresh && first <= this.updateId + 1);
    if (!follows) {
      this.updateId = null;
      if (previous !== undefined) this.waiting = [diff];
      return false;
    }
    for (const [side, levels] of [[this.bids, bids], [this.asks, asks]] as const) {
      for (const [price, quantity] of levels) {
        if (isZero(quantity)) side.delete(price);
        else side.set(price, quantity);
      }
    }
    this.updateId = last;
    this.isFresh = false;
    return true;
  }

  // Best first. Order is found with floats, which are as fine as any price here.
  sorted(side: 'bids' | 'asks'): Level[] {
    const sign = side === 'bids' ? -1 : 1;
    return [...this[side]].sort((a, b) => sign * (Number(a[0]) - Number(b[0])));
  }

  best(side: 'bids' | 'asks'): string | null {
    let best: string | null = null;
    for (const price of this[side].keys()) {
      if (best === null || (side === 'bids' ? Number(price) > Number(best) : Number(price) < Number(best))) best = price;
    }
    return best;
  }
}

// Levels, best first, put together by a step: a bid counts at the multiple below it, an ask at the one above.
export function group(levels: Level[], side: 'bids' | 'asks', step: string, count: number): Row[] {
  const rows: Row[] = [];
  let sum = '0';
  for (const [price, quantity] of levels) {
    const at = side === 'bids' ? floorTo(price, step) : ceilTo(price, step);
    const last = rows.at(-1);
    if (last && compare(last.price, at) === 0) {
      sum = add(sum, quantity);
      last.quantity = add(last.quantity, quantity);
      last.sum = sum;
      continue;
    }
    if (rows.length === count) break;
    sum = add(sum, quantity);
    rows.push({ price: at, quantity, sum });
  }
  return rows;
}

// Steps that a trader may choose: the tick and what is coarser, none coarser than a fiftieth of the price.
export function steps(tick: string, price: string | null): string[] {
  const all = ['1', '10', '50', '100', '500', '1000', '10000'].map((times) => multiply(tick, times));
  return all.filter((step, at) => at === 0 || price === null || compare(multiply(step, '50'), price) <= 0);
}
