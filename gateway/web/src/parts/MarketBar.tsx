// The market that is shown and its figures of the day.
import { useEffect, useState } from 'preact/hooks';
import { serverNow } from '../api/client';
import { decimalsOf } from '../lib/decimal';
import { countdown, grouped, percent, short } from '../lib/format';
import { lastPrice, market, openInterest, premium, ticker, trades } from '../store/market';
import type { Market } from '../store/types';
import { isMarketListOpen, isPhone } from '../store/view';
import { MarketList } from './MarketList';
import { Fact, Menu } from './ui';

export function MarketBar() {
  const of = market.value;
  if (!of) return <div class="market-bar" />;
  const day = ticker.value;
  const decimals = decimalsOf(of.tick);
  const change = day ? 100 * (Number(day.last) / Number(day.open) - 1) : NaN;
  const lastSide = trades.value[0]?.side;
  return (
    <div class="market-bar">
      <div class="market-choice">
        <button id="market" type="button" aria-haspopup="dialog" aria-expanded={isMarketListOpen.value} onClick={() => { isMarketListOpen.value = !isMarketListOpen.value; }}>
          <strong>{of.symbol}</strong>
          <span class="tag">{of.venue === 'spot' ? 'Spot' : 'Perp'}</span>
          <span aria-hidden="true">▾</span>
        </button>
        {isMarketListOpen.value && <MarketList />}
      </div>
      <span id="last" class={`last ${lastSide === 'buy' ? 'up' : lastSide === 'sell' ? 'down' : ''}`}>{grouped(lastPrice.value, decimals)}</span>
      {of.status !== 'listed' && <span class="badge">{of.status}</span>}
      {isPhone.value ? (
        <>
          <span class={change >= 0 ? 'up' : 'down'}>{percent(change)}</span>
          <span class="space" />
          <Menu id="figures" face="24 h ▾" class="quiet">{() => <Figures of={of} change={change} />}</Menu>
        </>
      ) : <div class="figures" tabIndex={0} role="region" aria-label="Figures of the day"><Figures of={of} change={change} /></div>}
    </div>
  );
}

function Figures({ of, change }: { of: Market; change: number }) {
  const day = ticker.value;
  const decimals = decimalsOf(of.tick);
  return (
    <dl>
      {of.venue === 'perpetual' && <Fact name="Mark" id="mark">{grouped(premium.value?.mark, decimals)}</Fact>}
      {of.venue === 'perpetual' && <Fact name="Index" id="index">{grouped(premium.value?.index, decimals)}</Fact>}
      <Fact name="24 h change" id="change" mood={change >= 0 ? 'up' : change < 0 ? 'down' : ''}>{percent(change)}</Fact>
      {of.venue === 'perpetual' && <Funding />}
      <Fact name="24 h high" id="high">{grouped(day?.high, decimals)}</Fact>
      <Fact name="24 h low" id="low">{grouped(day?.low, decimals)}</Fact>
      <Fact name={`24 h volume (${of.base})`} id="volume">{day ? short(Number(day.volume)) : '–'}</Fact>
      <Fact name={`24 h volume (${of.quote})`}>{day ? short(Number(day.quoteVolume)) : '–'}</Fact>
      {of.venue === 'perpetual' && <Fact name={`Open interest (${of.base})`}>{short(Number(openInterest.value[of.key]))}</Fact>}
    </dl>
  );
}

function Funding() {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  const now = premium.value;
  if (!now) return <Fact name="Funding / in">–</Fact>;
  return (
    <Fact name="Funding / in" id="funding" title="Longs pay shorts when it is positive">
      <span class={now.rate.startsWith('-') ? 'down' : 'accent'}>{(100 * Number(now.rate)).toFixed(4)}%</span> {countdown(now.next - serverNow())}
    </Fact>
  );
}
