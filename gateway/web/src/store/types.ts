// What the page knows of markets and accounts, whichever venue it comes from. Money is decimal text.

export type Venue = 'perpetual' | 'spot';
export type Side = 'buy' | 'sell';

export interface Market {
  // Unique over both venues.
  key: string;
  venue: Venue;
  symbol: string;
  status: string;
  base: string;
  quote: string;
  tick: string;
  lot: string;
  leastQuantity: string;
  leastNotional: string;
  greatestLeverage: number;
  makerFee: string;
  takerFee: string;
}

export interface Ticker {
  last: string;
  open: string;
  high: string;
  low: string;
  volume: string;
  quoteVolume: string;
}

export interface Premium {
  mark: string;
  index: string;
  rate: string;
  next: number;
}

export interface Trade {
  id: string;
  price: string;
  quantity: string;
  side: Side;
  time: number;
}

// Seconds since 1970 at which it opens, and its figures, for the chart alone.
export interface Candle {
  time: number;
  open: number;
  high: number;
  low: number;
  close: number;
  volume: number;
}

export interface Order {
  venue: Venue;
  id: string;
  symbol: string;
  side: Side;
  // limit, market, stop, ... in lower case as the venue names it.
  type: string;
  price: string | null;
  // Quote to spend, of a spot market buy.
  quoteQuantity: string | null;
  trigger: string | null;
  callback: string | null;
  activation: string | null;
  quantity: string;
  filled: string;
  average: string;
  status: string;
  tif: string;
  reduceOnly: boolean;
  closePosition: boolean;
  parent: string | null;
  // Of the conditional-order service: it has routes of its own until it fires, and goes on as another order then.
  isOfService: boolean;
  reason: string | null;
  created: number;
  updated: number;
}

export interface Fill {
  venue: Venue;
  id: string;
  orderId: string;
  symbol: string;
  side: Side;
  price: string;
  quantity: string;
  fee: string;
  feeToken: string;
  realised: string | null;
  isMaker: boolean;
  time: number;
}

export interface Position {
  symbol: string;
  // Signed.
  amount: string;
  entry: string;
  breakEven: string;
  mark: string;
  liquidation: string;
  unrealised: string;
  // Since this page follows it; the venue tells it with each change.
  realised: string | null;
  leverage: number;
  isIsolated: boolean;
  isolatedWallet: string;
}

export interface Balance {
  token: string;
  available: string;
  frozen: string;
}

// Of the perpetual account.
export interface Margin {
  wallet: string;
  unrealised: string;
  equity: string;
  available: string;
  withdrawable: string;
  initial: string;
  maintenance: string;
  ratio: string;
  total: string;
}

export interface Income {
  symbol: string;
  type: string;
  amount: string;
  time: number;
  id: string;
}

export interface Transfer {
  id: string;
  direction: string;
  token: string;
  amount: string;
  time: number;
}
