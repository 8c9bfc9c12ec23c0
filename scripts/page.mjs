// The page in a real browser: against a demo, which moves, and an exchange with the limits that it ships with. What is shown
// stands in page/.
//   node scripts/page.mjs <ringside> <node_modules> <screens> [<browser>] [--long | --picture]     one line per thing shown; exit
//   code 0 or 1. --picture only takes that of README.md
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { showAccount, showProof } from './page/account.mjs';
import { showCare, showSpeed } from './page/care.mjs';
import { showDesk } from './page/desk.mjs';
import { showDocs } from './page/docs.mjs';
import { showLimits } from './page/limits.mjs';
import { takePicture } from './page/picture.mjs';
import { openBrowser, startDemo, startPlain } from './page/rig.mjs';
import { showTrade } from './page/trade.mjs';

const words = process.argv.slice(2);
const isLong = words.includes('--long');
const isPicture = words.includes('--picture');
const [ringside, modules, screens, executable] = words.filter((word) => !word.startsWith('--'));
const shown = (what) => console.log(`ok: ${what}`);

async function showAll(rig) {
  await showDesk(rig);
  const page = await showTrade(rig);
  await showAccount(rig, page);
  await showCare(rig);
  await showProof(rig);
  await showDocs(rig);
  if (isLong) await showSpeed(rig);
  await rig.demo.end();
  const plain = await startPlain(ringside);
  exchanges.push(plain);
  await showLimits({ ...rig, plain });
}

const { browser, faults, limited, open, shoot } = await openBrowser(join(modules, 'playwright/index.mjs'), executable, screens);
const exchanges = [];
try {
  const demo = await startDemo(ringside);
  exchanges.push(demo);
  const rig = { demo, open, shown, shoot, limited, isLong, axe: join(modules, 'axe-core/axe.min.js'), viem: join(modules, 'viem/_esm/accounts/index.js') };
  if (isPicture) await takePicture(rig, 'gateway/web/terminal.png');
  else await showAll(rig);
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
