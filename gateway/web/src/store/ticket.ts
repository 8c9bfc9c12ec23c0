// The order ticket: what was entered, what is wrong with it, and what is sent for it.
import { computed, effect, signal } from '@preact/signals';
import { add, compare, divide, floorTo, isDecimal, isPositive, isZero, least, multiply } from '../lib/decimal';
import { balances, leverages, livePositions, liveMargin } from './account';
import { lastPrice, market, marketKey, premium } from './market';
import { sizeUnit } from './preferences';
import type { Market, Side } from './types';

export type Kind = 'limit' | 'market' | 'stop_limit' | 'stop_market' | 'take_profit_limit' | 'take_profit_market' | 'trailing';
export type Tif = 'gtc' | 'ioc' | 'fok';

export const kinds: Record<Market['venue'], Kind[]> = {
  perpetual: ['limit', 'market', 'stop_limit', 'stop_market', 'take_profit_limit', 'take_profit_market', 'trailing'],
  spot: ['limit', 'market'],
};

export const side = signal<Side>('buy');
export const kind = signal<Kind>('limit');
export const price = signal('');
export const size = signal('');
export const trigger = signal('');
export const callback = signal('1');
export const activation = signal('');
export const tif = signal<Tif>('gtc');
export const isPostOnly = signal(false);
export const isReduceOnly = signal(false);
export const hasBrackets = signal(false);
export const takeProfit = signal('');
export const stopLoss = signal('');
export const triggerBy = signal<'MARK_PRICE' | 'CONTRACT_PRICE'>('MARK_PRICE');
export const part = signal(0);

export function clearTicket(): void {
  for (const field of [price, size, trigger, activation, takeProfit, stopLoss]) field.value = '';
  callback.value = '1';
  part.value = 0;
  hasBrackets.value = isReduceOnly.value = isPostOnly.value = false;
}

// Nothing of one market is ever sent to another.
effect(() => {
  const venue = marketKey.value.split(':')[0] as Market['venue'];
  clearTicket();
  if (venue && !kinds[venue]?.includes(kind.peek())) kind.value = 'limit';
});

export const hasPrice = computed(() => ['limit', 'stop_limit', 'take_profit_limit'].includes(kind.value));
export const hasTrigger = computed(() => ['stop_limit', 'stop_market', 'take_profit_limit', 'take_profit_market'].includes(kind.value));
export const isSpot = computed(() => market.value?.venue === 'spot');
export const takesBrackets = computed(() => !isSpot.value && (kind.value === 'limit' || kind.value === 'market') && !isReduceOnly.value);
export const leverage = computed(() => leverages.value[market.value?.symbol ?? '']?.leverage ?? 1);

// The price with which quote becomes base.
export const reference = computed(() => {
  if (hasPrice.value && isPositive(price.value)) return price.value;
  if (hasTrigger.value && isPositive(trigger.value)) return trigger.value;
  const now = lastPrice.value ?? premium.value?.mark ?? null;
  return now && isPositive(now) ? now : null;
});

// Spot market buys are sized in quote by the venue itself.
export const isSpending = computed(() => isSpot.value && kind.value === 'market' && side.value === 'buy');
export const unit = computed(() => (isSpending.value ? 'quote' : sizeUnit.value));

// Base to buy or sell, floored to the lot; null where there is none.
export const quantity = computed(() => {
  const of = market.value;
  if (!of || !isPositive(size.value)) return null;
  if (unit.value === 'base') return floorTo(size.value, of.lot);
  return reference.value ? floorTo(divide(size.value, reference.value, 8), of.lot) : null;
});

export const position = computed(() => livePositions.value.find(({ symbol }) => !isSpot.value && symbol === market.value?.symbol) ?? null);

// What may be spent: margin, or the balance of the token that is paid.
export const available = computed(() => {
  const of = market.value;
  if (!of) return null;
  if (of.venue === 'perpetual') return liveMargin.value ? { amount: liveMargin.value.available, token: of.quote } : null;
  const token = side.value === 'buy' ? of.quote : of.base;
  const amount = balances.value.find((one) => one.token === token)?.available;
  return amount === undefined ? null : { amount, token };
});

// The greatest quantity of base that the available margin or balance pays for, fees included.
export const greatest = computed(() => {
  const [of, at, has] = [market.value, reference.value, available.value];
  if (!of || !at || !has) return null;
  if (of.venue === 'spot') {
    if (side.value === 'sell') return floorTo(has.amount, of.lot);
    return floorTo(divide(has.amount, at, 8), of.lot);
  }
  const held = position.value;
  if (isReduceOnly.value) {
    const isOpposite = held && held.amount.startsWith('-') === (side.value === 'buy');
    return isOpposite ? held.amount.replace('-', '') : '0';
  }
  // Fees for the way in and out, and a little for what the price moves meanwhile.
  const usable = multiply(multiply(has.amount, String(leverage.value)), divide('1', feeFactor(of.takerFee, leverage.value), 8));
  const opens = floorTo(divide(usable, at, 8), of.lot);
  const closes = held && held.amount.startsWith('-') === (side.value === 'buy') ? held.amount.replace('-', '') : '0';
  return addLots(opens, closes);
});

const feeFactor = (fee: string, times: number): string => (1.005 + 2 * Number(fee) * times).toFixed(8);
const addLots = (a: string, b: string): string => (isZero(b) ? a : add(a, b));

// Sets the size to a part of what is possible, in per cent.
export function takePart(per: number): void {
  const [of, most, at, has] = [market.value, greatest.value, reference.value, available.value];
  part.value = per;
  if (!of || !most) return;
  if (isSpending.value) {
    size.value = has ? floorTo(divide(multiply(has.amount, String(per)), '100', 8), '0.01') : '';
    return;
  }
  const lots = floorTo(divide(multiply(most, String(per)), '100', 8), of.lot);
  if (isZero(lots)) size.value = '';
  else size.value = unit.value === 'base' || !at ? lots : floorTo(multiply(lots, at), '0.01');
}

export interface Fault {
  field: 'price' | 'size' | 'trigger' | 'callback' | 'takeProfit' | 'stopLoss';
  text: string;
}

const isMultiple = (value: string, step: string): boolean => compare(floorTo(value, step), value) === 0;

// The first thing that is wrong with what was entered; null where it can be sent.
export const fault = computed<Fault | null>(() => {
  const of = market.value;
  if (!of) return null;
  const priced = (field: Fault['field'], text: string, name: string): Fault | null => {
    if (!isPositive(text)) return { field, text: `Enter the ${name}.` };
    return isMultiple(text, of.tick) ? null : { field, text: `The ${name} is a multiple of ${of.tick}.` };
  };
  const found =
    (hasTrigger.value ? priced('trigger', trigger.value, 'trigger price') : null) ??
    (kind.value === 'trailing' ? ofCallback() : null) ??
    (hasPrice.value ? priced('price', price.value, 'price') : null) ??
    ofSize(of);
  if (found || !hasBrackets.value || !takesBrackets.value) return found;
  if (takeProfit.value) {
    const wrong = priced('takeProfit', takeProfit.value, 'take profit') ?? ofSide('takeProfit', takeProfit.value, side.value === 'buy');
    if (wrong) return wrong;
  }
  if (stopLoss.value) return priced('stopLoss', stopLoss.value, 'stop loss') ?? ofSide('stopLoss', stopLoss.value, side.value !== 'buy');
  return null;
});

function ofCallback(): Fault | null {
  const text = callback.value;
  const isFine = isDecimal(text) && compare(text, '0.1') >= 0 && compare(text, '10') <= 0 && isMultiple(text, '0.1');
  return isFine ? null : { field: 'callback', text: 'Between 0.1% and 10%, in steps of 0.1%.' };
}

function ofSize(of: Market): Fault | null {
  if (!isPositive(size.value)) return { field: 'size', text: 'Enter the size.' };
  if (isSpending.value) {
    return compare(size.value, of.leastNotional) < 0 ? { field: 'size', text: `At least ${of.leastNotional} ${of.quote}.` } : null;
  }
  if (unit.value === 'base' && !isMultiple(size.value, of.lot)) return { field: 'size', text: `The size is a multiple of ${of.lot} ${of.base}.` };
  const lots = quantity.value;
  if (!lots || compare(lots, of.leastQuantity) < 0) return { field: 'size', text: `At least ${of.leastQuantity} ${of.base}.` };
  const at = reference.value;
  const isSmall = at && !isReduceOnly.value && compare(multiply(lots, at), of.leastNotional) < 0;
  return isSmall ? { field: 'size', text: `The order is worth at least ${of.leastNotional} ${of.quote}.` } : null;
}

function ofSide(field: Fault['field'], text: string, isAbove: boolean): Fault | null {
  const at = reference.value;
  if (!at || (isAbove ? compare(text, at) > 0 : compare(text, at) < 0)) return null;
  return { field, text: `${isAbove ? 'Above' : 'Below'} the price of the order.` };
}

// --- what is sent ----------------------------------------------------------------------------------------------------

const TYPES: Record<Kind, string> = {
  limit: 'LIMIT', market: 'MARKET', stop_limit: 'STOP', stop_market: 'STOP_MARKET', take_profit_limit: 'TAKE_PROFIT',
  take_profit_market: 'TAKE_PROFIT_MARKET', trailing: 'TRAILING_STOP_MARKET',
};

// Of POST /fapi/v1/order. Only where there is no fault.
export function perpetualOrder(of: Market): Record<string, string> {
  const values: Record<string, string> = {
    symbol: of.symbol, side: side.value.toUpperCase(), type: TYPES[kind.value], quantity: quantity.value ?? '0', newOrderRespType: 'RESULT',
  };
  if (hasPrice.value) {
    values.price = price.value;
    values.timeInForce = isPostOnly.value ? 'GTX' : tif.value.toUpperCase();
  }
  if (hasTrigger.value) Object.assign(values, { stopPrice: trigger.value, workingType: triggerBy.value });
  if (kind.value === 'trailing') {
    values.callbackRate = callback.value;
    values.workingType = triggerBy.value;
    if (isPositive(activation.value)) values.activationPrice = activation.value;
  }
  if (isReduceOnly.value) values.reduceOnly = 'true';
  if (hasBrackets.value && takesBrackets.value) {
    if (takeProfit.value) values.tpTriggerPrice = takeProfit.value;
    if (stopLoss.value) values.slTriggerPrice = stopLoss.value;
    if (takeProfit.value || stopLoss.value) values.tpslWorkingType = triggerBy.value;
  }
  return values;
}

// Of POST /api/v1/spot/orders.
export function spotOrder(of: Market): Record<string, string> {
  const body: Record<string, string> = { symbol: of.symbol, side: side.value, type: kind.value };
  if (kind.value === 'limit') {
    return { ...body, price: price.value, quantity: quantity.value ?? '0', tif: isPostOnly.value ? 'post_only' : tif.value === 'ioc' ? 'ioc' : 'gtc' };
  }
  return isSpending.value ? { ...body, quote_quantity: size.value } : { ...body, quantity: quantity.value ?? '0' };
}

// From the book: the price, and as much as stands up to there, at most what can be paid for.
export function takeLevel(at: string, sum: string, takes: Side): void {
  if (kind.value === 'market') kind.value = 'limit';
  if (hasPrice.value) price.value = at;
  else if (hasTrigger.value) trigger.value = at;
  side.value = takes;
  part.value = 0;
  const most = greatest.value;
  const lots = most && isPositive(most) ? least(sum, most) : sum;
  const of = market.value;
  if (of && unit.value === 'base') size.value = floorTo(lots, of.lot);
}
