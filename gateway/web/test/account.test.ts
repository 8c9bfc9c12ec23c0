// What events make of the account.
import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { Order, Position } from '../src/store/types';

beforeAll(() => {
  vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  vi.stubGlobal('sessionStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: () => {} }));
});

const account = () => import('../src/store/account');

const order: Order = {
  venue: 'perpetual', id: '7', symbol: 'BTCUSDT', side: 'buy', type: 'limit', price: '100', quoteQuantity: null, trigger: null, callback: null,
  activation: null, quantity: '2', filled: '0', average: '0', status: 'new', tif: 'gtc', reduceOnly: false, closePosition: false, parent: '6', isOfService: false,
  reason: null, created: 1, updated: 1,
};

describe('orders', () => {
  test('are there while they are open', async () => {
    const { withOrder } = await account();
    const open = withOrder(new Map(), order);
    expect(open.size).toBe(1);
    const partly = withOrder(open, { ...order, status: 'partially_filled', filled: '1', created: 2, updated: 2, parent: null });
    expect(partly.get('perpetual:7')).toMatchObject({ filled: '1', created: 1, parent: '6' });
    expect(withOrder(partly, { ...order, status: 'filled', filled: '2', updated: 3 }).size).toBe(0);
  });
  test('never go back', async () => {
    const { withOrder } = await account();
    const partly = withOrder(new Map(), { ...order, status: 'partially_filled', filled: '1', updated: 5 });
    expect(withOrder(partly, order)).toBe(partly);
    expect(withOrder(partly, { ...order, updated: 5 })).toBe(partly);
  });
});

test('a conditional order of the service is open until it fires', async () => {
  const { withOrder, algoOf } = await account();
  const event = { aid: 9, o: 'STOP_MARKET', s: 'BTCUSDT', S: 'SELL', f: 'GTC', q: '0.01', X: 'NEW', tp: '90.50', p: '0', cp: false, R: true, rm: '' };
  const open = withOrder(new Map(), algoOf(event, 5, undefined));
  expect(open.get('perpetual:9')).toMatchObject({ isOfService: true, type: 'stop_market', trigger: '90.5', price: null, status: 'new', created: 5 });
  expect(withOrder(open, algoOf({ ...event, X: 'TRIGGERING' }, 6, open.get('perpetual:9'))).size).toBe(0);
});

describe('positions', () => {
  const event = { s: 'BTCUSDT', pa: '0.5', ep: '100', bep: '100.1', cr: '3', up: '0', mt: 'cross', iw: '0' };
  test('come, change and go', async () => {
    const { withPosition } = await account();
    const one = withPosition(new Map(), event, 20);
    expect(one.get('BTCUSDT')).toMatchObject({ amount: '0.5', leverage: 20, realised: '3', isIsolated: false });
    expect(withPosition(one, { ...event, pa: '0' }, 20).size).toBe(0);
  });
  test('are worth what the mark says', async () => {
    const { atMark } = await account();
    const short = { amount: '-2', entry: '100', mark: '100', unrealised: '0' } as Position;
    expect(atMark(short, '90.5').unrealised).toBe('19');
    expect(atMark(short, undefined)).toBe(short);
  });
});

test('balances are there once each, by token', async () => {
  const { withBalance } = await account();
  const two = withBalance(withBalance([], { token: 'USDT', available: '1', frozen: '0' }), { token: 'DF', available: '2', frozen: '0' });
  expect(withBalance(two, { token: 'USDT', available: '3', frozen: '1' })).toEqual([{ token: 'DF', available: '2', frozen: '0' }, { token: 'USDT', available: '3', frozen: '1' }]);
});
