// The book: levels put together, cumulative bars, own orders marked. A press takes the price and what stands up to there.
import { computed, signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { add, ceilTo, compare, decimalsOf, divide, floorTo, multiply, subtract } from '../lib/decimal';
import { grouped, short } from '../lib/format';
import { group, steps, type Row } from '../store/book';
import { openOrders } from '../store/account';
import { book, bookVersion, lastPrice, market, marketKey, premium, trades } from '../store/market';
import { takeLevel } from '../store/ticket';
import { isPhone, isSheetOpen } from '../store/view';

// By market.
const chosen = signal<Record<string, string>>({});
const sides = signal<'both' | 'bids' | 'asks'>('both');
const ROW_PX = 20;

const step = computed(() => chosen.value[marketKey.value] ?? market.value?.tick ?? '1');

const ownPrices = computed(() => {
  const of = market.value;
  const own = { buy: new Set<string>(), sell: new Set<string>() };
  for (const { venue, symbol, side, price, type } of openOrders.value) {
    if (!of || venue !== of.venue || symbol !== of.symbol || !price || type !== 'limit') continue;
    own[side].add(side === 'buy' ? floorTo(price, step.value) : ceilTo(price, step.value));
  }
  return own;
});

export function BookPanel() {
  const list = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(300);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => entry && setHeight(entry.contentRect.height));
    if (list.current) watcher.observe(list.current);
    return () => watcher.disconnect();
  }, []);
  const of = market.value;
  void bookVersion.value;
  if (!of) return <section class="panel book" aria-label="Book" />;
  const isBoth = sides.value === 'both';
  const room = Math.max(2, Math.floor((height - 28) / ROW_PX));
  const count = isBoth ? Math.floor(room / 2) : room;
  const asks = sides.value === 'bids' ? [] : group(book.sorted('asks'), 'asks', step.value, count);
  const bids = sides.value === 'asks' ? [] : group(book.sorted('bids'), 'bids', step.value, count);
  const most = Math.max(Number(asks.at(-1)?.sum ?? 0), Number(bids.at(-1)?.sum ?? 0)) || 1;
  const [bid, ask] = [book.best('bids'), book.best('asks')];
  const spread = bid && ask ? subtract(ask, bid) : null;
  const up = trades.value[0]?.side === 'buy';
  const decimals = decimalsOf(of.tick);
  return (
    <section class="panel book" aria-label="Book">
      <header>
        <h2>Book</h2>
        <div class="row">
          {([['both', '▤', 'Both sides'], ['bids', '▽', 'Bids alone'], ['asks', '△', 'Asks alone']] as const).map(([name, sign, text]) => (
            <button key={name} type="button" class="icon quiet" aria-label={text} title={text} aria-pressed={sides.value === name} onClick={() => { sides.value = name; }}>{sign}</button>
          ))}
          <select
            aria-label="Levels put together by" value={step.value}
            onChange={(event) => { chosen.value = { ...chosen.value, [of.key]: event.currentTarget.value }; }}
          >
            {steps(of.tick, lastPrice.value ?? bid).map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
        </div>
      </header>
      <div class="levels head" aria-hidden="true"><span>Price ({of.quote})</span><span>Size ({of.base})</span><span>Sum</span></div>
      <div class="book-list" ref={list}>
        <div id="asks" class="side asks">{asks.toReversed().map((row) => <Level key={row.price} row={row} most={most} side="asks" />)}</div>
        <div class="middle">
          <strong class={up ? 'up' : 'down'} id="middle">{grouped(lastPrice.value, decimals)} <span aria-hidden="true">{up ? '↑' : '↓'}</span></strong>
          {of.venue === 'perpetual' && <span title="Mark price">{grouped(premium.value?.mark, decimals)}</span>}
          <span title="Spread">{spread && bid ? `${spread} (${(Number(divide(spread, bid, 8)) * 100).toFixed(3)}%)` : ''}</span>
        </div>
        <div id="bids" class="side bids">{bids.map((row) => <Level key={row.price} row={row} most={most} side="bids" />)}</div>
        {!asks.length && !bids.length && <p class="empty">{book.updateId === null ? 'Loading the book…' : 'Nobody offers anything yet.'}</p>}
      </div>
      <Ratio bids={bids} asks={asks} />
    </section>
  );
}

function Level({ row, most, side }: { row: Row; most: number; side: 'bids' | 'asks' }) {
  const of = market.value!;
  const isOwn = ownPrices.value[side === 'bids' ? 'buy' : 'sell'].has(row.price);
  // Whoever presses a bid means to sell into it.
  const take = (): void => {
    takeLevel(row.price, row.sum, side === 'bids' ? 'sell' : 'buy');
    if (isPhone.value) isSheetOpen.value = true;
  };
  const average = (): string => `Sum ${grouped(row.sum, decimalsOf(of.lot))} ${of.base} ≈ ${short(Number(multiply(row.sum, row.price)))} ${of.quote}`;
  return (
    <button type="button" class={isOwn ? 'levels own' : 'levels'} data-price={row.price} title={average()} onClick={take} tabIndex={-1}
      style={{ '--share': `${(100 * Number(row.sum)) / most}%` }}>
      <span class={side === 'bids' ? 'up' : 'down'}>{isOwn && <i class="mark" aria-label="Own order here">▸</i>}{grouped(row.price, Math.max(decimalsOf(step.value), 0))}</span>
      <span>{grouped(row.quantity, decimalsOf(of.lot))}</span>
      <span>{grouped(row.sum, decimalsOf(of.lot))}</span>
    </button>
  );
}

// What stands on either side of what is shown.
function Ratio({ bids, asks }: { bids: Row[]; asks: Row[] }) {
  const [bid, ask] = [bids.at(-1)?.sum ?? '0', asks.at(-1)?.sum ?? '0'];
  const total = add(bid, ask);
  if (compare(total, '0') === 0 || !bids.length || !asks.length) return null;
  const share = Math.round(Number(divide(multiply(bid, '100'), total, 2)));
  return (
    <div class="ratio" style={{ '--share': `${share}%` }}>
      <span class="up">B {share}%</span><i aria-hidden="true" /><span class="down">{100 - share}% S</span>
    </div>
  );
}
