// Balances of both ledgers.
import { add, subtract } from '../../lib/decimal';
import { exact, money } from '../../lib/format';
import { balances, isAccountKnown, liveMargin } from '../../store/account';
import { openDialog } from '../../store/view';
import { Table } from '../ui';
import { TransferForm } from './TransferForm';

export function Assets() {
  const now = liveMargin.value;
  return (
    <Table
      label="List of assets" id="balances" left={2} head={['Token', 'Ledger', 'Available', 'Frozen', 'Total', '']}
      empty={balances.value.length || now ? null : isAccountKnown.value ? 'No balances.' : 'Loading…'}
    >
      {now && (
        <tr data-balance="margin">
          <td>USDT</td><td>Perpetual</td><td>{money(now.available)}</td><td>{money(subtract(now.equity, now.available))}</td><td>{money(now.equity)}</td>
          <td class="acts"><TransferButton /></td>
        </tr>
      )}
      {balances.value.map(({ token, available, frozen }) => (
        <tr key={token} data-balance={token}>
          <td>{token}</td><td>Spot</td><td>{exact(available)}</td><td>{exact(frozen)}</td><td>{exact(add(available, frozen))}</td>
          <td class="acts">{token === 'USDT' && <TransferButton />}</td>
        </tr>
      ))}
    </Table>
  );
}

const TransferButton = () => (
  <button type="button" class="outline small" onClick={() => openDialog('Transfer USDT', (close) => <TransferForm close={close} />)}>Transfer</button>
);
