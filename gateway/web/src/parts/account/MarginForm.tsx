// Margin is added to an isolated position or taken from it; where it would be liquidated then is said before.
import { useEffect, useState } from 'preact/hooks';
import { readBrackets, type Bracket } from '../../api/exchange';
import { compare, decimalsOf, fixed, isPositive, plain } from '../../lib/decimal';
import { exact, grouped, money } from '../../lib/format';
import { adjustMargin } from '../../live/trade';
import { liveMargin, livePositions } from '../../store/account';
import { liquidationPrice, removable } from '../../store/margin';
import type { Market } from '../../store/types';
import { Line } from '../ticket/Preview';
import { Field, Segmented } from '../ui';

const DECIMALS = 6;

export function MarginForm({ of, close }: { of: Market; close: () => void }) {
  const [kind, setKind] = useState<'add' | 'remove'>('add');
  const [amount, setAmount] = useState('');
  const [isTried, setTried] = useState(false);
  const [brackets, setBrackets] = useState<Bracket[]>([]);
  useEffect(() => void readBrackets(of.symbol).then(setBrackets, () => {}), [of.symbol]);
  const position = livePositions.value.find(({ symbol }) => symbol === of.symbol);
  if (!position?.isIsolated) return <p class="note">There is no isolated position of {of.symbol} any more.</p>;
  const free = kind === 'add' ? liveMargin.value?.withdrawable ?? '0' : removable(position).toFixed(DECIMALS + 2);
  const most = plain(fixed(free, DECIMALS));
  const fault = !isPositive(amount) ? 'Enter the amount.' : decimalsOf(amount) > DECIMALS ? `At most ${DECIMALS} decimals.` : null;
  const decimals = decimalsOf(of.tick);
  const then = fault ? null : Number(position.isolatedWallet) + (kind === 'add' ? 1 : -1) * Number(amount);
  const price = then === null || !brackets.length ? null : liquidationPrice(position, then, brackets);
  return (
    <form id="margin-form" onSubmit={(event) => {
      event.preventDefault();
      setTried(true);
      if (!fault) void adjustMargin(of.symbol, amount, kind).then((isDone) => isDone && close());
    }}>
      <Segmented label="Add or remove" name="margin-kind" value={kind} onChoose={setKind} options={[['add', 'Add'], ['remove', 'Remove']]} />
      <Field label="Amount" name="margin-amount" value={amount} unit={of.quote} fault={isTried ? fault : null} onInput={setAmount} />
      <p class="line"><span class="soft">{kind === 'add' ? 'Can be added' : 'Can be removed'}</span><button type="button" class="link" onClick={() => setAmount(most)}>{exact(most)} {of.quote}</button></p>
      {!fault && compare(amount, most) > 0 && <p class="note warn">More than can be {kind === 'add' ? 'added' : 'removed'} now.</p>}
      <dl class="lines" id="margin-preview" aria-live="polite">
        <Line name="Margin">{money(position.isolatedWallet)}{then !== null && ` → ${money(then.toFixed(DECIMALS))}`} {of.quote}</Line>
        <Line name="Liquidation" mood="warn">
          {isPositive(position.liquidation) ? grouped(position.liquidation, decimals) : '–'}
          {price !== null && ` → ${price > 0 ? grouped(price.toFixed(decimals), decimals) : 'none'}`}
        </Line>
      </dl>
      <button id="margin-sure" type="submit" class="strong tall">{kind === 'add' ? 'Add margin' : 'Remove margin'}</button>
    </form>
  );
}
