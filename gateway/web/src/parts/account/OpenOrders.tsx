// Orders that are open or wait for their trigger, to amend and cancel.
import { useState } from 'preact/hooks';
import { compare, floorTo, isPositive } from '../../lib/decimal';
import { dayAndTime, exact } from '../../lib/format';
import { amend, cancel, isChanged } from '../../live/trade';
import { isAccountKnown } from '../../store/account';
import { markets, show } from '../../store/market';
import { openDialog } from '../../store/view';
import type { Order } from '../../store/types';
import { kindOf, priceOf, tifOf } from '../../words/orders';
import { Field, Table } from '../ui';

export function OpenOrders({ rows }: { rows: Order[] }) {
  return (
    <Table
      label="Open orders" id="orders" left={4} head={['Time', 'Market', 'Kind', 'Side', 'Price', 'Size', 'Filled', 'Options', '']}
      empty={rows.length ? null : isAccountKnown.value ? 'No open orders.' : 'Loading…'}
    >
      {rows.map((order) => <Row key={`${order.venue}:${order.id}`} order={order} />)}
    </Table>
  );
}

const options = (order: Order): string =>
  [order.type === 'limit' ? tifOf(order) : '', order.reduceOnly ? 'Reduce only' : '', order.closePosition ? 'Closes the position' : '', order.parent ? 'Of an order' : '']
    .filter(Boolean).join(', ');

function Row({ order }: { order: Order }) {
  const [isBusy, setBusy] = useState(false);
  const { side, symbol, venue, quantity, filled, created } = order;
  return (
    <tr data-order={order.id} class={side === 'buy' ? 'is-buy' : 'is-sell'}>
      <td>{dayAndTime(created)}</td>
      <td><button type="button" class="link" onClick={() => show(`${venue}:${symbol}`)}>{symbol}</button> <span class="tag">{venue === 'spot' ? 'Spot' : 'Perp'}</span></td>
      <td>{kindOf(order)}</td>
      <td class={side === 'buy' ? 'up' : 'down'}>{side === 'buy' ? 'Buy' : 'Sell'}</td>
      <td>{priceOf(order)}</td>
      <td>{order.closePosition ? 'All' : quantity === '0' && order.parent ? 'As filled' : exact(quantity)}</td>
      <td>{exact(filled)}</td>
      <td>{options(order) || '–'}</td>
      <td class="acts">
        {order.type === 'limit' && <button type="button" class="outline small" onClick={() => openDialog(`Amend ${symbol}`, (close) => <AmendForm order={order} close={close} />)}>Amend</button>}
        <button type="button" class="outline small" disabled={isBusy} onClick={() => {
          setBusy(true);
          void cancel(order).then(() => setBusy(false));
        }}>Cancel</button>
      </td>
    </tr>
  );
}

function AmendForm({ order, close }: { order: Order; close: () => void }) {
  const [price, setPrice] = useState(order.price ?? '');
  const [size, setSize] = useState(order.quantity);
  const [isTried, setTried] = useState(false);
  const of = markets.value.find(({ key }) => key === `${order.venue}:${order.symbol}`);
  if (!of) return null;
  const multiple = (text: string, step: string): boolean => compare(floorTo(text, step), text) === 0;
  const priceFault = !isPositive(price) ? 'Enter the price.' : multiple(price, of.tick) ? null : `The price is a multiple of ${of.tick}.`;
  const sizeFault = !isPositive(size) ? 'Enter the size.'
    : !multiple(size, of.lot) ? `The size is a multiple of ${of.lot} ${of.base}.`
    : compare(size, order.filled) <= 0 ? `More than the ${order.filled} that are filled.` : null;
  const isSame = !priceFault && !sizeFault && !isChanged(order, price, size);
  return (
    <form id="amend-form" onSubmit={(event) => {
      event.preventDefault();
      setTried(true);
      if (priceFault || sizeFault || isSame) return;
      void amend(order, price, size).then((isDone) => isDone && close());
    }}>
      <Field label="Price" name="amend-price" value={price} unit={of.quote} fault={isTried ? priceFault : null} onInput={setPrice} />
      <Field label="Size" name="amend-size" value={size} unit={of.base} fault={isTried ? sizeFault : null} onInput={setSize} />
      <p class="note">
        {order.venue === 'spot'
          ? 'The order is canceled and placed again, behind the others of its price.'
          : 'The order keeps its number, and goes behind the others of its price.'}
      </p>
      <button id="amend-sure" type="submit" class="strong tall" disabled={isSame}>Amend</button>
    </form>
  );
}
