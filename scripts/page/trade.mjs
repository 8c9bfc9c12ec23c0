// Somebody trades at the page: every kind of order with its preview, and what becomes of orders and positions.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { chooseKind, chooseMarket, chooseSide, field, hears, logIn, tab, until } from './rig.mjs';

const text = (page, part) => page.locator(part).first().textContent();
const number = (text) => Number(text.replaceAll(',', ''));
const place = (page) => page.locator('#place').click();
const row = (page, part, words) => page.locator(`${part} tr`, { hasText: words });

export async function showTrade({ demo, open, shown, shoot }) {
  const page = await open(demo.url);
  await page.locator('#login').click();
  await page.locator('#key').fill('12');
  await page.locator('#with-key').click();
  await until(page, () => /64 hex digits/.test(document.querySelector('#login-answer')?.textContent));
  await page.getByRole('button', { name: 'Close' }).click();
  await logIn(page, demo.key);
  await until(page, () => document.querySelector('#free')?.textContent === '10,000.00 USDT');
  shown('a pasted test key logs in, its margin shows');

  await showSpot(page, demo);
  shown('spot: confirmed, open, marked in the book, amended, canceled; an amendment that is refused leaves it open; a refusal says what to change; a market order fills');
  await showMoves(page, demo);
  shown('an order of either venue is dragged in the chart, or moved by keys, and amended when it is let go; Escape leaves it; a refusal is said');
  const mark = await showKinds(page, demo);
  shown('every kind of perpetual order is placed, with its preview; post only and reduce only are refused in words; all are canceled');
  await showOthers(page, demo, mark);
  shown('conditional orders of another client show before they fire, at once and after a reload, and are canceled here');
  await showPosition(page, mark, shoot);
  shown('margin of an isolated position is added and removed, with where it would be liquidated said before; refusals are said in words');
  shown('a position with take profit and stop loss, leverage and margin mode set, partly closed, reversed, closed');
  await showHistories(page);
  shown('orders, trades, transfers and assets show what happened');
  return page;
}

async function showSpot(page, demo) {
  await chooseMarket(page, 'spot:DFUSDT');
  const level = async () => (await demo.json('/api/v1/spot/depth?symbol=DFUSDT&limit=1000')).bids.find(([price]) => price === '0.1');
  await field(page, 'price').fill('0.1');
  await place(page);
  await page.locator('#size-note', { hasText: 'Enter the size.' }).waitFor();
  await field(page, 'size').fill('100');
  await place(page);
  await page.locator('#dialog', { hasText: 'Buy 100 DF' }).waitFor();
  await page.locator('#confirm').click();
  await hears(page, 'Order is open');
  await tab(page, 'orders');
  await row(page, '#orders', '0.1').waitFor();
  assert.deepEqual(await level(), ['0.1', '100']);

  await row(page, '#orders', '0.1').getByRole('button', { name: 'Amend' }).click();
  await page.locator('#amend-form input[name=amend-size]').fill('120');
  await page.locator('#amend-sure').click();
  await row(page, '#orders', '120').waitFor();
  assert.deepEqual(await level(), ['0.1', '120']);
  // More than can be paid for: what was open is open again.
  await row(page, '#orders', '120').getByRole('button', { name: 'Amend' }).click();
  await page.locator('#amend-form input[name=amend-size]').fill('100000000');
  await page.locator('#amend-sure').click();
  await page.locator('.toast', { hasText: 'Not amended: Not enough balance' }).waitFor();
  await hears(page, 'The order is open again: buy 120 DFUSDT at 0.1');
  await row(page, '#orders', '120').waitFor();
  assert.deepEqual(await level(), ['0.1', '120']);
  await row(page, '#orders', '120').getByRole('button', { name: 'Cancel' }).click();
  await hears(page, 'Order canceled');
  await page.locator('#orders tr').waitFor({ state: 'detached' });
  assert.equal(await level(), undefined);

  // From here on without the question.
  await field(page, 'price').fill('0.1');
  await field(page, 'size').fill('100000000');
  await place(page);
  await page.getByLabel('Do not ask again').check();
  await page.locator('#confirm').click();
  await hears(page, 'Not enough balance');
  await chooseKind(page, 'market');
  await field(page, 'size').fill('25');
  await place(page);
  await hears(page, 'Order filled');
  assert.equal(await page.locator('#dialog[open]').count(), 0);
}

/** Orders in the chart: as they are dragged, so the venue has them. */
async function showMoves(page, demo) {
  const signed = [];
  page.on('request', (asked) => ['PUT', 'DELETE'].includes(asked.method()) && signed.push(`${asked.method()} ${new URL(asked.url()).pathname}`));
  for (const [key, depth, size, tick] of [['spot:DFUSDT', '/api/v1/spot/depth', '100', 0.0001], ['perpetual:BTCUSDT', '/fapi/v1/depth', '0.01', 0.1]]) {
    const symbol = key.split(':')[1];
    const decimals = String(tick).length - 2;
    await chooseMarket(page, key);
    await until(page, () => document.querySelectorAll('#bids button').length > 1);
    const bid = Number((await demo.json(`${depth}?symbol=${symbol}&limit=5`)).bids[0][0]);
    await chooseKind(page, 'limit');
    await chooseSide(page, 'buy');
    await field(page, 'price').fill((bid * 0.999).toFixed(decimals));
    await field(page, 'size').fill(size);
    await page.getByLabel('Post only').check();
    await place(page);
    await hears(page, 'Order is open');
    await page.getByLabel('Post only').uncheck();
    const tag = page.locator('.order-tag');
    const grip = tag.locator('button.grip');
    await grip.waitFor();
    const now = async () => Number((await row(page, '#orders', symbol).locator('td').nth(4).textContent()).replaceAll(',', ''));
    const drag = async (by) => {
      const box = await grip.boundingBox();
      await page.mouse.move(box.x + 5, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + 5, box.y + box.height / 2 + by / 2);
      await page.mouse.move(box.x + 5, box.y + box.height / 2 + by, { steps: 3 });
      await until(page, () => /→/.test(document.querySelector('.order-tag .grip')?.textContent));
      return Number((await grip.textContent()).split('→ ')[1]);
    };
    const first = await now();
    const asked = signed.length;
    assert.ok((await drag(12)) < first, 'below is cheaper');
    await page.keyboard.press('Escape');
    await until(page, () => !/→/.test(document.querySelector('.order-tag .grip')?.textContent));
    await page.mouse.up();
    assert.deepEqual([await now(), signed.length], [first, asked], 'Escape leaves the order, and nothing is asked');

    const wanted = await drag(20);
    await page.mouse.up();
    await hears(page, key.startsWith('spot') ? 'Order is open' : 'Order amended');
    assert.ok(wanted < first && Math.abs(wanted / tick - Math.round(wanted / tick)) < 1e-6, `${wanted} is a multiple of ${tick}`);
    await until(page, () => !/→/.test(document.querySelector('.order-tag .grip')?.textContent));
    assert.equal(await now(), wanted);
    const levels = (await demo.json(`${depth}?symbol=${symbol}&limit=1000`)).bids.map(([price]) => Number(price));
    assert.ok(levels.includes(wanted), `the book has ${wanted}`);

    await grip.focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await hears(page, key.startsWith('spot') ? 'Order is open' : 'Order amended');
    await until(page, () => !/→/.test(document.querySelector('.order-tag .grip')?.textContent));
    assert.equal((await now()).toFixed(decimals), (wanted + tick).toFixed(decimals));
    if (key.startsWith('perpetual')) {
      // Over the other side: the venue ends a post-only order that would trade, and the chart shows no other.
      await drag(-70);
      await page.mouse.up();
      await hears(page, 'Post only: it would trade at once');
    } else {
      await tag.getByRole('button', { name: /Cancel/ }).click();
      await hears(page, 'Order canceled');
    }
    await tag.waitFor({ state: 'detached' });
  }
}

const KINDS = [
  ['limit', { price: 0.97 }, 'Limit'],
  ['stop_limit', { trigger: 1.03, price: 1.035 }, 'Stop limit'],
  ['stop_market', { trigger: 1.03 }, 'Stop market'],
  ['take_profit_limit', { trigger: 0.97, price: 0.975 }, 'Take profit limit'],
  ['take_profit_market', { trigger: 0.97 }, 'Take profit'],
  ['trailing', { callback: null }, 'Trailing stop'],
];

async function showKinds(page, demo) {
  await chooseMarket(page, 'perpetual:BTCUSDT');
  await until(page, () => document.querySelectorAll('#asks button').length > 3);
  const mark = Number((await demo.json('/fapi/v1/premiumIndex?symbol=BTCUSDT')).markPrice);
  await chooseSide(page, 'buy');
  for (const [kind, prices, name] of KINDS) {
    await chooseKind(page, kind);
    for (const [input, factor] of Object.entries(prices)) await field(page, input).fill(factor === null ? '1.5' : (mark * factor).toFixed(1));
    await field(page, 'size').fill('0.01');
    if (prices.price) await until(page, () => /[\d,.]+ USDT/.test(document.querySelector('#preview')?.textContent));
    await place(page);
    await hears(page, kind === 'limit' ? 'Order is open' : 'is waiting');
    await row(page, '#orders', name).first().waitFor();
  }
  assert.equal(await page.locator('#orders tr').count(), KINDS.length);

  // A perpetual order keeps its number when it is amended.
  const limit = row(page, '#orders', /Limit(Buy)/).first();
  const id = await limit.getAttribute('data-order');
  await limit.getByRole('button', { name: 'Amend' }).click();
  await page.locator('#amend-form input[name=amend-price]').fill((mark * 0.965).toFixed(1));
  await page.locator('#amend-sure').click();
  await hears(page, 'Order amended');
  assert.match(await text(page, `#orders tr[data-order="${id}"]`), new RegExp((mark * 0.965).toFixed(1).replace(/\.0$/, '')));

  await page.locator('#cancel-all').click();
  await page.locator('#cancel-all-sure').click();
  await hears(page, 'All canceled');
  await page.locator('#orders tr').waitFor({ state: 'detached' });

  await chooseKind(page, 'limit');
  await page.getByLabel('Post only').check();
  await field(page, 'price').fill((mark * 1.02).toFixed(1));
  await field(page, 'size').fill('0.01');
  await place(page);
  await hears(page, 'Post only: it would trade at once');
  await page.getByLabel('Post only').uncheck();
  await page.getByLabel('Reduce only').check();
  await place(page);
  await hears(page, 'Reduce only: nothing to reduce');
  await page.getByLabel('Reduce only').uncheck();
  return mark;
}

/** A program that trades for the same account, at the routes of the conditional-order service. */
async function showOthers(page, demo, mark) {
  const { key, secret } = await page.evaluate(() => JSON.parse(localStorage.getItem('session')).signer);
  const ask = async (method, path, values) => {
    const query = new URLSearchParams({ ...values, timestamp: String(Date.now()) }).toString();
    const signature = createHmac('sha256', secret).update(query).digest('hex');
    const answer = await fetch(`${demo.url}${path}?${query}&signature=${signature}`, { method, headers: { 'X-EX-APIKEY': key } });
    const told = await answer.json();
    assert.ok(answer.ok, JSON.stringify(told));
    return told;
  };
  const place = (type, values) => ask('POST', '/fapi/v1/algoOrder', { algoType: 'CONDITIONAL', symbol: 'BTCUSDT', side: 'BUY', type, quantity: '0.01', ...values });
  const waiting = async () => (await ask('GET', '/fapi/v1/openAlgoOrders', {})).map(({ algoId }) => algoId);
  await tab(page, 'orders');
  const stop = await place('STOP_MARKET', { triggerPrice: (mark * 1.03).toFixed(1) });
  const trailing = await place('TRAILING_STOP_MARKET', { callbackRate: '1.5' });
  const found = (order) => page.locator(`#orders tr[data-order="${order.algoId}"]`);
  for (const isAgain of [false, true]) {
    if (isAgain) {
      await page.reload();
      await tab(page, 'orders');
    }
    await found(stop).filter({ hasText: 'Stop market' }).filter({ hasText: (mark * 1.03).toFixed(1).replace(/\.0$/, '') }).waitFor();
    await found(trailing).filter({ hasText: 'trails by 1.5%' }).waitFor();
  }
  await found(stop).getByRole('button', { name: 'Cancel' }).click();
  await hears(page, 'Order canceled');
  await found(stop).waitFor({ state: 'detached' });
  assert.deepEqual(await waiting(), [trailing.algoId]);
  await page.locator('#cancel-all').click();
  await page.locator('#cancel-all-sure').click();
  await hears(page, 'All canceled');
  await found(trailing).waitFor({ state: 'detached' });
  assert.deepEqual(await waiting(), []);
}

async function showIsolated(page) {
  await chooseKind(page, 'market');
  await chooseSide(page, 'buy');
  await field(page, 'size').fill('0.02');
  await place(page);
  await hears(page, 'Order filled');
  await tab(page, 'positions');
  const position = page.locator('#positions tr[data-position=BTCUSDT]', { hasText: 'isolated' });
  await position.waitFor();
  const cell = async (at) => number(await position.locator('td').nth(at).textContent());
  await until(page, () => /\d/.test(document.querySelector('#positions tr td:nth-child(6)')?.textContent));
  const [liquidation, margin] = [await cell(5), await cell(6)];
  await isInSight(page, position);
  await position.getByRole('button', { name: 'Margin' }).click();
  await page.locator('#margin-form input[name=margin-amount]').fill('50');
  await until(page, () => (document.querySelector('#margin-preview')?.textContent.match(/→/g) ?? []).length === 2);
  const promised = number((await text(page, '#margin-preview .line:nth-child(2) dd')).split('→ ')[1]);
  assert.ok(promised < liquidation, `${promised} after ${liquidation}`);
  await page.locator('#margin-sure').click();
  await hears(page, 'Margin added');
  await until(page, ([before]) => Number(document.querySelector('#positions tr td:nth-child(6)').textContent.replaceAll(',', '')) < before, [liquidation]);
  assert.ok(Math.abs((await cell(5)) - promised) < 1 && Math.abs((await cell(6)) - margin - 50) < 0.02, `${await cell(5)} was promised as ${promised}`);

  await position.getByRole('button', { name: 'Margin' }).click();
  await page.locator('#margin-form input[value=remove]').check();
  await page.locator('#margin-form input[name=margin-amount]').fill('200');
  await page.locator('#margin-sure').click();
  await hears(page, 'Not so much can be removed');
  await page.locator('#margin-form input[name=margin-amount]').fill('40');
  await page.locator('#margin-sure').click();
  await hears(page, 'Margin removed');
  await page.locator('#margin-mode').click();
  await page.locator('#mode-form input[value=cross]').check();
  await page.locator('#mode-form button[type=submit]').click();
  await hears(page, 'A position is open');
  await page.keyboard.press('Escape');
  await position.getByRole('button', { name: 'Close' }).click();
  await page.locator('#close-sure').click();
  await hears(page, 'Order filled');
  await position.waitFor({ state: 'detached' });
}

/** Take profit and stop loss stand beside the buttons of a position, not below them. */
async function isInSight(page, position) {
  for (const [width, height] of [[1600, 1000], [1500, 900], [1440, 900], [1280, 720]]) {
    await page.setViewportSize({ width, height });
    const [guards, acts] = [await position.locator('td.guards').boundingBox(), await position.locator('td.acts').boundingBox()];
    assert.ok(guards.x + guards.width <= acts.x + 0.5, `at ${width} px the buttons stand over take profit and stop loss: ${guards.x + guards.width} of ${acts.x}`);
  }
}

async function showPosition(page, mark, shoot) {
  await page.locator('#leverage').click();
  await page.locator('#leverage-form input[name=leverage]').fill('7');
  await page.locator('#leverage-form button[type=submit]').click();
  await hears(page, 'Leverage 7×');
  await page.locator('#margin-mode').click();
  await page.locator('#mode-form input[value=isolated]').check();
  await page.locator('#mode-form button[type=submit]').click();
  await hears(page, 'Isolated margin');
  await showIsolated(page);
  await page.locator('#margin-mode').click();
  await page.locator('#mode-form input[value=cross]').check();
  await page.locator('#mode-form button[type=submit]').click();
  await hears(page, 'Cross margin');

  await chooseKind(page, 'market');
  await field(page, 'size').fill('0.04');
  await page.getByLabel('Take profit / stop loss').check();
  await field(page, 'takeProfit').fill((mark * 1.2).toFixed(1));
  await field(page, 'stopLoss').fill((mark * 0.8).toFixed(1));
  await until(page, () => /Liquidation[\d,]+/.test(document.querySelector('#preview')?.textContent) || /Fills now at[\d,]+/.test(document.querySelector('#preview')?.textContent));
  await place(page);
  await hears(page, 'Order filled');
  await tab(page, 'positions');
  const position = page.locator('#positions tr[data-position=BTCUSDT]');
  await position.waitFor();
  await until(page, ([take, stop]) => document.querySelector('#positions tr')?.textContent.includes(`${take} / ${stop}`), [(mark * 1.2).toFixed(1).replace(/\.0$/, ''), (mark * 0.8).toFixed(1).replace(/\.0$/, '')]);
  const cells = await position.locator('td').allTextContents();
  assert.match(cells[0], /BTCUSDT 7× cross/);
  assert.equal(cells[1], '0.04 BTC');
  assert.ok(Math.abs(number(cells[3]) - mark) < mark / 50, `entry ${cells[3]}, mark ${mark}`);
  await until(page, () => document.querySelector('#positions tr td:nth-child(6)')?.textContent !== '');
  await page.waitForTimeout(1_500);
  await shoot(page, 'position-1280-dark');
  await isInSight(page, position);

  await page.locator('#ticket').getByLabel('Take profit / stop loss').uncheck();
  await position.getByRole('button', { name: 'Close' }).click();
  await page.locator('#close-form input[name=close-size]').fill('0.01');
  await page.locator('#close-sure').click();
  await until(page, () => document.querySelector('#positions tr')?.textContent.includes('0.03 BTC'));
  await hears(page, 'Order filled');
  await position.getByRole('button', { name: 'Reverse' }).click();
  await page.locator('#reverse-sure').click();
  await until(page, () => document.querySelector('#positions tr')?.textContent.includes('-0.03 BTC'));
  await position.getByRole('button', { name: 'Close' }).click();
  await page.locator('#close-sure').click();
  await position.waitFor({ state: 'detached' });
}

async function showHistories(page) {
  await tab(page, 'order-history');
  for (const words of ['Trailing stop', 'Take profit limit', 'Canceled', 'Filled']) await row(page, '#order-history', words).first().waitFor();
  await page.locator('#order-history tr').nth(KINDS.length).waitFor();
  await tab(page, 'fills');
  await row(page, '#fills', 'BTCUSDT').nth(3).waitFor();
  await row(page, '#fills', 'DFUSDT').first().waitFor();
  await tab(page, 'funding');
  await page.locator('#funding-rows').waitFor({ state: 'attached' });
  await until(page, () => /Realised, 7 days/.test(document.querySelector("#summary")?.textContent) && !/Realised, 7 days0\.00/.test(document.querySelector('#summary')?.textContent));

  await tab(page, 'assets');
  await page.locator('#balances tr[data-balance=USDT]').getByRole('button', { name: 'Transfer' }).click();
  await page.locator('#transfer-form input[name=transfer-amount]').fill('9999999');
  await page.locator('#transfer-sure').click();
  await page.locator('#transfer-amount-note', { hasText: 'At most' }).waitFor();
  await page.locator('#transfer-form input[name=transfer-amount]').fill('12.5');
  await page.locator('#transfer-sure').click();
  await hears(page, 'Transferred');
  await tab(page, 'transfers');
  await row(page, '#transfers', /SpotPerpetual12\.5 USDT/).waitFor();
}
