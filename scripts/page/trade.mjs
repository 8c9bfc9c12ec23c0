// Somebody trades at the page: every kind of order with its preview, and what becomes of orders and positions.
import assert from 'node:assert/strict';
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
  shown('spot: confirmed, open, marked in the book, amended, canceled; a refusal says what to change; a market order fills');
  const mark = await showKinds(page, demo);
  shown('every kind of perpetual order is placed, with its preview; post only and reduce only are refused in words; all are canceled');
  await showPosition(page, mark, shoot);
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

async function showPosition(page, mark, shoot) {
  await page.locator('#leverage').click();
  await page.locator('#leverage-form input[name=leverage]').fill('7');
  await page.locator('#leverage-form button[type=submit]').click();
  await hears(page, 'Leverage 7×');
  await page.locator('#margin-mode').click();
  await page.locator('#mode-form input[value=isolated]').check();
  await page.locator('#mode-form button[type=submit]').click();
  await hears(page, 'Isolated margin');
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
  assert.ok((await page.locator('#order-history tr').count()) > KINDS.length);
  await tab(page, 'fills');
  assert.ok((await row(page, '#fills', 'BTCUSDT').count()) >= 4 && (await row(page, '#fills', 'DFUSDT').count()) >= 1);
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
