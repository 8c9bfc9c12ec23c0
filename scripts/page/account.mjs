// Beside trading: API keys, the proof, sessions on several devices, another time zone, a phone with a wallet.
import assert from 'node:assert/strict';
import { chooseMarket, field, hears, logIn, until } from './rig.mjs';

/** `page` is logged in by the demo's key. */
export async function showAccount({ demo, open, shown, viem }, page) {
  await page.goto(`${demo.url}/#/keys`);
  await page.locator('#new-api-key input[name=label]').fill('a bot');
  await page.getByLabel('Trade', { exact: true }).check();
  await page.locator('#new-api-key input[name=addresses]').fill('127.0.0.1, 10.0.0.0/8');
  await page.locator('#make-key').click();
  const made = await page.locator('#made-key').textContent();
  assert.match(made, /^[A-Za-z0-9]{64}$/);
  assert.match(await page.locator('#made-secret').textContent(), /^[A-Za-z0-9]{64}$/);
  const answer = await fetch(`${demo.url}/api/v1/spot/balances`, { headers: { 'X-API-Key': made } });
  assert.equal(answer.status, 200, 'the key that is shown is one');
  await page.getByRole('button', { name: 'I have it' }).click();
  const row = page.locator('#api-keys tr', { hasText: 'a bot' });
  assert.match(await row.textContent(), /read, trade127\.0\.0\.1.*10\.0\.0\.0\/8/);
  await row.getByRole('button', { name: 'Switch off' }).click();
  await page.locator('#api-keys tr', { hasText: '(off)' }).waitFor();
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.locator('#delete-sure').click();
  await row.waitFor({ state: 'detached' });
  shown('an API key is made with scopes and addresses, shown once, switched off and deleted');

  await page.goto(`${demo.url}/#/trade`);
  await page.reload();
  await page.locator('#account').waitFor();
  await until(page, () => /[1-9]/.test(document.querySelector('#free')?.textContent));
  const other = await open(demo.url);
  await logIn(other, demo.key);
  await until(other, () => /[1-9]/.test(document.querySelector('#free')?.textContent));
  // The first one can still trade, also by the signed routes.
  await chooseMarket(page, 'perpetual:BTCUSDT');
  await page.locator('#ticket input[name=kind][value=limit]').check();
  const mark = Number((await demo.json('/fapi/v1/premiumIndex?symbol=BTCUSDT')).markPrice);
  await field(page, 'price').fill((mark * 0.96).toFixed(1));
  await field(page, 'size').fill('0.01');
  await page.locator('#place').click();
  await hears(page, 'Order is open');
  await other.locator('[data-tab=orders]').click();
  await other.locator('#orders tr', { hasText: /LimitBuy/ }).getByRole('button', { name: 'Cancel' }).click();
  await hears(page, 'Order canceled');
  shown('a reload stays logged in; two devices at once see and end the same order');

  await other.locator('#account').click();
  await other.locator('#logout-everywhere').click();
  await hears(other, 'Logged out everywhere');
  await page.reload();
  await page.locator('#login').waitFor();
  shown('logged out everywhere ends both');
  await other.context().close();
  await page.context().close();

  const away = await open(demo.url, { timezoneId: 'Asia/Kathmandu', colorScheme: 'light' });
  await away.locator('#trades [data-trade]').first().waitFor();
  const [time, here] = await away.evaluate(() => [document.querySelector('#trades [data-trade]').lastElementChild.textContent, new Date().toLocaleTimeString('en-GB')]);
  const seconds = (clock) => clock.split(':').reduce((sum, part) => 60 * sum + Number(part), 0);
  assert.ok(Math.abs(seconds(here) - seconds(time)) < 120, `${time} in a place where it is ${here}`);
  assert.notEqual(here.slice(0, 5), new Date().toISOString().slice(11, 16));
  await away.context().close();
  shown("times are those of the visitor's own place");

  await showPhone({ demo, open, viem });
  shown('a phone fits, dark and light, with parts as tabs and a sheet; a browser wallet logs in and buys; targets are large');
}

/** The first proof that is of anything comes a minute after the start. */
export async function showProof({ demo, open, shown, shoot }) {
  const page = await open(`${demo.url}/#/proof`);
  await page.locator('#proof-rows tr', { hasText: 'USDT' }).waitFor({ timeout: 90_000 });
  await logIn(page, demo.key);
  await page.locator('#check-own').click();
  await page.getByText('in the sum').first().waitFor();
  assert.equal(await page.getByText('does not lead').count(), 0);
  await shoot(page, 'proof-1280-dark');
  await page.context().close();
  shown('the proof is open to anyone, and the own part is hashed up to its root in the browser');
}

/** A browser wallet, as far as the page sees one: it signs the typed data that it is handed. */
async function showPhone({ demo, open, viem }) {
  const { privateKeyToAccount } = await import(viem);
  const account = privateKeyToAccount(`0x${demo.key}`);
  const phone = await open(demo.url, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: 'light' }, async (page) => {
    await page.exposeFunction('walletSigns', (text) => {
      const { domain, types, message, primaryType } = JSON.parse(text);
      const { EIP712Domain: _, ...rest } = types;
      return account.signTypedData({ domain, types: rest, primaryType, message });
    });
    await page.addInitScript((address) => {
      window.ethereum = {
        async request({ method, params }) {
          if (method === 'eth_requestAccounts') return [address];
          if (method !== 'eth_signTypedData_v4') throw new Error(`asked for ${method}`);
          return window.walletSigns(params[1]);
        },
      };
    }, account.address.toLowerCase());
  });
  await phone.locator('#chart canvas').first().waitFor();
  for (const theme of ['light', 'dark']) {
    await until(phone, (theme) => document.documentElement.dataset.theme === theme, theme);
    for (const name of ['book', 'trades', 'account', 'chart']) {
      await phone.locator(`[data-tab=${name}]`).tap();
      const width = await phone.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${width} pixels wide on a phone: ${name}`);
    }
    await phone.locator('#theme').tap();
  }
  await phone.locator('#more').tap();
  await phone.getByRole('link', { name: 'Proof' }).tap();
  await phone.locator('#proof-rows').waitFor({ state: 'attached' });
  await phone.locator('a.brand').tap();
  await phone.locator('#login').tap();
  await phone.locator('#wallet').tap();
  await phone.locator('#account').waitFor();
  await chooseMarket(phone, 'spot:DFUSDT');
  await phone.locator('#buy').tap();
  await phone.locator('#sheet #place').waitFor();
  const small = await phone.evaluate(() => {
    const targets = [...document.querySelectorAll('#sheet :is(button, select, input:not([type=radio], [type=checkbox], [type=range]))')];
    const labels = [...document.querySelectorAll('#sheet label.box')];
    const isOf = (target) => labels.some((label) => label.contains(target)) ? target.closest('label') : target;
    return targets.map(isOf).filter((target) => target.getBoundingClientRect().height < 44).map((target) => target.outerHTML.slice(0, 90));
  });
  assert.deepEqual(small, [], 'targets of at least 44 pixels');
  await phone.locator('#sheet input[name=kind][value=market]').check();
  await field(phone, 'size').fill('5');
  await phone.locator('#sheet #place').tap();
  await phone.locator('#confirm').tap();
  await hears(phone, 'Order filled');
  await phone.locator('#sheet[open]').waitFor({ state: 'detached' });
  await phone.context().close();
}
