// The order ticket: every kind of order, its size in base or quote, take profit and stop loss, what it will cost, and its button.
import { useState } from 'preact/hooks';
import { decimalsOf } from '../../lib/decimal';
import { exact, grouped } from '../../lib/format';
import { place } from '../../live/trade';
import { lastPrice, market, book, bookVersion } from '../../store/market';
import { asksFirst, sizeUnit } from '../../store/preferences';
import { isLoggedIn, isLoginOpen } from '../../store/session';
import * as ticket from '../../store/ticket';
import { isSheetOpen, openDialog } from '../../store/view';
import { Check, Field, Segmented } from '../ui';
import { Confirm } from './Confirm';
import { MarginBar } from './MarginBar';
import { PreviewLines } from './Preview';

const NAMES: Record<ticket.Kind, string> = {
  limit: 'Limit', market: 'Market', stop_limit: 'Stop limit', stop_market: 'Stop market', take_profit_limit: 'Take profit limit',
  take_profit_market: 'Take profit market', trailing: 'Trailing stop',
};
const PARTS = [25, 50, 75, 100];

export function Ticket() {
  const [isTried, setTried] = useState(false);
  const of = market.value;
  if (!of) return <form id="ticket" />;
  const { side, kind } = ticket;
  const fault = ticket.fault.value;
  const faultOf = (field: string): string | null => (isTried && fault?.field === field ? fault.text : null);
  const word = side.value === 'buy' ? 'Buy' : 'Sell';
  const doors = of.venue === 'perpetual' ? (side.value === 'buy' ? 'Buy / Long' : 'Sell / Short') : `${word} ${of.base}`;

  const send = async (): Promise<void> => {
    const placed = place(of);
    // The next one may be entered at once; a second press of the button sends nothing.
    const size = ticket.size.value;
    ticket.size.value = '';
    ticket.part.value = 0;
    setTried(false);
    if (await placed) isSheetOpen.value = false;
    else if (ticket.size.value === '') ticket.size.value = size;
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!isLoggedIn.value) {
      isLoginOpen.value = true;
      return;
    }
    setTried(true);
    const wrong = ticket.fault.value;
    if (wrong) {
      document.querySelector<HTMLInputElement>(`#ticket input[name=${wrong.field}]`)?.focus();
      return;
    }
    if (!asksFirst.value) return void send();
    openDialog('Confirm the order', (close) => <Confirm of={of} name={NAMES[kind.value]} onSure={() => {
      close();
      void send();
    }} />);
  };

  return (
    <form id="ticket" onSubmit={submit} aria-label="Order ticket">
      {of.venue === 'perpetual' && <MarginBar of={of} />}
      <Segmented
        label="Side" name="side" value={side.value} onChoose={(value) => { side.value = value; }} moods={{ buy: 'buy', sell: 'sell' }}
        options={of.venue === 'perpetual' ? [['buy', 'Buy / Long'], ['sell', 'Sell / Short']] : [['buy', 'Buy'], ['sell', 'Sell']]}
      />
      <div class="kinds">
        <Segmented
          label="Kind of order" name="kind" value={kind.value === 'limit' || kind.value === 'market' ? kind.value : 'more'}
          onChoose={(value) => { if (value !== 'more') kind.value = value; }}
          options={[['limit', 'Limit'], ['market', 'Market']]}
        />
        {of.venue === 'perpetual' && (
          <select
            name="kind-more" aria-label="Other kinds of order" class={kind.value === 'limit' || kind.value === 'market' ? '' : 'chosen'}
            value={kind.value === 'limit' || kind.value === 'market' ? '' : kind.value}
            onChange={(event) => { if (event.currentTarget.value) kind.value = event.currentTarget.value as ticket.Kind; }}
          >
            <option value="">Conditional</option>
            {ticket.kinds.perpetual.slice(2).map((one) => <option key={one} value={one}>{NAMES[one]}</option>)}
          </select>
        )}
      </div>
      <p class="line"><span class="soft">Available</span><span id="free">{ticket.available.value ? `${grouped(ticket.available.value.amount, 2)} ${ticket.available.value.token}` : '–'}</span></p>
      {ticket.hasTrigger.value && (
        <Field label="Trigger" name="trigger" value={ticket.trigger.value} unit={of.quote} fault={faultOf('trigger')} onInput={(text) => { ticket.trigger.value = text; }} />
      )}
      {kind.value === 'trailing' && (
        <>
          <Field label="Trails by" name="callback" value={ticket.callback.value} unit="%" fault={faultOf('callback')} onInput={(text) => { ticket.callback.value = text; }} />
          <Field label="From price" name="activation" value={ticket.activation.value} unit={of.quote} hint="Empty: at once" onInput={(text) => { ticket.activation.value = text; }} />
        </>
      )}
      {ticket.hasPrice.value && (
        <div class="beside">
          <Field label="Price" name="price" value={ticket.price.value} unit={of.quote} fault={faultOf('price')} onInput={(text) => { ticket.price.value = text; }} />
          <BestButton />
        </div>
      )}
      <Field
        label={ticket.isSpending.value ? 'Spend' : 'Size'} name="size" value={ticket.size.value} fault={faultOf('size')} hint={sizeHint()}
        onInput={(text) => {
          ticket.size.value = text;
          ticket.part.value = 0;
        }}
        unit={ticket.isSpending.value ? of.quote : (
          <select aria-label="Unit of the size" value={sizeUnit.value} onChange={(event) => {
            sizeUnit.value = event.currentTarget.value as 'base' | 'quote';
            ticket.size.value = '';
          }}>
            <option value="base">{of.base}</option>
            <option value="quote">{of.quote}</option>
          </select>
        )}
      />
      <div class="parts">
        <input
          type="range" min="0" max="100" step="1" aria-label="Part of what is available, in per cent" value={ticket.part.value}
          style={{ '--share': `${ticket.part.value}%` }} onInput={(event) => ticket.takePart(Number(event.currentTarget.value))}
        />
        <div class="row" role="group" aria-label="Part of what is available">
          {PARTS.map((one) => <button key={one} type="button" class="quiet small" aria-pressed={ticket.part.value === one} onClick={() => ticket.takePart(one)}>{one}%</button>)}
        </div>
      </div>
      <Choices />
      {ticket.takesBrackets.value && (
        <div class="brackets">
          <Check label="Take profit / stop loss" name="brackets" isOn={ticket.hasBrackets.value} onChange={(isOn) => { ticket.hasBrackets.value = isOn; }} />
          {ticket.hasBrackets.value && (
            <>
              <Field label="Take profit" name="takeProfit" value={ticket.takeProfit.value} unit={of.quote} fault={faultOf('takeProfit')} onInput={(text) => { ticket.takeProfit.value = text; }} />
              <Field label="Stop loss" name="stopLoss" value={ticket.stopLoss.value} unit={of.quote} fault={faultOf('stopLoss')} onInput={(text) => { ticket.stopLoss.value = text; }} />
            </>
          )}
        </div>
      )}
      <button id="place" type="submit" class={`tall ${isLoggedIn.value ? side.value : 'strong'}`}>
        {isLoggedIn.value ? doors : 'Log in to trade'}
      </button>
      <PreviewLines />
    </form>
  );
}

// Base for quote, and quote for base.
function sizeHint(): string | undefined {
  const of = market.value;
  const lots = ticket.quantity.value;
  if (!of || !lots || ticket.isSpending.value || lots === '0') return undefined;
  if (ticket.unit.value === 'quote') return `= ${exact(lots)} ${of.base}`;
  const at = ticket.reference.value;
  return at ? `≈ ${grouped(String(Number(lots) * Number(at)), 2)} ${of.quote}` : undefined;
}

// The best price on the own side of the book, or the last one.
function BestButton() {
  const of = market.value!;
  void bookVersion.value;
  const best = book.best(ticket.side.value === 'buy' ? 'bids' : 'asks') ?? lastPrice.value;
  return (
    <button type="button" class="outline small" title="Best price on your side of the book" disabled={!best} onClick={() => {
      if (best) ticket.price.value = decimalsOf(best) > decimalsOf(of.tick) ? best.slice(0, best.indexOf('.') + 1 + decimalsOf(of.tick)) : best;
    }}>Best</button>
  );
}

function Choices() {
  const of = market.value!;
  const { tif, isPostOnly, isReduceOnly, kind, triggerBy } = ticket;
  const isPerpetual = of.venue === 'perpetual';
  const isTriggered = ticket.hasTrigger.value || kind.value === 'trailing';
  return (
    <div class="choices">
      {isPerpetual && <Check label="Reduce only" name="reduce-only" isOn={isReduceOnly.value} onChange={(isOn) => { isReduceOnly.value = isOn; }} />}
      {ticket.hasPrice.value && <Check label="Post only" name="post-only" isOn={isPostOnly.value} onChange={(isOn) => { isPostOnly.value = isOn; }} />}
      {ticket.hasPrice.value && (
        <select name="tif" aria-label="Time in force" value={isPostOnly.value ? 'gtc' : tif.value} disabled={isPostOnly.value} onChange={(event) => { tif.value = event.currentTarget.value as ticket.Tif; }}>
          <option value="gtc">GTC</option>
          <option value="ioc">IOC</option>
          {isPerpetual && <option value="fok">FOK</option>}
        </select>
      )}
      {(isTriggered || (ticket.hasBrackets.value && ticket.takesBrackets.value)) && (
        <select name="trigger-by" aria-label="Price that triggers" value={triggerBy.value} onChange={(event) => { triggerBy.value = event.currentTarget.value as 'MARK_PRICE'; }}>
          <option value="MARK_PRICE">by mark</option>
          <option value="CONTRACT_PRICE">by last</option>
        </select>
      )}
    </div>
  );
}
