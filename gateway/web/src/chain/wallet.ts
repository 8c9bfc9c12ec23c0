// The account's own transactions: by the browser's wallet, or on test deployments by the pasted key through a node that the
// deployment names. The vault is asked for what the exchange has authorized, and given what is deposited, which it may take once
// its token was told so.
import type { Ask, Call, ChainAccess } from '../store/session';
import { fromHex, hash, join, number, parseKey, signDigest, toHex, word } from './sign';

export interface BrowserWallet {
  request(asked: { method: string; params?: unknown[] }): Promise<unknown>;
}

declare global {
  interface Window {
    ethereum?: BrowserWallet;
  }
}

const WITHDRAW = 'withdraw(address,uint256,uint256,bytes)';

// Base units of a decimal text, or an error that people can read.
export function baseUnits(text: string, decimals: number): bigint {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text)) throw new Error('an amount is digits, with a point before its decimals');
  const [whole = '', part = ''] = text.split('.');
  if (part.length > decimals) throw new Error(`an amount has at most ${decimals} decimals`);
  return BigInt(whole + part.padEnd(decimals, '0'));
}

// The shortest decimal text of so many base units.
export function unitsText(units: bigint, decimals: number): string {
  const digits = String(units).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const part = digits.slice(whole.length).replace(/0+$/, '');
  return part ? `${whole}.${part}` : whole;
}

const callOf = (to: string, name: string, ...words: Uint8Array[]): Call => ({ to, data: toHex(join(hash(name).slice(0, 4), ...words)) });
const address = (digits: string): Uint8Array => word(fromHex(digits));

// The call of the vault that takes a deposit, and those of a token that let it.
export const depositCall = (vault: string, token: string, units: bigint): Call => callOf(vault, 'deposit(address,uint256)', address(token), number(units));
export const approveCall = (token: string, vault: string, units: bigint): Call => callOf(token, 'approve(address,uint256)', address(vault), number(units));

// What is asked of them before.
export const allowanceCall = (token: string, owner: string, vault: string): Call =>
  callOf(token, 'allowance(address,address)', address(owner), address(vault));
export const balanceCall = (token: string, owner: string): Call => callOf(token, 'balanceOf(address)', address(owner));
export const isPausedCall = (vault: string): Call => callOf(vault, 'isPaused()');

// The number that a call gives.
export async function readNumber(ask: Ask, call: Call): Promise<bigint> {
  const answer = await ask('eth_call', call, 'latest');
  if (!/^0x[0-9a-f]{64}$/i.test(answer)) throw new Error(`the contract ${call.to} does not answer`);
  return BigInt(answer);
}

// The call of the vault that pays a release.
export function withdrawCall(vault: string, token: string, units: bigint, deadline: number, signature: string): Call {
  const bytes = fromHex(signature);
  const padding = new Uint8Array((32 - (bytes.length % 32)) % 32);
  const words = [word(fromHex(token)), number(units), number(deadline), number(128), number(bytes.length)];
  return { to: vault, data: toHex(join(hash(WITHDRAW).slice(0, 4), ...words, bytes, padding)) };
}

// Asks the chain through the browser's wallet, or through a node.
export const askWallet: Ask = <T>(method: string, ...params: unknown[]): Promise<T> => {
  if (!window.ethereum) throw new Error('there is no browser wallet');
  return window.ethereum.request({ method, params }) as Promise<T>;
};
export const askNode = (node: string): Ask => async <T>(method: string, ...params: unknown[]): Promise<T> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(node, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = (await answer.json()) as { result: T; error?: { message: string } };
  if (error) throw new Error(error.message);
  return result;
};

// What a wallet's refusal means (EIP-1193, EIP-3085, EIP-1474), in words that people can act on.
const REFUSALS: Record<string, string> = {
  4001: 'you refused it in your wallet',
  4100: 'your wallet does not let this page use the account that is logged in: choose it there',
  4900: 'your wallet reaches no chain',
  4901: 'your wallet does not reach that chain',
  4902: 'your wallet does not know that chain: add it there',
  '-32002': 'your wallet still asks you something: answer that first',
};

interface WalletError {
  code?: number;
  message?: string;
  data?: { originalError?: { code?: number } };
}

// Some wallets wrap the error of another part of theirs.
export function refusalOf(error: unknown): string {
  const told = error as WalletError | null | undefined;
  const codes = [told?.data?.originalError?.code, told?.code];
  return codes.map((code) => REFUSALS[String(code)]).find(Boolean) ?? told?.message ?? String(error);
}

// Has the wallet change to a chain, where it is on another; `onAsk` is told before it asks.
export async function onChain(ask: Ask, chainId: number, onAsk: () => void = () => {}): Promise<void> {
  const isThere = async (): Promise<boolean> => Number(await ask('eth_chainId')) === chainId;
  if (await isThere()) return;
  onAsk();
  await ask('wallet_switchEthereumChain', { chainId: `0x${chainId.toString(16)}` });
  if (!(await isThere())) throw new Error(`your wallet has not changed to chain ${chainId}`);
}

// Gives the hash of the transaction that the browser's wallet has sent for `from`.
async function sendByWallet(from: string, call: Call, chainId: number): Promise<string> {
  await onChain(askWallet, chainId);
  return askWallet('eth_sendTransaction', { from, ...call, value: '0x0' });
}

// The same with a key, through a node that `ask` asks.
async function sendByKey(key: Uint8Array, from: string, call: Call, chainId: number, ask: Ask): Promise<string> {
  const [nonce, price, gas] = await Promise.all([
    ask('eth_getTransactionCount', from, 'pending'), ask('eth_gasPrice'), ask('eth_estimateGas', { from, ...call }),
  ]);
  const fields = [nonce, price, gas].map(quantity).concat([fromHex(call.to), quantity(0), fromHex(call.data)]);
  // EIP-155: what is signed names the chain, and so does v.
  const digest = hash(rlp([...fields, quantity(chainId), quantity(0), quantity(0)]));
  const { r, s, parity } = signDigest(key, digest);
  const signed = rlp([...fields, quantity(chainId * 2 + 35 + parity), trimmed(r), trimmed(s)]);
  return ask('eth_sendRawTransaction', toHex(signed));
}

const trimmed = (bytes: Uint8Array): Uint8Array => bytes.slice(bytes.findIndex((byte) => byte !== 0) >>> 0);
const quantity = (value: string | number): Uint8Array => trimmed(number(value));

type Item = Uint8Array | Item[];

// Recursive length prefix, the encoding of transactions.
function rlp(item: Item): Uint8Array {
  if (Array.isArray(item)) return prefixed(join(...item.map(rlp)), 0xc0);
  return item.length === 1 && item[0]! < 0x80 ? item : prefixed(item, 0x80);
}

function prefixed(bytes: Uint8Array, base: number): Uint8Array {
  if (bytes.length < 56) return join([base + bytes.length], bytes);
  const length = quantity(bytes.length);
  return join([base + 55 + length.length], length, bytes);
}

// How whoever is logged in reaches the chain, or not at all.
export function accessOf(by: 'wallet' | 'key', from: string, chainId: number, node: string | null, key: string | null): ChainAccess | null {
  if (by === 'wallet') return window.ethereum ? { send: (call) => sendByWallet(from, call, chainId), ask: askWallet } : null;
  if (!node || !key) return null;
  const [secret, ask] = [parseKey(key), askNode(node)];
  return { send: (call) => sendByKey(secret, from, call, chainId, ask), ask };
}
