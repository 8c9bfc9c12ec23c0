// Exact decimals.
import { describe, expect, test } from 'vitest';
import { add, ceilTo, compare, divide, fixed, floorTo, isDecimal, isPositive, multiply, negate, plain, subtract } from '../src/lib/decimal';

describe('decimals', () => {
  test('are exact where floats are not', () => {
    expect(add('0.1', '0.2')).toBe('0.3');
    expect(subtract('1', '0.000000000000000001')).toBe('0.999999999999999999');
    expect(multiply('60276.1', '0.001')).toBe('60.2761');
    expect(multiply('-0.5', '0.02')).toBe('-0.01');
  });
  test('have one shortest text', () => {
    expect([plain('1.500'), plain('0.0'), plain('-0.10'), plain('007')]).toEqual(['1.5', '0', '-0.1', '7']);
    expect(negate('-2.50')).toBe('2.5');
  });
  test('divide towards zero', () => {
    expect(divide('10', '3', 4)).toBe('3.3333');
    expect(divide('-10', '3', 2)).toBe('-3.33');
    expect(() => divide('1', '0.0', 2)).toThrow();
  });
  test('go down and up to a step', () => {
    expect(floorTo('0.0199', '0.001')).toBe('0.019');
    expect(ceilTo('60260.1', '10')).toBe('60270');
    expect(ceilTo('60260', '10')).toBe('60260');
  });
  test('compare by value', () => {
    expect([compare('1.0', '1'), compare('-1', '0'), compare('0.30', '0.3000001')]).toEqual([0, -1, -1]);
  });
  test('are cut off or filled up for the eye', () => {
    expect([fixed('1.999', 2), fixed('1', 2), fixed('-0.5', 0)]).toEqual(['1.99', '1.00', '0']);
  });
  test('are nothing else', () => {
    expect(['1,5', '', '1e5', '.5', '5.', 'NaN'].map(isDecimal)).toEqual(Array(6).fill(false));
    expect([isPositive('0'), isPositive('-1'), isPositive('0.001'), isPositive('x')]).toEqual([false, false, true, false]);
    expect(() => add('x', '1')).toThrow();
  });
});
