// The page in a headless Chromium against `ringside demo`: it loads, moves, and somebody trades in it.
//   node scripts/page.mjs <ringside> <playwright module> [<browser>]      prints one line per thing shown; exit code 0 or 1
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import assert from 'node:assert/strict';

const [ringside, playwright, browser] = process.argv.slice(2);
const { chromium } = await import(playwright);

// A demo on a free port; its address and the visitor's key are in what it says.
function startDemo() {
  const demo = spawn(ringside, ['demo'], { env: { ...process.env, RINGSIDE_LISTEN: '127.0.0.1:0', RINGSIDE_LOG: 'warn' } });
  const said = [];
  demo.stderr.on('data', (text) => said.push(text));
  return new Promise((resolve, reject) => {
    createInterface({ input: demo.stdout }).on('line', (line) => {
      said.push(line);
      const found = line.match(/open (http:\S+)\/ .* key ([0-9a-f]{64})/);
      if (found) resolve({ demo, url: found[1], key: found[2] });
    });
    demo.on('exit', (code) => reject(new Error(`the demo ended with ${code}:\n${said.join('\n')}`)));
  });
}

const { demo, url, key } = await startDemo();
const shown = (what) => console.log(`ok: ${what}`);
const json = async (path) => (await fetch(url + '/api/v1' + path)).json();
const launched = await chromium.launch({ executablePath: browser || undefined });
const faults = [];

async function open(options, prepare) {
  const page = await launched.newPage(options);
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // Where the server has no stream yet the page asks instead; the browser complains of it by itself.
    if (message.type() === 'error' && !/WebSocket|status of 40[04]/.test(message.text())) faults.push(message.text());
  });
  if (prepare) await prepare(page);
  await page.goto(url);
  return page;
}

const text = (page, selector) => page.locator(selector).first().textContent();
const until = (page, what, ...more) => page.waitForFunction(what, ...more);

try {
  const page = await open({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark' });
  await until(page, () => document.querySelectorAll('#bids tr').length > 3 && document.querySelectorAll('#asks tr').length > 3);
  await until(page, () => document.querySelector('#health').dataset.state === 'running');
  assert.equal(await page.locator('#market').inputValue(), 'DFUSDT');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  const [asks, bids] = await page.evaluate(() => ['asks', 'bids'].map((side) =>
    [...document.querySelectorAll(`#${side} td:first-child`)].map((cell) => Number(cell.textContent))));
  assert.ok(bids[0] < asks.at(-1), 'the book is not crossed');
  assert.deepEqual(bids, bids.toSorted((a, b) => b - a));
  assert.deepEqual(asks, asks.toSorted((a, b) => b - a));
  await page.locator('#no-vault').waitFor();
  assert.ok(await page.locator('#deposit-parts').isHidden() && await page.locator('#withdrawals').isHidden());
  shown('the page loads with a book, best prices in the middle; without a vault it says that nothing can be deposited');

  await page.locator('#trades tr').first().waitFor();
  const first = Number(await page.locator('#trades tr').first().getAttribute('data-trade'));
  await until(page, (first) => Number(document.querySelector('#trades tr').dataset.trade) > first + 2, first);
  const rows = await page.evaluate(() => [...document.querySelectorAll('#trades tr')].slice(0, 5).map((row) =>
    [row.dataset.trade, Number(row.cells[0].textContent), Number(row.cells[1].textContent)]));
  const trades = new Map((await json('/spot/trades?symbol=DFUSDT&limit=200')).map((trade) => [trade.trade_id, trade]));
  for (const [id, price, quantity] of rows) {
    const trade = trades.get(id);
    assert.deepEqual([price, quantity], [Number(trade.price), Number(trade.quantity)], `trade ${id}`);
  }
  shown('trades appear as they happen and are those of the API');

  assert.ok((await page.locator('#chart canvas').count()) > 0);
  // Something is drawn: the canvases are not of one colour.
  const colours = await page.evaluate(() => {
    const seen = new Set();
    for (const canvas of document.querySelectorAll('#chart canvas')) {
      if (!canvas.width || !canvas.height) continue;
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    }
    return seen.size;
  });
  assert.ok(colours > 5, `${colours} colours in the chart`);
  await page.getByRole('button', { name: '5m', exact: true }).click();
  assert.equal(await page.getByRole('button', { name: '5m', exact: true }).getAttribute('aria-pressed'), 'true');
  const count = Number((await text(page, '#count')).replaceAll(',', ''));
  await until(page, (count) => Number(document.querySelector('#count').textContent.replaceAll(',', '')) > count, count);
  shown('candles are drawn, the rolling 24 hours move');

  await page.locator('#login').click();
  await page.locator('#key').fill('12');
  await page.locator('#with-key').click();
  assert.match(await text(page, '#login-answer'), /64 hex digits/);
  await page.locator('#key').fill(key);
  await page.locator('#with-key').click();
  await page.locator('#balances tr').nth(1).waitFor();
  const balance = (token) => page.evaluate((token) => {
    const row = [...document.querySelectorAll('#balances tr')].find((row) => row.cells[0].textContent === token);
    return [Number(row.cells[1].textContent), Number(row.cells[2].textContent)];
  }, token);
  assert.deepEqual(await balance('USDT'), [10_000, 0]);
  shown('a pasted test key logs in, balances show');

  const level = async () => (await json('/spot/depth?symbol=DFUSDT&limit=1000')).bids.find(([price]) => price === '0.1');
  await page.locator('input[name=price]').fill('0.1');
  await page.locator('input[name=quantity]').fill('100');
  await page.locator('#place').click();
  await page.locator('#orders tr').waitFor();
  assert.match(await text(page, '#orders tr'), /DFUSDTbuy0\.11000Cancel/);
  await until(page, () => document.querySelector('#balances').textContent.includes('999010'));
  assert.deepEqual(await level(), ['0.1', '100']);
  assert.deepEqual(await balance('USDT'), [9_990, 10]);
  shown('an order is placed, rests in the book, its money is frozen');

  await page.locator('#orders tr').getByRole('button', { name: 'Cancel' }).click();
  await page.locator('#orders tr').waitFor({ state: 'detached' });
  await until(page, () => document.querySelector('#balances').textContent.includes('100000'));
  assert.equal(await level(), undefined);
  assert.deepEqual(await balance('USDT'), [10_000, 0]);
  shown('the order is canceled, its money is free');

  await page.locator('input[name=quantity]').fill('100000000');
  await page.locator('#place').click();
  await until(page, () => document.querySelector('#answer').textContent.includes('INSUFFICIENT_BALANCE'));
  await page.locator('span', { hasText: /^Market$/ }).click();
  await page.locator('input[name=quote_quantity]').fill('25');
  await page.locator('#place').click();
  await until(page, () => /^filled, /.test(document.querySelector('#answer').textContent));
  await until(page, () => {
    const row = [...document.querySelectorAll('#balances tr')].find((row) => row.cells[0].textContent === 'DF');
    return Number(row.cells[1].textContent) > 10_000;
  });
  shown('a refusal says why, a market order fills');

  // The perpetual market: what it shows besides, an order, a position and its end.
  await page.locator('#market').selectOption('BTCUSDT');
  await until(page, () => document.querySelectorAll('#bids tr').length > 3 && document.querySelectorAll('#asks tr').length > 3);
  await until(page, () => /Mark\d+.*Index\d+.*Funding-?[0-9.]+ % in \d\d:\d\d:\d\d/.test(document.querySelector('#extra').textContent));
  const mark = Number((await text(page, '#extra dd')));
  const countdown = await text(page, '#extra');
  await until(page, (before) => document.querySelector('#extra').textContent !== before, countdown);
  await page.locator('#trades tr').first().waitFor();
  await until(page, () => /free 10,000 USDT/.test(document.querySelector('#free').textContent));
  shown('a perpetual market shows its book, trades, mark and the time to the next funding');

  await page.locator('input[name=leverage]').fill('7');
  await page.locator('input[name=leverage]').blur();
  await until(page, () => /leverage 7×/.test(document.querySelector('#answer').textContent));
  await page.locator('span', { hasText: /^Market$/ }).click();
  await page.locator('input[name=quantity]').fill('0.01');
  await page.locator('#place').click();
  await until(page, () => /^filled, 0.01 at/.test(document.querySelector('#answer').textContent));
  await page.locator('#positions tr').waitFor();
  const position = await page.evaluate(() => [...document.querySelector('#positions tr').cells].map((cell) => cell.textContent));
  assert.deepEqual([position[0], position[1]], ['BTCUSDT 7×', '0.01']);
  assert.ok(Math.abs(Number(position[2]) - mark) < mark / 50, `entry ${position[2]}, mark ${mark}`);
  await page.locator('select[name=when]').selectOption('stop');
  await page.locator('span', { hasText: /^Sell$/ }).click();
  await page.locator('input[name=trigger]').fill(String(Math.round(mark * 0.9)));
  await page.locator('input[name=reduce_only]').check();
  await page.locator('#place').click();
  await until(page, () => /waiting/.test(document.querySelector('#answer').textContent));
  await page.locator('#orders tr').waitFor();
  assert.match(await text(page, '#orders tr'), /BTCUSDTsellstop \d+ → market0\.010Cancel/);
  await page.locator('#orders tr').getByRole('button', { name: 'Cancel' }).click();
  await page.locator('#orders tr').waitFor({ state: 'detached' });
  await page.locator('#positions tr').getByRole('button', { name: 'Close' }).click();
  await page.locator('#positions tr').waitFor({ state: 'detached' });
  shown('leverage is set, a position opened, a stop placed and canceled, the position closed');
  await page.locator('#market').selectOption('DFUSDT');
  await page.locator('#balances tr').nth(1).waitFor();

  await page.locator('#login').click();
  assert.equal(await text(page, '#login'), 'Log in');
  assert.equal(await page.locator('#balances tr').count(), 0);
  await page.close();

  // A browser wallet, as far as the page sees one: it signs the typed data that it is handed.
  const wallet = await open({ viewport: { width: 390, height: 844 }, hasTouch: true }, (page) =>
    page.addInitScript((key) => {
      window.ethereum = {
        async request({ method, params }) {
          const sign = await import('/web/sign.js');
          const secret = sign.parseKey(key);
          if (method === 'eth_requestAccounts') return [sign.addressOf(secret)];
          const { domain, message, primaryType } = JSON.parse(params[1]);
          if (method !== 'eth_signTypedData_v4' || primaryType !== 'Login') throw new Error(`asked for ${method}`);
          return sign.signLogin(secret, domain.chainId, message);
        },
      };
    }, '1'.padStart(64, '0')));
  await until(wallet, () => document.querySelectorAll('#bids tr').length > 3);
  for (const theme of ['light', 'dark']) {
    assert.equal(await wallet.evaluate(() => document.documentElement.dataset.theme), theme);
    const width = await wallet.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${width} pixels wide on a phone`);
    await wallet.locator('#theme').click();
  }
  await wallet.locator('#login').click();
  await wallet.locator('#wallet').click();
  await wallet.locator('#balances tr').nth(1).waitFor();
  assert.equal(await text(wallet, '#login'), '0x7e5f…5bdf');
  shown('a phone fits, dark and light; a browser wallet logs in');

  assert.match(await text(wallet, '#transport'), /WebSocket/);
  shown('what moved came by the stream');
  assert.deepEqual(faults, [], 'the browser had nothing to complain of');
} finally {
  await launched.close();
  demo.removeAllListeners('exit');
  demo.kill('SIGTERM');
}
