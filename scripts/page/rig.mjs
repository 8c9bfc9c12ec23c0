// What the page's tests stand on: exchanges that are started for them, a browser, and pages that complain of nothing.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';

const ADMIN_KEY = 'the-admin-key-of-this-test-exchange';

/** Lines of what a program says, until one of them is wanted: what `find` gives of it. */
function said(program, find) {
  const lines = [];
  program.stderr.on('data', (text) => lines.push(String(text)));
  return new Promise((resolve, reject) => {
    createInterface({ input: program.stdout }).on('line', (line) => {
      lines.push(line);
      const found = find(line);
      if (found) resolve(found);
    });
    program.on('exit', (code) => reject(new Error(`it ended with ${code}:\n${lines.join('\n')}`)));
  });
}

/** A demo on a free port: markets that have moved for hours and do, and the key of a funded account. */
export async function startDemo(ringside) {
  const folder = mkdtempSync(join(tmpdir(), 'ringside-demo-'));
  const env = { ...process.env, RINGSIDE_DATA_DIR: join(folder, 'data'), RINGSIDE_LISTEN: '127.0.0.1:0', RINGSIDE_LOG: 'warn' };
  const program = spawn(ringside, ['demo'], { env });
  let key;
  const url = await said(program, (line) => {
    key ??= line.match(/^ {2}[0-9a-f]{64} {2}([0-9a-f]{64})$/)?.[1];
    return line.match(/demo .* (http:\S+)\/$/)?.[1];
  });
  let ended;
  const end = () => (ended ??= new Promise((resolve) => {
    program.removeAllListeners('exit');
    program.on('exit', () => {
      rmSync(folder, { recursive: true, force: true });
      resolve();
    });
    program.kill('SIGTERM');
  }));
  return { url, key, end, json: async (path) => (await fetch(url + path)).json() };
}

/** An empty exchange with the limits that it ships with, which can be killed and started again on its port. */
export async function startPlain(ringside) {
  const folder = mkdtempSync(join(tmpdir(), 'ringside-page-'));
  let [program, listen] = [null, '127.0.0.1:0'];
  const start = async () => {
    program = spawn(ringside, [], {
      env: {
        ...process.env, RINGSIDE_DATA_DIR: join(folder, 'data'), RINGSIDE_LISTEN: listen, RINGSIDE_ANY_FILE_SYSTEM: 'true', RINGSIDE_LOG: 'warn',
        RINGSIDE_FLUSH_SHED: '30s', RINGSIDE_ADMIN_KEY: ADMIN_KEY,
      },
    });
    const url = await said(program, (line) => line.match(/curl (http:\/\/[^/]*)\/openapi\.json/)?.[1]);
    listen = new URL(url).host;
    return url;
  };
  const url = await start();
  const post = async (path, body) => {
    const answer = await fetch(url + path, { method: 'POST', headers: { 'X-API-Key': ADMIN_KEY, 'content-type': 'application/json' }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  const stop = (signal) => new Promise((resolve) => {
    program.removeAllListeners('exit');
    program.on('exit', resolve);
    program.kill(signal);
  });
  return {
    url, start, kill: () => stop('SIGKILL'),
    pin: (symbol, price) => post('/admin/perpetual/index-price', { symbol, price, reason: 'page' }),
    end: async () => {
      await stop('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A browser whose pages are watched: what they complain of is in `faults`. */
export async function openBrowser(playwright, executablePath, screens) {
  const { chromium } = await import(playwright);
  mkdirSync(screens, { recursive: true });
  const browser = await chromium.launch({ executablePath: executablePath || undefined, args: ['--disable-background-networking'] });
  const faults = [];
  const limited = [];
  const open = async (url, options = {}, prepare = async () => {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, colorScheme: 'dark', ...options });
    const page = await context.newPage();
    // A busy machine is no part of this.
    page.setDefaultTimeout(60_000);
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      // A refusal is an answer, and an exchange that was killed answers nothing: the browser complains of both by itself.
      if (message.type() === 'error' && !/WebSocket|status of [45]\d\d|ERR_CONNECTION|ERR_EMPTY/.test(message.text())) faults.push(message.text());
    });
    page.on('response', (answer) => [429, 418].includes(answer.status()) && limited.push(answer.url()));
    page.on('request', (asked) => {
      if (url.startsWith('http') && !asked.url().startsWith(new URL(url).origin) && !asked.url().startsWith('data:')) faults.push(`another host: ${asked.url()}`);
    });
    if (process.env.PAGE_DIST) await serveInstead(page, process.env.PAGE_DIST);
    await prepare(page);
    await page.goto(url);
    return page;
  };
  return { browser, faults, limited, open, shoot: (page, name) => page.screenshot({ path: join(screens, `${name}.png`) }) };
}

/** Gives scripts and styles of a folder that was just built instead of those in the binary: for whoever works on the page. */
async function serveInstead(page, folder) {
  const isFile = ({ pathname }) => /^\/web\/.*\.(js|css)$/.test(pathname);
  await page.route(isFile, (route) => {
    const { pathname, search } = new URL(route.request().url());
    // The page of the binary names its own version.
    const body = readFileSync(join(folder, basename(pathname)), 'utf8').replaceAll(/\?v=[0-9a-f]{12}/g, search);
    return route.fulfill({ body, contentType: pathname.endsWith('.js') ? 'text/javascript' : 'text/css' });
  });
}

export async function logIn(page, key) {
  await page.locator('#login').click();
  await page.locator('#key').fill(key);
  await page.locator('#with-key').click();
  await page.locator('#login-dialog').waitFor({ state: 'hidden' });
  await page.locator('#account').waitFor();
}

/** Chooses a market by its key, as somebody does who searches it. */
export async function chooseMarket(page, key) {
  await page.locator('#market').click();
  await page.locator('#market-list input[type=search]').fill(key.split(':')[1]);
  await page.locator(`#market-list tr[data-market="${key}"]`).click();
  await page.locator('#market-list').waitFor({ state: 'detached' });
}

/** Waits for a toast that says so, and takes all toasts away. */
export async function hears(page, text) {
  await page.locator('.toast', { hasText: text }).first().waitFor();
  await page.evaluate(() => document.querySelectorAll('.toast button').forEach((button) => button.click()));
}

export const field = (page, name) => page.locator(`#ticket input[name="${name}"]`);
export const tab = (page, name) => page.locator(`[data-tab="${name}"]`).click();
export const until = (page, what, ...more) => page.waitForFunction(what, ...more);

/** Kind of order of the ticket. */
export async function chooseKind(page, kind) {
  if (kind === 'limit' || kind === 'market') await page.locator(`#ticket input[name=kind][value=${kind}]`).check();
  else await page.locator('#ticket select[name=kind-more]').selectOption(kind);
}

export const chooseSide = (page, side) => page.locator(`#ticket input[name=side][value=${side}]`).check();
