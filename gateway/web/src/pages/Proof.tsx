// What the venue owes and holds, for anyone to see; and for whoever is logged in, the check of the own part in the browser.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import * as exchange from '../api/exchange';
import { checkLeaf } from '../chain/proof';
import { add, compare } from '../lib/decimal';
import { clock, dayAndTime, exact, money, shortAddress } from '../lib/format';
import { liquidations } from '../live/market';
import { session } from '../store/session';
import { refusalWords } from '../words/refusals';
import { Fact, Table } from '../parts/ui';

const ASK_MS = 10_000;
const proof = signal<exchange.Proof | null>(null);
const fund = signal<string | null>(null);
const fault = signal<string | null>(null);

async function load(): Promise<void> {
  try {
    const [now, funds] = await Promise.all([exchange.readProof(), exchange.readFund()]);
    proof.value = now;
    fund.value = funds.flatMap(({ assets }) => assets).reduce((sum, { marginBalance }) => add(sum, marginBalance), '0');
    fault.value = null;
  } catch (error) {
    const words = refusalWords(error);
    fault.value = `${words.title}. ${words.text}`;
  }
}

export function Proof() {
  useEffect(() => {
    void load();
    const timer = setInterval(() => void load(), ASK_MS);
    return () => clearInterval(timer);
  }, []);
  const now = proof.value;
  return (
    <main class="page">
      <h1>Ledger proof</h1>
      <p class="note">Everything that the venue owes, by token, beside what its vaults hold on the chain. Read again every ten seconds; no login is needed.</p>
      {fault.value && <p class="note bad" role="alert">{fault.value}</p>}
      <section class="card" aria-label="State">
        <h2>State</h2>
        {now ? (
          <dl class="facts">
            <Fact name="Sequence" id="proof-sequence">{now.sequence.toLocaleString('en')}</Fact>
            <Fact name="State hash"><code>{now.state_hash}</code></Fact>
            <Fact name="Root of the tree"><code>{now.root}</code></Fact>
            <Fact name="Block">{now.block ?? 'no chain'}</Fact>
            <Fact name="At">{dayAndTime(now.time)}</Fact>
            <Fact name="Insurance fund" id="fund">{money(fund.value)} USDT</Fact>
          </dl>
        ) : <p class="empty">Loading…</p>}
      </section>
      <section class="card" aria-label="Both sides">
        <h2>Both sides of the ledger</h2>
        <Table label="Owed and held" id="proof-rows" head={['Token', 'Spot', 'Perpetual', 'Funds', 'Fees', 'In flight', 'Owed', 'Unbacked test credits', 'Held', 'Balance']}
          empty={now && !now.tokens.length ? 'Nothing was owed when this proof was made: the next comes within a minute.' : null}>
          {now?.tokens.map((row) => {
            const isMissing = compare(row.missing, '0') > 0;
            const sum = [row.spot, row.perpetual, row.funds, row.fees, row.in_flight].reduce(add, '0');
            return (
              <tr key={row.token}>
                <td>{row.token}</td><td>{exact(row.spot)}</td><td>{exact(row.perpetual)}</td><td>{exact(row.funds)}</td><td>{exact(row.fees)}</td><td>{exact(row.in_flight)}</td>
                <td title={compare(sum, row.owed) === 0 ? 'The parts sum to it' : `The parts sum to ${sum}`}>{exact(row.owed)}</td>
                <td>{exact(row.unbacked)}</td><td>{row.held === null ? 'no vault' : exact(row.held)}</td>
                <td class={isMissing ? 'down' : 'up'}>{isMissing ? `${exact(row.missing)} missing` : 'covered'}</td>
              </tr>
            );
          })}
        </Table>
      </section>
      <OwnPart />
      <Liquidations />
    </main>
  );
}

function OwnPart() {
  const [leaves, setLeaves] = useState<exchange.OwnLeaf[] | null>(null);
  const [failed, setFailed] = useState('');
  const by = session.value;
  const check = async (): Promise<void> => {
    if (!by) return;
    try {
      setLeaves((await exchange.readOwnProof(by.token)).leaves);
      setFailed('');
    } catch (error) {
      setFailed(refusalWords(error).title);
    }
  };
  return (
    <section class="card" aria-label="Your part">
      <h2>Your part</h2>
      {!by ? <p class="note">Log in to check that your balances are in the sums above.</p> : (
        <>
          <p class="note">Your leaf is hashed up to the root in this browser: what the venue says is not taken on trust.</p>
          <button id="check-own" type="button" class="outline" onClick={() => void check()}>Check now</button>
          {failed && <p class="note bad">{failed}</p>}
          {leaves?.map((leaf) => {
            const isRight = checkLeaf(by.address, leaf);
            return (
              <p key={leaf.token} class="note">
                <strong class={isRight ? 'up' : 'down'}>{isRight ? '✓ in the sum' : '✗ does not lead to the root'}</strong> {exact(leaf.amount)} {leaf.token} of {exact(leaf.sum)}, {leaf.path.length} steps
              </p>
            );
          })}
        </>
      )}
    </section>
  );
}

const REASONS: Record<string, string> = { BOOK: 'Sold into the book', FUND: 'Taken over by the fund', ADL: 'Auto-deleveraged', UNWIND: 'Unwound by the fund' };

function Liquidations() {
  return (
    <section class="card" aria-label="Liquidations">
      <h2>Liquidations as they happen</h2>
      <Table
        label="List of liquidations" id="liquidations" left={4} head={['Time', 'Market', 'Account', 'Side', 'Size', 'Price', 'How', 'Fund']}
        empty={liquidations.value.length ? null : 'None since this page was opened.'}
      >
        {liquidations.value.map((row, at) => (
          <tr key={at}>
            <td>{clock(row.ts)}</td><td>{row.symbol}</td><td>{row.account.startsWith('0x') ? shortAddress(row.account) : row.account}</td>
            <td class={row.side.toLowerCase() === 'buy' ? 'up' : 'down'}>{row.side}</td><td>{exact(row.quantity)}</td><td>{exact(row.price)}</td>
            <td>{REASONS[row.reason] ?? row.reason}</td><td>{exact(row.fund_change)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
