// What an account sees and does: orders, positions, balances, the form that places orders.
import { $, button, row, say, short, state } from './view.js';

const form = $('order');
let openLogin = () => {};

const venue = () => state.market?.venue;

// Reads the account at the venue that is shown. Answers for another venue or login are dropped.
export async function askAccount() {
  const { token } = state;
  const at = venue();
  if (!token || !at) return;
  try {
    const shown = await at.account(token);
    if (state.token !== token || venue() !== at) return;
    state.shown = shown;
    drawAccount();
  } catch (error) {
    if (error.status === 401 && state.token === token) logOut();
    else if (state.token === token && venue() === at) say($('answer'), error.message, 'bad');
  }
}

// The account at the venue of the market that is shown now.
export async function enter() {
  state.shown = { orders: [], balances: [], positions: [] };
  drawAccount();
  const at = venue();
  if (!state.token || !at) return;
  await askAccount();
  if (at.isFollowed) return;
  at.isFollowed = true;
  const show = () => {
    if (venue() !== at) return;
    state.shown = at.shown();
    drawAccount();
  };
  const read = () => venue() === at && askAccount();
  await Promise.resolve(at.follow(state.token, show, read)).catch(() => { at.isFollowed = false; });
}

export function logOut() {
  for (const at of new Set(state.markets.map((market) => market.venue))) {
    if (at.isFollowed || at.key) at.leave();
    at.isFollowed = false;
  }
  Object.assign(state, { token: null, address: null, send: null, ask: null, shown: { orders: [], balances: [], positions: [] } });
  drawAccount();
}

// An act of the account on a button: it is told what came of it, and everything is read again.
async function act(pressed, what) {
  if (pressed) pressed.disabled = true;
  try {
    await what();
  } catch (error) {
    say($('answer'), error.message, 'bad');
  }
  askAccount();
}

export function drawAccount() {
  const { orders, balances, positions } = state.shown;
  const at = venue();
  $('orders').replaceChildren(...orders.map((order) => {
    const cancel = button('Cancel', (pressed) => act(pressed, () => at.cancel(state.token, order)));
    const side = order.side === 'buy' ? 'up' : 'down';
    const tr = row([order.symbol, order.side, order.price ?? 'market', order.quantity, order.filled_qty, cancel], ['', side]);
    tr.dataset.order = order.id;
    return tr;
  }));
  $('positions').replaceChildren(...positions.map((position) => {
    const close = button('Close', (pressed) => act(pressed, () => at.close(position)));
    const mood = (text) => (text.startsWith('-') ? 'down' : 'up');
    const tr = row(
      [`${position.symbol} ${position.leverage ?? ''}×`, position.amount, position.entry, position.mark, position.liquidation, position.profit, close],
      ['', mood(position.amount), '', '', '', mood(position.profit)],
    );
    tr.dataset.position = position.symbol;
    return tr;
  }));
  $('held').hidden = !state.market?.isPerpetual;
  $('no-positions').textContent = state.token && !positions.length ? 'No positions.' : '';
  $('cancel-all').hidden = orders.length < 2;
  $('no-orders').textContent = !state.token ? 'Log in to see your orders.' : orders.length ? '' : 'No open orders.';
  $('balances').replaceChildren(...balances.map((balance) => row([balance.token, short6(balance.available), short6(balance.frozen)])));
  $('no-balances').textContent = state.token ? '' : 'Log in to see your balances.';
  $('login').textContent = state.token ? `${state.address.slice(0, 6)}…${state.address.slice(-4)}` : 'Log in';
  $('login').title = state.token ? 'Log out' : '';
  drawEntry();
}

// Amounts are shown as they are; only noughts that fill up decimals go.
const short6 = (text) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

function entry() {
  const values = Object.fromEntries(new FormData(form));
  for (const name of Object.keys(values)) values[name] = values[name].trim();
  if (!state.market?.isPerpetual) Object.assign(values, { when: 'now', reduce_only: undefined });
  return values;
}

export function drawEntry() {
  const { market } = state;
  const isPerpetual = market?.isPerpetual === true;
  const { side, type, when } = entry();
  const isSpending = !isPerpetual && type === 'market' && side === 'buy';
  const shown = {
    limit: type === 'limit' && when !== 'trail', quantity: !isSpending, quote_quantity: isSpending, perpetual: isPerpetual,
    trigger: when === 'stop' || when === 'take', callback: when === 'trail',
  };
  for (const field of form.querySelectorAll('[data-for]')) field.hidden = !shown[field.dataset.for];
  const fok = form.tif.querySelector('[value=fok]');
  fok.hidden = fok.disabled = !isPerpetual;
  if (!isPerpetual && form.tif.value === 'fok') form.tif.value = 'gtc';
  if (isPerpetual && document.activeElement !== form.leverage) form.leverage.value = market.venue.leverage(market) ?? '';
  const total = Number(form.price.value) * Number(form.quantity.value);
  $('total').textContent = market && type === 'limit' && total > 0 ? `= ${short(total)} ${market.quote_token}` : '';
  const free = state.token && market?.venue.free(market, side);
  $('free').textContent = free ? `free ${short(free[0])} ${free[1]}` : '';
  const word = side === 'buy' ? 'Buy' : 'Sell';
  $('place').textContent = state.token ? word : 'Log in to trade';
}

form.onsubmit = async (event) => {
  event.preventDefault();
  if (!state.token) return openLogin();
  const at = venue();
  $('place').disabled = true;
  try {
    say($('answer'), await at.place(state.token, state.market, entry()), 'good');
    if (!at.isAccountStreaming) askAccount();
    else if (at.shown) { state.shown = at.shown(); drawAccount(); }
  } catch (error) {
    say($('answer'), error.message, 'bad');
  } finally {
    $('place').disabled = false;
  }
};

form.leverage.onchange = () => {
  if (!state.token) return openLogin();
  const { market } = state;
  const leverage = form.leverage.value;
  act(null, async () => {
    await market.venue.setLeverage(market, leverage);
    say($('answer'), `leverage ${leverage}×`, 'good');
  });
};

$('cancel-all').onclick = (event) => act(event.target, () => venue().cancelAll(state.token)).finally(() => { event.target.disabled = false; });

// `login` opens the dialog; every change of the form draws it again.
export function startAccount(login) {
  openLogin = login;
  form.oninput = drawEntry;
  drawAccount();
  return form;
}

// While the account's stream is silent, it is asked for.
export const isFollowing = () => venue()?.isAccountStreaming === true;
