// What the parts of the page share: its state, and numbers and rows as people read them. Text from the server is only ever
// set as text.
import { Book } from './book.js';

export const $ = (id) => document.getElementById(id);

export const state = {
  settings: { test_deployment: false, chain_id: 0, node: null, deposits: false, withdrawals: null },
  markets: [], market: null, interval: '1m',
  book: new Book(), trades: [], ticker: null, extra: [],
  token: null, address: null, send: null, ask: null, shown: { orders: [], balances: [], positions: [] },
  isStreaming: false,
};

const decimalsOf = (text) => (text.split('.')[1] ?? '').length;
export const priceDecimals = () => (state.market ? decimalsOf(state.market.tick_size) : 2);
export const quantityDecimals = () => (state.market ? decimalsOf(state.market.lot_size) : 2);
// A decimal string with so many places; further digits of the string are kept.
export function padded(text, decimals) {
  const missing = decimals - decimalsOf(text);
  if (missing <= 0) return text;
  return (text.includes('.') ? text : text + '.') + '0'.repeat(missing);
}
export const price = (text) => padded(text, priceDecimals());
export const short = (text) => Number(text).toLocaleString('en', { maximumFractionDigits: 2 });
export const time = (ms) => new Date(ms).toLocaleTimeString('en-GB');

export const day = (seconds) => new Date(1_000 * seconds).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
export const shortHash = (hash) => (hash ? `${hash.slice(0, 8)}…${hash.slice(-4)}` : '');

export function row(cells, classes = []) {
  const tr = document.createElement('tr');
  cells.forEach((cell, index) => {
    const td = document.createElement('td');
    td.append(cell);
    if (classes[index]) td.className = classes[index];
    tr.append(td);
  });
  return tr;
}

export function button(text, act) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = text;
  button.onclick = () => act(button);
  return button;
}

export function say(element, text, mood = '') {
  element.textContent = text;
  element.className = `note ${mood}`;
}
