// What an order will cost, before it is placed: from the venue's own preview where it has one, once typing pauses.
import { computed, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { preview, type Preview } from '../../api/exchange';
import { decimalsOf, isZero, multiply } from '../../lib/decimal';
import { grouped } from '../../lib/format';
import { market } from '../../store/market';
import { session } from '../../store/session';
import * as ticket from '../../store/ticket';
import { refusalWords } from '../../words/refusals';

const PAUSE_MS = 300;

// What is asked for; null where nothing can be told.
const asked = computed(() => {
  const of = market.value;
  const lots = ticket.quantity.value;
  const by = session.value;
  if (!of || of.venue !== 'perpetual' || !lots || isZero(lots) || !by) return null;
  if (ticket.kind.value !== 'market' && !(ticket.hasPrice.value && ticket.price.value)) return null;
  if (ticket.fault.value && ticket.fault.value.field !== 'takeProfit' && ticket.fault.value.field !== 'stopLoss') return null;
  const isLimit = ticket.hasPrice.value;
  return {
    token: by.token,
    body: {
      symbol: of.symbol, side: ticket.side.value.toUpperCase(), type: isLimit ? 'LIMIT' as const : 'MARKET' as const, quantity: lots,
      reduce_only: ticket.isReduceOnly.value, ...(isLimit ? { price: ticket.price.value } : { max_slippage: '0.05' }),
    },
  };
});

export const told = signal<{ answer: Preview | null; refusal: string | null }>({ answer: null, refusal: null });

export function PreviewLines() {
  const now = asked.value;
  const text = JSON.stringify(now);
  useEffect(() => {
    if (!now) {
      told.value = { answer: null, refusal: null };
      return;
    }
    let isGone = false;
    const timer = setTimeout(() => {
      preview(now.token, now.body).then(
        (answer) => { if (!isGone) told.value = { answer, refusal: null }; },
        (error: unknown) => {
          const words = refusalWords(error);
          if (!isGone) told.value = { answer: null, refusal: `${words.title}. ${words.text}` };
        },
      );
    }, PAUSE_MS);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [text]);
  const of = market.value;
  if (!of) return null;
  if (of.venue === 'spot') return <SpotLines />;
  const { answer, refusal } = told.value;
  const decimals = decimalsOf(of.tick);
  const isShort = answer?.sufficient === false;
  return (
    <dl id="preview" class="lines" aria-live="polite">
      <Line name="Value">{answer ? `${grouped(answer.notional, 2)} ${of.quote}` : '–'}</Line>
      <Line name="Margin" mood={isShort ? 'down' : ''}>{answer ? `${grouped(answer.required_margin, 2)} ${of.quote}${isShort ? ': not enough' : ''}` : '–'}</Line>
      <Line name="Fee">{answer ? `${grouped(answer.fee, 4)} ${of.quote}` : '–'}</Line>
      <Line name="Fills now at">{answer?.avg_price ? `${grouped(answer.avg_price, decimals)} (slips ${(100 * Number(answer.slippage)).toFixed(2)}%)` : '–'}</Line>
      <Line name="Liquidation">{answer && Number(answer.liquidation_price) > 0 ? grouped(answer.liquidation_price, decimals) : '–'}</Line>
      {refusal && <p class="note bad">{refusal}</p>}
    </dl>
  );
}

export function Line(props: { name: string; mood?: string; children: ComponentChildren }) {
  return <div class="line"><dt>{props.name}</dt><dd class={props.mood}>{props.children}</dd></div>;
}

// The spot venue has no preview; what it takes is plain.
function SpotLines() {
  const of = market.value!;
  const [lots, at] = [ticket.quantity.value, ticket.reference.value];
  const value = ticket.isSpending.value ? ticket.size.value : lots && at ? multiply(lots, at) : null;
  const rate = ticket.kind.value === 'market' ? of.takerFee : of.makerFee;
  const isKnown = value !== null && /^[0-9.]+$/.test(value) && Number(value) > 0;
  return (
    <dl id="preview" class="lines">
      <Line name="Value">{isKnown ? `${grouped(value, 4)} ${of.quote}` : '–'}</Line>
      <Line name="Fee">{`${(100 * Number(rate)).toFixed(3)}%, taken from what you receive`}</Line>
    </dl>
  );
}
