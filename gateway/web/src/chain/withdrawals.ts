// Withdrawals to the chain: the request, its submission by the account's own transaction, the blocks on it, and the history.
import { computed, signal } from '@preact/signals';
import { request } from '../api/client';
import type { WithdrawalToken } from '../api/exchange';
import { minute } from '../lib/format';
import { chainAccess, session, settings } from '../store/session';
import { baseUnits, refusalOf, withdrawCall } from './wallet';

const LISTS = { spot: '/api/v1/spot/withdrawals', perpetual: '/withdraw/requests' };
const REQUESTS = { spot: '/api/v1/spot/withdraw/request', perpetual: '/withdraw/request' };
const ROWS = 50;
// A transaction that is in no block by then may be sent again: the vault takes one of them.
const LOST_MS = 60_000;

interface Withdrawal {
  id: string;
  token: string;
  amount: string;
  status: string;
  nonce: number;
  tx_hash: string | null;
  block_number: number | null;
  requested_at: number;
}

interface Open {
  id: string;
  token: string;
  amount: string;
  deadline: number;
  signature: string;
  tx_hash: string | null;
  confirmations: number;
}

interface Shown {
  login: string | null;
  history: Withdrawal[];
  open: Open[];
  paused: Partial<Record<'spot' | 'perpetual', boolean>>;
}

export interface WithdrawalLine {
  id: string;
  token: string;
  amount: string;
  word: string;
  text: string;
  mood: string;
  at: number;
  hash: string | null;
  // What can be submitted, and whether it is its turn.
  open: Open | null;
  isNext: boolean;
}

const NOTHING: Shown = { login: null, history: [], open: [], paused: {} };
const shown = signal<Shown>(NOTHING);
// What was submitted here, by id, and when.
const sent = signal<ReadonlyMap<string, { hash: string; at: number }>>(new Map());
export const withdrawalAnswer = signal<[mood: string, text: string]>(['', '']);
export const paused = computed(() => shown.value.paused);

const chain = () => settings.value?.withdrawals ?? null;
const isSent = (id: string): boolean => Date.now() - (sent.value.get(id)?.at ?? 0) < LOST_MS;
export const tokenOf = (name: string): WithdrawalToken | undefined => chain()?.tokens.find(({ token }) => token === name);

// What is open, and the lists whenever something has begun or ended. Answers for another login are dropped.
export async function askWithdrawals(): Promise<void> {
  if (!chain()) return;
  const login = session.value?.token ?? null;
  if (!login) {
    shown.value = NOTHING;
    sent.value = new Map();
    return;
  }
  const { open, paused: now } = await request<Pick<Shown, 'open' | 'paused'>>('GET', '/web/withdrawals.json', { token: login });
  const ids = (all: Open[]): string => all.map(({ id }) => id).join();
  const isKnown = shown.value.login === login && ids(open) === ids(shown.value.open);
  const history = isKnown ? shown.value.history : await readLists(login);
  if (session.value?.token === login) shown.value = { history, open, paused: now, login };
}

async function readLists(login: string): Promise<Withdrawal[]> {
  const lists = (chain()?.tokens ?? []).map(({ ledger }) => request<Withdrawal[]>('GET', `${LISTS[ledger]}?limit=${ROWS}`, { token: login }));
  const rows = new Map((await Promise.all(lists)).flat().map((row) => [row.id, row]));
  return [...rows.values()].sort((a, b) => b.requested_at - a.requested_at || b.nonce - a.nonce).slice(0, ROWS);
}

export const withdrawalLines = computed<WithdrawalLine[]>(() => {
  const open = new Map(shown.value.open.map((one) => [one.id, one]));
  // The vault takes an account's releases in the order of their nonces.
  const next = shown.value.open.find((one) => !one.tx_hash && !isSent(one.id));
  return shown.value.history.map((one) => {
    const at = open.get(one.id) ?? null;
    const [word, text, mood] = standing(one, at);
    return {
      id: one.id, token: one.token, amount: one.amount, word, text, mood, at: 1_000 * one.requested_at,
      hash: one.tx_hash ?? at?.tx_hash ?? sent.value.get(one.id)?.hash ?? null, open: word === 'signed' ? at : null, isNext: at !== null && at === next,
    };
  });
});

// A word for the state, what is said of it, and its colour.
function standing(one: Withdrawal, at: Open | null): [string, string, string] {
  if (one.status === 'confirmed') return ['confirmed', `confirmed in block ${one.block_number}`, 'up'];
  if (one.status === 'expired' || !at) return [one.status, one.status, ''];
  if (at.tx_hash) return ['confirming', `${at.confirmations} of ${chain()?.confirmations} confirmations`, ''];
  if (isSent(one.id)) return ['sent', 'sent, waits for a block', ''];
  return ['signed', `to be submitted by ${minute(1_000 * at.deadline)}`, ''];
}

export async function submit(one: Open): Promise<void> {
  const [where, of, access] = [chain(), tokenOf(one.token), chainAccess.value];
  if (!where || !of || !access) return;
  try {
    const call = withdrawCall(where.vault, of.address, baseUnits(one.amount, of.decimals), one.deadline, one.signature);
    const hash = await access.send(call);
    sent.value = new Map(sent.value).set(one.id, { hash, at: Date.now() });
    withdrawalAnswer.value = ['good', `sent as ${hash}`];
  } catch (error) {
    withdrawalAnswer.value = ['bad', refusalOf(error)];
  }
}

// True when it was taken.
export async function withdraw(name: string, wanted: string): Promise<boolean> {
  const [by, of] = [session.value, tokenOf(name)];
  if (!by || !of) return false;
  try {
    const { amount } = await request<{ amount: string }>('POST', REQUESTS[of.ledger], { token: by.token, body: { token: name, amount: wanted } });
    withdrawalAnswer.value = ['good', `${amount} ${name} are yours on the chain once you submit them`];
    await askWithdrawals();
    return true;
  } catch (error) {
    withdrawalAnswer.value = ['bad', error instanceof Error ? error.message : String(error)];
    return false;
  }
}
