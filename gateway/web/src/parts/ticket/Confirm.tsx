// The question before an order is placed, which can be switched off.
import { grouped } from '../../lib/format';
import { asksFirst } from '../../store/preferences';
import * as ticket from '../../store/ticket';
import type { Market } from '../../store/types';
import { Check, Fact } from '../ui';
import { told } from './Preview';

export function Confirm({ of, name, onSure }: { of: Market; name: string; onSure: () => void }) {
  const { side } = ticket;
  const answer = told.value.answer;
  const size = ticket.isSpending.value ? `${ticket.size.value} ${of.quote}` : `${ticket.quantity.value ?? '–'} ${of.base}`;
  return (
    <form onSubmit={(event) => {
      event.preventDefault();
      onSure();
    }}>
      <p class="sure"><strong class={side.value === 'buy' ? 'up' : 'down'}>{side.value === 'buy' ? 'Buy' : 'Sell'} {size}</strong> {of.symbol}, {name.toLowerCase()}</p>
      <dl class="facts">
        {ticket.hasTrigger.value && <Fact name="Trigger">{ticket.trigger.value} {of.quote}</Fact>}
        {ticket.kind.value === 'trailing' && <Fact name="Trails by">{ticket.callback.value}%</Fact>}
        <Fact name="Price">{ticket.hasPrice.value ? `${ticket.price.value} ${of.quote}` : 'Market'}</Fact>
        {of.venue === 'perpetual' && <Fact name="Leverage">{ticket.leverage.value}×</Fact>}
        {answer && <Fact name="Margin">{grouped(answer.required_margin, 2)} {of.quote}</Fact>}
        {answer && <Fact name="Fee">{grouped(answer.fee, 4)} {of.quote}</Fact>}
        {answer && Number(answer.liquidation_price) > 0 && <Fact name="Liquidation">{grouped(answer.liquidation_price, 2)}</Fact>}
        {ticket.isReduceOnly.value && <Fact name="Reduce only">yes</Fact>}
        {ticket.isPostOnly.value && ticket.hasPrice.value && <Fact name="Post only">yes</Fact>}
        {ticket.hasBrackets.value && ticket.takesBrackets.value && ticket.takeProfit.value && <Fact name="Take profit">{ticket.takeProfit.value}</Fact>}
        {ticket.hasBrackets.value && ticket.takesBrackets.value && ticket.stopLoss.value && <Fact name="Stop loss">{ticket.stopLoss.value}</Fact>}
      </dl>
      <Check label="Do not ask again" name="confirm-off" isOn={!asksFirst.value} onChange={(isOn) => { asksFirst.value = !isOn; }} />
      <button id="confirm" type="submit" class={`tall ${side.value}`} autofocus>{side.value === 'buy' ? 'Buy' : 'Sell'} {size}</button>
    </form>
  );
}
