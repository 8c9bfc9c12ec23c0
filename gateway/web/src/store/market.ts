// The market that is shown and what is known of all of them. live/market.ts fills it.
import { batch, computed, signal } from '@preact/signals';
import { Book } from './book';
import { lastMarket } from './preferences';
import type { Market, Premium, Ticker, Trade } from './types';

const TRADES_MAX = 60;

export const markets = signal<Market[]>([]);
export const marketKey = signal<string>('');
export const market = computed(() => markets.value.find(({ key }) => key === marketKey.value) ?? null);
// By key of the market.
export const tickers = signal<Record<string, Ticker>>({});
export const premiums = signal<Record<string, Premium>>({});
export const openInterest = signal<Record<string, string>>({});
export const trades = signal<Trade[]>([]);

export const book = new Book();
// Raised whenever the book has changed, at most once a frame.
export const bookVersion = signal(0);

export const ticker = computed(() => tickers.value[marketKey.value] ?? null);
export const premium = computed(() => premiums.value[marketKey.value] ?? null);
export const lastPrice = computed(() => trades.value[0]?.price ?? ticker.value?.last ?? null);

let isRaised = false;
export function bookChanged(): void {
  if (isRaised) return;
  isRaised = true;
  requestAnimationFrame(() => {
    isRaised = false;
    bookVersion.value += 1;
  });
}

export function show(key: string): void {
  // What is shown already is followed already: its book would not come again.
  if (key === marketKey.value) return;
  batch(() => {
    book.clear();
    trades.value = [];
    marketKey.value = key;
    lastMarket.value = key;
    bookVersion.value += 1;
  });
}

// Newest first, each once.
export function joinTrades(known: Trade[], news: Trade[]): Trade[] {
  const ids = new Set(known.map(({ id }) => id));
  const fresh = news.filter(({ id }) => !ids.has(id));
  if (!fresh.length) return known;
  return [...fresh, ...known].sort((a, b) => Number(b.id) - Number(a.id)).slice(0, TRADES_MAX);
}
