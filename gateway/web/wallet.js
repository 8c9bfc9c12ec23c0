// The account's own transactions: by the browser's wallet, or on test deployments by the pasted key through a node that the
// deployment names. There is one kind: the vault is asked for what the exchange has authorized.
import { fromHex, hash, join, number, signDigest, toHex, word } from './sign.js';

const WITHDRAW = 'withdraw(address,uint256,uint256,bytes)';

// Base units of a decimal text.
export function baseUnits(text, decimals) {
  const [whole, part = ''] = text.split('.');
  return BigInt(whole + part.padEnd(decimals, '0'));
}

// The call of the vault that pays a release.
export function withdrawCall(vault, token, units, deadline, signature) {
  const bytes = fromHex(signature);
  const padding = new Uint8Array((32 - (bytes.length % 32)) % 32);
  const words = [word(fromHex(token)), number(units), number(deadline), number(128), number(bytes.length)];
  return { to: vault, data: toHex(join(hash(WITHDRAW).slice(0, 4), ...words, bytes, padding)) };
}

// Gives the hash of the transaction that the browser's wallet has sent for `from`.
export async function sendByWallet(from, call, chainId) {
  const ask = (method, ...params) => window.ethereum.request({ method, params });
  const chain = `0x${chainId.toString(16)}`;
  if (Number(await ask('eth_chainId')) !== chainId) await ask('wallet_switchEthereumChain', { chainId: chain });
  return ask('eth_sendTransaction', { from, ...call, value: '0x0' });
}

// The same with a key, through a node.
export async function sendByKey(key, from, call, chainId, node) {
  const ask = async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await fetch(node, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result, error } = await answer.json();
    if (error) throw new Error(error.message);
    return result;
  };
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
