// Shapes of the perpetual and the spot API as far as the page reads them, and what they become in the store.
import { absolute, plain } from '../lib/decimal';
import type { Balance, Candle, Fill, Income, Market, Order, Position, Side, Ticker, Trade, Transfer } from '../store/types';

export interface FapiSymbol {
  symbol: string;
  status: string;
  baseAsset: string;
  quoteAsset: string;
  filters: Array<Record<string, string>>;
}

export interface ListedMarket {
  symbol: string;
  last_price: string;
  mark_price: string;
  index_price: string;
  price_change_percent_24h: string;
  high_24h: string;
  low_24h: string;
  volume_24h: string;
  quote_volume_24h: string;
  open_interest: string;
  funding_rate: string;
  next_funding_time: number;
  max_leverage: number;
  min_notional: string;
  min_quantity: string;
  maker_rate: string;
  taker_rate: string;
}

export interface SpotMarket {
  id: string;
  base_token: string;
  quote_token: string;
  tick_size: string;
  lot_size: string;
  min_notional: string;
  maker_fee_bps: number;
  taker_fee_bps: number;
  status: string;
}

export function perpetualMarket(symbol: FapiSymbol, listed: ListedMarket | undefined): Market {
  const filter = (name: string, member: string) => symbol.filters.find(({ filterType }) => filterType === name)?.[member] ?? '0';
  return {
    key: `perpetual:${symbol.symbol}`, venue: 'perpetual', symbol: symbol.symbol,
    status: symbol.status === 'TRADING' ? 'listed' : symbol.status.toLowerCase().replace('_', ' '),
    base: symbol.baseAsset, quote: symbol.quoteAsset,
    tick: plain(filter('PRICE_FILTER', 'tickSize')), lot: plain(filter('LOT_SIZE', 'stepSize')),
    leastQuantity: plain(filter('LOT_SIZE', 'minQty')), leastNotional: plain(filter('MIN_NOTIONAL', 'notional')),
    greatestLeverage: listed?.max_leverage ?? 1,
    makerFee: listed?.maker_rate ?? '0', takerFee: listed?.taker_rate ?? '0',
  };
}

const bps = (value: number): string => plain((value / 10_000).toFixed(8));

export const spotMarket = (market: SpotMarket): Market => ({
  key: `spot:${market.id}`, venue: 'spot', symbol: market.id, status: market.status,
  base: market.base_token, quote: market.quote_token, tick: market.tick_size, lot: market.lot_size,
  leastQuantity: market.lot_size, leastNotional: market.min_notional, greatestLeverage: 1,
  makerFee: bps(market.maker_fee_bps), takerFee: bps(market.taker_fee_bps),
});

// --- market data -----------------------------------------------------------------------------------------------------

export interface FapiTrade {
  id: number;
  price: string;
  qty: string;
  isBuyerMaker: boolean;
  time: number;
}

export const fapiTrade = ({ id, price, qty, isBuyerMaker, time }: FapiTrade): Trade =>
  ({ id: String(id), price, quantity: qty, side: isBuyerMaker ? 'sell' : 'buy', time });

export interface SpotTrade {
  trade_id: string;
  price: string;
  quantity: string;
  side: Side;
  ts: number;
}

export const spotTrade = ({ trade_id: id, price, quantity, side, ts }: SpotTrade): Trade => ({ id, price, quantity, side, time: ts });

export interface SpotTicker {
  symbol: string;
  last_price: string;
  open_price: string;
  high: string;
  low: string;
  volume: string;
  quote_volume: string;
}

export const spotTicker = (row: SpotTicker): Ticker =>
  ({ last: row.last_price, open: row.open_price, high: row.high, low: row.low, volume: row.volume, quoteVolume: row.quote_volume });

// Rows of klines of both venues begin alike; the perpetual one counts in ms.
export type KlineRow = [time: number, open: string, high: string, low: string, close: string, volume: string];

export const candle = ([time, open, high, low, close, volume]: KlineRow, inMs: boolean): Candle => ({
  time: inMs ? Math.floor(time / 1_000) : time,
  open: Number(open), high: Number(high), low: Number(low), close: Number(close), volume: Number(volume),
});

// --- orders ----------------------------------------------------------------------------------------------------------

export interface FapiOrder {
  orderId: number;
  symbol: string;
  status: string;
  price: string;
  avgPrice: string;
  origQty: string;
  executedQty: string;
  timeInForce: string;
  type: string;
  reduceOnly: boolean;
  closePosition: boolean;
  side: string;
  stopPrice: string;
  activatePrice?: string;
  priceRate?: string;
  parentOrderId?: number;
  time: number;
  updateTime: number;
}

// An algo object, of the conditional-order service.
export interface AlgoOrder {
  algoId: number;
  symbol: string;
  side: string;
  orderType: string;
  timeInForce: string;
  quantity: string;
  algoStatus: string;
  triggerPrice: string;
  price: string;
  closePosition: boolean;
  reduceOnly: boolean;
  activatePrice: string;
  callbackRate: string;
  createTime: number;
  updateTime: number;
}

const unlessZero = (text: string | undefined | null): string | null => (text && Number(text) !== 0 ? plain(text) : null);
const side = (text: string): Side => (text.toLowerCase() === 'buy' ? 'buy' : 'sell');

export const fapiOrder = (order: FapiOrder): Order => ({
  venue: 'perpetual', id: String(order.orderId), symbol: order.symbol, side: side(order.side), type: order.type.toLowerCase(),
  price: unlessZero(order.price), quoteQuantity: null, trigger: unlessZero(order.stopPrice),
  callback: unlessZero(order.priceRate), activation: unlessZero(order.activatePrice),
  quantity: plain(order.origQty), filled: plain(order.executedQty), average: plain(order.avgPrice),
  status: order.status.toLowerCase(), tif: order.timeInForce.toLowerCase(), reduceOnly: order.reduceOnly,
  closePosition: order.closePosition, parent: order.parentOrderId ? String(order.parentOrderId) : null, isOfService: false, reason: null,
  created: order.time, updated: order.updateTime,
});

export const algoOrder = (order: AlgoOrder): Order => ({
  venue: 'perpetual', id: String(order.algoId), symbol: order.symbol, side: side(order.side), type: order.orderType.toLowerCase(),
  price: unlessZero(order.price), quoteQuantity: null, trigger: unlessZero(order.triggerPrice),
  callback: unlessZero(order.callbackRate), activation: unlessZero(order.activatePrice),
  quantity: plain(order.quantity), filled: '0', average: '0', status: order.algoStatus.toLowerCase(),
  tif: order.timeInForce.toLowerCase(), reduceOnly: order.reduceOnly, closePosition: order.closePosition, parent: null,
  isOfService: true, reason: null, created: order.createTime, updated: order.updateTime,
});

export interface SpotOrder {
  id: string;
  symbol: string;
  side: string;
  type: string;
  tif: string;
  price: string | null;
  quantity: string;
  quote_quantity: string | null;
  filled_qty: string;
  avg_fill_price: string;
  status: string;
  reject_reason: string | null;
  created_at?: number;
  updated_at: number;
}

export const spotOrder = (order: SpotOrder): Order => ({
  venue: 'spot', id: order.id, symbol: order.symbol, side: side(order.side), type: order.type, price: order.price,
  quoteQuantity: order.quote_quantity, trigger: null, callback: null, activation: null, quantity: order.quantity,
  filled: order.filled_qty, average: order.avg_fill_price, status: order.status, tif: order.tif.toLowerCase(),
  reduceOnly: false, closePosition: false, parent: null, isOfService: false, reason: order.reject_reason,
  created: 1_000 * (order.created_at ?? order.updated_at), updated: 1_000 * order.updated_at,
});

export interface FapiFill {
  symbol: string;
  id: number;
  orderId: number;
  side: string;
  price: string;
  qty: string;
  realizedPnl: string;
  commission: string;
  commissionAsset: string;
  time: number;
  maker: boolean;
}

export const fapiFill = (fill: FapiFill): Fill => ({
  venue: 'perpetual', id: String(fill.id), orderId: String(fill.orderId), symbol: fill.symbol, side: side(fill.side),
  price: plain(fill.price), quantity: plain(fill.qty), fee: plain(fill.commission), feeToken: fill.commissionAsset,
  realised: plain(fill.realizedPnl), isMaker: fill.maker, time: fill.time,
});

export interface SpotFill {
  trade_id: string;
  order_id: string;
  symbol: string;
  side: string;
  price: string;
  quantity: string;
  fee: string;
  fee_token: string;
  role: string;
  ts: number;
}

export const spotFill = (fill: SpotFill): Fill => ({
  venue: 'spot', id: fill.trade_id, orderId: fill.order_id, symbol: fill.symbol, side: side(fill.side), price: fill.price,
  quantity: fill.quantity, fee: fill.fee, feeToken: fill.fee_token, realised: null, isMaker: fill.role === 'maker',
  time: 1_000 * fill.ts,
});

// --- account ---------------------------------------------------------------------------------------------------------

export interface FapiPosition {
  symbol: string;
  positionAmt: string;
  entryPrice: string;
  breakEvenPrice: string;
  markPrice: string;
  unRealizedProfit: string;
  liquidationPrice: string;
  leverage: string;
  marginType: string;
  isolatedWallet: string;
}

export const fapiPosition = (row: FapiPosition, realised: string | null): Position => ({
  symbol: row.symbol, amount: plain(row.positionAmt), entry: plain(row.entryPrice), breakEven: plain(row.breakEvenPrice),
  mark: plain(row.markPrice), liquidation: plain(row.liquidationPrice), unrealised: plain(row.unRealizedProfit), realised,
  leverage: Number(row.leverage), isIsolated: row.marginType.toLowerCase() === 'isolated', isolatedWallet: plain(row.isolatedWallet),
});

export interface Unified {
  total_equity: string;
  perpetual: {
    wallet_balance: string;
    unrealized_pnl: string;
    margin_balance: string;
    available_balance: string;
    max_withdraw: string;
    initial_margin: string;
    maint_margin: string;
    margin_ratio: string;
  };
  spot: Array<{ token: string; available: string; frozen: string; usdt_value: string }>;
}

export const spotBalance = ({ token, available, frozen }: Balance): Balance => ({ token, available, frozen });

export interface FapiIncome {
  symbol: string;
  incomeType: string;
  income: string;
  time: number;
  tranId: number;
}

export const fapiIncome = (row: FapiIncome): Income =>
  ({ symbol: row.symbol, type: row.incomeType, amount: plain(row.income), time: row.time, id: `${row.incomeType}-${row.tranId}` });

export interface SpotTransfer {
  id: string;
  direction: string;
  token: string;
  amount: string;
  ts: number;
}

export const spotTransfer = (row: SpotTransfer): Transfer =>
  ({ id: row.id, direction: row.direction, token: row.token, amount: row.amount, time: 1_000 * row.ts });

export const sizeOf = (position: Position): string => absolute(position.amount);
