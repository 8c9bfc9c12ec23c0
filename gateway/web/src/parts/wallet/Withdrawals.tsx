// Withdrawals: the form that asks for them, and the list with what is to be submitted.
import { useEffect, useState } from 'preact/hooks';
import { askWithdrawals, paused, submit, tokenOf, withdraw, withdrawalAnswer, withdrawalLines, type WithdrawalLine } from '../../chain/withdrawals';
import { minute, shortHash } from '../../lib/format';
import { chainAccess, isLoginOpen, session, settings } from '../../store/session';
import { Table } from '../ui';

const ASK_MS = 2_000;

export function Withdrawals() {
  const token = session.value?.token;
  useEffect(() => {
    const ask = (): void => void askWithdrawals().catch(() => {});
    ask();
    const timer = setInterval(ask, ASK_MS);
    return () => clearInterval(timer);
  }, [token]);
  if (!settings.value?.withdrawals) return null;
  const [mood, text] = withdrawalAnswer.value;
  const lines = withdrawalLines.value;
  return (
    <section id="withdrawals" class="card" aria-label="Withdrawals">
      <h2>Withdrawals</h2>
      <WithdrawalForm />
      <p id="withdraw-answer" class={`note ${mood}`} role="status">{text}</p>
      <p class="note">
        The exchange signs what you ask for; your own transaction takes it from the vault, which pays nobody but you. What is not
        submitted within a day comes back.
      </p>
      <Table label="List of withdrawals" id="withdrawal-rows" head={['Token', 'Amount', 'State', 'Asked', 'Transaction']}>
        {lines.map((line) => (
          <tr key={line.id} data-withdrawal={line.id} data-state={line.word}>
            <td>{line.token}</td><td>{line.amount}</td><td class={line.mood}>{line.text}</td><td>{minute(line.at)}</td>
            <td>{line.open ? <Submit line={line} /> : <span title={line.hash ?? ''}>{shortHash(line.hash)}</span>}</td>
          </tr>
        ))}
      </Table>
      <p id="no-withdrawals" class="note">{lines.length || !session.value ? '' : 'No withdrawals.'}</p>
    </section>
  );
}

function Submit({ line }: { line: WithdrawalLine }) {
  const [isBusy, setBusy] = useState(false);
  const why = !chainAccess.value ? 'Log in with a wallet to submit' : line.isNext ? '' : 'After the one before it';
  return (
    <button type="button" class="outline small" title={why} disabled={isBusy || Boolean(why)} onClick={() => {
      setBusy(true);
      if (line.open) void submit(line.open).finally(() => setBusy(false));
    }}>Submit</button>
  );
}

function WithdrawalForm() {
  const tokens = settings.value?.withdrawals?.tokens ?? [];
  const [token, setToken] = useState(tokens[0]?.token ?? '');
  const [amount, setAmount] = useState('');
  const [isBusy, setBusy] = useState(false);
  const isPaused = Boolean(paused.value[tokenOf(token)?.ledger ?? 'spot']);
  return (
    <>
      <form id="withdraw" class="inline" onSubmit={(event) => {
        event.preventDefault();
        if (!session.value) {
          isLoginOpen.value = true;
          return;
        }
        setBusy(true);
        void withdraw(token, amount).then((isTaken) => {
          setBusy(false);
          if (isTaken) setAmount('');
        });
      }}>
        <label class="box">
          <span>Token</span>
          <select name="token" value={token} onChange={(event) => setToken(event.currentTarget.value)}>
            {tokens.map((one) => <option key={one.token} value={one.token}>{one.token} ({one.ledger})</option>)}
          </select>
        </label>
        <label class="box">
          <span>Amount</span>
          <input name="amount" inputMode="decimal" autocomplete="off" placeholder="0" required value={amount} onInput={(event) => setAmount(event.currentTarget.value.trim())} />
        </label>
        <button id="withdraw-ask" class="strong" type="submit" disabled={isPaused || isBusy}>{session.value ? 'Withdraw' : 'Log in to withdraw'}</button>
      </form>
      {isPaused && <p id="withdrawals-paused" class="note bad" role="status">Withdrawals are paused.</p>}
    </>
  );
}
