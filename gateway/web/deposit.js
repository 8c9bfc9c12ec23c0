// Deposits from the chain: the account's own transactions to the vault, the blocks on them, and the history. The exchange credits
// by itself, whoever has sent it.
import { request } from './api.js';
import { $, day, row, say, shortHash, state } from './view.js';
import { allowanceCall, approveCall, baseUnits, depositCall } from './wallet.js';

const LIST = '/api/v1/spot/deposits';
const ROWS = 50;
const ASK_MS = 500;

const form = $('deposit');
let where;
let shown = [];
let drawn;

const isHere = () => Boolean(state.settings.withdrawals);
const token = (symbol) => where.tokens.find((one) => one.symbol === symbol);

// Once the settings are known; the part of the page is not there where there is no vault.
export function startDeposits() {
  $('deposits').hidden = !isHere();
  draw();
}

// The own deposits, and where they go. Answers for another login are dropped.
export async function askDeposits() {
  const { token: login } = state;
  if (!isHere()) return;
  if (!login) {
    [where, shown] = [undefined, []];
    return draw();
  }
  const [address, list] = await Promise.all([
    request('GET', `${LIST}/address`, { token: login }), request('GET', `${LIST}?limit=${ROWS}`, { token: login }),
  ]);
  if (state.token !== login) return;
  const symbols = (all) => all?.tokens.map(({ symbol }) => symbol).join();
  if (symbols(address) !== symbols(where)) form.token.replaceChildren(...address.tokens.map(({ symbol }) => new Option(symbol, symbol)));
  [where, shown] = [address, list];
  draw();
}

function draw() {
  $('deposit-ask').textContent = state.token ? 'Deposit' : 'Log in to deposit';
  $('deposit-ask').disabled = Boolean(state.token) && !state.send;
  $('deposit-ask').title = state.token && !state.send ? 'Log in with a wallet to deposit' : '';
  $('deposit-vault').textContent = where ? `Vault ${where.vault_address}` : '';
  const now = JSON.stringify([shown, where]);
  if (now === drawn) return;
  drawn = now;
  $('deposit-rows').replaceChildren(...shown.map((one) => {
    const text = standing(one);
    const transaction = document.createElement('span');
    transaction.textContent = shortHash(one.tx_hash);
    transaction.title = one.tx_hash;
    const tr = row([one.token, one.amount, text, day(one.seen_at), transaction], ['', '', one.status === 'credited' ? 'up' : '']);
    Object.assign(tr.dataset, { deposit: one.id, state: one.held ? 'held' : one.status });
    return tr;
  }));
  $('no-deposits').textContent = shown.length || !state.token ? '' : 'No deposits.';
}

function standing(one) {
  if (one.status === 'credited') return 'credited';
  if (one.held) return `held: ${one.held}`;
  return `${one.confirmations} of ${where.confirmations} confirmations`;
}

// A transaction is in a block, or it is said that it failed.
async function mined(hash) {
  for (;;) {
    const receipt = await state.ask('eth_getTransactionReceipt', hash);
    if (receipt) {
      if (BigInt(receipt.status) !== 1n) throw new Error(`the transaction ${hash} failed`);
      return;
    }
    await new Promise((next) => setTimeout(next, ASK_MS));
  }
}

// The vault takes what it was allowed; some tokens want an allowance taken back before it changes.
async function allow(address, units) {
  const read = await state.ask('eth_call', allowanceCall(address, state.address, where.vault_address), 'latest');
  const allowed = BigInt(read);
  if (allowed >= units) return;
  say($('deposit-answer'), 'allow the vault to take it, in your wallet', '');
  if (allowed > 0n) await mined(await state.send(approveCall(address, where.vault_address, 0n)));
  await mined(await state.send(approveCall(address, where.vault_address, units)));
}

form.onsubmit = async (event) => {
  event.preventDefault();
  if (!state.token) return $('login').click();
  $('deposit-ask').disabled = true;
  try {
    const { address, decimals } = token(form.token.value);
    const units = baseUnits(form.amount.value.trim(), decimals);
    await allow(address, units);
    const hash = await state.send(depositCall(where.vault_address, address, units));
    form.amount.value = '';
    say($('deposit-answer'), `sent as ${hash}; it counts with ${where.confirmations} blocks on it`, 'good');
  } catch (error) {
    say($('deposit-answer'), error.message ?? String(error), 'bad');
  }
  draw();
};
