// Refusals of the exchange in people's words, with what to change.
import { Refused } from '../api/client';

interface Words {
  title: string;
  text: string;
}

// By code of either venue. `message` is what the exchange says itself: it often names the figure that was expected.
const KNOWN: Record<string, Words> = {
  // the perpetual venue
  '-1013': { title: 'The size is out of range', text: 'Change the quantity: a smaller step, or a larger or smaller order.' },
  '-1111': { title: 'Too many decimals', text: 'Use the decimals of the market for price and quantity.' },
  '-2010': { title: 'Post only: it would trade at once', text: 'Move the price away from the other side, or switch post only off.' },
  '-2011': { title: 'That order is no longer open', text: 'It was filled or canceled meanwhile.' },
  '-2013': { title: 'That order is no longer open', text: 'It was filled or canceled meanwhile.' },
  '-2019': { title: 'Not enough margin', text: 'Lower the size, raise the leverage, or transfer USDT from spot.' },
  '-2021': { title: 'It would fire at once', text: 'The trigger has been passed already: move it to the other side of the price.' },
  '-2022': { title: 'Reduce only: nothing to reduce', text: 'There is no position on the other side. Switch reduce only off to open one.' },
  '-2023': { title: 'The account is being liquidated', text: 'Orders are taken again when that is over.' },
  '-2025': { title: 'Too many open orders', text: 'Cancel some of this market first.' },
  '-2027': { title: 'Too large at this leverage', text: 'Lower the leverage or the size.' },
  '-2028': { title: 'Leverage too low for your margin', text: 'Reduce the position, or transfer USDT from spot.' },
  '-4003': { title: 'The quantity is not above zero', text: 'Enter how much.' },
  '-4014': { title: 'The price is between two ticks', text: 'Round it to the tick of the market.' },
  '-4049': { title: 'Not an isolated position', text: 'Only such a position has margin of its own.' },
  '-4050': { title: 'Not so much is free', text: 'Add less, or transfer USDT from spot.' },
  '-4051': { title: 'Not so much can be removed', text: 'The initial margin and what is lost stay with the position.' },
  '-4054': { title: 'There is no position', text: 'It was closed meanwhile.' },
  '-4131': { title: 'Too far from the mark price', text: 'Move the price closer to the mark.' },
  '-4016': { title: 'Too far from the mark price', text: 'Lower the price.' },
  '-4024': { title: 'Too far from the mark price', text: 'Raise the price.' },
  '-4140': { title: 'The market takes no such order now', text: 'Only some kinds of orders are taken in its state.' },
  '-4161': { title: 'Leverage cannot be lowered', text: 'Not while an isolated position is open.' },
  '-5021': { title: 'Fill or kill: not all of it at once', text: 'Lower the size or change the price.' },
  '-5027': { title: 'Nothing was changed', text: 'Enter another price or quantity.' },
  '-1003': { title: 'Too many requests', text: 'Wait a moment and try again.' },
  '-1015': { title: 'Too many orders', text: 'Wait a moment and try again.' },
  '-1008': { title: 'The venue is overloaded', text: 'Nothing was placed. Try again; reduce-only orders and cancels always pass.' },
  '-1016': { title: 'The venue is starting', text: 'Nothing was placed. Try again in a moment.' },
  '-1000': { title: 'No answer in time', text: 'It may have been carried out: look at your orders before trying again.' },
  // the spot venue
  INVALID_TICK: { title: 'The price is between two ticks', text: 'Round it to the tick of the market.' },
  INVALID_LOT: { title: 'The quantity is between two lots', text: 'Round it to the lot of the market.' },
  BELOW_MIN_NOTIONAL: { title: 'The order is too small', text: 'Raise the size.' },
  INSUFFICIENT_BALANCE: { title: 'Not enough balance', text: 'Lower the size, deposit, or transfer.' },
  POST_ONLY_REJECT: { title: 'Post only: it would trade at once', text: 'Move the price away from the other side, or switch post only off.' },
  SELF_TRADE: { title: 'It would meet an order of your own', text: 'Cancel that one first, or change the price.' },
  MARKET_HALTED: { title: 'The market is halted', text: 'Cancels are taken, new orders are not.' },
  MARKET_DELISTED: { title: 'The market is delisted', text: 'Choose another.' },
  ENGINE_BUSY: { title: 'The venue is overloaded', text: 'Nothing was placed. Try again.' },
  ENGINE_RESTARTING: { title: 'The venue is starting', text: 'Nothing was placed. Try again in a moment.' },
  'too many open orders': { title: 'Too many open orders', text: 'Cancel some of this market first.' },
  RATE_LIMITED: { title: 'Too many requests', text: 'Wait a moment and try again.' },
  BANNED: { title: 'Too many requests', text: 'This address is shut out for a while.' },
  OPEN_ORDERS_EXIST: { title: 'Orders are open', text: 'Cancel the open orders of this market first.' },
  POSITION_EXISTS: { title: 'A position is open', text: 'Close the position of this market first.' },
  SLIPPAGE_EXCEEDED: { title: 'The price would slip too far', text: 'Lower the size or use a limit order.' },
  INSUFFICIENT_LIQUIDITY: { title: 'The book does not hold so much', text: 'Lower the size or use a limit order.' },
  UNAUTHORIZED: { title: 'Your login has ended', text: 'Log in again.' },
  TOKEN_EXPIRED: { title: 'Your login has ended', text: 'Log in again.' },
  DISABLED: { title: 'Not on this deployment', text: '' },
  '-2015': { title: 'Your login has ended', text: 'Log in again.' },
};

const sentence = (text: string): string => (text && !/[.!?]$/.test(text) ? `${text}.` : text);

export function refusalWords(error: unknown): Words {
  if (error instanceof Refused) {
    const words = KNOWN[error.code];
    const wait = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : '';
    if (!words) return { title: 'Refused', text: sentence(error.message || error.code) + wait };
    const said = error.message && error.message !== error.code ? `${sentence(error.message)} ` : '';
    return { title: words.title, text: `${said}${words.text}${wait}`.trim() };
  }
  if (error instanceof TypeError) return { title: 'The exchange cannot be reached', text: 'It may have been carried out: look at your orders once the connection is back.' };
  return { title: 'That did not work', text: error instanceof Error ? error.message : String(error) };
}
