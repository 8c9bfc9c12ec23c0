// The terminal on a desk, without a login: what stands where, what moves, and that it is what the API says.
import assert from 'node:assert/strict';
import { chooseMarket, until } from './rig.mjs';

export async function showDesk({ demo, open, shown }) {
  const page = await open(demo.url);
  await until(page, () => document.querySelectorAll('#bids button').length > 3 && document.querySelectorAll('#asks button').length > 3);
  await until(page, () => document.querySelector('#health')?.textContent === 'Live');
  assert.equal(await page.locator('#test-badge').count(), 1);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  const [asks, bids] = await page.evaluate(() => ['asks', 'bids'].map((side) =>
    [...document.querySelectorAll(`#${side} button`)].map(({ dataset }) => Number(dataset.price))));
  assert.ok(bids[0] < asks.at(-1), 'the book is not crossed');
  assert.deepEqual(bids, bids.toSorted((a, b) => b - a));
  assert.deepEqual(asks, asks.toSorted((a, b) => b - a));

  // Everything that is needed to trade is on the screen, and nothing scrolls.
  for (const [width, height] of [[1280, 720], [1600, 1000]]) {
    await page.setViewportSize({ width, height });
    const { outside, scrolls } = await page.evaluate(() => {
      const parts = ['#market', '#last', '#chart', '#asks', '#bids', '#trades', '#ticket', '#place', '#preview', '[data-tab=positions]', '[data-tab=assets]'];
      const isInside = (part) => {
        const { left, top, right, bottom, width } = document.querySelector(part).getBoundingClientRect();
        return width > 0 && left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
      };
      const { scrollHeight, scrollWidth } = document.documentElement;
      return { outside: parts.filter((part) => !isInside(part)), scrolls: scrollHeight > innerHeight || scrollWidth > innerWidth };
    });
    assert.deepEqual([outside, scrolls], [[], false], `${width} x ${height}`);
  }
  await page.setViewportSize({ width: 1280, height: 720 });
  shown('the desk shows all that is needed to trade at 1280 x 720 and 1600 x 1000; the book is in order');

  const found = await page.evaluate(async () => {
    document.querySelector('#market').click();
    await Promise.resolve();
    const search = document.querySelector('#market-list input[type=search]');
    search.value = 'DFU';
    search.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((shown) => setTimeout(shown, 300));
    const rows = [...document.querySelectorAll('#market-list [data-market]')].map((row) => row.dataset.market);
    return [search.value, rows.every((key) => key.endsWith(':DFUSDT'))];
  });
  assert.deepEqual(found, ['DFU', true], 'what is typed before the list was ever painted stays');
  await page.keyboard.press('Escape');
  await page.locator('#market-list').waitFor({ state: 'detached' });
  await chooseMarket(page, 'spot:DFUSDT');
  await page.locator('#trades [data-trade]').first().waitFor();
  const first = Number(await page.locator('#trades [data-trade]').first().getAttribute('data-trade'));
  await until(page, (first) => Number(document.querySelector('#trades [data-trade]').dataset.trade) > first + 2, first);
  const rows = await page.evaluate(() => [...document.querySelectorAll('#trades [data-trade]')].slice(0, 5).map((row) =>
    [row.dataset.trade, ...[...row.children].slice(0, 2).map((cell) => Number(cell.textContent.replaceAll(',', '')))]));
  const trades = new Map((await demo.json('/api/v1/spot/trades?symbol=DFUSDT&limit=500')).map((trade) => [trade.trade_id, trade]));
  for (const [id, price, quantity] of rows) {
    const trade = trades.get(id);
    assert.deepEqual([price, quantity], [Number(trade.price), Number(trade.quantity)], `trade ${id}`);
  }
  await chooseMarket(page, 'perpetual:BTCUSDT');
  await until(page, () => /^[\d,]+\.\d$/.test(document.querySelector('#mark')?.textContent) && /%\s*\d\d:\d\d:\d\d/.test(document.querySelector('#funding')?.textContent));
  await until(page, (before) => document.querySelector('#funding')?.textContent !== before, await page.locator('#funding').textContent());
  shown('trades appear as they happen and are those of the API; mark, index and the time to the next funding show');

  await showChart(page);
  shown('candles, indicators and the depth are drawn; the crosshair tells its values');

  await showBook(page);
  shown('the book is put together by a coarser step, each side alone; a press takes the price and what stands up to it');

  await chooseMarket(page, 'spot:DFUSDT');
  assert.deepEqual(await page.evaluate(() => ['price', 'size'].map((name) => document.querySelector(`#ticket input[name=${name}]`).value)), ['', '']);
  await page.keyboard.press('?');
  await page.locator('.shortcuts').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.shortcuts').waitFor({ state: 'detached' });
  await page.keyboard.press('s');
  await until(page, () => document.activeElement.name === 'size' && document.querySelector('#ticket input[value=sell]').checked);
  shown('another market empties the ticket; shortcuts are listed and work');
  await page.context().close();
}

const colours = (page, part) => page.evaluate((part) => {
  const seen = new Set();
  for (const canvas of document.querySelectorAll(`${part} canvas`)) {
    if (!canvas.width || !canvas.height) continue;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0; at < data.length; at += 4) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
  }
  return seen.size;
}, part);

async function showChart(page) {
  await page.locator('#chart canvas').first().waitFor();
  await page.waitForTimeout(500);
  assert.ok((await colours(page, '#chart')) > 5, 'something is drawn');
  const box = await page.locator('#chart').boundingBox();
  for (let back = 70; ; back += 4) {
    await page.mouse.move(box.x + box.width - back, box.y + box.height / 3);
    if (/O [\d.]+H [\d.]+L [\d.]+C [\d.]+/.test(await page.locator('.legend').textContent())) break;
    assert.ok(back < box.width, 'the crosshair finds a candle');
  }
  await page.locator('#studies').click();
  await page.getByLabel('RSI 14').check();
  await page.getByLabel('Bollinger 20, 2').check();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: '5m', exact: true }).click();
  assert.equal(await page.getByRole('button', { name: '5m', exact: true }).getAttribute('aria-pressed'), 'true');
  await page.getByRole('button', { name: '1m', exact: true }).click();
  await page.getByRole('button', { name: 'Depth', exact: true }).click();
  await until(page, () => /Middle/.test(document.querySelector('.legend')?.textContent));
  assert.ok((await colours(page, '#depth-chart')) > 3);
  await page.getByRole('button', { name: 'Depth', exact: true }).click();
}

async function showBook(page) {
  await page.getByLabel('Levels put together by').selectOption('10');
  await until(page, () => [...document.querySelectorAll('#bids button')].every(({ dataset }) => Number(dataset.price) % 10 === 0));
  await page.getByLabel('Levels put together by').selectOption('0.1');
  await page.getByRole('button', { name: 'Asks alone' }).click();
  await until(page, () => !document.querySelector('#bids button') && document.querySelectorAll('#asks button').length > 6);
  await page.getByRole('button', { name: 'Both sides' }).click();
  await page.locator('#bids button').nth(1).waitFor();
  const [price, size] = await page.evaluate(() => {
    const level = document.querySelectorAll('#bids button')[1];
    level.click();
    return [level.dataset.price, level.children[2].textContent.replaceAll(',', '')];
  });
  await until(page, ([price, size]) => {
    const value = (name) => Number(document.querySelector(`#ticket input[name=${name}]`).value);
    return value('price') === Number(price) && value('size') === Number(size) && document.querySelector('#ticket input[value=sell]').checked;
  }, [price, size]);
}
