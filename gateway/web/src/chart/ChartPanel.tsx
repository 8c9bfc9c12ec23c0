// The chart: candles or the depth of the book, with what may be chosen of it.
import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { absolute, decimalsOf } from '../lib/decimal';
import { minute, short } from '../lib/format';
import { attachChart, isCandlesLoading, olderCandles } from '../live/market';
import { livePositions, openOrders } from '../store/account';
import { market } from '../store/market';
import { indicators, interval, theme } from '../store/preferences';
import { chartKind } from '../store/view';
import { Check, Menu } from '../parts/ui';
import { DepthChart } from './DepthChart';
import type { Drawing, Marked, Pointed } from './drawing';
import { STUDIES } from './indicators';
import { drawnAt, OrderTags } from './OrderTags';

const INTERVALS = { perpetual: ['1m', '5m', '15m', '1h', '4h', '1d', '1w'], spot: ['1m', '5m', '15m', '1h', '4h', '1d'] };

export function ChartPanel() {
  const isDepth = chartKind.value === 'depth';
  const offered = INTERVALS[market.value?.venue ?? 'spot'];
  return (
    <section class="panel chart" aria-label="Chart">
      <header>
        <div class="row" role="group" aria-label="Interval">
          {offered.map((one) => (
            <button key={one} type="button" class="quiet small" aria-pressed={!isDepth && interval.value === one} onClick={() => {
              interval.value = one;
              chartKind.value = 'price';
            }}>{one}</button>
          ))}
        </div>
        <div class="row">
          {!isDepth && <Studies />}
          <button type="button" class="quiet small" aria-pressed={isDepth} onClick={() => { chartKind.value = isDepth ? 'price' : 'depth'; }}>Depth</button>
        </div>
      </header>
      {isDepth ? <DepthChart /> : <PriceChart />}
    </section>
  );
}

function Studies() {
  return (
    <Menu id="studies" face="Indicators ▾" class="quiet small">
      {() => STUDIES.map(({ name, label }) => (
        <Check key={name} name={name} label={label} isOn={indicators.value.includes(name)} onChange={(isOn) => {
          const rest = indicators.value.filter((one) => one !== name);
          indicators.value = isOn ? [...rest, name] : rest;
        }} />
      ))}
    </Menu>
  );
}

function PriceChart() {
  const element = useRef<HTMLDivElement>(null);
  const drawing = useSignal<Drawing | null>(null);
  const pointed = useSignal<Pointed | null>(null);
  const drawn = useSignal(0);
  useEffect(() => {
    let isGone = false;
    let detach = (): void => {};
    // The library comes after the first paint.
    void import('./drawing').then(({ Drawing: Made }) => {
      if (isGone || !element.current) return;
      const made = new Made(element.current, (at) => { pointed.value = at; }, olderCandles, () => { drawn.value += 1; });
      drawing.value = made;
      detach = attachChart({ set: (rows) => made.set(rows), update: (row) => made.update(row) });
    });
    return () => {
      isGone = true;
      detach();
      drawing.peek()?.remove();
    };
  }, []);
  useSignalEffect(() => {
    void theme.value;
    drawing.value?.paint();
  });
  useSignalEffect(() => drawing.value?.study(indicators.value));
  useSignalEffect(() => {
    if (market.value) drawing.value?.precision(decimalsOf(market.value.tick));
  });
  const known = useRef('');
  useSignalEffect(() => {
    void theme.value;
    const lines = ownLines();
    const text = JSON.stringify(lines);
    if (!drawing.value || text === known.current) return;
    known.current = text;
    drawing.value.mark(lines);
  });
  return (
    <div class="chart-box">
      <Legend pointed={pointed.value} />
      <div id="chart" ref={element} />
      <OrderTags drawing={drawing.value} drawn={drawn} />
      {isCandlesLoading.value && <p class="empty over">Loading…</p>}
    </div>
  );
}

function Legend({ pointed }: { pointed: Pointed | null }) {
  const decimals = decimalsOf(market.value?.tick ?? '0.01');
  if (!pointed) return <p class="legend" aria-hidden="true">{STUDIES.filter(({ name }) => indicators.value.includes(name)).map(({ name, label, color }) => <span key={name} style={{ color: `var(${color})` }}>{label}</span>)}</p>;
  const { time, open, high, low, close, volume } = pointed.candle;
  const change = (100 * (close - open)) / open;
  const mood = close >= open ? 'up' : 'down';
  return (
    <p class="legend" aria-hidden="true">
      <span>{minute(1_000 * time)}</span>
      {([['O', open], ['H', high], ['L', low], ['C', close]] as const).map(([name, value]) => <span key={name}>{name} <b class={mood}>{value.toFixed(decimals)}</b></span>)}
      <span class={mood}>{change.toFixed(2)}%</span>
      <span>Vol <b>{short(volume)}</b></span>
      {pointed.studies.map(({ label, color, values }) => <span key={label} style={{ color: `var(${color})` }}>{label} {values}</span>)}
    </p>
  );
}

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Own orders, the position and where it would be liquidated.
function ownLines(): Marked[] {
  const of = market.value;
  if (!of) return [];
  const lines: Marked[] = [];
  for (const order of openOrders.value) {
    if (order.venue !== of.venue || order.symbol !== of.symbol) continue;
    const at = drawnAt(order);
    // What it is says its tag.
    if (at) lines.push({ price: Number(at), title: '', color: color(order.side === 'buy' ? '--up' : '--down'), isDashed: true });
  }
  const position = of.venue === 'perpetual' ? livePositions.value.find(({ symbol }) => symbol === of.symbol) : undefined;
  if (position) {
    const isShort = position.amount.startsWith('-');
    lines.push({ price: Number(position.entry), title: `${isShort ? 'short' : 'long'} ${absolute(position.amount)}`, color: color('--accent'), isDashed: false });
    if (Number(position.liquidation) > 0) lines.push({ price: Number(position.liquidation), title: 'liquidation', color: color('--warn'), isDashed: false });
  }
  return lines;
}
