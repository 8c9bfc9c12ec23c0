// Acts of the account: orders placed, amended and canceled, positions closed and turned, leverage set. Each says what came of it.
import { Refused } from '../api/client';
import * as exchange from '../api/exchange';
import { absolute, add, compare, isPositive, subtract } from '../lib/decimal';
import { openOrders } from '../store/account';
import { isLoginOpen, session, type Session } from '../store/session';
import { perpetualOrder, spotOrder } from '../store/ticket';
import { toast } from '../store/toasts';
import type { Market, Order, Position } from '../store/types';
import { refusalWords } from '../words/refusals';
import { hushCanceled, refreshSoon, setKnownLeverage, takeOrder, tellOrder } from './account';
import { timed } from './latency';
import { endSession } from './login';

const CANCEL_TRIES = 5;

type Signer = NonNullable<Session['signer']>;

// Runs what an act does; a refusal becomes a toast. True when it was done.
export async function act(what: (by: Session, signer: Signer) => Promise<void>): Promise<boolean> {
  const by = session.value;
  if (!by?.signer) {
    isLoginOpen.value = true;
    return false;
  }
  try {
    await what(by, by.signer);
    return true;
  } catch (error) {
    const words = refusalWords(error);
    if (error instanceof Refused && error.status === 401) endSession();
    toast('bad', words.title, words.text);
    return false;
  }
}

function took(order: Order): void {
  takeOrder(order);
  tellOrder(order);
  refreshSoon();
}

// What the ticket holds.
export const place = (of: Market): Promise<boolean> =>
  act(async (by, signer) => {
    const placed = of.venue === 'spot'
      ? () => exchange.placeSpot(by.token, spotOrder(of))
      : () => exchange.placePerpetual(signer, perpetualOrder(of));
    took(await timed(placed));
  });

// A cancel is not given up because something else of this address asked too much: it waits as long as it is told to.
async function passing<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Refused) || ![429, 503].includes(error.status) || tries === CANCEL_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1_000 * (error.retryAfter ?? 1)));
    }
  }
}

export const cancel = (order: Order): Promise<boolean> =>
  act(async (by, signer) => {
    const { venue, symbol, id } = order;
    if (order.isOfService) {
      await passing(() => exchange.cancelAlgo(signer, id));
      return took({ ...order, status: 'canceled' });
    }
    took(await passing(() => (venue === 'spot' ? exchange.cancelSpot(by.token, id) : exchange.cancelPerpetual(signer, symbol, id))));
  });

// All open orders, or those of a market.
export const cancelAll = (only: Market | null): Promise<boolean> =>
  act(async (by, signer) => {
    const open = openOrders.value.filter(({ venue, symbol }) => !only || (only.venue === venue && only.symbol === symbol));
    hushCanceled(open);
    const symbols = (isOfService: boolean): Set<string> =>
      new Set(open.filter((order) => order.venue === 'perpetual' && order.isOfService === isOfService).map(({ symbol }) => symbol));
    for (const symbol of symbols(false)) await passing(() => exchange.cancelAllPerpetual(signer, symbol));
    for (const symbol of symbols(true)) await passing(() => exchange.cancelAllAlgos(signer, symbol));
    if (open.some(({ venue }) => venue === 'spot')) await passing(() => exchange.cancelAllSpot(by.token, only?.symbol));
    toast('plain', 'All canceled', `${open.length} ${open.length === 1 ? 'order' : 'orders'}${only ? ` of ${only.symbol}` : ''}`);
  });

// What a spot order is placed again with.
const spotLimit = ({ symbol, side, tif }: Order, price: string, quantity: string) => ({ symbol, side, type: 'limit', price, quantity, tif });

// Spot orders have no amendment: the old one ends and a new one begins, behind the others of its price. What the old one has filled
// counts for the new one. Where the new one is refused the old one is placed again, as far as it was open.
async function replaceSpot(token: string, order: Order, price: string, quantity: string): Promise<void> {
  const canceled = await exchange.cancelSpot(token, order.id);
  takeOrder(canceled);
  const left = subtract(quantity, canceled.filled);
  if (!isPositive(left)) return tellOrder(canceled);
  try {
    return took(await timed(() => exchange.placeSpot(token, spotLimit(order, price, left))));
  } catch (error) {
    const { title, text } = refusalWords(error);
    if (!isRefusal(error)) return toast('bad', 'The order is canceled, and what became of the new one is not known', `Look at your orders. ${title} ${text}`.trim());
    const [old, rest] = [order.price ?? price, subtract(order.quantity, canceled.filled)];
    try {
      takeOrder(await passing(() => exchange.placeSpot(token, spotLimit(order, old, rest))));
      toast('bad', `Not amended: ${title}`, `${text} The order is open again: ${order.side} ${rest} ${order.symbol} at ${old}, behind the others of its price.`.trim());
    } catch (again) {
      const words = refusalWords(again);
      toast('bad', `Not amended: ${title}`, `The order is canceled, and could not be placed again: ${words.title} ${words.text}`.trim());
    }
    refreshSoon();
  }
}

// Whether the venue said that nothing was done; after anything else an order may be there.
const isRefusal = (error: unknown): boolean => error instanceof Refused && (error.status < 500 || error.status === 503);

export const amend = (order: Order, price: string, quantity: string): Promise<boolean> =>
  act(async (by, signer) => {
    if (order.venue === 'perpetual') {
      const amended = await exchange.amendPerpetual(signer, order.symbol, order.id, order.side, price, quantity);
      takeOrder(amended);
      toast('good', 'Order amended', `${amended.side === 'buy' ? 'Buy' : 'Sell'} ${amended.quantity} ${amended.symbol} at ${amended.price ?? 'market'}`);
      return;
    }
    await replaceSpot(by.token, order, price, quantity);
  });

const opposite = ({ amount }: Position): 'BUY' | 'SELL' => (amount.startsWith('-') ? 'BUY' : 'SELL');

const marketOrder = (signer: Signer, symbol: string, side: string, quantity: string, more: Record<string, string> = {}) =>
  timed(() => exchange.placePerpetual(signer, { symbol, side, type: 'MARKET', quantity, newOrderRespType: 'RESULT', ...more }));

// At the market, or at a limit where a price is given.
export const close = (position: Position, quantity: string, price: string | null): Promise<boolean> =>
  act(async (_by, signer) => {
    const { symbol } = position;
    const side = opposite(position);
    if (price === null) return took(await marketOrder(signer, symbol, side, quantity, { reduceOnly: 'true' }));
    const values = { symbol, side, type: 'LIMIT', timeInForce: 'GTC', quantity, price, reduceOnly: 'true', newOrderRespType: 'RESULT' };
    took(await timed(() => exchange.placePerpetual(signer, values)));
  });

// The same size on the other side: one order of twice the size.
export const reverse = (position: Position): Promise<boolean> =>
  act(async (_by, signer) => {
    const size = absolute(position.amount);
    took(await marketOrder(signer, position.symbol, opposite(position), add(size, size)));
  });

// Ends the whole position where the mark crosses a price.
export const protect = (position: Position, kind: 'TAKE_PROFIT_MARKET' | 'STOP_MARKET', stopPrice: string): Promise<boolean> =>
  act(async (_by, signer) => {
    const values = { symbol: position.symbol, side: opposite(position), type: kind, stopPrice, closePosition: 'true', workingType: 'MARK_PRICE' };
    took(await timed(() => exchange.placePerpetual(signer, values)));
  });

export const setLeverage = (symbol: string, leverage: number): Promise<boolean> =>
  act(async (_by, signer) => {
    await exchange.setLeverage(signer, symbol, leverage);
    setKnownLeverage(symbol, { leverage });
    toast('good', `Leverage ${leverage}×`, symbol);
    refreshSoon();
  });

export const setMarginMode = (symbol: string, isIsolated: boolean): Promise<boolean> =>
  act(async (by) => {
    await exchange.setMarginMode(by.token, symbol, isIsolated ? 'ISOLATED' : 'CROSSED');
    setKnownLeverage(symbol, { isIsolated });
    toast('good', isIsolated ? 'Isolated margin' : 'Cross margin', symbol);
  });

export const adjustMargin = (symbol: string, amount: string, kind: 'add' | 'remove'): Promise<boolean> =>
  act(async (_by, signer) => {
    await exchange.adjustMargin(signer, symbol, amount, kind);
    toast('good', kind === 'add' ? 'Margin added' : 'Margin removed', `${amount} USDT ${kind === 'add' ? 'to' : 'from'} the position of ${symbol}`);
    refreshSoon();
  });

export const transfer = (direction: 'to_spot' | 'to_perp', amount: string): Promise<boolean> =>
  act(async (by) => {
    await exchange.transfer(by.token, direction, amount);
    toast('good', 'Transferred', `${amount} USDT to ${direction === 'to_spot' ? 'spot' : 'perpetual margin'}`);
    refreshSoon();
  });

// Whether an amendment says anything new.
export const isChanged = (order: Order, price: string, quantity: string): boolean =>
  compare(price, order.price ?? '0') !== 0 || compare(quantity, order.quantity) !== 0;

