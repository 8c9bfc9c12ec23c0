// All markets with their change and volume, to search and choose from.
import { signal, useComputed, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { decimalsOf } from '../lib/decimal';
import { grouped, percent, short } from '../lib/format';
import { marketKey, markets, show, tickers } from '../store/market';
import { favourites } from '../store/preferences';
import { isMarketListOpen } from '../store/view';
import { Segmented } from './ui';

type Which = 'all' | 'perpetual' | 'spot' | 'starred';
const which = signal<Which>('all');

export function MarketList() {
  const element = useRef<HTMLDivElement>(null);
  // New with each list: emptied later, it would take away what was typed since.
  const text = useSignal('');
  // In the order of volume when it was opened or filtered: a row that moves under the pointer is not the one that is pressed.
  const rows = useComputed(() => {
    const wanted = text.value.trim().toUpperCase();
    const volume = (key: string): number => Number(tickers.peek()[key]?.quoteVolume ?? 0);
    return markets.value
      .filter(({ key, venue }) => which.value === 'all' || venue === which.value || (which.value === 'starred' && favourites.value.includes(key)))
      .filter(({ symbol, base }) => symbol.includes(wanted) || base.includes(wanted))
      .sort((a, b) => volume(b.key) - volume(a.key));
  });
  const close = (): void => {
    isMarketListOpen.value = false;
    document.getElementById('market')?.focus();
  };
  useLayoutEffect(() => element.current?.querySelector('input')?.focus(), []);
  useEffect(() => {
    const outside = (event: PointerEvent): void => {
      if (!element.current?.parentElement?.contains(event.target as Node)) isMarketListOpen.value = false;
    };
    addEventListener('pointerdown', outside);
    return () => removeEventListener('pointerdown', outside);
  }, []);
  const choose = (key: string): void => {
    show(key);
    close();
  };
  const star = (key: string): void => {
    favourites.value = favourites.value.includes(key) ? favourites.value.filter((one) => one !== key) : [...favourites.value, key];
  };
  return (
    <div
      id="market-list" class="popover" role="dialog" aria-label="Markets" ref={element}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
        if (event.key === 'Enter' && (event.target as Element).matches('input[type=search]') && rows.value[0]) choose(rows.value[0].key);
      }}
    >
      <input
        type="search" aria-label="Search a market" placeholder="Search a market" value={text.value}
        onInput={(event) => { text.value = event.currentTarget.value; }}
      />
      <Segmented
        label="Kind of market" name="market-kind" value={which.value} onChoose={(value) => { which.value = value; }}
        options={[['all', 'All'], ['perpetual', 'Perpetual'], ['spot', 'Spot'], ['starred', '★']]}
      />
      <div class="scroll" tabIndex={0} role="region" aria-label="List of markets">
        <table>
          <thead><tr><th scope="col"><span class="unseen">Starred</span></th><th scope="col">Market</th><th scope="col">Last</th><th scope="col">24 h</th><th scope="col">Volume</th></tr></thead>
          <tbody>
            {rows.value.map((of) => {
              const day = tickers.value[of.key];
              const change = day ? 100 * (Number(day.last) / Number(day.open) - 1) : NaN;
              const isStarred = favourites.value.includes(of.key);
              return (
                <tr key={of.key} data-market={of.key} class={of.key === marketKey.value ? 'chosen' : ''} onClick={() => choose(of.key)}>
                  <td>
                    <button type="button" class="star" aria-label={`Star ${of.symbol}`} aria-pressed={isStarred} onClick={(event) => {
                      event.stopPropagation();
                      star(of.key);
                    }}>{isStarred ? '★' : '☆'}</button>
                  </td>
                  <td><button type="button" class="link">{of.symbol}</button> <span class="tag">{of.venue === 'spot' ? 'Spot' : `Perp ${of.greatestLeverage}×`}</span></td>
                  <td>{day ? grouped(day.last, decimalsOf(of.tick)) : '–'}</td>
                  <td class={change >= 0 ? 'up' : change < 0 ? 'down' : ''}>{percent(change)}</td>
                  <td>{day ? short(Number(day.quoteVolume)) : '–'}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {!rows.value.length && <p class="empty">No such market.</p>}
      </div>
    </div>
  );
}
