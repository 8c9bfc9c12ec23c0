// What is worked out of candles: means, bands and strength. For the eye, in floats.
import type { Candle } from '../store/types';

// A point of a line, or none where there is too little before it.
export type Line = Array<number | null>;

export function mean(closes: number[], length: number): Line {
  let sum = 0;
  return closes.map((close, at) => {
    sum += close - (at >= length ? closes[at - length]! : 0);
    return at >= length - 1 ? sum / length : null;
  });
}

export function exponential(closes: number[], length: number): Line {
  const weight = 2 / (length + 1);
  let now = 0;
  return closes.map((close, at) => {
    now = at === 0 ? close : close * weight + now * (1 - weight);
    return at >= length - 1 ? now : null;
  });
}

// Upper and lower: two deviations around the mean of 20.
export function bands(closes: number[], length = 20, times = 2): { upper: Line; lower: Line } {
  const upper: Line = [];
  const lower: Line = [];
  mean(closes, length).forEach((middle, at) => {
    if (middle === null) {
      upper.push(null);
      lower.push(null);
      return;
    }
    const window = closes.slice(at - length + 1, at + 1);
    const away = times * Math.sqrt(window.reduce((sum, close) => sum + (close - middle) ** 2, 0) / length);
    upper.push(middle + away);
    lower.push(middle - away);
  });
  return { upper, lower };
}

// Relative strength after Wilder, 0 to 100.
export function strength(closes: number[], length = 14): Line {
  let [gain, loss] = [0, 0];
  return closes.map((close, at) => {
    if (at === 0) return null;
    const change = close - closes[at - 1]!;
    const [up, down] = [Math.max(change, 0), Math.max(-change, 0)];
    if (at <= length) {
      gain += up / length;
      loss += down / length;
      if (at < length) return null;
    } else {
      gain = (gain * (length - 1) + up) / length;
      loss = (loss * (length - 1) + down) / length;
    }
    return loss === 0 ? 100 : 100 - 100 / (1 + gain / loss);
  });
}

export interface Study {
  name: string;
  label: string;
  // Name of a colour of the style.
  color: string;
  // In a pane of its own below the candles.
  isApart?: boolean;
  lines: (candles: Candle[]) => Line[];
}

const closesOf = (candles: Candle[]): number[] => candles.map(({ close }) => close);

export const STUDIES: Study[] = [
  { name: 'ma7', label: 'MA 7', color: '--study-1', lines: (candles) => [mean(closesOf(candles), 7)] },
  { name: 'ma25', label: 'MA 25', color: '--study-2', lines: (candles) => [mean(closesOf(candles), 25)] },
  { name: 'ma99', label: 'MA 99', color: '--study-3', lines: (candles) => [mean(closesOf(candles), 99)] },
  { name: 'ema21', label: 'EMA 21', color: '--study-4', lines: (candles) => [exponential(closesOf(candles), 21)] },
  {
    name: 'boll', label: 'Bollinger 20, 2', color: '--study-5',
    lines: (candles) => {
      const { upper, lower } = bands(closesOf(candles));
      return [upper, lower];
    },
  },
  { name: 'rsi', label: 'RSI 14', color: '--study-6', isApart: true, lines: (candles) => [strength(closesOf(candles))] },
];
