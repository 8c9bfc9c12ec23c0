// What just happened, in a few words that go away by themselves.
import { signal } from '@preact/signals';

export type Mood = 'good' | 'bad' | 'plain';

export interface Toast {
  id: number;
  mood: Mood;
  title: string;
  text: string;
}

const LIFE_MS = { good: 5_000, plain: 5_000, bad: 9_000 };
const SHOWN_MAX = 4;

let made = 0;
export const toasts = signal<Toast[]>([]);

export function toast(mood: Mood, title: string, text = ''): void {
  const id = ++made;
  toasts.value = [...toasts.value, { id, mood, title, text }].slice(-SHOWN_MAX);
  setTimeout(() => dismiss(id), LIFE_MS[mood]);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}
