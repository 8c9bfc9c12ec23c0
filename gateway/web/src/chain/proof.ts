// Checks a leaf of the proof of reserves against its root: a Merkle-sum tree, as the API's document describes it.
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { OwnLeaf } from '../api/exchange';
import { baseUnits } from './wallet';
import { fromHex, toHex } from './sign';

const STEPS = 18;

const sixteen = (amount: bigint): Uint8Array => fromHex(amount.toString(16).padStart(32, '0'));
const padded = (name: string): Uint8Array => concatBytes(utf8ToBytes(name), new Uint8Array(10 - name.length));

// Whether the leaf is what it says, belongs to the account, and leads to the root and the sum that it names.
export function checkLeaf(account: string, leaf: OwnLeaf): boolean {
  let sum = baseUnits(leaf.amount, STEPS);
  let here = sha256(concatBytes(Uint8Array.of(0), fromHex(leaf.salt), fromHex(account), padded(leaf.token), sixteen(sum)));
  if (toHex(here).slice(2) !== leaf.leaf) return false;
  for (const { hash, side, sum: beside } of leaf.path) {
    const other = baseUnits(beside, STEPS);
    const own = concatBytes(here, sixteen(sum));
    const neighbour = concatBytes(fromHex(hash), sixteen(other));
    here = sha256(concatBytes(Uint8Array.of(1), ...(side === 'left' ? [neighbour, own] : [own, neighbour])));
    sum += other;
  }
  return toHex(here).slice(2) === leaf.root && sum === baseUnits(leaf.sum, STEPS);
}
