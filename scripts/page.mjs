// The page in a real browser: against a demo, which moves, and an exchange with the limits that it ships with. What is shown
// stands in page/.
//   node scripts/page.mjs <ringside> <node_modules> <screens> [<browser>] [--long]     one line per thing shown; exit code 0 or 1
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { showAccount, showProof } from './page/account.mjs';
import { showCare, showSpeed } from './page/care.mjs';
import { showDesk } from './page/desk.mjs';
import { showLimits } from './page/limits.mjs';
import { openBrowser, startDemo, startPlain } from './page/rig.mjs';
import { showTrade } from './page/trade.mjs';

const words = process.argv.slice(2);
const isLong = words.includes('--long');
const [ringside, modules, screens, executable] = words.filter((word) => word !== '--long');
const shown = (what) => console.log(`ok: ${what}`);

const { browser, faults, limited, open, shoot } = await openBrowser(join(modules, 'playwright/index.mjs'), executable, screens);
const exchanges = [];
try {
  const demo = await startDemo(ringside);
  exchanges.push(demo);
  const rig = { demo, open, shown, shoot, limited, isLong, axe: join(modules, 'axe-core/axe.min.js'), viem: join(modules, 'viem/_esm/accounts/index.js') };
  await showDesk(rig);
  const page = await showTrade(rig);
  await showAccount(rig, page);
  await showCare(rig);
  await showProof(rig);
  if (isLong) await showSpeed(rig);
  demo.end();
  const plain = await startPlain(ringside);
  exchanges.push(plain);
  await showLimits({ ...rig, plain });
  assert.deepEqual(faults, [], 'the browser had nothing to complain of, and no other host was asked');
} catch (error) {
  let at = 0;
  for (const context of browser.contexts()) for (const page of context.pages()) await shoot(page, `failed-${(at += 1)}`).catch(() => {});
  console.error(`${error.stack}\nfaults: ${faults.join('\n')}\npictures: ${screens}`);
  process.exitCode = 1;
} finally {
  await browser.close();
  for (const exchange of exchanges) await exchange.end();
}
