// Pages and dialogs at three sizes, dark and light: axe finds nothing, and a picture of each is kept.
import assert from 'node:assert/strict';
import { logIn, tab, until } from './rig.mjs';

export const SIZES = [[1600, 1000], [1280, 720], [390, 844]];

/** `isLong` goes through every tab and dialog as well. */
export async function showCare({ demo, open, shown, shoot, axe, isLong }) {
  let judged = 0;
  const findings = [];
  for (const [width, height] of SIZES) {
    const isPhone = width < 900;
    const page = await open(demo.url, { viewport: { width, height }, hasTouch: isPhone, isMobile: isPhone });
    const judge = async (name) => {
      for (const theme of ['dark', 'light']) {
        if ((await page.evaluate(() => document.documentElement.dataset.theme)) !== theme) {
          await page.evaluate(() => document.querySelector('#theme').click());
          await until(page, (theme) => document.documentElement.dataset.theme === theme, theme);
        }
        for (const found of await paleStudies(page)) findings.push(`${name} at ${width} x ${height}, ${theme}: ${found}`);
        for (const found of await judgeBy(page, axe)) findings.push(`${name} at ${width} x ${height}, ${theme}: ${found}`);
        judged += 1;
        await shoot(page, `${name}-${width}-${theme}`);
      }
    };
    await page.locator('#chart canvas').first().waitFor();
    await page.waitForTimeout(600);
    await judge('out');
    await logIn(page, demo.key);
    await until(page, () => document.querySelector('#summary') || document.querySelector('[data-tab=account]'));
    await page.waitForTimeout(800);
    await judge('trade');
    if (isPhone) {
      const top = await page.evaluate(() => document.querySelector('.phone-body').getBoundingClientRect().top);
      assert.ok(top <= 120, `${top} pixels before anything is shown on a phone`);
      for (const name of ['more', 'figures']) {
        await page.locator(`#${name}`).click();
        await page.locator('.menu-items').waitFor();
        await judge(`open-${name}`);
        await page.keyboard.press('Escape');
        await page.locator('.menu-items').waitFor({ state: 'detached' });
      }
      for (const name of isLong ? ['book', 'trades', 'account'] : ['account']) {
        await tab(page, name);
        await judge(name);
      }
      await page.locator('#buy').click();
      await page.locator('#sheet #place').waitFor();
      await judge('sheet');
      await page.keyboard.press('Escape');
    } else if (isLong) {
      for (const name of ['orders', 'order-history', 'fills', 'funding', 'transfers', 'assets']) {
        await tab(page, name);
        await judge(name);
      }
      for (const name of ['market', 'leverage', 'latency', 'account']) {
        await page.locator(`#${name}`).click();
        await judge(`open-${name}`);
        await page.keyboard.press('Escape');
      }
    }
    for (const name of ['wallet', 'proof', 'keys']) {
      await page.goto(`${demo.url}/#/${name}`);
      await page.waitForTimeout(500);
      await judge(name);
    }
    await page.context().close();
  }
  assert.deepEqual(findings, []);
  shown(`axe finds nothing in ${judged} views at three sizes, dark and light; a picture of each is kept`);
}

/** Names of the chart's studies, which axe passes over: 4.5 : 1 against what they stand on. */
const paleStudies = (page) => page.evaluate(() => {
  const parts = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => {
    const [red, green, blue] = parts(colour).map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  return [...document.querySelectorAll('.legend span[style]')].flatMap((name) => {
    const [low, high] = [getComputedStyle(name).color, getComputedStyle(name.closest('.panel')).backgroundColor].map(light).sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    return contrast >= 4.5 ? [] : [`${name.textContent} has a contrast of ${contrast.toFixed(1)}`];
  });
});

/** A phone on a slow net, as Lighthouse has it: 150 ms to and fro, 1.6 Mbit/s, a processor four times as slow. */
export async function showSpeed({ demo, open, shown }) {
  const page = await open('about:blank', { viewport: { width: 390, height: 844 } });
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 94_000 });
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await page.goto(demo.url);
  const painted = await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  const first = await painted.jsonValue();
  await page.locator('#last').waitFor();
  const usable = await page.evaluate(() => performance.now());
  assert.ok(first < 1_000, `the first paint took ${first} ms`);
  await page.context().close();
  shown(`a slow phone paints after ${first.toFixed(0)} ms and shows its market after ${(usable / 1_000).toFixed(1)} s`);
}

export async function judgeBy(page, axe) {
  if (!(await page.evaluate(() => 'axe' in window))) {
    // The page's own policy takes no script of others; the test's does not go through it.
    const { readFileSync } = await import('node:fs');
    await page.evaluate(readFileSync(axe, 'utf8'));
  }
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target, failureSummary }) => `${target} ${failureSummary.split('\n').slice(1, 3).join(' ')}`).join('; ')}`);
  });
}
