// The levels of one market: a snapshot, then diffs that follow each other. What comes before the snapshot waits for it.

const WAITING = 1_000;

export class Book {
  constructor() {
    this.clear();
  }

  clear() {
    this.bids = new Map();
    this.asks = new Map();
    this.updateId = null;
    this.isFresh = false;
    this.waiting = [];
  }

  snapshot({ last_update_id, bids, asks }) {
    this.bids = new Map(bids);
    this.asks = new Map(asks);
    this.updateId = last_update_id;
    this.isFresh = true;
    const waiting = this.waiting;
    this.waiting = [];
    for (const diff of waiting) if (!this.diff(diff)) break;
  }

  // False when a diff was lost, or none counts yet: a snapshot is needed. A diff follows when its first id is the one after
  // ours or when it names ours as the one before it; the first after a snapshot may also reach back past it.
  diff(diff) {
    const { update_id_first: first, update_id_last: last, update_id_previous: previous, bids, asks } = diff;
    if (this.updateId === null) {
      if (previous !== undefined) this.waiting = [...this.waiting, diff].slice(-WAITING);
      return false;
    }
    if (last <= this.updateId) return true;
    const follows = previous === undefined
      ? first === this.updateId + 1
      : previous === this.updateId || (this.isFresh && first <= this.updateId + 1);
    if (!follows) {
      if (previous !== undefined) {
        this.updateId = null;
        this.waiting = [diff];
      }
      return false;
    }
    for (const [side, levels] of [[this.bids, bids], [this.asks, asks]]) {
      for (const [price, total] of levels) {
        if (Number(total) === 0) side.delete(price);
        else side.set(price, total);
      }
    }
    this.updateId = last;
    this.isFresh = false;
    return true;
  }

  // Best first.
  top(count) {
    const sorted = (side, sign) => [...side].sort((a, b) => sign * (Number(a[0]) - Number(b[0]))).slice(0, count);
    return { bids: sorted(this.bids, -1), asks: sorted(this.asks, 1) };
  }
}
