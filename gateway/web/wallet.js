// The account's own transactions: by the browser's wallet, or on test deployments by the pasted key through a node that the
// deployment names. The vault is asked for what the exchange has authorized, and given what is deposited, which it may take once
// its token was told so.
import { fromHex, hash, join, number, signDigest, toHex, word } from './sign.js';

const WITHDRAW = 'withdraw(address,uint256,uint256,bytes)';

// Base units of a decimal text, or an error that people can read.
export function baseUnits(text, decimals) {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text)) throw new Error('an amount is digits, with a point before its decimals');
  const [whole, part = ''] = text.split('.');
  if (part.length > decimals) throw new Error(`an amount has at most ${decimals} decimals`);
  return BigInt(whole + part.padEnd(decimals, '0'));
}

// The shortest decimal text of so many base units.
export function unitsText(units, decimals) {
  const digits = String(units).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const part = digits.slice(whole.length).replace(/0+$/, '');
  return part ? `${whole}.${part}` : whole;
}

const callOf = (to, name, ...words) => ({ to, data: toHex(join(hash(name).slice(0, 4), ...words)) });
const address = (digits) => word(fromHex(digits));

// The call of the vault that takes a deposit, and those of a token that let it.
export const depositCall = (vault, token, units) => callOf(vault, 'deposit(address,uint256)', address(token), number(units));
export const approveCall = (token, vault, units) => callOf(token, 'approve(address,uint256)', address(vault), number(units));

// What is asked of them before.
export const allowanceCall = (token, owner, vault) => callOf(token, 'allowance(address,address)', address(owner), address(vault));
export const balanceCall = (token, owner) => callOf(token, 'balanceOf(address)', address(owner));
export const isPausedCall = (vault) => callOf(vault, 'isPaused()');

// The number that a call gives.
export async function readNumber(ask, call) {
  const answer = await ask('eth_call', call, 'latest');
  if (!/^0x[0-9a-f]{64}$/i.test(answer)) throw new Error(`the contract ${call.to} does not answer`);
  return BigInt(answer);
}

// The call of the vault that pays a release.
export function withdrawCall(vault, token, units, deadline, signature) {
  const bytes = fromHex(signature);
  const padding = new Uint8Array((32 - (bytes.length % 32)) % 32);
  const words = [word(fromHex(token)), number(units), number(deadline), number(128), number(bytes.length)];
  return { to: vault, data: toHex(join(hash(WITHDRAW).slice(0, 4), ...words, bytes, padding)) };
}

// Asks the chain through the browser's wallet, or through a node.
export const askWallet = (method, ...params) => window.ethereum.request({ method, params });
export const askNode = (node) => async (method, ...params) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(node, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = await answer.json();
  if (error) throw new Error(error.message);
  return result;
};

// What a wallet's refusal means (EIP-1193, EIP-3085, EIP-1474), in words that people can act on.
const REFUSALS = {
  4001: 'you refused it in your wallet',
  4100: 'your wallet does not let this page use the account that is logged in: choose it there',
  4900: 'your wallet reaches no chain',
  4901: 'your wallet does not reach that chain',
  4902: 'your wallet does not know that chain: add it there',
  '-32002': 'your wallet still asks you something: answer that first',
};

// Some wallets wrap the error of another part of theirs.
export function refusalOf(error) {
  const codes = [error?.data?.originalError?.code, error?.code];
  return codes.map((code) => REFUSALS[code]).find(Boolean) ?? error?.message ?? String(error);
}

// Has the wallet change to a chain, where it is on another; `onAsk` is told before it asks.
export async function onChain(ask, chainId, onAsk = () => {}) {
  const isThere = async () => Number(await ask('eth_chainId')) === chainId;
  if (await isThere()) return;
  onAsk();
  await ask('wallet_switchEthereumChain', { chainId: `0x${chainId.toString(16)}` });
  if (!(await isThere())) throw new Error(`your wallet has not changed to chain ${chainId}`);
}

// Gives the hash of the transaction that the browser's wallet has sent for `from`.
export async function sendByWallet(from, call, chainId) {
  await onChain(askWallet, chainId);
  return askWallet('eth_sendTransaction', { from, ...call, value: '0x0' });
}

// The same with a key, through a node that `ask` asks.
export async function sendByKey(key, from, call, chainId, ask) {
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

const trimmed = (bytes) => bytes.slice(bytes.findIndex((byte) => byte !== 0) >>> 0);
const quantity = (value) => trimmed(number(value));

// Recursive length prefix, the encoding of transactions.
function rlp(item) {
  if (Array.isArray(item)) return prefixed(join(...item.map(rlp)), 0xc0);
  return item.length === 1 && item[0] < 0x80 ? item : prefixed(item, 0x80);
}

function prefixed(bytes, base) {
  if (bytes.length < 56) return join([base + bytes.length], bytes);
  const length = quantity(bytes.length);
  return join([base + 55 + length.length], length, bytes);
}
