// Margin mode and leverage of the market, each with its dialog.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { setLeverage, setMarginMode } from '../../live/trade';
import { grouped } from '../../lib/format';
import { readBrackets, type Bracket } from '../../api/exchange';
import { leverages } from '../../store/account';
import { isLoggedIn, isLoginOpen } from '../../store/session';
import { leverage } from '../../store/ticket';
import { openDialog } from '../../store/view';
import type { Market } from '../../store/types';
import { Segmented } from '../ui';

export function MarginBar({ of }: { of: Market }) {
  const isIsolated = leverages.value[of.symbol]?.isIsolated ?? false;
  const open = (title: string, body: (close: () => void) => ComponentChildren) => (): void => {
    if (isLoggedIn.value) openDialog(title, body);
    else isLoginOpen.value = true;
  };
  return (
    <div class="pair">
      <button
        id="margin-mode" type="button" class="outline small" title="Margin mode"
        onClick={open(`Margin of ${of.symbol}`, (close) => <ModeForm of={of} isIsolated={isIsolated} close={close} />)}
      >
        {isIsolated ? 'Isolated' : 'Cross'}
      </button>
      <button
        id="leverage" type="button" class="outline small" title="Leverage"
        onClick={open(`Leverage of ${of.symbol}`, (close) => <LeverageForm of={of} close={close} />)}
      >
        {isLoggedIn.value ? `${leverage.value}×` : `up to ${of.greatestLeverage}×`}
      </button>
    </div>
  );
}

function LeverageForm({ of, close }: { of: Market; close: () => void }) {
  const [value, setValue] = useState(leverage.value);
  const [brackets, setBrackets] = useState<Bracket[] | null>(null);
  if (brackets === null) {
    setBrackets([]);
    readBrackets(of.symbol).then(setBrackets, () => {});
  }
  const cap = Math.max(0, ...(brackets ?? []).filter(({ initialLeverage }) => initialLeverage >= value).map(({ notionalCap }) => notionalCap));
  const steps = [1, 5, 10, 20, 50, 100, 125].filter((one) => one <= of.greatestLeverage);
  const clamp = (wanted: number): number => Math.min(of.greatestLeverage, Math.max(1, Math.round(wanted) || 1));
  return (
    <form id="leverage-form" onSubmit={(event) => {
      event.preventDefault();
      void setLeverage(of.symbol, value).then((isDone) => isDone && close());
    }}>
      <div class="stepper">
        <button type="button" class="outline" aria-label="Less" onClick={() => setValue(clamp(value - 1))}>−</button>
        <input name="leverage" inputMode="numeric" aria-label="Leverage" value={value} onInput={(event) => setValue(clamp(Number(event.currentTarget.value)))} />
        <button type="button" class="outline" aria-label="More" onClick={() => setValue(clamp(value + 1))}>+</button>
      </div>
      <input
        type="range" min="1" max={of.greatestLeverage} step="1" aria-label="Leverage" value={value}
        style={{ '--share': `${(100 * (value - 1)) / Math.max(1, of.greatestLeverage - 1)}%` }} onInput={(event) => setValue(Number(event.currentTarget.value))}
      />
      <div class="row spread">{steps.map((one) => <button key={one} type="button" class="quiet small" aria-pressed={one === value} onClick={() => setValue(one)}>{one}×</button>)}</div>
      {cap > 0 && <p class="note">Positions and orders up to {grouped(String(cap), 0)} {of.quote} at {value}×.</p>}
      {value > 20 && <p class="note warn">At {value}× a move of about {(100 / value).toFixed(1)}% against you takes the whole margin.</p>}
      <button type="submit" class="strong tall">Set {value}×</button>
    </form>
  );
}

function ModeForm({ of, isIsolated, close }: { of: Market; isIsolated: boolean; close: () => void }) {
  const [mode, setMode] = useState<'cross' | 'isolated'>(isIsolated ? 'isolated' : 'cross');
  return (
    <form id="mode-form" onSubmit={(event) => {
      event.preventDefault();
      void setMarginMode(of.symbol, mode === 'isolated').then((isDone) => isDone && close());
    }}>
      <Segmented label="Margin mode" name="mode" value={mode} onChoose={setMode} options={[['cross', 'Cross'], ['isolated', 'Isolated']]} />
      <p class="note">
        {mode === 'cross'
          ? 'All cross positions share the whole margin: profit of one carries the loss of another.'
          : 'Each position has margin of its own, and can lose no more than that.'}
      </p>
      <p class="note">It changes while nothing of {of.symbol} is open.</p>
      <button type="submit" class="strong tall">Set</button>
    </form>
  );
}
