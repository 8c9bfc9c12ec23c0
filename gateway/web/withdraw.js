// Withdrawals to the chain: the request, its submission by the account's own transaction, the blocks on it, and the history.
import { request } from './api.js';
import { $, button, day, row, say, shortHash, state } from './view.js';
import { baseUnits, refusalOf, withdrawCall } from './wallet.js';

const LISTS = { spot: '/api/v1/spot/withdrawals', perpetual: '/withdraw/requests' };
const REQUESTS = { spot: '/api/v1/spot/withdraw/request', perpetual: '/withdraw/request' };
const ROWS = 50;
// A transaction that is in no block by then may be sent again: the vault takes one of them.
const LOST_MS = 60_000;

const form = $('withdraw');
// What was submitted here, by id, and when.
const sent = new Map();
let shown = { history: [], open: [], paused: {} };
let drawn;

const chain = () => state.settings.withdrawals;
const isSent = (id) => Date.now() - (sent.get(id)?.at ?? 0) < LOST_MS;
const token = (name) => chain().tokens.find((one) => one.token === name);

// Once the settings are known; the part of the page is not there where nothing is withdrawn.
export function startWithdrawals() {
  $('withdrawals').hidden = !chain();
  if (chain()) form.token.replaceChildren(...chain().tokens.map(({ token, ledger }) => new Option(`${token} (${ledger})`, token)));
  draw();
}

// What is open, and the lists whenever something has begun or ended. Answers for another login are dropped.
export async function askWithdrawals() {
  const { token: login } = state;
  if (!chain()) return;
  if (!login) {
    shown = { history: [], open: [], paused: {} };
    sent.clear();
    return draw();
  }
  const { open, paused } = await request('GET', '/web/withdrawals.json', { token: login });
  const ids = (all) => all.map(({ id }) => id).join();
  const isKnown = shown.login === login && ids(open) === ids(shown.open);
  const history = isKnown ? shown.history : await readLists(login);
  if (state.token !== login) return;
  shown = { history, open, paused, login };
  draw();
}

async function readLists(login) {
  const lists = chain().tokens.map(({ ledger }) => request('GET', `${LISTS[ledger]}?limit=${ROWS}`, { token: login }));
  return (await Promise.all(lists)).flat().sort((a, b) => b.requested_at - a.requested_at || b.nonce - a.nonce).slice(0, ROWS);
}

function draw() {
  drawPause();
  // Rows that are as before stay, so that no press is lost.
  const now = JSON.stringify([shown, [...sent.keys()].filter(isSent), Boolean(state.send)]);
  if (now === drawn) return;
  drawn = now;
  const open = new Map(shown.open.map((one) => [one.id, one]));
  // The vault takes an account's releases in the order of their nonces.
  const next = shown.open.find((one) => !one.tx_hash && !isSent(one.id));
  $('withdrawal-rows').replaceChildren(...shown.history.map((one) => {
    const at = open.get(one.id);
    const [word, text, mood] = standing(one, at);
    const act = at && word === 'signed' ? submission(at, at === next) : transaction(one.tx_hash ?? at?.tx_hash ?? sent.get(one.id)?.hash);
    const tr = row([one.token, one.amount, text, day(one.requested_at), act], ['', '', mood]);
    Object.assign(tr.dataset, { withdrawal: one.id, state: word });
    return tr;
  }));
  $('no-withdrawals').textContent = shown.history.length || !state.token ? '' : 'No withdrawals.';
}

// A word for the state, what is said of it, and its colour.
function standing(one, at) {
  if (one.status === 'confirmed') return ['confirmed', `confirmed in block ${one.block_number}`, 'up'];
  if (one.status === 'expired' || !at) return [one.status, one.status, ''];
  if (at.tx_hash) return ['confirming', `${at.confirmations} of ${chain().confirmations} confirmations`, ''];
  if (isSent(one.id)) return ['sent', 'sent, waits for a block', ''];
  return ['signed', `to be submitted by ${day(at.deadline)}`, ''];
}

function submission(at, isNext) {
  const submit = button('Submit', async (pressed) => {
    pressed.disabled = true;
    try {
      const { address, decimals } = token(at.token);
      const call = withdrawCall(chain().vault, address, baseUnits(at.amount, decimals), at.deadline, at.signature);
      const hash = await state.send(call);
      sent.set(at.id, { hash, at: Date.now() });
      say($('withdraw-answer'), `sent as ${hash}`, 'good');
    } catch (error) {
      say($('withdraw-answer'), refusalOf(error), 'bad');
      pressed.disabled = false;
    }
    draw();
  });
  submit.disabled = !isNext || !state.send;
  submit.title = !state.send ? 'Log in with a wallet to submit' : isNext ? '' : 'After the one before it';
  return submit;
}

function transaction(hash) {
  const shown = document.createElement('span');
  shown.textContent = shortHash(hash);
  shown.title = hash ?? '';
  return shown;
}

function drawPause() {
  const isPaused = chain() && shown.paused[token(form.token.value)?.ledger];
  $('withdrawals-paused').hidden = !isPaused;
  $('withdraw-ask').disabled = Boolean(isPaused);
  $('withdraw-ask').textContent = state.token ? 'Withdraw' : 'Log in to withdraw';
}

form.token.onchange = drawPause;

form.onsubmit = async (event) => {
  event.preventDefault();
  const { token: login } = state;
  if (!login) return $('login').click();
  const { ledger } = token(form.token.value);
  const body = { token: form.token.value, amount: form.amount.value.trim() };
  $('withdraw-ask').disabled = true;
  try {
    const { amount } = await request('POST', REQUESTS[ledger], { token: login, body });
    form.amount.value = '';
    say($('withdraw-answer'), `${amount} ${body.token} are yours on the chain once you submit them`, 'good');
    await askWithdrawals();
  } catch (error) {
    say($('withdraw-answer'), error.message, 'bad');
  }
  drawPause();
};
