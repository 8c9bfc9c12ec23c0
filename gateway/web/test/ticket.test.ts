// What the ticket sends, and what it refuses to send.
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Market } from '../src/store/types';

beforeAll(() => {
  vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  vi.stubGlobal('sessionStorage', { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: () => {} }));
  vi.stubGlobal('requestAnimationFrame', () => 0);
});

const BTC: Market = {
  key: 'perpetual:BTCUSDT', venue: 'perpetual', symbol: 'BTCUSDT', status: 'listed', base: 'BTC', quote: 'USDT', tick: '0.1', lot: '0.001',
  leastQuantity: '0.001', leastNotional: '5', greatestLeverage: 125, makerFee: '0.0002', takerFee: '0.0005',
};
const DF: Market = { ...BTC, key: 'spot:DFUSDT', venue: 'spot', symbol: 'DFUSDT', base: 'DF', tick: '0.0001', lot: '0.1', leastQuantity: '0.1', leastNotional: '1' };

const load = async () => ({ ticket: await import('../src/store/ticket'), market: await import('../src/store/market'), preferences: await import('../src/store/preferences'), account: await import('../src/store/account') });

beforeEach(async () => {
  const { ticket, market, preferences } = await load();
  market.markets.value = [BTC, DF];
  market.show('spot:DFUSDT');
  market.show('perpetual:BTCUSDT');
  ticket.kind.value = 'limit';
  ticket.side.value = 'buy';
  preferences.sizeUnit.value = 'base';
});

test('a limit order with take profit and stop loss', async () => {
  const { ticket } = await load();
  ticket.price.value = '60000.1';
  ticket.size.value = '0.01';
  ticket.hasBrackets.value = true;
  ticket.takeProfit.value = '61000';
  ticket.stopLoss.value = '59000';
  expect(ticket.fault.value).toBeNull();
  expect(ticket.perpetualOrder(BTC)).toEqual({
    symbol: 'BTCUSDT', side: 'BUY', type: 'LIMIT', quantity: '0.01', newOrderRespType: 'RESULT', price: '60000.1', timeInForce: 'GTC',
    tpTriggerPrice: '61000', slTriggerPrice: '59000', tpslWorkingType: 'MARK_PRICE',
  });
  ticket.stopLoss.value = '60001';
  expect(ticket.fault.value?.field).toBe('stopLoss');
  ticket.isReduceOnly.value = true;
  expect(ticket.perpetualOrder(BTC)).not.toHaveProperty('tpTriggerPrice');
});

test('conditional orders send their trigger and nothing else', async () => {
  const { ticket } = await load();
  ticket.size.value = '0.01';
  ticket.price.value = '1';
  ticket.kind.value = 'stop_market';
  expect(ticket.fault.value?.field).toBe('trigger');
  ticket.trigger.value = '61000';
  expect(ticket.perpetualOrder(BTC)).toEqual({
    symbol: 'BTCUSDT', side: 'BUY', type: 'STOP_MARKET', quantity: '0.01', newOrderRespType: 'RESULT', stopPrice: '61000', workingType: 'MARK_PRICE',
  });
  ticket.kind.value = 'trailing';
  ticket.callback.value = '0.05';
  expect(ticket.fault.value?.field).toBe('callback');
  ticket.callback.value = '1.5';
  expect(ticket.perpetualOrder(BTC)).toMatchObject({ type: 'TRAILING_STOP_MARKET', callbackRate: '1.5' });
});

test('a size in quote becomes lots, rounded down', async () => {
  const { ticket, preferences } = await load();
  preferences.sizeUnit.value = 'quote';
  ticket.price.value = '60000';
  ticket.size.value = '100';
  expect(ticket.quantity.value).toBe('0.001');
  ticket.size.value = '59';
  expect(ticket.fault.value).toMatchObject({ field: 'size', text: 'At least 0.001 BTC.' });
});

test('spot buys at the market spend quote', async () => {
  const { ticket, market } = await load();
  market.show('spot:DFUSDT');
  ticket.kind.value = 'market';
  ticket.size.value = '25';
  expect(ticket.spotOrder(DF)).toEqual({ symbol: 'DFUSDT', side: 'buy', type: 'market', quote_quantity: '25' });
  ticket.side.value = 'sell';
  expect(ticket.spotOrder(DF)).toEqual({ symbol: 'DFUSDT', side: 'sell', type: 'market', quantity: '25' });
});

test('prices and sizes keep to tick, lot and least value', async () => {
  const { ticket } = await load();
  ticket.price.value = '60000.15';
  ticket.size.value = '0.01';
  expect(ticket.fault.value).toMatchObject({ field: 'price' });
  ticket.price.value = '60000';
  ticket.size.value = '0.0015';
  expect(ticket.fault.value).toMatchObject({ field: 'size' });
  ticket.price.value = '100';
  ticket.size.value = '0.001';
  expect(ticket.fault.value).toMatchObject({ field: 'size', text: 'The order is worth at least 5 USDT.' });
});

test('a change of market empties it', async () => {
  const { ticket, market } = await load();
  ticket.price.value = '60000';
  ticket.size.value = '1';
  ticket.kind.value = 'stop_limit';
  market.show('spot:DFUSDT');
  expect([ticket.price.value, ticket.size.value, ticket.kind.value]).toEqual(['', '', 'limit']);
});

test('a part of the margin pays for fees too', async () => {
  const { ticket, account } = await load();
  account.margin.value = {
    wallet: '1000', unrealised: '0', equity: '1000', available: '1000', withdrawable: '1000', initial: '0', maintenance: '0', ratio: '0', total: '1000',
  };
  account.leverages.value = { BTCUSDT: { leverage: 10, isIsolated: false } };
  ticket.price.value = '50000';
  ticket.takePart(100);
  // 10000 of value at most, less the fees of both ways and a little for a price that moves.
  expect(Number(ticket.size.value)).toBeGreaterThan(0.19);
  expect(Number(ticket.size.value)).toBeLessThan(0.2);
  account.forgetAccount();
});
