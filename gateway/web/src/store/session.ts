// Who is logged in, kept over a reload: the token and the page's own API key in this browser, a pasted test key in this tab.
import { computed, effect, signal } from '@preact/signals';
import type { Signer } from '../api/client';
import type { Settings } from '../api/exchange';

export interface Session {
  token: string;
  address: string;
  // ms since 1970.
  expires: number;
  by: 'wallet' | 'key';
  // With which the page signs requests to /fapi.
  signer: (Signer & { id: number }) | null;
}

// The account's own transactions on the chain, and questions to it.
export type Ask = <T = string>(method: string, ...params: unknown[]) => Promise<T>;
export interface Call {
  to: string;
  data: string;
}
export interface ChainAccess {
  send: (call: Call) => Promise<string>;
  ask: Ask;
}

const NAME = 'session';
const TEST_KEY = 'test-key';

function stored(): Session | null {
  try {
    const found = JSON.parse(localStorage.getItem(NAME) ?? 'null') as Session | null;
    return found && found.expires > Date.now() ? found : null;
  } catch {
    return null;
  }
}

export const settings = signal<Settings | null>(null);
export const session = signal<Session | null>(stored());
export const testKey = signal<string | null>(sessionStorage.getItem(TEST_KEY));
export const chainAccess = signal<ChainAccess | null>(null);
export const isLoggedIn = computed(() => session.value !== null);
export const isTest = computed(() => settings.value?.test_deployment === true);
export const isLoginOpen = signal(false);

effect(() => {
  if (session.value) localStorage.setItem(NAME, JSON.stringify(session.value));
  else localStorage.removeItem(NAME);
});
effect(() => {
  if (testKey.value) sessionStorage.setItem(TEST_KEY, testKey.value);
  else sessionStorage.removeItem(TEST_KEY);
});
