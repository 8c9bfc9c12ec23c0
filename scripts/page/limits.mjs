// An exchange with the limits that it ships with: test money, orders as fast as they go without one refusal of a limit (500 in a
// minute where `isLong`, which wants the machine for itself), and the exchange killed and started again under the page.
import assert from 'node:assert/strict';
import { chooseMarket, field, hears, tab, until } from './rig.mjs';

const MINUTE_MS = 60_000;
// Before all of them are canceled: a market takes 200 open ones.
const ROUND = 100;
const PRICE = 2_000;

export async function showLimits({ plain, open, shown, limited, shoot, isLong }) {
  await plain.pin('ETHUSDT', String(PRICE));
  const page = await open(plain.url);
  await page.locator('#login').click();
  await page.locator('#new-key').click();
  await page.locator('#with-key').click();
  await page.locator('#account').waitFor();
  await page.goto(`${plain.url}/#/wallet`);
  await page.locator('#faucet').click();
  await hears(page, 'Test money is yours');
  await page.locator('#balances tr[data-balance=DF]', { hasText: '10,000' }).waitFor();
  await page.goto(`${plain.url}/#/trade`);
  await chooseMarket(page, 'perpetual:ETHUSDT');
  await until(page, () => document.querySelector('#free')?.textContent === '10,000.00 USDT');
  shown('a newcomer makes a key and takes test money');

  await page.evaluate(() => localStorage.setItem('confirm', 'false'));
  await page.reload();
  await page.locator('#account').waitFor();
  await until(page, () => document.querySelector('#free')?.textContent === '10,000.00 USDT');
  await tab(page, 'orders');
  const orders = isLong ? 500 : 100;
  const begun = Date.now();
  for (let placed = 0; placed < orders; placed += ROUND) {
    await page.evaluate(async ({ round, price }) => {
      const input = (name, value) => {
        const field = document.querySelector(`#ticket input[name=${name}]`);
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, value);
        field.dispatchEvent(new Event('input', { bubbles: true }));
      };
      const next = () => new Promise((next) => setTimeout(next, 1));
      for (let at = 0; at < round; at += 1) {
        input('price', String(price - 20 - (at % 10)));
        input('size', '0.01');
        document.querySelector('#place').click();
        await next();
        // A few at a time, as somebody presses who does not wait for answers.
        const given = performance.now();
        while (document.querySelectorAll('#orders tr').length < at - 8) {
          if (performance.now() - given > 60_000) throw new Error(`${at} orders are not there: ${document.body.innerText}`);
          await next();
        }
      }
    }, { round: ROUND, price: PRICE });
    await until(page, (count) => document.querySelectorAll('#orders tr').length === count, ROUND);
    await page.locator('#cancel-all').click();
    await page.locator('#cancel-all-sure').click();
    await page.locator('#orders tr').first().waitFor({ state: 'detached' });
  }
  const took = Date.now() - begun;
  assert.ok(!isLong || took < MINUTE_MS, `${orders} orders took ${took} ms`);
  assert.deepEqual(limited, [], 'nothing was refused by a limit');
  await page.locator('#latency').click();
  await until(page, () => /Median[\d.]+ ms/.test(document.querySelector('#dialog')?.textContent) && /Median≤ [\d.]+ (µs|ms)/.test(document.querySelector('#dialog')?.textContent.split('venue says')[1]));
  await page.keyboard.press('Escape');
  shown(`${orders} orders in ${(took / 1_000).toFixed(0)} s, each seen open and canceled, without a 429; latency shows here and there`);

  await field(page, 'price').fill(String(PRICE - 50));
  await field(page, 'size').fill('0.5');
  await page.locator('#place').click();
  await page.locator('#orders tr', { hasText: '0.5' }).waitFor();
  await plain.kill();
  await page.locator('#disconnected').waitFor();
  assert.match(await page.locator('.app').getAttribute('class'), /is-old/);
  await shoot(page, 'disconnected-1280-dark');
  await plain.start();
  await page.locator('#disconnected').waitFor({ state: 'detached', timeout: 40_000 });
  await page.locator('#orders tr', { hasText: '0.5' }).getByRole('button', { name: 'Cancel' }).click();
  await page.locator('#orders tr').waitFor({ state: 'detached' });
  await until(page, () => document.querySelector('#health')?.textContent === 'Live');
  assert.deepEqual(limited, []);
  shown('killed under the page: it says so and greys what is old; started again, its order is there and can be canceled');
  await page.context().close();
}
