// The picture that README.md shows: somebody trades on a demo, with a position and orders of their own in the chart and the book.
import { chooseKind, chooseMarket, chooseSide, field, logIn, tab, until } from './rig.mjs';

export async function takePicture({ demo, open }, path) {
  const page = await open(demo.url, { viewport: { width: 1280, height: 800 } }, (page) => page.addInitScript(() => localStorage.setItem('confirm', 'false')));
  await logIn(page, demo.key);
  await chooseMarket(page, 'perpetual:BTCUSDT');
  await until(page, () => document.querySelector('#free')?.textContent === '10,000.00 USDT');
  const mark = Number((await demo.json('/fapi/v1/premiumIndex?symbol=BTCUSDT')).markPrice);
  const place = async (side, kind, size, price) => {
    await chooseSide(page, side);
    await chooseKind(page, kind);
    if (price) await field(page, 'price').fill(price.toFixed(1));
    await field(page, 'size').fill(size);
    await page.locator('#place').click();
    await page.locator('.toast').first().waitFor();
    await page.evaluate(() => document.querySelectorAll('.toast button').forEach((button) => button.click()));
  };
  await place('buy', 'market', '0.2');
  await place('buy', 'limit', '0.1', mark - 45);
  await place('sell', 'limit', '0.1', mark + 60);
  await tab(page, 'positions');
  // The chart draws on, and the tape fills.
  await page.waitForTimeout(8_000);
  await page.screenshot({ path });
}
