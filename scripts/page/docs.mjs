// The API for people, at /docs: found, opened, with samples of this host; axe-core finds nothing.
import assert from 'node:assert/strict';
import { judgeBy } from './care.mjs';

export async function showDocs({ demo, open, shown, shoot, axe }) {
  const { paths } = await demo.json('/openapi.json');
  const operations = Object.values(paths).flatMap((methods) => Object.keys(methods)).length;
  for (const [width, colorScheme] of [[1280, 'dark'], [390, 'light']]) {
    const page = await open(`${demo.url}/docs`, { viewport: { width, height: 900 }, colorScheme });
    await page.locator('details').first().waitFor();
    assert.equal(await page.locator('details').count(), operations);
    await page.locator('input[type=search]').fill('post /fapi/v1/order');
    await page.locator('summary', { hasText: '/fapi/v1/order' }).first().click();
    const samples = await page.locator('.details pre').allTextContents();
    assert.ok(samples.some((text) => text.includes(`"${demo.url}/fapi/v1/order?$QUERY`)), samples.join('\n'));
    assert.ok(samples.some((text) => text.startsWith("exchange.create_order('BTC/USDT:USDT'")), samples.join('\n'));
    assert.ok(await page.locator('.details tr', { hasText: 'timeInForce' }).count() > 0);
    assert.deepEqual(await judgeBy(page, axe), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, 'nothing is cut off');
    await shoot(page, `docs-${width}-${colorScheme}`);
    await page.close();
  }
  shown(`the API for people: ${operations} operations, found, with samples of this host`);
}
