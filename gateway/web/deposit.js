// Deposits from the chain: what of the account's is on its way, the blocks on it, and the history. The exchange credits by itself,
// whoever has sent it; deposit_form.js sends.
import { request } from './api.js';
import { drawForm, drawPlace, forget, sentHere } from './deposit_form.js';
import { $, day, row, say, shortHash, state } from './view.js';

const LIST = '/api/v1/spot/deposits';
const ROWS = 50;
const ROWS_MAX = 200;
// A transaction that is in no block by then may have been replaced in the wallet.
const LOST_MS = 60_000;

const NOTHING = { login: null, pending: [], history: [], isMore: false };
let shown = NOTHING;
let where;
let drawn;

// Once the settings are known.
export function startDeposits() {
  const { deposits } = state.settings;
  $('deposits').hidden = false;
  $('no-vault').hidden = deposits;
  $('deposit-parts').hidden = !deposits;
  draw();
}

// The own deposits, and where they go. Answers for another login are dropped.
export async function askDeposits() {
  const { token: login } = state;
  if (!state.settings.deposits) return;
  if (shown.login !== login) {
    [shown, where] = [{ ...NOTHING, login }, undefined];
    forget();
  }
  if (!login) return draw();
  const address = await request('GET', `${LIST}/address`, { token: login });
  // In this order: what is credited between the two is in both, and not in neither.
  const pending = await readPending(login);
  const page = await readPage(login, `status=credited&limit=${ROWS}`);
  if (state.token !== login) return;
  where = address;
  shown = { ...joined(pending, page), login };
  drawPlace(where);
  draw();
}

const readPage = (login, query) => request('GET', `${LIST}?${query}`, { token: login });

async function readPending(login) {
  const pending = [];
  for (let cursor = ''; ;) {
    const page = await readPage(login, `status=pending&limit=${ROWS_MAX}${cursor}`);
    pending.push(...page);
    if (page.length < ROWS_MAX) return pending;
    cursor = `&cursor=${page.at(-1).id}`;
  }
}

// The newest page of the history, before the older ones that were read already where they go on from it.
function joined(pending, page) {
  const known = shown;
  const ids = new Set(page.map(({ id }) => id));
  const open = new Set(pending.map(({ id }) => id));
  // What was held long ago is credited in its old place, which may be on a page that was read before.
  const isLost = known.pending.some(({ id, held }) => held && !open.has(id) && !ids.has(id));
  const isJoined = !isLost && known.history.some(({ id }) => ids.has(id));
  const older = isJoined ? known.history.filter(({ id }) => !ids.has(id)) : [];
  return {
    pending: pending.filter(({ id }) => !ids.has(id)),
    history: [...page, ...older],
    isMore: isJoined ? known.isMore : page.length === ROWS,
  };
}

$('deposits-older').onclick = async (event) => {
  const { login, history } = shown;
  event.target.disabled = true;
  try {
    const page = await readPage(login, `status=credited&limit=${ROWS}&cursor=${history.at(-1).id}`);
    if (shown.login !== login) return;
    const ids = new Set(shown.history.map(({ id }) => id));
    shown = { ...shown, history: [...shown.history, ...page.filter(({ id }) => !ids.has(id))], isMore: page.length === ROWS };
    draw();
  } catch (error) {
    say($('no-deposits'), error.message, 'bad');
  } finally {
    event.target.disabled = false;
  }
};

function draw() {
  drawForm();
  const listed = new Set([...shown.pending, ...shown.history].map(({ tx_hash: hash }) => hash));
  for (const one of sentHere()) one.isListed = listed.has(one.hash);
  const sent = sentHere().filter(({ isListed }) => !isListed);
  const lines = [
    ...sent.map((one) => line(one.token, one.amount, onTheWay(one), one.at / 1_000, one.hash)),
    ...[...shown.pending, ...shown.history].map((one) => line(one.token, one.amount, standing(one), one.seen_at, one.tx_hash, one.id)),
  ];
  $('deposits-older').hidden = !shown.isMore;
  // Rows that are as before stay, so that what is selected in them does.
  const now = JSON.stringify([lines, Boolean(state.token), Boolean(where)]);
  if (now === drawn) return;
  drawn = now;
  $('deposit-rows').replaceChildren(...lines.map(({ token, amount, word, text, mood, at, hash, id }) => {
    const tr = row([short(token), amount, text, day(at), short(hash)], ['', '', mood]);
    Object.assign(tr.dataset, { state: word, ...(id && { deposit: id }) });
    return tr;
  }));
  say($('no-deposits'), !state.token ? 'Log in to see your deposits.' : lines.length || !where ? '' : 'No deposits.');
}

const line = (token, amount, [word, text, mood], at, hash, id) => ({ token, amount, word, text, mood, at, hash, id });

// A hash, or the contract of a token that nobody knows, is shown in part; whole when pointed at.
function short(text) {
  if (!text.startsWith('0x')) return text;
  const span = document.createElement('span');
  span.textContent = shortHash(text);
  span.title = text;
  return span;
}

// A word for the state, what is said of it, and its colour: of what the exchange knows,
function standing(one) {
  if (one.status === 'credited') return ['credited', `credited ${day(one.credited_at)}`, 'up'];
  if (one.held) return ['held', `held: ${one.held}`, ''];
  return ['pending', `${one.confirmations} of ${where.confirmations} confirmations`, ''];
}

// and of what was sent here and the exchange does not show.
function onTheWay({ at, block, hasFailed }) {
  if (hasFailed) return ['failed', 'failed: nothing was deposited', 'down'];
  if (block) return ['mined', `in block ${block}, not seen by the exchange yet`, ''];
  if (Date.now() - at > LOST_MS) return ['sent', 'in no block yet: your wallet says what became of it', ''];
  return ['sent', 'sent, waits for a block', ''];
}
