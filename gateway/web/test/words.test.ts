// What people are told.
import { expect, test } from 'vitest';
import { Refused } from '../src/api/client';
import { exact, grouped, signed } from '../src/lib/format';
import { refusalWords } from '../src/words/refusals';

test('a refusal says what it is and what to change', () => {
  expect(refusalWords(new Refused(400, '-2019', 'Margin is insufficient.', null))).toEqual({
    title: 'Not enough margin', text: 'Margin is insufficient. Lower the size, raise the leverage, or transfer USDT from spot.',
  });
  expect(refusalWords(new Refused(429, '-1015', '', 7)).text).toContain('Try again in 7 s.');
  expect(refusalWords(new Refused(400, 'invalid range', 'invalid range', null))).toEqual({ title: 'Refused', text: 'invalid range.' });
  expect(refusalWords(new TypeError('Failed to fetch')).title).toBe('The exchange cannot be reached');
});

test('figures are grouped and signed', () => {
  expect([grouped('1234567.891', 2), exact('10000.500'), exact('0.0001'), signed('-5'), signed('5'), signed('0.001'), grouped(null, 2)]).toEqual(
    ['1,234,567.89', '10,000.5', '0.0001', '-5.00', '+5.00', '0.00', '–']);
});
