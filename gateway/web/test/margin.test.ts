// Where positions would be liquidated, as the venue works it out.
import { expect, test } from 'vitest';
import { liquidationPrice, removable } from '../src/store/margin';
import type { Position } from '../src/store/types';

const BRACKETS = [
  { initialLeverage: 125, notionalCap: 50_000, maintMarginRatio: 0.004, cum: 0 },
  { initialLeverage: 100, notionalCap: 500_000, maintMarginRatio: 0.005, cum: 50 },
  { initialLeverage: 50, notionalCap: 10_000_000, maintMarginRatio: 0.01, cum: 2_550 },
];

test('a liquidation price is of the bracket that it lies in', () => {
  expect(liquidationPrice({ amount: '0.5', entry: '60000' }, 1_000, BRACKETS)).toBeCloseTo(58_232.9317, 4);
  expect(liquidationPrice({ amount: '-0.3', entry: '60000' }, 1_800, BRACKETS)).toBeCloseTo(65_737.0518, 4);
  expect(liquidationPrice({ amount: '2', entry: '60000' }, 12_000, BRACKETS)).toBeCloseTo((120_000 - 12_000 - 50) / (2 * 0.995), 6);
  expect(liquidationPrice({ amount: '0.5', entry: '60000' }, 40_000, BRACKETS)).toBe(0);
});

test('the initial margin and what is lost stay with an isolated position', () => {
  const position = { amount: '0.5', mark: '60000', unrealised: '-100', isolatedWallet: '2000', leverage: 20 } as Position;
  expect(removable(position)).toBe(400);
  expect(removable({ ...position, unrealised: '100' })).toBe(500);
  expect(removable({ ...position, isolatedWallet: '1000' })).toBe(0);
});
