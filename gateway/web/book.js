// The levels of one market, kept by the rules of the depth channel: a snapshot, then diffs whose ids follow each other.

export class Book {
  constructor() {
    this.clear();
  }

  clear() {
    this.bids = new Map();
    this.asks = new Map();
    this.updateId = null;
  }

  snapshot({ last_update_id, bids, asks }) {
    this.bids = new Map(bids);
    this.asks = new Map(asks);
    this.updateId = last_update_id;
  }

  // False when a diff was lost: the channel must be subscribed to again.
  diff({ update_id_first, update_id_last, bids, asks }) {
    if (this.updateId === null) return false;
    if (update_id_last <= this.updateId) return true;
    if (update_id_first !== this.updateId + 1) return false;
    for (const [side, levels] of [[this.bids, bids], [this.asks, asks]]) {
      for (const [price, total] of levels) {
        if (total === '0') side.delete(price);
        else side.set(price, total);
      }
    }
    this.updateId = update_id_last;
    return true;
  }

  // Best first.
  top(count) {
    const sorted = (side, sign) => [...side].sort((a, b) => sign * (Number(a[0]) - Number(b[0]))).slice(0, count);
    return { bids: sorted(this.bids, -1), asks: sorted(this.asks, 1) };
  }
}
