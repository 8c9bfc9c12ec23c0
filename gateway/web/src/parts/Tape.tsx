// Trades as they happen, newest first.
import { decimalsOf } from '../lib/decimal';
import { clock, grouped } from '../lib/format';
import { market, trades } from '../store/market';

export function Tape() {
  const of = market.value;
  if (!of) return <section class="panel tape" aria-label="Trades" />;
  return (
    <section class="panel tape" aria-label="Trades">
      <header><h2>Trades</h2></header>
      <div class="levels head" aria-hidden="true"><span>Price ({of.quote})</span><span>Size ({of.base})</span><span>Time</span></div>
      <div id="trades" class="scroll" tabIndex={0} role="region" aria-label="Latest trades">
        {trades.value.map(({ id, price, quantity, side, time }) => (
          <div key={id} class="levels" data-trade={id}>
            <span class={side === 'buy' ? 'up' : 'down'}>{grouped(price, decimalsOf(of.tick))}</span>
            <span>{grouped(quantity, decimalsOf(of.lot))}</span>
            <span>{clock(time)}</span>
          </div>
        ))}
        {!trades.value.length && <p class="empty">No trades yet.</p>}
      </div>
    </section>
  );
}
