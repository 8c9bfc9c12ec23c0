// Keyboard shortcuts: the list of them, and what they do. None counts while somebody writes in a field.
import { cancelAll } from '../live/trade';
import { openOrders } from '../store/account';
import { market } from '../store/market';
import { turnTheme } from '../store/preferences';
import { kind, side } from '../store/ticket';
import { dialog, isMarketListOpen, isPhone, isSheetOpen, openDialog, page } from '../store/view';
import { askCancelAll } from './CancelAll';

const focus = (name: string): void => {
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>(`#ticket input[name=${name}]`)?.focus());
};

function take(taken: 'buy' | 'sell'): void {
  side.value = taken;
  if (isPhone.value) isSheetOpen.value = true;
  focus('size');
}

const ACTS: Array<[key: string, text: string, act: () => void]> = [
  ['b', 'Buy: go to the size', () => take('buy')],
  ['s', 'Sell: go to the size', () => take('sell')],
  ['l', 'Limit order', () => { kind.value = 'limit'; focus('price'); }],
  ['m', 'Market order', () => { kind.value = 'market'; focus('size'); }],
  ['/', 'Search a market', () => { isMarketListOpen.value = true; }],
  ['x', 'Cancel all orders of this market', () => {
    if (openOrders.value.length) askCancelAll(market.value, cancelAll);
  }],
  ['t', 'Dark or light', turnTheme],
  ['?', 'This list', () => openDialog('Keyboard shortcuts', () => <Shortcuts />)],
];

export function Shortcuts() {
  return (
    <dl class="shortcuts">
      {ACTS.map(([key, text]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{text}</dd></div>)}
      <div><dt><kbd>Enter</kbd></dt><dd>In the ticket: place the order</dd></div>
      <div><dt><kbd>↑ ↓</kbd></dt><dd>On an order in the chart: move it; Enter amends</dd></div>
      <div><dt><kbd>Esc</kbd></dt><dd>Close what is open, leave an order where it was</dd></div>
    </dl>
  );
}

export function startShortcuts(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.value || page.value !== 'trade') return;
    if ((event.target as Element).closest('input:not([type=radio],[type=checkbox]), select, textarea, dialog')) return;
    const found = ACTS.find(([key]) => key === event.key);
    if (!found) return;
    event.preventDefault();
    found[2]();
  });
}
