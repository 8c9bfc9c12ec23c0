// Numbers, times and hashes as people read them, in their own time zone. For the eye only.
import { decimalsOf, fixed, isDecimal, isZero, plain } from './decimal';

const DASH = '–';

// Thousands set apart, so many decimals.
export function grouped(text: string | null | undefined, decimals: number): string {
  if (text == null || !isDecimal(text)) return DASH;
  const [whole = '', part] = fixed(text, decimals).split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? `.${part}` : '');
}

export const money = (text: string | null | undefined): string => grouped(text, 2);

// With its sign, where it is not nothing.
export function signed(text: string | null | undefined, decimals = 2): string {
  if (text == null || !isDecimal(text)) return DASH;
  const shown = grouped(text, decimals);
  return text.startsWith('-') || isZero(fixed(text, decimals)) ? shown : `+${shown}`;
}

// As many decimals as it has.
export const exact = (text: string | null | undefined): string =>
  text == null || !isDecimal(text) ? DASH : grouped(text, decimalsOf(plain(text)));

// 1.2K, 3.4M.
export function short(value: number): string {
  return Number.isFinite(value) ? new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 }).format(value) : DASH;
}

export function percent(value: number, decimals = 2): string {
  return Number.isFinite(value) ? `${value >= 0 ? '+' : ''}${value.toFixed(decimals)}%` : DASH;
}

// up, down or nothing.
export const mood = (text: string | null | undefined): string =>
  text == null || !isDecimal(text) || isZero(text) ? '' : text.startsWith('-') ? 'down' : 'up';

export const clock = (ms: number): string => new Date(ms).toLocaleTimeString('en-GB');
export const dayAndTime = (ms: number): string =>
  new Date(ms).toLocaleString('en-GB', { day: '2-digit', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' });
export const minute = (ms: number): string =>
  new Date(ms).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

export function countdown(ms: number): string {
  const left = Math.max(0, Math.floor(ms / 1_000));
  return [left / 3600, (left / 60) % 60, left % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
}

export const shortHash = (hash: string | null | undefined): string => (hash ? `${hash.slice(0, 8)}…${hash.slice(-4)}` : '');
export const shortAddress = (address: string): string => `${address.slice(0, 6)}…${address.slice(-4)}`;
