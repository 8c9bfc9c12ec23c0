// The page: what is shown of a market, and what an account can do in it. Data comes by the stream where the server has
// one, else by asking every second. Text from the server is only ever set as text.
import { Stream, request, settings } from './api.js';
import { Book } from './book.js';
import { Chart } from './chart.js';
import { addressOf, parseKey, signLogin, toHex } from './sign.js';

const INTERVALS = ['1m', '5m', '15m', '1h', '4h', '1d'];
const LEVELS = 12;
const TRADES = 26;
const POLL_MS = 1_000;

const $ = (id) => document.getElementById(id);
const form = $('order');
const state = {
  settings: { test_deployment: false, chain_id: 0 },
  markets: [], market: null, interval: '1m',
  book: new Book(), trades: [], ticker: null,
  token: null, address: null, orders: new Map(), balances: new Map(),
  channels: [], isStreaming: false, isAccountStreaming: false,
};
const stream = new Stream();
let chart;

// --- numbers as people read them -------------------------------------------------------------------------------------

const decimalsOf = (text) => (text.split('.')[1] ?? '').length;
const priceDecimals = () => (state.market ? decimalsOf(state.market.tick_size) : 2);
const quantityDecimals = () => (state.market ? decimalsOf(state.market.lot_size) : 2);
// A decimal string with so many places; further digits of the string are kept.
function padded(text, decimals) {
  const missing = decimals - decimalsOf(text);
  if (missing <= 0) return text;
  return (text.includes('.') ? text : text + '.') + '0'.repeat(missing);
}
const price = (text) => padded(text, priceDecimals());
const short = (text) => Number(text).toLocaleString('en', { maximumFractionDigits: 2 });
const time = (ms) => new Date(ms).toLocaleTimeString('en-GB');

function row(cells, classes = []) {
  const tr = document.createElement('tr');
  cells.forEach((cell, index) => {
    const td = document.createElement('td');
    td.append(cell);
    if (classes[index]) td.className = classes[index];
    tr.append(td);
  });
  return tr;
}

// --- what anybody sees -----------------------------------------------------------------------------------------------

let isDrawing = false;
function draw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawBook();
    drawTrades();
    drawTicker();
  });
}

function drawBook() {
  const { bids, asks } = state.book.top(LEVELS);
  const sum = (levels) => {
    let sum = 0;
    return levels.map(([price, total]) => [price, total, (sum += Number(total))]);
  };
  const sides = { bids: sum(bids), asks: sum(asks) };
  const most = Math.max(1e-9, ...Object.values(sides).map((levels) => levels.at(-1)?.[2] ?? 0));
  for (const [side, levels] of Object.entries(sides)) {
    const rows = levels.map(([at, total, sum]) => {
      const tr = row([price(at), padded(total, quantityDecimals()), short(sum)]);
      tr.style.setProperty('--share', `${(100 * sum) / most}%`);
      tr.dataset.price = at;
      return tr;
    });
    $(side).replaceChildren(...(side === 'asks' ? rows.reverse() : rows));
  }
  const [bid, ask] = [bids[0]?.[0], asks[0]?.[0]];
  $('spread').textContent = bid && ask ? `spread ${(Number(ask) - Number(bid)).toFixed(priceDecimals())}` : '';
}

function drawTrades() {
  const rows = state.trades.map((trade) => {
    const tr = row([price(trade.price), padded(trade.quantity, quantityDecimals()), time(trade.ts)],
      [trade.side === 'buy' ? 'up' : 'down']);
    tr.dataset.trade = trade.trade_id;
    return tr;
  });
  $('trades').replaceChildren(...rows);
  const last = state.trades[0];
  if (last) {
    $('middle').textContent = price(last.price);
    $('middle').className = last.side === 'buy' ? 'up' : 'down';
    $('last').textContent = price(last.price);
    document.title = `${price(last.price)} ${state.market.id} · Ringside`;
  }
}

function drawTicker() {
  const { ticker } = state;
  const change = ticker && 100 * (Number(ticker.last_price) / Number(ticker.open_price) - 1);
  $('change').textContent = ticker ? `${change >= 0 ? '+' : ''}${change.toFixed(2)} %` : '–';
  $('change').className = !ticker ? '' : change >= 0 ? 'up' : 'down';
  $('high').textContent = ticker ? price(ticker.high) : '–';
  $('low').textContent = ticker ? price(ticker.low) : '–';
  $('volume').textContent = ticker ? `${short(ticker.volume)} ${state.market.base_token}` : '–';
  $('count').textContent = ticker ? ticker.trade_count.toLocaleString('en') : '–';
}

function takeTrades(trades) {
  const known = new Set(state.trades.map((trade) => trade.trade_id));
  state.trades = [...trades.filter((trade) => !known.has(trade.trade_id)), ...state.trades]
    .sort((a, b) => Number(b.trade_id) - Number(a.trade_id)).slice(0, TRADES);
}

const here = () => `symbol=${state.market.id}`;

// Answers that come when another market is shown are dropped.
async function ask(path, take) {
  const { market, interval } = state;
  const answer = await request('GET', path);
  if (state.market === market && state.interval === interval) {
    take(answer);
    draw();
  }
}

const askTicker = () =>
  ask(`/spot/ticker/24hr?${here()}`, (ticker) => { state.ticker = ticker; }).catch((error) => {
    if (error.code !== 'TICKER_NOT_FOUND') throw error;
  });
const askDepth = () => ask(`/spot/depth?${here()}&limit=100`, (depth) => state.book.snapshot(depth));
const askTrades = () => ask(`/spot/trades?${here()}&limit=${TRADES}`, takeTrades);
const askCandles = (limit, take) => ask(`/spot/klines?${here()}&interval=${state.interval}&limit=${limit}`, take);

const kline = (data) => [data.open_time, data.open, data.high, data.low, data.close, data.volume,
  data.close_time, data.quote_volume, data.trade_count];

// Channels of the market that is shown, and what to do with their frames.
function subscribe() {
  state.channels.forEach((channel) => stream.unsubscribe(channel));
  const { id } = state.market;
  const depth = `spot:depth:${id}`;
  const handlers = {
    [depth]: ({ type, data }) => {
      if (type === 'spot_depth_snapshot') state.book.snapshot(data);
      else if (type === 'spot_depth_diff' && !state.book.diff(data) && state.book.updateId !== null) {
        // A diff is missing: nothing counts until the next snapshot.
        state.book.updateId = null;
        stream.send({ type: 'subscribe', channel: depth });
      }
    },
    [`spot:trade:${id}`]: ({ type, data }) => type === 'spot_trade' && takeTrades([data]),
    [`spot:ticker:${id}`]: ({ type, data }) => { if (type === 'spot_ticker') state.ticker = data; },
    [`spot:kline:${id}:${state.interval}`]: ({ type, data }) => type?.startsWith('spot_kline') && chart.update(kline(data)),
  };
  state.channels = Object.keys(handlers);
  for (const [channel, take] of Object.entries(handlers)) {
    stream.subscribe(channel, (frame) => {
      if (frame.data === undefined) return;
      take(frame);
      draw();
    });
  }
}

async function show(market) {
  state.market = market;
  state.book.clear();
  state.trades = [];
  state.ticker = null;
  localStorage.setItem('market', market.id);
  $('market').value = market.id;
  $('last').textContent = $('middle').textContent = '–';
  document.querySelectorAll('.base').forEach((name) => { name.textContent = market.base_token; });
  document.querySelectorAll('.quote').forEach((name) => { name.textContent = market.quote_token; });
  chart.precision(priceDecimals());
  draw();
  drawEntry();
  await showCandles();
  await Promise.all([askDepth(), askTrades(), askTicker()]);
}

async function showCandles() {
  for (const button of $('intervals').children) button.setAttribute('aria-pressed', button.textContent === state.interval);
  localStorage.setItem('interval', state.interval);
  chart.set([]);
  subscribe();
  await askCandles(500, (rows) => chart.set(rows));
}

let polls = 0;
async function poll() {
  const asked = [];
  if (polls % 5 === 0) asked.push(askHealth());
  if (state.market && !state.isStreaming) {
    asked.push(askDepth(), askTrades(), askCandles(2, (rows) => rows.forEach((row) => chart.update(row))));
    if (polls % 2 === 0) asked.push(askTicker());
  }
  if (state.token && (polls % 2 === 0) && !state.isAccountStreaming) asked.push(askAccount());
  polls += 1;
  await Promise.allSettled(asked);
  setTimeout(poll, document.hidden ? 5 * POLL_MS : POLL_MS);
}

async function askHealth() {
  const health = $('health');
  try {
    const { engine, queue_depth } = await request('GET', '/spot/health');
    health.dataset.state = engine;
    health.textContent = engine === 'running' && queue_depth > 0 ? `running, ${queue_depth} queued` : engine;
  } catch {
    health.dataset.state = 'unreachable';
    health.textContent = 'unreachable';
  }
}

// --- what an account sees --------------------------------------------------------------------------------------------

async function askAccount() {
  const { token } = state;
  try {
    const [open, partly, balances] = await Promise.all([
      request('GET', '/spot/orders?status=open&limit=200', { token }),
      request('GET', '/spot/orders?status=partially_filled&limit=200', { token }),
      request('GET', '/spot/balances', { token }),
    ]);
    if (state.token !== token) return;
    state.orders = new Map([...open, ...partly].map((order) => [order.id, order]));
    state.balances = new Map(balances.map((balance) => [balance.token, balance]));
    drawAccount();
  } catch (error) {
    if (error.status === 401) logOut();
  }
}

function takeOrder(order) {
  if (['open', 'partially_filled'].includes(order.status)) {
    state.orders.set(order.id, { ...state.orders.get(order.id), ...order });
  } else if (order.status !== 'new') {
    state.orders.delete(order.id);
  }
}

function drawAccount() {
  const orders = [...state.orders.values()].sort((a, b) => (b.created_at ?? b.updated_at) - (a.created_at ?? a.updated_at));
  $('orders').replaceChildren(...orders.map((order) => {
    const cancel = document.createElement('button');
    cancel.type = 'button';
    cancel.textContent = 'Cancel';
    cancel.onclick = () => withdraw(order.id, cancel);
    const side = order.side === 'buy' ? 'up' : 'down';
    const tr = row([order.symbol, order.side, order.price ?? 'market', order.quantity, order.filled_qty, cancel], ['', side]);
    tr.dataset.order = order.id;
    return tr;
  }));
  $('cancel-all').hidden = orders.length < 2;
  $('no-orders').textContent = !state.token ? 'Log in to see your orders.' : orders.length ? '' : 'No open orders.';
  const balances = [...state.balances.values()].sort((a, b) => (a.token < b.token ? -1 : 1));
  $('balances').replaceChildren(...balances.map((balance) => row([balance.token, balance.available, balance.frozen])));
  $('no-balances').textContent = state.token ? '' : 'Log in to see your balances.';
  $('login').textContent = state.token ? `${state.address.slice(0, 6)}…${state.address.slice(-4)}` : 'Log in';
  $('login').title = state.token ? 'Log out' : '';
  drawEntry();
}

function drawEntry() {
  const { side, type } = entry();
  const isSpending = type === 'market' && side === 'buy';
  for (const field of form.querySelectorAll('[data-for]')) {
    const what = field.dataset.for;
    field.hidden = what === 'limit' ? type !== 'limit' : (what === 'quote_quantity') !== isSpending;
  }
  const { market } = state;
  const total = Number(form.price.value) * Number(form.quantity.value);
  $('total').textContent = market && type === 'limit' && total > 0 ? `= ${short(total)} ${market.quote_token}` : '';
  const free = market && state.balances.get(side === 'buy' ? market.quote_token : market.base_token);
  $('free').textContent = free ? `free ${short(free.available)} ${free.token}` : '';
  $('place').textContent = state.token ? (side === 'buy' ? 'Buy' : 'Sell') : 'Log in to trade';
}

const entry = () => ({ side: form.side.value, type: form.type.value });

function say(element, text, mood = '') {
  element.textContent = text;
  element.className = `note ${mood}`;
}

form.onsubmit = async (event) => {
  event.preventDefault();
  if (!state.token) return openLogin();
  const { side, type } = entry();
  const body = { symbol: state.market.id, side, type };
  const names = type === 'limit' ? ['price', 'quantity', 'tif'] : [side === 'buy' ? 'quote_quantity' : 'quantity'];
  for (const name of names) body[name] = form[name].value.trim();
  $('place').disabled = true;
  try {
    const order = await request('POST', '/spot/orders', { token: state.token, body });
    takeOrder(order);
    const filled = Number(order.filled_qty) > 0 ? `, ${order.filled_qty} at ${order.avg_fill_price}` : '';
    say($('answer'), order.status.replace('_', ' ') + filled, 'good');
    drawAccount();
    if (!state.isAccountStreaming) askAccount();
  } catch (error) {
    say($('answer'), error.message, 'bad');
  } finally {
    $('place').disabled = false;
  }
};

async function withdraw(id, button) {
  button.disabled = true;
  try {
    takeOrder(await request('DELETE', `/spot/orders/${id}`, { token: state.token }));
    drawAccount();
  } catch (error) {
    say($('answer'), error.message, 'bad');
  }
  askAccount();
}

$('cancel-all').onclick = async () => {
  await request('DELETE', '/spot/orders', { token: state.token }).catch((error) => say($('answer'), error.message, 'bad'));
  askAccount();
};

// --- login -----------------------------------------------------------------------------------------------------------

function openLogin() {
  say($('login-answer'), '');
  $('wallet').disabled = !window.ethereum;
  $('wallet').textContent = window.ethereum ? 'Browser wallet' : 'No browser wallet found';
  $('test-login').hidden = !state.settings.test_deployment;
  $('login-dialog').showModal();
}

async function logIn(address, sign) {
  try {
    const nonce = await request('GET', `/auth/nonce?address=${address}`);
    const signature = await sign(nonce);
    const answer = await request('POST', '/auth/login', { body: { address, nonce: nonce.nonce, signature } });
    Object.assign(state, { token: answer.token, address: answer.address });
    $('key').value = '';
    $('login-dialog').close();
    stream.subscribe('spot:user:orders', ({ type, data }) => {
      if (type === 'spot_user_order') takeOrder({ ...data, tif: data.tif.toLowerCase() });
      if (type === 'subscribed') { state.isAccountStreaming = true; askAccount(); }
      if (type === 'error') state.isAccountStreaming = false;
      drawAccount();
    });
    stream.subscribe('spot:user:balances', ({ type, data }) => {
      if (type === 'spot_user_balance') state.balances.set(data.token, data);
      drawAccount();
    });
    stream.authenticate(answer.token);
    // The two channels again, now that the connection knows who asks.
    for (const channel of ['spot:user:orders', 'spot:user:balances']) stream.send({ type: 'subscribe', channel });
    await askAccount();
    drawAccount();
  } catch (error) {
    say($('login-answer'), error.message ?? String(error), 'bad');
  }
}

function logOut() {
  for (const channel of ['spot:user:orders', 'spot:user:balances']) stream.unsubscribe(channel);
  stream.authenticate(null);
  Object.assign(state, { token: null, address: null, isAccountStreaming: false, orders: new Map(), balances: new Map() });
  drawAccount();
}

$('login').onclick = () => (state.token ? logOut() : openLogin());

$('wallet').onclick = async () => {
  try {
    const [address] = await window.ethereum.request({ method: 'eth_requestAccounts' });
    await logIn(address, ({ typed_data }) =>
      window.ethereum.request({ method: 'eth_signTypedData_v4', params: [address, JSON.stringify(typed_data)] }));
  } catch (error) {
    say($('login-answer'), error.message, 'bad');
  }
};

$('new-key').onclick = () => {
  $('key').type = 'text';
  $('key').value = toHex(crypto.getRandomValues(new Uint8Array(32))).slice(2);
  say($('login-answer'), 'A new wallet has no balances until the administrator credits it.');
};

$('with-key').onclick = () => {
  try {
    const key = parseKey($('key').value);
    logIn(addressOf(key), ({ nonce, expires_at }) => signLogin(key, state.settings.chain_id, nonce, expires_at));
  } catch (error) {
    say($('login-answer'), error.message, 'bad');
  }
};

// Enter in the field logs in instead of closing the dialog.
$('key').onkeydown = (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  $('with-key').click();
};

// --- start -----------------------------------------------------------------------------------------------------------

function theme(name) {
  document.documentElement.dataset.theme = name;
  chart?.theme();
}

$('theme').onclick = () => {
  const name = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem('theme', name);
  theme(name);
};

async function loadMarkets() {
  state.markets = (await request('GET', '/spot/markets')).filter((market) => market.status !== 'delisted');
  const options = state.markets.map(({ id, status }) => new Option(status === 'listed' ? id : `${id} (${status})`, id));
  $('market').replaceChildren(...options);
}

async function start() {
  theme(localStorage.getItem('theme') ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
  chart = new Chart($('chart'));
  state.interval = INTERVALS.find((interval) => interval === localStorage.getItem('interval')) ?? '1m';
  $('intervals').replaceChildren(...INTERVALS.map((interval) => {
    const button = document.createElement('button');
    button.textContent = interval;
    button.onclick = () => {
      state.interval = interval;
      showCandles();
    };
    return button;
  }));
  $('market').onchange = () => show(state.markets.find((market) => market.id === $('market').value));
  form.oninput = drawEntry;
  for (const side of ['bids', 'asks']) {
    $(side).onclick = (event) => {
      form.price.value = event.target.closest('tr')?.dataset.price ?? '';
      drawEntry();
    };
  }
  stream.onState = (isOpen) => {
    state.isStreaming = isOpen;
    if (!isOpen) state.isAccountStreaming = false;
    $('transport').textContent = isOpen ? 'live by WebSocket' : 'asking every second';
    // What was missed in between.
    if (isOpen && state.market) askCandles(500, (rows) => chart.set(rows)).catch(() => {});
  };
  stream.onState(false);
  drawAccount();
  // During a restart the exchange answers that it is not there yet.
  while (!state.market) {
    try {
      await askHealth();
      state.settings = await settings();
      await loadMarkets();
      const market = state.markets.find((market) => market.id === localStorage.getItem('market')) ?? state.markets[0];
      if (market) await show(market);
    } catch { /* tried again */ }
    if (!state.market) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  stream.start();
  poll();
}

start();
