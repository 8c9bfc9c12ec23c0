// How long an order takes from the press to the answer, as measured here, and what the venue says of itself.
import { computed, signal } from '@preact/signals';
import { readVenueLatency, type VenueLatency } from '../api/exchange';

const KEPT = 200;
const ASK_MS = 10_000;

export const samples = signal<number[]>([]);
export const venueLatency = signal<VenueLatency | null>(null);
// From the press to the event of the stream.
export const lastEvent = signal<number | null>(null);

const begun = new Map<string, number>();

// Runs what places an order and takes its time.
export async function timed<T extends { id: string }>(place: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const order = await place();
  samples.value = [...samples.value, performance.now() - start].slice(-KEPT);
  begun.set(order.id, start);
  return order;
}

export function noteOrderEvent(id: string): void {
  const start = begun.get(id);
  if (start === undefined) return;
  begun.delete(id);
  lastEvent.value = performance.now() - start;
}

export const countExpected = (): void => begun.clear();

const at = (part: number) => {
  const sorted = [...samples.value].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]! : null;
};
export const median = computed(() => at(0.5));
export const p99 = computed(() => at(0.99));

export function startLatency(): void {
  const ask = (): void => {
    if (document.hidden) return;
    readVenueLatency().then((said) => { venueLatency.value = said; }, () => {});
  };
  ask();
  setInterval(ask, ASK_MS);
}
