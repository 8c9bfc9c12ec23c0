// Login by a wallet's signature: the browser's wallet, or on test deployments a pasted key.
import { enter, logOut } from './account.js';
import { request } from './api.js';
import { addressOf, parseKey, signLogin, toHex } from './sign.js';
import { $, say, state } from './view.js';
import { askNode, askWallet, refusalOf, sendByKey, sendByWallet } from './wallet.js';

export function openLogin() {
  say($('login-answer'), '');
  $('wallet').disabled = !window.ethereum;
  $('wallet').textContent = window.ethereum ? 'Browser wallet' : 'No browser wallet found';
  $('test-login').hidden = !state.settings.test_deployment;
  $('login-dialog').showModal();
}

// `send` gives the account's own transactions to the chain, and `ask` reads there.
async function logIn(address, sign, { send = null, ask = null } = {}) {
  try {
    const nonce = await request('GET', `/api/v1/auth/nonce?address=${address}`);
    const signature = await sign(nonce);
    const answer = await request('POST', '/api/v1/auth/login', {
      body: { address, nonce: nonce.nonce, signature, version: nonce.version },
    });
    Object.assign(state, { token: answer.token, address: answer.address, send, ask });
    $('key').value = '';
    $('login-dialog').close();
    await enter();
  } catch (error) {
    say($('login-answer'), refusalOf(error), 'bad');
  }
}

$('login').onclick = () => (state.token ? logOut() : openLogin());

$('wallet').onclick = async () => {
  try {
    const [address] = await window.ethereum.request({ method: 'eth_requestAccounts' });
    await logIn(address, ({ typed_data }) =>
      window.ethereum.request({ method: 'eth_signTypedData_v4', params: [address, JSON.stringify(typed_data)] }),
    { send: (call) => sendByWallet(address, call, state.settings.chain_id), ask: askWallet });
  } catch (error) {
    say($('login-answer'), refusalOf(error), 'bad');
  }
};

$('new-key').onclick = () => {
  $('key').type = 'text';
  $('key').value = toHex(crypto.getRandomValues(new Uint8Array(32))).slice(2);
  say($('login-answer'), 'A new wallet has no balances until the administrator credits it.');
};

$('with-key').onclick = () => {
  try {
    const key = parseKey($('key').value);
    const { chain_id: chain, node } = state.settings;
    const from = addressOf(key);
    const ask = node && askNode(node);
    const way = ask ? { send: (call) => sendByKey(key, from, call, chain, ask), ask } : {};
    logIn(from, ({ typed_data }) => signLogin(key, chain, typed_data.message), way);
  } catch (error) {
    say($('login-answer'), error.message, 'bad');
  }
};

// Enter in the field logs in instead of closing the dialog.
$('key').onkeydown = (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  $('with-key').click();
};
