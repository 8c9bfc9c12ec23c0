// Orders, fills, funding and transfers of the past: pages read from the venue, with what the stream told since before them.
import { computed, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import * as exchange from '../../api/exchange';
import { isPositive, multiply } from '../../lib/decimal';
import { dayAndTime, exact, grouped, mood, signed } from '../../lib/format';
import { incomes, orderKey, recentFills, recentOrders } from '../../store/account';
import { session } from '../../store/session';
import type { Fill, Order, Transfer } from '../../store/types';
import { kindOf, priceOf, stateOf } from '../../words/orders';
import { refusalWords } from '../../words/refusals';
import { Table } from '../ui';
import { isShown } from './AccountTabs';

interface Source<T> {
  rows: T[];
  cursor: string | null;
}

// Pages of both venues, each gone on with from its own end.
interface Pages<T> {
  perpetual: Source<T>;
  spot: Source<T>;
}

interface List<T> {
  readPerpetual: (token: string, cursor: string) => Promise<{ rows: T[]; next: string | null }>;
  readSpot: (token: string, end?: number) => Promise<T[]>;
  keyOf: (row: T) => string;
  timeOf: (row: T) => number;
}

const SPOT_ROWS = 50;
const NONE = { rows: [], cursor: '' };

function usePages<T>(list: List<T>) {
  const [pages, setPages] = useState<Pages<T>>({ perpetual: NONE, spot: NONE });
  const [state, setState] = useState<'loading' | 'ready' | string>('loading');
  const token = session.value?.token;
  const read = async (known: Pages<T>): Promise<void> => {
    if (!token) return;
    setState('loading');
    try {
      const { perpetual, spot } = known;
      const [more, moreSpot] = await Promise.all([
        perpetual.cursor === null ? null : list.readPerpetual(token, perpetual.cursor),
        spot.cursor === null ? null : list.readSpot(token, spot.cursor ? Number(spot.cursor) : undefined),
      ]);
      const oldest = moreSpot?.at(-1);
      setPages({
        perpetual: more ? { rows: [...perpetual.rows, ...more.rows], cursor: more.next } : perpetual,
        spot: moreSpot
          ? { rows: [...spot.rows, ...moreSpot], cursor: moreSpot.length < SPOT_ROWS || !oldest ? null : String(Math.floor(list.timeOf(oldest) / 1_000)) }
          : spot,
      });
      setState('ready');
    } catch (error) {
      setState(refusalWords(error).title);
    }
  };
  useEffect(() => {
    void read({ perpetual: NONE, spot: NONE });
  }, [token]);
  return {
    rows: [...pages.perpetual.rows, ...pages.spot.rows], state,
    isMore: pages.perpetual.cursor !== null || pages.spot.cursor !== null, more: () => void read(pages),
  };
}

// Each once, newest first; what the stream told counts before what was read.
function merged<T>(list: List<T>, recent: T[], read: T[]): T[] {
  const all = new Map<string, T>();
  for (const row of [...recent, ...read]) if (!all.has(list.keyOf(row))) all.set(list.keyOf(row), row);
  return [...all.values()].sort((a, b) => list.timeOf(b) - list.timeOf(a));
}

const said = (state: string, count: number, nothing: string): string | null =>
  state === 'loading' ? (count ? null : 'Loading…') : state === 'ready' ? (count ? null : nothing) : state;

const More = ({ isMore, state, more }: { isMore: boolean; state: string; more: () => void }) =>
  isMore && state !== 'loading' ? <button type="button" class="quiet small older" onClick={more}>Older</button> : null;

const ORDERS: List<Order> = {
  readPerpetual: exchange.readOrderHistory, readSpot: exchange.readSpotOrders, keyOf: orderKey, timeOf: ({ created }) => created,
};

export function OrderHistory() {
  const pages = usePages(ORDERS);
  const rows = merged(ORDERS, recentOrders.value, pages.rows).filter(({ venue, symbol }) => isShown(venue, symbol));
  return (
    <>
      <Table
        label="Order history" id="order-history" left={4} head={['Time', 'Market', 'Kind', 'Side', 'Price', 'Size', 'Filled', 'Average', 'State']}
        empty={said(pages.state, rows.length, 'No orders yet.')}
      >
        {rows.map((order) => (
          <tr key={orderKey(order)} data-order={order.id} class={order.side === 'buy' ? 'is-buy' : 'is-sell'}>
            <td>{dayAndTime(order.created)}</td>
            <td>{order.symbol} <span class="tag">{order.venue === 'spot' ? 'Spot' : 'Perp'}</span></td>
            <td>{kindOf(order)}</td>
            <td class={order.side === 'buy' ? 'up' : 'down'}>{order.side === 'buy' ? 'Buy' : 'Sell'}</td>
            <td>{priceOf(order)}</td>
            <td>{order.closePosition ? 'All' : exact(order.quantity)}</td>
            <td>{exact(order.filled)}</td>
            <td>{isPositive(order.average) ? order.average : '–'}</td>
            <td title={order.reason ?? ''}>{stateOf(order)}</td>
          </tr>
        ))}
      </Table>
      <More {...pages} />
    </>
  );
}

const FILLS: List<Fill> = {
  readPerpetual: exchange.readFillHistory, readSpot: exchange.readSpotFills, keyOf: ({ venue, id, orderId }) => `${venue}:${id}:${orderId}`, timeOf: ({ time }) => time,
};

export function FillHistory() {
  const pages = usePages(FILLS);
  const rows = merged(FILLS, recentFills.value, pages.rows).filter(({ venue, symbol }) => isShown(venue, symbol));
  return (
    <>
      <Table
        label="Trade history" id="fills" left={3} head={['Time', 'Market', 'Side', 'Price', 'Size', 'Value', 'Fee', 'Role', 'Realised']}
        empty={said(pages.state, rows.length, 'No trades yet.')}
      >
        {rows.map((fill) => (
          <tr key={FILLS.keyOf(fill)} class={fill.side === 'buy' ? 'is-buy' : 'is-sell'}>
            <td>{dayAndTime(fill.time)}</td>
            <td>{fill.symbol} <span class="tag">{fill.venue === 'spot' ? 'Spot' : 'Perp'}</span></td>
            <td class={fill.side === 'buy' ? 'up' : 'down'}>{fill.side === 'buy' ? 'Buy' : 'Sell'}</td>
            <td>{exact(fill.price)}</td>
            <td>{exact(fill.quantity)}</td>
            <td>{grouped(multiply(fill.price, fill.quantity), 2)}</td>
            <td>{exact(fill.fee)} {fill.feeToken}</td>
            <td>{fill.isMaker ? 'Maker' : 'Taker'}</td>
            <td class={mood(fill.realised)}>{signed(fill.realised)}</td>
          </tr>
        ))}
      </Table>
      <More {...pages} />
    </>
  );
}

const funding = computed(() => incomes.value.filter(({ type }) => type === 'FUNDING_FEE').toSorted((a, b) => b.time - a.time));

export function FundingHistory() {
  const rows = funding.value.filter(({ symbol }) => symbol === '' || isShown('perpetual', symbol));
  return (
    <Table label="Funding" id="funding-rows" left={2} head={['Time', 'Market', 'Funding']} empty={rows.length ? null : 'No funding in the last 7 days.'}>
      {rows.map((row) => (
        <tr key={row.id}><td>{dayAndTime(row.time)}</td><td>{row.symbol || 'Perpetual'}</td><td class={mood(row.amount)}>{signed(row.amount, 6)} USDT</td></tr>
      ))}
    </Table>
  );
}

export const transfers = signal<Transfer[] | null>(null);

export async function loadTransfers(): Promise<void> {
  const token = session.value?.token;
  transfers.value = token ? await exchange.readTransfers(token).catch(() => transfers.value) : null;
}

export function TransferHistory() {
  const token = session.value?.token;
  useEffect(() => void loadTransfers(), [token]);
  const rows = transfers.value;
  return (
    <Table label="Transfers" id="transfers" left={3} head={['Time', 'From', 'To', 'Amount']} empty={rows === null ? 'Loading…' : rows.length ? null : 'No transfers yet.'}>
      {(rows ?? []).map((row) => {
        const isToSpot = row.direction === 'to_spot';
        return <tr key={row.id}><td>{dayAndTime(row.time)}</td><td>{isToSpot ? 'Perpetual' : 'Spot'}</td><td>{isToSpot ? 'Spot' : 'Perpetual'}</td><td>{exact(row.amount)} {row.token}</td></tr>;
      })}
    </Table>
  );
}
