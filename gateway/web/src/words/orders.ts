// Orders in people's words: what kind they are, and what became of them.
import { compare, isPositive } from '../lib/decimal';
import type { Mood } from '../store/toasts';
import type { Order } from '../store/types';

const KINDS: Record<string, string> = {
  limit: 'Limit', market: 'Market', stop: 'Stop limit', stop_market: 'Stop market', take_profit: 'Take profit limit',
  take_profit_market: 'Take profit', trailing_stop_market: 'Trailing stop', liquidation: 'Liquidation',
};

export const kindOf = ({ type }: Pick<Order, 'type'>): string => KINDS[type] ?? type.replaceAll('_', ' ');

const TIFS: Record<string, string> = { gtc: 'GTC', ioc: 'IOC', fok: 'FOK', gtx: 'Post only', post_only: 'Post only', gtd: 'GTD' };
export const tifOf = ({ tif }: Pick<Order, 'tif'>): string => TIFS[tif] ?? tif.toUpperCase();

const STATES: Record<string, string> = {
  new: 'Open', open: 'Open', partially_filled: 'Partly filled', filled: 'Filled', canceled: 'Canceled', rejected: 'Refused',
  expired: 'Expired', expired_in_match: 'Expired', triggering: 'Fired', triggered: 'Fired', finished: 'Fired',
};
export const stateOf = ({ status }: Pick<Order, 'status'>): string => STATES[status] ?? status;

export const isConditional = (order: Order): boolean => order.trigger !== null || order.callback !== null;

// Where its line stands in the chart: the trigger it waits for, else its price; null where there is neither.
export const lineOf = (order: Order): string | null => (order.trigger && order.type !== 'limit' ? order.trigger : order.price);

// Price as people say it, with the trigger where it waits for one.
export function priceOf(order: Order): string {
  if (order.callback) return `trails by ${order.callback}%${order.activation ? ` from ${order.activation}` : ''}`;
  const limit = order.price ?? 'market';
  return order.trigger && order.type !== 'limit' && order.type !== 'market' ? `${order.trigger} → ${limit}` : limit;
}

const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1);
const sizeOf = (order: Order): string => (order.closePosition ? 'the position' : order.quantity);

// What is said of an order's new state; null where nothing is.
export function orderWords(order: Order): { mood: Mood; title: string; text: string } | null {
  const what = `${capital(order.side)} ${sizeOf(order)} ${order.symbol}`;
  const filled = isPositive(order.filled) ? `${order.filled} at ${order.average} on average` : '';
  switch (order.status) {
    case 'new':
    case 'open':
      return { mood: 'plain', title: isConditional(order) ? `${kindOf(order)} is waiting` : 'Order is open', text: `${what} at ${priceOf(order)}` };
    case 'partially_filled':
      return { mood: 'good', title: 'Order partly filled', text: `${what}: ${filled}` };
    case 'filled':
      return { mood: 'good', title: 'Order filled', text: `${what} at ${order.average}` };
    case 'triggered':
      return { mood: 'plain', title: `${kindOf(order)} fired`, text: what };
    case 'canceled':
      return { mood: 'plain', title: 'Order canceled', text: filled && compare(order.filled, '0') > 0 ? `${what}, after ${filled}` : what };
    case 'expired':
    case 'expired_in_match':
      return { mood: filled ? 'plain' : 'bad', title: filled ? 'Order ended, partly filled' : 'Order expired', text: [what, filled, order.reason].filter(Boolean).join(': ') };
    default:
      return null;
  }
}
