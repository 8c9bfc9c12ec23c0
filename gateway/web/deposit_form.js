// The form that deposits by the account's own transactions: the right chain, an allowance for the vault where it has too little,
// the deposit; and what somebody needs who does it by hand.
import { $, say, state } from './view.js';
import {
  allowanceCall, approveCall, balanceCall, baseUnits, depositCall, isPausedCall, onChain, readNumber, refusalOf, unitsText,
} from './wallet.js';

const ASK_MS = 500;
// A node may show a block before what is in it.
const LOOKS = 5;
const CHAIN = 0, ALLOW = 1, DEPOSIT = 2;

const form = $('deposit');
// Where deposits go, as the exchange last said.
let where;
// What the wallet was found to have of a token, or why that is not known.
let held;
let isAsking = false;
// Whatever is being sent; another object, or none, once it was given up.
let run = null;
// Transactions that were sent here, by hash.
const sent = new Map();

const token = () => where?.tokens.find(({ symbol }) => symbol === form.token.value);
const wait = () => new Promise((next) => setTimeout(next, ASK_MS));
const isHeld = (one) => held?.token === one?.address && held?.login === state.token && held?.units !== undefined;

// What was sent here and what is known of it.
export const sentHere = () => [...sent.values()].reverse();

// Where another login begins, or none.
export function forget() {
  [where, held, run] = [undefined, undefined, null];
  sent.clear();
  form.amount.value = '';
  form.token.replaceChildren();
  $('deposit-steps').replaceChildren();
  say($('deposit-answer'), '');
}

// Takes what the exchange says of where deposits go, and looks what the wallet has.
export function drawPlace(place) {
  const symbols = (of) => of?.tokens.map(({ symbol }) => symbol).join();
  if (symbols(where) !== symbols(place)) {
    const chosen = form.token.value;
    form.token.replaceChildren(...place.tokens.map(({ symbol }) => new Option(symbol, symbol)));
    if (place.tokens.some(({ symbol }) => symbol === chosen)) form.token.value = chosen;
  }
  where = place;
  look();
}

// A wallet may take its time: nothing else of the page waits for it.
async function look() {
  const { token: login, address, ask } = state;
  const one = token();
  if (!ask || !one || isAsking) return;
  isAsking = true;
  try {
    const found = await read(ask, address, one.address);
    if (state.token === login) held = { login, token: one.address, ...found };
    for (const mine of sent.values()) if (!mine.isListed) await lookAt(ask, mine);
  } catch (error) {
    if (state.token === login) held = { login, token: one.address, fault: refusalOf(error) };
  } finally {
    isAsking = false;
  }
  drawForm();
  // Another was chosen meanwhile.
  if (token() && token().address !== one.address) look();
}

async function read(ask, address, contract) {
  const chain = Number(await ask('eth_chainId'));
  if (chain !== where.chain_id) return { fault: `your wallet is on chain ${chain}; it is asked to change to ${where.chain_id}` };
  return { units: await readNumber(ask, balanceCall(contract, address)) };
}

// Also of what was in a block: that may be taken back.
async function lookAt(ask, mine) {
  const receipt = await ask('eth_getTransactionReceipt', mine.hash);
  mine.block = receipt ? Number(receipt.blockNumber) : undefined;
  mine.hasFailed = Boolean(receipt) && Number(receipt.status) !== 1;
}

// What is wrong with the amount, or nothing.
function fault() {
  const one = token();
  const text = form.amount.value.trim();
  if (!one || !text) return '';
  try {
    const units = baseUnits(text, one.decimals);
    if (units === 0n) return 'an amount is more than 0';
    if (isHeld(one) && units > held.units) return `your wallet has ${unitsText(held.units, one.decimals)} ${one.symbol}`;
    return '';
  } catch (error) {
    return error.message;
  }
}

export function drawForm() {
  const one = token();
  const isPaused = Boolean(one?.deposits_paused);
  const cannotSend = Boolean(state.token) && !state.send;
  const wrong = fault();
  form.token.disabled = form.amount.disabled = !one || Boolean(run);
  form.amount.setAttribute('aria-invalid', Boolean(wrong));
  if ($('deposit-fault').textContent !== wrong) say($('deposit-fault'), wrong, 'bad');
  const has = isHeld(one) ? `${unitsText(held.units, one.decimals)} ${one.symbol} in your wallet` : held?.fault ?? '';
  $('deposit-free').textContent = one && state.ask && held?.token === one.address ? has : '';
  $('deposit-all').hidden = !isHeld(one) || held.units === 0n || Boolean(run);
  $('deposit-paused').hidden = !isPaused;
  $('deposit-paused').textContent = isPaused ? `Deposits of ${one.symbol} are paused: what arrives is held until they go on.` : '';
  $('deposit-ask').textContent = state.token ? 'Deposit' : 'Log in to deposit';
  $('deposit-ask').disabled = Boolean(run) || cannotSend || isPaused;
  $('deposit-stop').hidden = !run;
  $('no-wallet').hidden = !cannotSend;
  drawFacts(one);
}

// For whoever does it by hand.
function drawFacts(one) {
  $('deposit-facts').hidden = $('deposit-hand').hidden = !one;
  if (!one) return;
  const set = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };
  let units = 'the amount';
  try {
    units = String(baseUnits(form.amount.value.trim(), one.decimals));
  } catch { /* said beside the field */ }
  set('deposit-chain', String(where.chain_id));
  set('deposit-vault', where.vault_address);
  set('deposit-contract-name', `Contract of ${one.symbol}`);
  set('deposit-contract', one.address);
  set('deposit-decimals', String(one.decimals));
  set('deposit-blocks', `${where.confirmations} blocks on it`);
  set('deposit-former', where.former_vault_addresses.join(' '));
  $('deposit-former').parentElement.hidden = !where.former_vault_addresses.length;
  set('deposit-approve', `approve(${where.vault_address}, ${units})`);
  set('deposit-call', `deposit(${one.address}, ${units})`);
  set('deposit-for', `depositFor(${state.address ?? ''}, ${one.address}, ${units})`);
}

// --- sending ---------------------------------------------------------------------------------------------------------

// One line for each step, with where it is: to come, now, done or failed.
function step(own, index, text, word = 'now') {
  if (own !== run) return;
  const line = $('deposit-steps').children[index];
  line.textContent = text;
  line.dataset.state = word;
  if (word === 'now') line.setAttribute('aria-current', 'step');
  else line.removeAttribute('aria-current');
}

function begin(amount) {
  const texts = [`Chain ${where.chain_id}`, `Let the vault take ${amount}`, `Deposit ${amount}`];
  $('deposit-steps').replaceChildren(...texts.map((text) => {
    const line = document.createElement('li');
    line.textContent = text;
    line.dataset.state = 'to come';
    return line;
  }));
  say($('deposit-answer'), '');
}

class GivenUp extends Error {}

function goOn(own) {
  if (own !== run || state.token !== own.login) throw new GivenUp();
}

async function carryOut(own) {
  const { one, units, amount, vault, ask, send, address } = own;
  step(own, CHAIN, `Chain ${own.chain}: looked for in your wallet`);
  await onChain(ask, own.chain, () => step(own, CHAIN, `Chain ${own.chain}: confirm the change in your wallet`));
  goOn(own);
  const balance = await readNumber(ask, balanceCall(one.address, address));
  held = { login: own.login, token: one.address, units: balance };
  if (balance < units) throw new Error(`your wallet has ${unitsText(balance, one.decimals)} ${one.symbol}`);
  if (await readNumber(ask, isPausedCall(vault))) throw new Error('the vault is paused on the chain: it takes nothing just now');
  step(own, CHAIN, `Chain ${own.chain}`, 'done');

  own.at = ALLOW;
  const allowed = () => readNumber(ask, allowanceCall(one.address, address, vault));
  const before = await allowed();
  goOn(own);
  if (before < units) {
    // Some tokens want an allowance taken back before it changes.
    if (before > 0n) await allow(own, 0n, 'Take back what the vault was let before', async () => (await allowed()) === 0n);
    await allow(own, units, `Let the vault take ${amount}`, async () => (await allowed()) >= units);
  }
  step(own, ALLOW, `The vault may take ${amount}`, 'done');
  own.isAllowed = true;

  own.at = DEPOSIT;
  step(own, DEPOSIT, `Deposit ${amount}: confirm in your wallet`);
  const hash = await send(depositCall(vault, one.address, units));
  // Sent is sent, also where somebody has stopped waiting for it.
  if (state.token === own.login) sent.set(hash, { hash, token: one.symbol, amount: own.text, at: Date.now() });
  goOn(own);
  step(own, DEPOSIT, `Deposit ${amount}: sent`, 'done');
  return hash;
}

// Waits for what the transaction is for, and not for its hash, which changes where a wallet sends it again for a higher fee.
async function allow(own, units, text, isSo) {
  const { one, vault, ask, send } = own;
  step(own, ALLOW, `${text}: confirm in your wallet`);
  const hash = await send(approveCall(one.address, vault, units));
  step(own, ALLOW, `${text}: sent, waits for a block`);
  for (let looks = 0; ;) {
    goOn(own);
    if (await isSo()) return;
    const receipt = await ask('eth_getTransactionReceipt', hash);
    if (receipt && Number(receipt.status) !== 1) throw new Error(`the transaction ${hash} failed`);
    if (receipt && (looks += 1) > LOOKS) throw new Error('the vault may take less than was asked for');
    await wait();
  }
}

form.onsubmit = async (event) => {
  event.preventDefault();
  if (!state.token) return $('login').click();
  const one = token();
  if (!one || run) return;
  if (fault()) {
    drawForm();
    return form.amount.focus();
  }
  const text = form.amount.value.trim();
  const own = {
    one, text, units: baseUnits(text, one.decimals), amount: `${text} ${one.symbol}`,
    vault: where.vault_address, chain: where.chain_id, at: CHAIN, isAllowed: false,
    login: state.token, address: state.address, send: state.send, ask: state.ask,
  };
  run = own;
  for (const [hash, { hasFailed }] of sent) if (hasFailed) sent.delete(hash);
  begin(own.amount);
  drawForm();
  try {
    const hash = await carryOut(own);
    form.amount.value = '';
    say($('deposit-answer'), `sent as ${hash}; credited with ${where.confirmations} blocks on it`, 'good');
  } catch (error) {
    if (own !== run || error instanceof GivenUp) return;
    step(own, own.at, `${$('deposit-steps').children[own.at].textContent.replace(/:.*/, '')}: not done`, 'failed');
    const again = own.isAllowed ? ' The vault may take it already: Deposit goes on from there.' : ' Deposit tries again.';
    say($('deposit-answer'), `${refusalOf(error)}.${again}`, 'bad');
  } finally {
    if (own === run) run = null;
    drawForm();
    look();
  }
};

$('deposit-stop').onclick = () => {
  run = null;
  $('deposit-steps').replaceChildren();
  say($('deposit-answer'), 'Nothing more is asked of your wallet. What it has sent goes on, and what it still asks can be refused there.');
  drawForm();
};

$('deposit-all').onclick = () => {
  const one = token();
  if (isHeld(one)) form.amount.value = unitsText(held.units, one.decimals);
  drawForm();
};

form.token.onchange = () => {
  drawForm();
  look();
};
form.amount.oninput = drawForm;
