// Deposits by the account's own transactions: the right chain, an allowance for the vault where it has too little, the deposit.
import { computed, effect, signal } from '@preact/signals';
import { chainAccess, session, type Ask, type ChainAccess } from '../store/session';
import type { DepositToken, Place } from './deposits';
import {
  allowanceCall, approveCall, balanceCall, baseUnits, depositCall, isPausedCall, onChain, readNumber, refusalOf, unitsText,
} from './wallet';

const ASK_MS = 500;
// A node may show a block before what is in it.
const LOOKS = 5;
const CHAIN = 0, ALLOW = 1, DEPOSIT = 2;

export interface Step {
  text: string;
  state: 'to come' | 'now' | 'done' | 'failed';
}

// A deposit that was sent here and what is known of it.
export interface Sent {
  hash: string;
  token: string;
  amount: string;
  at: number;
  block: number | null;
  hasFailed: boolean;
  isListed: boolean;
}

interface Receipt {
  blockNumber: string;
  status: string;
}

interface Held {
  login: string;
  token: string;
  units?: bigint;
  fault?: string;
}

// Whatever is being sent; another object, or none, once it was given up.
interface Run {
  one: DepositToken;
  text: string;
  units: bigint;
  amount: string;
  vault: string;
  chain: number;
  at: number;
  isAllowed: boolean;
  login: string;
  address: string;
  access: ChainAccess;
}

export const place = signal<Place | null>(null);
export const symbol = signal('');
export const amount = signal('');
export const steps = signal<Step[]>([]);
export const answer = signal<[mood: string, text: string]>(['', '']);
export const sent = signal<Sent[]>([]);
const run = signal<Run | null>(null);
// What the wallet was found to have of a token, or why that is not known.
const held = signal<Held | null>(null);
let isLooking = false;

export const isSending = computed(() => run.value !== null);
export const token = computed(() => place.value?.tokens.find((one) => one.symbol === symbol.value) ?? null);
export const heldHere = computed(() => {
  const [one, now, by] = [token.value, held.value, session.value];
  return one && now && by && now.token === one.address && now.login === by.token ? now : null;
});

// Where another login begins, or none.
export function forget(): void {
  place.value = null;
  held.value = null;
  run.value = null;
  sent.value = [];
  steps.value = [];
  amount.value = symbol.value = '';
  answer.value = ['', ''];
}

// Takes what the exchange says of where deposits go, and looks what the wallet has.
export function takePlace(where: Place): void {
  place.value = where;
  if (!where.tokens.some((one) => one.symbol === symbol.value)) symbol.value = where.tokens[0]?.symbol ?? '';
  void look();
}

effect(() => {
  if (token.value) void look();
});

// A wallet may take its time: nothing else of the page waits for it.
async function look(): Promise<void> {
  const [by, one, access] = [session.peek(), token.peek(), chainAccess.peek()];
  if (!access || !one || !by || isLooking) return;
  isLooking = true;
  const take = (found: Partial<Held>): void => {
    if (session.peek()?.token === by.token) held.value = { login: by.token, token: one.address, ...found };
  };
  try {
    take(await read(access.ask, by.address, one.address));
    const looked = await Promise.all(sent.peek().map((mine) => (mine.isListed ? mine : lookAt(access.ask, mine))));
    const known = new Map(looked.map((mine) => [mine.hash, mine]));
    sent.value = sent.peek().map((mine) => ({ ...mine, block: known.get(mine.hash)?.block ?? null, hasFailed: known.get(mine.hash)?.hasFailed ?? false }));
  } catch (error) {
    take({ fault: refusalOf(error) });
  } finally {
    isLooking = false;
  }
  // Another was chosen meanwhile.
  if (token.peek() && token.peek()?.address !== one.address) void look();
}

async function read(ask: Ask, address: string, contract: string): Promise<Partial<Held>> {
  const [chain, wanted] = [Number(await ask('eth_chainId')), place.peek()?.chain_id];
  if (chain !== wanted) return { fault: `your wallet is on chain ${chain}; it is asked to change to ${wanted}` };
  return { units: await readNumber(ask, balanceCall(contract, address)) };
}

// Also of what was in a block: that may be taken back.
async function lookAt(ask: Ask, mine: Sent): Promise<Sent> {
  const receipt = await ask<Receipt | null>('eth_getTransactionReceipt', mine.hash);
  return { ...mine, block: receipt ? Number(receipt.blockNumber) : null, hasFailed: receipt !== null && Number(receipt.status) !== 1 };
}

// What is wrong with the amount, or nothing.
export const fault = computed(() => {
  const [one, text] = [token.value, amount.value];
  if (!one || !text) return '';
  try {
    const units = baseUnits(text, one.decimals);
    if (units === 0n) return 'an amount is more than 0';
    const has = heldHere.value?.units;
    return has !== undefined && units > has ? `your wallet has ${unitsText(has, one.decimals)} ${one.symbol}` : '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
});

export function takeAll(): void {
  const [one, has] = [token.value, heldHere.value?.units];
  if (one && has !== undefined) amount.value = unitsText(has, one.decimals);
}

export function stopWaiting(): void {
  run.value = null;
  steps.value = [];
  answer.value = ['', 'Nothing more is asked of your wallet. What it has sent goes on, and what it still asks can be refused there.'];
}

function step(own: Run, index: number, text: string, state: Step['state'] = 'now'): void {
  if (own === run.peek()) steps.value = steps.peek().map((line, at) => (at === index ? { text, state } : line));
}

class GivenUp extends Error {}

function goOn(own: Run): void {
  if (own !== run.peek() || session.peek()?.token !== own.login) throw new GivenUp();
}

const wait = (): Promise<void> => new Promise((next) => setTimeout(next, ASK_MS));

export async function deposit(): Promise<void> {
  const [one, by, access, where] = [token.peek(), session.peek(), chainAccess.peek(), place.peek()];
  if (!one || !by || !access || !where || run.peek() || fault.peek()) return;
  const text = amount.peek();
  const own: Run = {
    one, text, units: baseUnits(text, one.decimals), amount: `${text} ${one.symbol}`, vault: where.vault_address, chain: where.chain_id,
    at: CHAIN, isAllowed: false, login: by.token, address: by.address, access,
  };
  run.value = own;
  sent.value = sent.peek().filter(({ hasFailed }) => !hasFailed);
  steps.value = [`Chain ${own.chain}`, `Let the vault take ${own.amount}`, `Deposit ${own.amount}`].map((line) => ({ text: line, state: 'to come' }));
  answer.value = ['', ''];
  try {
    const hash = await carryOut(own);
    amount.value = '';
    answer.value = ['good', `sent as ${hash}; credited with ${where.confirmations} blocks on it`];
  } catch (error) {
    if (own !== run.peek() || error instanceof GivenUp) return;
    step(own, own.at, `${steps.peek()[own.at]?.text.replace(/:.*/, '')}: not done`, 'failed');
    const again = own.isAllowed ? ' The vault may take it already: Deposit goes on from there.' : ' Deposit tries again.';
    answer.value = ['bad', `${refusalOf(error)}.${again}`];
  } finally {
    if (own === run.peek()) run.value = null;
    void look();
  }
}

async function carryOut(own: Run): Promise<string> {
  const { one, units, amount: what, vault, address, access: { ask, send } } = own;
  step(own, CHAIN, `Chain ${own.chain}: looked for in your wallet`);
  await onChain(ask, own.chain, () => step(own, CHAIN, `Chain ${own.chain}: confirm the change in your wallet`));
  goOn(own);
  const balance = await readNumber(ask, balanceCall(one.address, address));
  held.value = { login: own.login, token: one.address, units: balance };
  if (balance < units) throw new Error(`your wallet has ${unitsText(balance, one.decimals)} ${one.symbol}`);
  if (await readNumber(ask, isPausedCall(vault))) throw new Error('the vault is paused on the chain: it takes nothing just now');
  step(own, CHAIN, `Chain ${own.chain}`, 'done');

  own.at = ALLOW;
  const allowed = (): Promise<bigint> => readNumber(ask, allowanceCall(one.address, address, vault));
  const before = await allowed();
  goOn(own);
  if (before < units) {
    // Some tokens want an allowance taken back before it changes.
    if (before > 0n) await allow(own, 0n, 'Take back what the vault was let before', async () => (await allowed()) === 0n);
    await allow(own, units, `Let the vault take ${what}`, async () => (await allowed()) >= units);
  }
  step(own, ALLOW, `The vault may take ${what}`, 'done');
  own.isAllowed = true;

  own.at = DEPOSIT;
  step(own, DEPOSIT, `Deposit ${what}: confirm in your wallet`);
  const hash = await send(depositCall(vault, one.address, units));
  // Sent is sent, also where somebody has stopped waiting for it.
  if (session.peek()?.token === own.login) {
    sent.value = [...sent.peek(), { hash, token: one.symbol, amount: own.text, at: Date.now(), block: null, hasFailed: false, isListed: false }];
  }
  goOn(own);
  step(own, DEPOSIT, `Deposit ${what}: sent`, 'done');
  return hash;
}

// Waits for what the transaction is for, and not for its hash, which changes where a wallet sends it again for a higher fee.
async function allow(own: Run, units: bigint, text: string, isSo: () => Promise<boolean>): Promise<void> {
  const { one, vault, access: { ask, send } } = own;
  step(own, ALLOW, `${text}: confirm in your wallet`);
  const hash = await send(approveCall(one.address, vault, units));
  step(own, ALLOW, `${text}: sent, waits for a block`);
  for (let looks = 0; ;) {
    goOn(own);
    if (await isSo()) return;
    const receipt = await ask<Receipt | null>('eth_getTransactionReceipt', hash);
    if (receipt && Number(receipt.status) !== 1) throw new Error(`the transaction ${hash} failed`);
    if (receipt && (looks += 1) > LOOKS) throw new Error('the vault may take less than was asked for');
    await wait();
  }
}
