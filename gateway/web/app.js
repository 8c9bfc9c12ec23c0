// The page: what is shown of a market, whichever venue it is of. Data comes by the stream where the server has one, else by
// asking every second.
import { askAccount, drawEntry, enter, isFollowing, startAccount } from './account.js';
import { Stream, request, settings } from './api.js';
import { Chart } from './chart.js';
import { openLogin } from './login.js';
import { Perpetual } from './perpetual.js';
import { Spot } from './spot.js';
import { askDeposits, startDeposits } from './deposit.js';
import { askWithdrawals, startWithdrawals } from './withdraw.js';
import { $, padded, price, priceDecimals, quantityDecimals, row, short, state, time } from './view.js';

const INTERVALS = ['1m', '5m', '15m', '1h', '4h', '1d'];
const LEVELS = 12;
const TRADES = 26;
const POLL_MS = 1_000;

const stream = new Stream();
const venues = [new Spot(stream), new Perpetual(stream)];
let chart;

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
  $('extra').replaceChildren(...state.extra.map(([name, value]) => {
    const [box, term, detail] = ['div', 'dt', 'dd'].map((tag) => document.createElement(tag));
    term.textContent = name;
    detail.textContent = value;
    box.append(term, detail);
    return box;
  }));
}

function takeTrades(trades) {
  const known = new Set(state.trades.map((trade) => trade.trade_id));
  state.trades = [...trades.filter((trade) => !known.has(trade.trade_id)), ...state.trades]
    .sort((a, b) => Number(b.trade_id) - Number(a.trade_id)).slice(0, TRADES);
}

// Answers that come when something else is shown are dropped.
async function ask(asked, take) {
  const { market, interval } = state;
  const answer = await asked;
  if (state.market === market && state.interval === interval) {
    take(answer);
    draw();
  }
}

const askTicker = () => ask(state.market.venue.ticker(state.market), (ticker) => { state.ticker = ticker; });
const askDepth = () => ask(state.market.venue.depth(state.market), (depth) => state.book.snapshot(depth));
const askTrades = () => ask(state.market.venue.trades(state.market, TRADES), takeTrades);
const askExtra = () => ask(state.market.venue.extra(state.market), (extra) => { state.extra = extra; });
const askCandles = (limit, take) => ask(state.market.venue.candles(state.market, state.interval, limit), take);

// Follows the market that is shown, and nothing else.
function watch() {
  venues.forEach((venue) => venue.unwatch());
  state.market.venue.watch(state.market, state.interval, state.book, {
    onTrades: takeTrades,
    onTicker: (ticker) => { state.ticker = ticker; },
    onCandle: (candle) => chart.update(candle),
    onExtra: (extra) => { state.extra = extra; },
    onChange: draw,
  });
}

async function show(market) {
  state.market = market;
  state.book.clear();
  state.trades = [];
  state.ticker = null;
  state.extra = [];
  localStorage.setItem('market', market.id);
  $('market').value = market.id;
  $('last').textContent = $('middle').textContent = '–';
  document.querySelectorAll('.base').forEach((name) => { name.textContent = market.base_token; });
  document.querySelectorAll('.quote').forEach((name) => { name.textContent = market.quote_token; });
  chart.precision(priceDecimals());
  draw();
  drawEntry();
  await Promise.all([showCandles(), enter()]);
  await Promise.all([askDepth(), askTrades(), askTicker(), askExtra()]);
}

async function showCandles() {
  for (const button of $('intervals').children) button.setAttribute('aria-pressed', button.textContent === state.interval);
  localStorage.setItem('interval', state.interval);
  chart.set([]);
  watch();
  await askCandles(500, (rows) => chart.set(rows));
}

let polls = 0;
async function poll() {
  const asked = [];
  if (polls % 5 === 0) asked.push(askHealth());
  if (state.market && !state.isStreaming) {
    asked.push(askDepth(), askTrades(), askCandles(2, (rows) => rows.forEach((row) => chart.update(row))));
    if (polls % 2 === 0) asked.push(askTicker(), askExtra());
  }
  if (state.token && polls % 2 === 0 && !isFollowing()) asked.push(askAccount());
  if (polls % 2 === 0) asked.push(askWithdrawals(), askDeposits());
  polls += 1;
  await Promise.allSettled(asked);
  setTimeout(poll, document.hidden ? 5 * POLL_MS : POLL_MS);
}

async function askHealth() {
  const health = $('health');
  try {
    const { engine, queue_depth } = await request('GET', '/api/v1/spot/health');
    health.dataset.state = engine;
    health.textContent = engine === 'running' && queue_depth > 0 ? `running, ${queue_depth} queued` : engine;
  } catch {
    health.dataset.state = 'unreachable';
    health.textContent = 'unreachable';
  }
}

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
  state.markets = (await Promise.all(venues.map((venue) => venue.markets()))).flat();
  const options = state.markets.map(({ id, label, status }) => new Option(status === 'listed' ? label : `${label} (${status})`, id));
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
  const form = startAccount(openLogin);
  for (const side of ['bids', 'asks']) {
    $(side).onclick = (event) => {
      form.price.value = event.target.closest('tr')?.dataset.price ?? '';
      drawEntry();
    };
  }
  stream.onState = (isOpen) => {
    state.isStreaming = isOpen;
    $('transport').textContent = isOpen ? 'live by WebSocket' : 'asking every second';
    // What was missed in between.
    if (isOpen && state.market) askCandles(500, (rows) => chart.set(rows)).catch(() => {});
  };
  stream.onState(false);
  // During a restart the exchange answers that it is not there yet.
  while (!state.market) {
    try {
      await askHealth();
      state.settings = await settings();
      startDeposits();
      startWithdrawals();
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
