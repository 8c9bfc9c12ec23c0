// What the account is worth and how near its margin is to the end.
import { fundingWeek, liveMargin, realisedWeek } from '../../store/account';
import { mood, money, signed } from '../../lib/format';
import { isLoggedIn } from '../../store/session';
import { Line } from '../ticket/Preview';

export function Summary() {
  const now = liveMargin.value;
  if (!isLoggedIn.value) return null;
  const ratio = Number(now?.ratio ?? 0);
  const level = ratio > 0.8 ? 'down' : ratio > 0.5 ? 'warn' : 'up';
  return (
    <section id="summary" class="summary" aria-label="Account">
      <h2>Account</h2>
      <dl class="lines">
        <Line name="Equity">{now ? `${money(now.total)} USDT` : '–'}</Line>
        <Line name="Perpetual equity">{now ? `${money(now.equity)} USDT` : '–'}</Line>
        <Line name="Margin ratio" mood={level}>{now ? `${(100 * ratio).toFixed(2)}%` : '–'}</Line>
      </dl>
      <div class="meter" role="meter" aria-label="Margin ratio" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.min(100, Math.round(100 * ratio))}>
        <i class={level} style={{ width: `${Math.min(100, 100 * ratio)}%` }} />
      </div>
      <dl class="lines">
        <Line name="Maintenance margin">{now ? `${money(now.maintenance)} USDT` : '–'}</Line>
        <Line name="Unrealised" mood={mood(now?.unrealised)}>{now ? `${signed(now.unrealised)} USDT` : '–'}</Line>
        <Line name="Realised, 7 days" mood={mood(realisedWeek.value)}>{signed(realisedWeek.value)} USDT</Line>
        <Line name="Funding, 7 days" mood={mood(fundingWeek.value)}>{signed(fundingWeek.value)} USDT</Line>
      </dl>
    </section>
  );
}
