// What more or less margin makes of an isolated position, before it is asked for. For the eye, in floats: the venue decides.
import type { Bracket } from '../api/exchange';
import type { Position } from './types';

// The mark at which what backs a position is its maintenance margin; 0 where no mark takes it.
export function liquidationPrice({ amount, entry }: Pick<Position, 'amount' | 'entry'>, backing: number, brackets: Bracket[]): number {
  const size = Number(amount);
  const direction = size < 0 ? -1 : 1;
  for (const [at, { maintMarginRatio, cum, notionalCap }] of brackets.entries()) {
    // Its notional there. Along the line of a bracket it lies above the cap until its own is met.
    const notional = (backing + cum - size * Number(entry)) / (maintMarginRatio - direction);
    if (at + 1 < brackets.length && notional > notionalCap) continue;
    return notional > 0 ? notional / Math.abs(size) : 0;
  }
  return 0;
}

// What can be taken away: the initial margin and what is lost stay.
export function removable({ amount, mark, unrealised, isolatedWallet, leverage }: Position): number {
  const initial = (Math.abs(Number(amount)) * Number(mark)) / (leverage || 1);
  return Math.max(0, Number(isolatedWallet) + Math.min(0, Number(unrealised)) - initial);
}
