// Moves USDT between the spot balance and the margin of the perpetual account.
import { useState } from 'preact/hooks';
import { compare, fixed, isPositive, plain } from '../../lib/decimal';
import { exact } from '../../lib/format';
import { transfer } from '../../live/trade';
import { balances, liveMargin } from '../../store/account';
import { Field, Segmented } from '../ui';
import { loadTransfers } from './Histories';

export function TransferForm({ close }: { close: () => void }) {
  const [direction, setDirection] = useState<'to_perp' | 'to_spot'>('to_perp');
  const [amount, setAmount] = useState('');
  const [isTried, setTried] = useState(false);
  const spot = balances.value.find(({ token }) => token === 'USDT')?.available ?? '0';
  const most = plain(fixed(direction === 'to_perp' ? spot : liveMargin.value?.withdrawable ?? '0', 6));
  const fault = !isPositive(amount) ? 'Enter the amount.' : compare(amount, most) > 0 ? `At most ${most} USDT.` : null;
  return (
    <form id="transfer-form" onSubmit={(event) => {
      event.preventDefault();
      setTried(true);
      if (fault) return;
      void transfer(direction, amount).then((isDone) => {
        if (!isDone) return;
        close();
        void loadTransfers();
      });
    }}>
      <Segmented label="Direction" name="direction" value={direction} onChoose={setDirection} options={[['to_perp', 'Spot → Perpetual'], ['to_spot', 'Perpetual → Spot']]} />
      <Field label="Amount" name="transfer-amount" value={amount} unit="USDT" fault={isTried ? fault : null} onInput={setAmount} />
      <p class="line"><span class="soft">Can be moved</span><button type="button" class="link" onClick={() => setAmount(most)}>{exact(most)} USDT</button></p>
      <button id="transfer-sure" type="submit" class="strong tall">Transfer</button>
    </form>
  );
}
