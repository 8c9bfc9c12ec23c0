// EIP-712 signature of a login, made in the page with a pasted key: for test deployments only. The typed data is put
// together here, whatever the server calls it. The one other thing that such a key signs is a transaction, in wallet.ts.
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { LoginMessage } from '../api/exchange';

const text = new TextEncoder();
export const hash = (data: string | Uint8Array): Uint8Array => keccak_256(typeof data === 'string' ? text.encode(data) : data);

export function fromHex(digits: string): Uint8Array {
  const plain = digits.trim().replace(/^0x/i, '');
  if (!/^([0-9a-f]{2})*$/i.test(plain)) throw new Error('not hex digits');
  return Uint8Array.from(plain.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export const toHex = (bytes: Uint8Array): string => '0x' + Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

export const join = (...parts: Array<Uint8Array | number[]>): Uint8Array => Uint8Array.from(parts.flatMap((part) => Array.from(part)));

// Right-aligned in 32 bytes.
export const word = (bytes: Uint8Array): Uint8Array => join(new Uint8Array(32 - bytes.length), bytes);
export const number = (value: bigint | number | string): Uint8Array => fromHex(BigInt(value).toString(16).padStart(64, '0'));

// The key as 32 bytes, or an error that people can read.
export function parseKey(digits: string): Uint8Array {
  const key = fromHex(digits);
  if (key.length !== 32 || !secp256k1.utils.isValidSecretKey(key)) throw new Error('a key has 64 hex digits');
  return key;
}

export function addressOf(key: Uint8Array): string {
  const point = secp256k1.getPublicKey(key, false);
  return toHex(hash(point.slice(1)).slice(12));
}

// Of version 2 where the message names a deployment.
export function loginDigest(chainId: number, address: string, message: LoginMessage): Uint8Array {
  const { uri, deployment, nonce, issuedAt, expiresAt } = message;
  const version = deployment === undefined ? '1' : '2';
  const domain = hash(join(
    hash('EIP712Domain(string name,string version,uint256 chainId)'),
    hash('Exchange Login'), hash(version), number(chainId),
  ));
  const account = word(fromHex(address));
  const login = deployment === undefined
    ? [hash('Login(address account,string nonce,uint256 expiresAt)'), account, hash(nonce), number(expiresAt)]
    : [
      hash('Login(address account,string uri,string deployment,string nonce,uint256 issuedAt,uint256 expiresAt)'),
      account, hash(uri ?? ''), hash(deployment), hash(nonce), number(issuedAt ?? 0), number(expiresAt),
    ];
  return hash(join([0x19, 0x01], domain, hash(join(...login))));
}

// r, s, v as 0x hex; s in the lower half.
export function signLogin(key: Uint8Array, chainId: number, message: LoginMessage): string {
  const { r, s, parity } = signDigest(key, loginDigest(chainId, addressOf(key), message));
  return toHex(join(r, s, [27 + parity]));
}

export function signDigest(key: Uint8Array, digest: Uint8Array): { parity: number; r: Uint8Array; s: Uint8Array } {
  const signed = secp256k1.sign(digest, key, { prehash: false, lowS: true, format: 'recovered' });
  return { parity: signed[0]!, r: signed.slice(1, 33), s: signed.slice(33) };
}
