// Exact decimals as text: what is sent and what money is worked out with. Nothing here is ever a float.

interface Parts {
  units: bigint;
  scale: number;
}

const PLAIN = /^-?[0-9]+(\.[0-9]+)?$/;

// Whether a text is a decimal as the exchange takes one.
export const isDecimal = (text: string): boolean => PLAIN.test(text);

function parse(text: string): Parts {
  if (!PLAIN.test(text)) throw new Error(`not a decimal: ${text}`);
  const [whole = '', part = ''] = text.split('.');
  return { units: BigInt(whole + part), scale: part.length };
}

// The shortest text of it.
function show({ units, scale }: Parts): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const part = digits.slice(digits.length - scale).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${whole}${part ? `.${part}` : ''}`;
}

const raised = ({ units, scale }: Parts, to: number): bigint => units * 10n ** BigInt(to - scale);

function aligned(a: string, b: string): [bigint, bigint, number] {
  const [left, right] = [parse(a), parse(b)];
  const scale = Math.max(left.scale, right.scale);
  return [raised(left, scale), raised(right, scale), scale];
}

export function add(a: string, b: string): string {
  const [left, right, scale] = aligned(a, b);
  return show({ units: left + right, scale });
}

export function subtract(a: string, b: string): string {
  const [left, right, scale] = aligned(a, b);
  return show({ units: left - right, scale });
}

export function multiply(a: string, b: string): string {
  const [left, right] = [parse(a), parse(b)];
  return show({ units: left.units * right.units, scale: left.scale + right.scale });
}

// Towards zero, with so many decimals.
export function divide(a: string, b: string, decimals: number): string {
  const [left, right] = aligned(a, b);
  if (right === 0n) throw new Error('division by zero');
  return show({ units: (left * 10n ** BigInt(decimals)) / right, scale: decimals });
}

// -1, 0 or 1.
export function compare(a: string, b: string): number {
  const [left, right] = aligned(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

export const isZero = (text: string): boolean => parse(text).units === 0n;
export const isPositive = (text: string): boolean => isDecimal(text) && parse(text).units > 0n;
export const negate = (text: string): string => subtract('0', text);
export const absolute = (text: string): string => (text.startsWith('-') ? text.slice(1) : text);
export const least = (a: string, b: string): string => (compare(a, b) <= 0 ? a : b);

// The greatest multiple of a step that is not above it, for what is not negative.
export function floorTo(value: string, step: string): string {
  const [left, right, scale] = aligned(value, step);
  return show({ units: left - (left % right), scale });
}

// The least multiple of a step that is not below it, for what is not negative.
export function ceilTo(value: string, step: string): string {
  const floor = floorTo(value, step);
  return compare(floor, value) === 0 ? floor : add(floor, step);
}

// The multiple of a step that is nearest to it, the upper of two, for what is not negative.
export const nearestTo = (value: string, step: string): string => floorTo(add(value, divide(step, '2', decimalsOf(step) + 1)), step);

// So many decimals, cut off or filled up: for the eye.
export function fixed(text: string, decimals: number): string {
  const { units, scale } = parse(text);
  const cut = scale > decimals ? units / 10n ** BigInt(scale - decimals) : raised({ units, scale }, decimals);
  const digits = (cut < 0n ? -cut : cut).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return `${cut < 0n ? '-' : ''}${whole}${decimals ? `.${digits.slice(digits.length - decimals)}` : ''}`;
}

export const decimalsOf = (text: string): number => text.split('.')[1]?.length ?? 0;

// The shortest text of a decimal.
export const plain = (text: string): string => show(parse(text));
