// Open positions at the marks of now, and what can be done with them.
import { useState } from 'preact/hooks';
import { absolute, compare, decimalsOf, divide, floorTo, isPositive, multiply } from '../../lib/decimal';
import { exact, grouped, mood, money, signed } from '../../lib/format';
import { close, protect, reverse } from '../../live/trade';
import { isAccountKnown, livePositions, openOrders } from '../../store/account';
import { markets, show } from '../../store/market';
import { openDialog } from '../../store/view';
import type { Market, Position } from '../../store/types';
import { Field, Segmented, Table } from '../ui';
import { isShown } from './AccountTabs';
import { MarginForm } from './MarginForm';

const marketOf = (symbol: string): Market | undefined => markets.value.find(({ key }) => key === `perpetual:${symbol}`);

export function Positions() {
  const rows = livePositions.value.filter(({ symbol }) => isShown('perpetual', symbol));
  return (
    <Table
      label="Positions" id="positions" head={['Market', 'Size', 'Value', 'Entry', 'Mark', 'Liquidation', 'Margin', 'Unrealised (ROE)', 'Realised', 'TP / SL', '']}
      empty={rows.length ? null : isAccountKnown.value ? 'No open positions.' : 'Loading…'}
    >
      {rows.map((position) => <Row key={position.symbol} position={position} />)}
    </Table>
  );
}

function Row({ position }: { position: Position }) {
  const { symbol, amount, entry, mark, liquidation, unrealised, realised, leverage, isIsolated, isolatedWallet } = position;
  const of = marketOf(symbol);
  const decimals = decimalsOf(of?.tick ?? '0.01');
  const value = multiply(absolute(amount), mark);
  const marginUsed = isIsolated ? isolatedWallet : divide(value, String(leverage || 1), 8);
  const roe = Number(unrealised) / (Number(absolute(amount)) * Number(entry) / (leverage || 1));
  const guards = openOrders.value.filter((order) => order.venue === 'perpetual' && order.symbol === symbol && order.trigger && (order.closePosition || order.reduceOnly));
  const guard = (name: string): string => guards.filter(({ type }) => type.startsWith(name)).map(({ trigger }) => trigger).join(', ') || '–';
  return (
    <tr data-position={symbol} class={amount.startsWith('-') ? 'is-sell' : 'is-buy'}>
      <td><button type="button" class="link" onClick={() => show(`perpetual:${symbol}`)}>{symbol}</button> <span class="tag">{leverage}× {isIsolated ? 'isolated' : 'cross'}</span></td>
      <td class={amount.startsWith('-') ? 'down' : 'up'}>{exact(amount)} {of?.base}</td>
      <td>{money(value)}</td>
      <td>{grouped(entry, decimals)}</td>
      <td>{grouped(mark, decimals)}</td>
      <td class="warn">{isPositive(liquidation) ? grouped(liquidation, decimals) : '–'}</td>
      <td>{money(marginUsed)}</td>
      <td class={mood(unrealised)}>{signed(unrealised)} <small>({(100 * roe).toFixed(2)}%)</small></td>
      <td class={mood(realised)}>{signed(realised)}</td>
      <td class="guards">{guard('take_profit')} <span>/ {guard('stop')} <button type="button" class="link" aria-label={`Take profit or stop loss for ${symbol}`} onClick={() => of && askGuard(position, of)}>✎</button></span></td>
      <td class="acts">
        {isIsolated && <button type="button" class="outline small" onClick={() => of && openDialog(`Margin of ${symbol}`, (end) => <MarginForm of={of} close={end} />)}>Margin</button>}
        <button type="button" class="outline small" onClick={() => of && askClose(position, of)}>Close</button>
        <button type="button" class="outline small" onClick={() => askReverse(position)}>Reverse</button>
      </td>
    </tr>
  );
}

function askClose(position: Position, of: Market): void {
  openDialog(`Close ${position.symbol}`, (end) => <CloseForm position={position} of={of} end={end} />);
}

function CloseForm({ position, of, end }: { position: Position; of: Market; end: () => void }) {
  const whole = absolute(position.amount);
  const [size, setSize] = useState(whole);
  const [kind, setKind] = useState<'market' | 'limit'>('market');
  const [price, setPrice] = useState(floorTo(position.mark, of.tick));
  const sizeFault = isPositive(size) && compare(size, whole) <= 0 ? null : `Between 0 and ${whole}.`;
  const priceFault = kind === 'limit' && !isPositive(price) ? 'Enter the price.' : null;
  return (
    <form id="close-form" onSubmit={(event) => {
      event.preventDefault();
      if (sizeFault || priceFault) return;
      void close(position, size, kind === 'limit' ? price : null).then((isDone) => isDone && end());
    }}>
      <Segmented label="At" name="close-kind" value={kind} onChoose={setKind} options={[['market', 'Market'], ['limit', 'Limit']]} />
      {kind === 'limit' && <Field label="Price" name="close-price" value={price} unit={of.quote} fault={priceFault} onInput={setPrice} />}
      <Field label="Size" name="close-size" value={size} unit={of.base} fault={sizeFault} onInput={setSize} />
      <div class="row spread">
        {[25, 50, 75, 100].map((part) => <button key={part} type="button" class="quiet small" onClick={() => setSize(floorTo(divide(multiply(whole, String(part)), '100', 8), of.lot))}>{part}%</button>)}
      </div>
      <button id="close-sure" type="submit" class="danger tall">Close {size} {of.base} at {kind === 'market' ? 'the market' : price}</button>
    </form>
  );
}

function askReverse(position: Position): void {
  const isShort = position.amount.startsWith('-');
  openDialog(`Reverse ${position.symbol}?`, (end) => (
    <form onSubmit={(event) => {
      event.preventDefault();
      end();
      void reverse(position);
    }}>
      <p>Your {isShort ? 'short' : 'long'} of {absolute(position.amount)} is closed at the market, and a {isShort ? 'long' : 'short'} of the same size opened.</p>
      <button id="reverse-sure" type="submit" class="danger tall">Reverse</button>
    </form>
  ));
}

function askGuard(position: Position, of: Market): void {
  openDialog(`Take profit and stop loss of ${position.symbol}`, (end) => <GuardForm position={position} of={of} end={end} />);
}

function GuardForm({ position, of, end }: { position: Position; of: Market; end: () => void }) {
  const [take, setTake] = useState('');
  const [stop, setStop] = useState('');
  return (
    <form id="guard-form" onSubmit={(event) => {
      event.preventDefault();
      const run = async (): Promise<void> => {
        if (isPositive(take) && !(await protect(position, 'TAKE_PROFIT_MARKET', take))) return;
        if (isPositive(stop) && !(await protect(position, 'STOP_MARKET', stop))) return;
        end();
      };
      void run();
    }}>
      <p class="note">The whole position is closed at the market when the mark price crosses. Mark now: {grouped(position.mark, decimalsOf(of.tick))}.</p>
      <Field label="Take profit" name="guard-take" value={take} unit={of.quote} onInput={setTake} />
      <Field label="Stop loss" name="guard-stop" value={stop} unit={of.quote} onInput={setStop} />
      <button type="submit" class="strong tall" disabled={!isPositive(take) && !isPositive(stop)}>Set</button>
    </form>
  );
}
