// Logging in by a wallet's signature: the browser's wallet, or on test deployments a pasted key. And out, here or everywhere.
import { effect } from '@preact/signals';
import { Refused } from '../api/client';
import * as exchange from '../api/exchange';
import { addressOf, parseKey, signLogin } from '../chain/sign';
import { accessOf } from '../chain/wallet';
import { chainAccess, isLoginOpen, session, settings, testKey, type Session } from '../store/session';
import { toast } from '../store/toasts';

const LABEL = 'page at /';
// Keys of an account that the page may leave behind before it clears the oldest of its own.
const KEYS_MAX = 20;

async function enter(address: string, by: Session['by'], sign: (nonce: exchange.Nonce) => Promise<string> | string): Promise<void> {
  const nonce = await exchange.readNonce(address);
  const answer = await exchange.logIn(address, nonce, await sign(nonce));
  const expires = 1_000 * answer.expires_at;
  const signer = await makeSigner(answer.token, answer.expires_at);
  session.value = { token: answer.token, address: answer.address, expires, by, signer };
  isLoginOpen.value = false;
}

// A key of this login's own, which ends with it, so that other devices keep theirs. What earlier logins left behind goes.
async function makeSigner(token: string, expires: number): Promise<Session['signer']> {
  const own = (await exchange.readKeys(token)).filter(({ label }) => label === LABEL);
  const dead = own.filter(({ expires_at: at }) => at !== null && 1_000 * at <= Date.now());
  const excess = own.filter((key) => !dead.includes(key)).slice(0, Math.max(0, own.length - dead.length - KEYS_MAX));
  for (const { id } of [...dead, ...excess]) await exchange.deleteKey(token, id);
  const made = await exchange.makeKey(token, { label: LABEL, permissions: ['read', 'trade'], expires_at: expires });
  return { id: made.id, key: made.api_key, secret: made.api_secret ?? '' };
}

export async function logInByWallet(): Promise<void> {
  const wallet = window.ethereum;
  if (!wallet) throw new Error('there is no browser wallet');
  const [address] = (await wallet.request({ method: 'eth_requestAccounts' })) as string[];
  if (!address) throw new Error('your wallet names no account');
  await enter(address, 'wallet', ({ typed_data }) =>
    wallet.request({ method: 'eth_signTypedData_v4', params: [address, JSON.stringify(typed_data)] }) as Promise<string>);
}

export async function logInByKey(digits: string): Promise<void> {
  const key = parseKey(digits);
  const chain = settings.value?.chain_id ?? 0;
  testKey.value = digits.trim();
  try {
    await enter(addressOf(key), 'key', ({ typed_data }) => signLogin(key, chain, typed_data.message));
  } catch (error) {
    testKey.value = null;
    throw error;
  }
}

// Here alone: other devices stay.
export function logOut(): void {
  const by = session.value;
  if (by?.signer) exchange.deleteKey(by.token, by.signer.id).catch(() => {});
  endSession();
}

export async function logOutEverywhere(): Promise<void> {
  const by = session.value;
  if (!by) return;
  try {
    for (const { id, label } of await exchange.readKeys(by.token)) if (label === LABEL) await exchange.deleteKey(by.token, id);
    await exchange.logOutEverywhere(by.token);
    endSession();
    toast('plain', 'Logged out everywhere', 'Every login of this account has ended. API keys of your own go on.');
  } catch (error) {
    toast('bad', 'Not logged out everywhere', error instanceof Refused ? error.message : 'The exchange cannot be reached.');
  }
}

export function endSession(why = ''): void {
  session.value = null;
  testKey.value = null;
  if (why) toast('bad', 'Logged out', why);
}

// Keeps the way to the chain, and ends a login whose time is up.
export function startLogin(): void {
  effect(() => {
    const [by, known] = [session.value, settings.value];
    chainAccess.value = by && known ? accessOf(by.by, by.address, known.chain_id, known.node, testKey.value) : null;
  });
  effect(() => {
    const expires = session.value?.expires;
    if (!expires) return;
    const timer = setTimeout(() => endSession('A login lasts a day: log in again.'), Math.min(expires - Date.now(), 2 ** 31 - 1));
    return () => clearTimeout(timer);
  });
}
