// Deposits from the chain: what of the account's is on its way, the blocks on it, and the history. The exchange credits by itself,
// whoever has sent it; sending.ts sends.
import { computed, signal } from '@preact/signals';
import { request } from '../api/client';
import { minute } from '../lib/format';
import { session, settings } from '../store/session';
import { forget, place, sent, takePlace, type Sent } from './sending';

const LIST = '/api/v1/spot/deposits';
const ROWS = 50;
const ROWS_MAX = 200;
// A transaction that is in no block by then may have been replaced in the wallet.
const LOST_MS = 60_000;

export interface DepositToken {
  symbol: string;
  address: string;
  decimals: number;
  deposits_paused?: boolean;
}

// Where deposits go.
export interface Place {
  chain_id: number;
  vault_address: string;
  former_vault_addresses: string[];
  tokens: DepositToken[];
  confirmations: number;
}

interface Deposit {
  id: string;
  token: string;
  amount: string;
  tx_hash: string;
  status: 'pending' | 'credited';
  confirmations: number;
  held?: string | null;
  seen_at: number;
  credited_at: number;
}

interface Shown {
  login: string | null;
  pending: Deposit[];
  history: Deposit[];
  isMore: boolean;
}

// A line of the list: a word for its state, what is said of it, and its colour.
export interface Line {
  key: string;
  id: string | null;
  token: string;
  amount: string;
  word: string;
  text: string;
  mood: string;
  at: number;
  hash: string;
}

const NOTHING: Shown = { login: null, pending: [], history: [], isMore: false };
const shown = signal<Shown>(NOTHING);
export const isMoreDeposits = computed(() => shown.value.isMore);
export const depositFault = signal('');

const readPage = (login: string, query: string): Promise<Deposit[]> => request('GET', `${LIST}?${query}`, { token: login });

// The own deposits, and where they go. Answers for another login are dropped.
export async function askDeposits(): Promise<void> {
  if (!settings.value?.deposits) return;
  const login = session.value?.token ?? null;
  if (shown.value.login !== login) {
    shown.value = { ...NOTHING, login };
    forget();
  }
  if (!login) return;
  const where = await request<Place>('GET', `${LIST}/address`, { token: login });
  // In this order: what is credited between the two is in both, and not in neither.
  const pending = await readPending(login);
  const page = await readPage(login, `status=credited&limit=${ROWS}`);
  if (session.value?.token !== login) return;
  shown.value = { ...joined(shown.value, pending, page), login };
  takePlace(where);
  const listed = new Set([...shown.value.pending, ...shown.value.history].map(({ tx_hash: hash }) => hash));
  if (sent.value.some((one) => one.isListed !== listed.has(one.hash))) {
    sent.value = sent.value.map((one) => ({ ...one, isListed: listed.has(one.hash) }));
  }
}

async function readPending(login: string): Promise<Deposit[]> {
  const pending: Deposit[] = [];
  for (let cursor = ''; ;) {
    const page = await readPage(login, `status=pending&limit=${ROWS_MAX}${cursor}`);
    pending.push(...page);
    const last = page.at(-1);
    if (page.length < ROWS_MAX || !last) return pending;
    cursor = `&cursor=${last.id}`;
  }
}

// The newest page of the history, before the older ones that were read already where they go on from it.
function joined(known: Shown, pending: Deposit[], page: Deposit[]): Omit<Shown, 'login'> {
  const ids = new Set(page.map(({ id }) => id));
  const open = new Set(pending.map(({ id }) => id));
  // What was held long ago is credited in its old place, which may be on a page that was read before.
  const isLost = known.pending.some(({ id, held }) => held && !open.has(id) && !ids.has(id));
  const isJoined = !isLost && known.history.some(({ id }) => ids.has(id));
  const older = isJoined ? known.history.filter(({ id }) => !ids.has(id)) : [];
  return {
    pending: pending.filter(({ id }) => !ids.has(id)),
    history: [...page, ...older],
    isMore: isJoined ? known.isMore : page.length === ROWS,
  };
}

export async function olderDeposits(): Promise<void> {
  const { login, history } = shown.value;
  const last = history.at(-1);
  if (!login || !last) return;
  depositFault.value = '';
  try {
    const page = await readPage(login, `status=credited&limit=${ROWS}&cursor=${last.id}`);
    if (shown.value.login !== login) return;
    const ids = new Set(shown.value.history.map(({ id }) => id));
    shown.value = { ...shown.value, history: [...shown.value.history, ...page.filter(({ id }) => !ids.has(id))], isMore: page.length === ROWS };
  } catch (error) {
    depositFault.value = error instanceof Error ? error.message : String(error);
  }
}

export const depositLines = computed<Line[]>(() => {
  const where = place.value;
  const lines = sent.value.filter(({ isListed }) => !isListed).toReversed().map((one): Line => {
    const [word, text, mood] = onTheWay(one);
    return { key: one.hash, id: null, token: one.token, amount: one.amount, word, text, mood, at: one.at, hash: one.hash };
  });
  for (const one of [...shown.value.pending, ...shown.value.history]) {
    const [word, text, mood] = standing(one, where?.confirmations ?? 0);
    lines.push({ key: one.id, id: one.id, token: one.token, amount: one.amount, word, text, mood, at: 1_000 * one.seen_at, hash: one.tx_hash });
  }
  return lines;
});

// Of what the exchange knows,
function standing(one: Deposit, confirmations: number): [string, string, string] {
  if (one.status === 'credited') return ['credited', `credited ${minute(1_000 * one.credited_at)}`, 'up'];
  if (one.held) return ['held', `held: ${one.held}`, ''];
  return ['pending', `${one.confirmations} of ${confirmations} confirmations`, ''];
}

// and of what was sent here and the exchange does not show.
function onTheWay({ at, block, hasFailed }: Sent): [string, string, string] {
  if (hasFailed) return ['failed', 'failed: nothing was deposited', 'down'];
  if (block) return ['mined', `in block ${block}, not seen by the exchange yet`, ''];
  if (Date.now() - at > LOST_MS) return ['sent', 'in no block yet: your wallet says what became of it', ''];
  return ['sent', 'sent, waits for a block', ''];
}
