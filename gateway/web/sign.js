// EIP-712 signature of a login, made in the page with a pasted key: for test deployments only. The typed data is put
// together here, whatever the server calls it: nothing but a login can be signed.
import { keccak_256, secp256k1 } from './noble.js';

const text = new TextEncoder();
const hash = (data) => keccak_256(typeof data === 'string' ? text.encode(data) : data);

export function fromHex(digits) {
  const plain = digits.trim().replace(/^0x/i, '');
  if (!/^([0-9a-f]{2})*$/i.test(plain)) throw new Error('not hex digits');
  return Uint8Array.from(plain.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export const toHex = (bytes) => '0x' + Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

const join = (...parts) => Uint8Array.from(parts.flatMap((part) => Array.from(part)));

// Right-aligned in 32 bytes.
const word = (bytes) => join(new Uint8Array(32 - bytes.length), bytes);
const number = (value) => fromHex(BigInt(value).toString(16).padStart(64, '0'));

// The key as 32 bytes, or an error that people can read.
export function parseKey(digits) {
  const key = fromHex(digits);
  if (key.length !== 32 || !secp256k1.utils.isValidSecretKey(key)) throw new Error('a key has 64 hex digits');
  return key;
}

export function addressOf(key) {
  const point = secp256k1.getPublicKey(key, false);
  return toHex(hash(point.slice(1)).slice(12));
}

export function loginDigest(chainId, address, nonce, expiresAt) {
  const domain = hash(join(
    hash('EIP712Domain(string name,string version,uint256 chainId)'),
    hash('Exchange Login'), hash('1'), number(chainId),
  ));
  const login = hash(join(
    hash('Login(address account,string nonce,uint256 expiresAt)'),
    word(fromHex(address)), hash(nonce), number(expiresAt),
  ));
  return hash(join([0x19, 0x01], domain, login));
}

// r, s, v as 0x hex; s in the lower half.
export function signLogin(key, chainId, nonce, expiresAt) {
  const digest = loginDigest(chainId, addressOf(key), nonce, expiresAt);
  const signed = secp256k1.sign(digest, key, { prehash: false, lowS: true, format: 'recovered' });
  return toHex(join(signed.slice(1), [27 + signed[0]]));
}
