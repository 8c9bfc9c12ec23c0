// Deposits: the form that sends, its steps, what somebody needs who does it by hand, and the list.
import { useEffect, useRef, useState } from 'preact/hooks';
import { askDeposits, depositFault, depositLines, isMoreDeposits, olderDeposits } from '../../chain/deposits';
import * as sending from '../../chain/sending';
import { baseUnits, unitsText } from '../../chain/wallet';
import { minute, shortHash } from '../../lib/format';
import { chainAccess, isLoginOpen, session, settings } from '../../store/session';
import { Fact, Table } from '../ui';

const ASK_MS = 2_000;

export function Deposits() {
  const token = session.value?.token;
  useEffect(() => {
    const ask = (): void => void askDeposits().catch(() => {});
    ask();
    const timer = setInterval(ask, ASK_MS);
    return () => clearInterval(timer);
  }, [token]);
  if (!settings.value?.deposits) {
    return (
      <section id="deposits" class="card" aria-label="Deposits">
        <h2>Deposits</h2>
        <p id="no-vault" class="note">This deployment has no vault: nothing can be deposited here.</p>
      </section>
    );
  }
  return (
    <section id="deposits" class="card" aria-label="Deposits">
      <h2>Deposits</h2>
      <DepositForm />
      <p class="note">
        Your own transaction gives it to the vault, which says so on the chain; then it is in your spot balance. What is sent to the
        vault's address otherwise is nobody's.
      </p>
      <ByHand />
      <DepositList />
    </section>
  );
}

function DepositForm() {
  const field = useRef<HTMLInputElement>(null);
  const [one, where, has] = [sending.token.value, sending.place.value, sending.heldHere.value];
  const isLoggedIn = session.value !== null;
  const cannotSend = isLoggedIn && !chainAccess.value;
  const isPaused = Boolean(one?.deposits_paused);
  const isLocked = !one || sending.isSending.value;
  const fault = sending.fault.value;
  const free = one && has ? (has.units !== undefined ? `${unitsText(has.units, one.decimals)} ${one.symbol} in your wallet` : has.fault ?? '') : '';
  const [mood, text] = sending.answer.value;
  return (
    <>
      <form id="deposit" class="inline" onSubmit={(event) => {
        event.preventDefault();
        if (!isLoggedIn) isLoginOpen.value = true;
        else if (fault) field.current?.focus();
        else void sending.deposit();
      }}>
        <label class="box">
          <span>Token</span>
          <select name="token" disabled={isLocked} value={sending.symbol.value} onChange={(event) => { sending.symbol.value = event.currentTarget.value; }}>
            {where?.tokens.map(({ symbol }) => <option key={symbol} value={symbol}>{symbol}</option>)}
          </select>
        </label>
        <label class={fault ? 'box wrong' : 'box'}>
          <span>Amount</span>
          <input
            ref={field} name="amount" inputMode="decimal" autocomplete="off" placeholder="0" aria-describedby="deposit-fault deposit-free" required
            disabled={isLocked} aria-invalid={Boolean(fault)} value={sending.amount.value} onInput={(event) => { sending.amount.value = event.currentTarget.value.trim(); }}
          />
        </label>
        <button id="deposit-ask" class="strong" type="submit" disabled={sending.isSending.value || cannotSend || isPaused}>{isLoggedIn ? 'Deposit' : 'Log in to deposit'}</button>
      </form>
      <p id="deposit-fault" class="note bad" role="alert">{fault}</p>
      <p class="note">
        <span id="deposit-free">{free}</span>{' '}
        {has?.units !== undefined && has.units > 0n && !sending.isSending.value && <button id="deposit-all" type="button" class="link" onClick={sending.takeAll}>All of it</button>}
      </p>
      {isPaused && <p id="deposit-paused" class="note bad" role="status">Deposits of {one?.symbol} are paused: what arrives is held until they go on.</p>}
      {cannotSend && <p id="no-wallet" class="note">This login has no wallet that can send: log in with one, or deposit by hand.</p>}
      <ol id="deposit-steps" class="steps" aria-label="Steps of the deposit" aria-live="polite">
        {sending.steps.value.map((step, at) => <li key={at} data-state={step.state} aria-current={step.state === 'now' ? 'step' : undefined}>{step.text}</li>)}
      </ol>
      <p id="deposit-answer" class={`note ${mood}`} role="status">{text}</p>
      {sending.isSending.value && <button id="deposit-stop" type="button" class="outline" onClick={sending.stopWaiting}>Stop waiting</button>}
    </>
  );
}

// For whoever does it without a wallet in the browser.
function ByHand() {
  const [one, where] = [sending.token.value, sending.place.value];
  if (!one || !where) return null;
  let units = 'the amount';
  try {
    units = String(baseUnits(sending.amount.value, one.decimals));
  } catch {
    // Said beside the field.
  }
  return (
    <>
      <dl class="facts" id="deposit-facts">
        <Fact name="Chain" id="deposit-chain">{where.chain_id}</Fact>
        <Fact name="Vault"><code id="deposit-vault">{where.vault_address}</code></Fact>
        <Fact name={`Contract of ${one.symbol}`}><code id="deposit-contract">{one.address}</code></Fact>
        <Fact name="Decimals">{one.decimals}</Fact>
        <Fact name="Credited with">{where.confirmations} blocks on it</Fact>
        {where.former_vault_addresses.length > 0 && <Fact name="Former vaults, to be used no more"><code>{where.former_vault_addresses.join(' ')}</code></Fact>}
      </dl>
      <details id="deposit-hand">
        <summary>Without a browser wallet</summary>
        <p class="note">On that chain, with amounts in base units: first the contract of the token, by <code id="deposit-approve">approve({where.vault_address}, {units})</code></p>
        <p class="note">then the vault, by <code id="deposit-call">deposit({one.address}, {units})</code></p>
        <p class="note">or, from an account that is not the one logged in here, by <code id="deposit-for">depositFor({session.value?.address ?? ''}, {one.address}, {units})</code></p>
      </details>
    </>
  );
}

function DepositList() {
  const [isBusy, setBusy] = useState(false);
  const lines = session.value ? depositLines.value : [];
  const nothing = !session.value ? 'Log in to see your deposits.' : lines.length || !sending.place.value ? '' : 'No deposits.';
  // A hash, or the contract of a token that nobody knows, is shown in part; whole when pointed at.
  const short = (text: string) => (text.startsWith('0x') ? <span title={text}>{shortHash(text)}</span> : text);
  return (
    <>
      <Table label="List of deposits" id="deposit-rows" head={['Token', 'Amount', 'State', 'Seen', 'Transaction']}>
        {lines.map((line) => (
          <tr key={line.key} data-state={line.word} data-deposit={line.id ?? undefined}>
            <td>{short(line.token)}</td><td>{line.amount}</td><td class={line.mood}>{line.text}</td><td>{minute(line.at)}</td><td>{short(line.hash)}</td>
          </tr>
        ))}
      </Table>
      <p id="no-deposits" class={depositFault.value ? 'note bad' : 'note'}>{depositFault.value || nothing}</p>
      {session.value && isMoreDeposits.value && (
        <button id="deposits-older" type="button" class="outline" disabled={isBusy} onClick={() => {
          setBusy(true);
          void olderDeposits().finally(() => setBusy(false));
        }}>Older</button>
      )}
    </>
  );
}
