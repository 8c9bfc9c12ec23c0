// Signatures and leaves against vectors that were made elsewhere.
import { expect, test } from 'vitest';
import { addressOf, loginDigest, parseKey, signLogin, toHex } from '../src/chain/sign';
import { baseUnits, unitsText } from '../src/chain/wallet';

const KEY = '2'.padStart(64, '0');

// The vector of the login's specification.
test('a login is signed as specified', () => {
  const key = parseKey(KEY);
  const message = { account: addressOf(key), nonce: '9f86d081884c7d659a2feaa0c55ad015', expiresAt: 1_767_225_600 };
  expect(addressOf(key)).toBe('0x2b5ad5c4795c026514f8317c7a215e218dccd6cf');
  expect(toHex(loginDigest(31_337, message.account, message))).toBe('0xa546ed3caa888f0c1137a5a49c1bf0e45743014508c154b77f3f5b2568ab5bba');
  expect(signLogin(key, 31_337, message)).toBe(
    '0x137b807a58702ef8bcdf02a36fbadad71fc1aa7cdf6f7bfadcdabcaf3ee86a362aa64c9bec8a4d5b49de711e874ebd187a2a165379bd747bf0cd7e48340aa1701b');
  expect(() => parseKey('12')).toThrow('64 hex digits');
});

test('amounts and base units are the same thing', () => {
  expect(baseUnits('1.000001', 6)).toBe(1_000_001n);
  expect(unitsText(12_500_000_000_000_000_000n, 18)).toBe('12.5');
  expect(() => baseUnits('1.0000001', 6)).toThrow('at most 6 decimals');
  expect(() => baseUnits('-1', 6)).toThrow('digits');
});
