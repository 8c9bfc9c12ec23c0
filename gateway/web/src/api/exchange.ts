// Every call to the exchange that the page makes, by what it is for.
import type { Market, Side } from '../store/types';
import { request, setServerTime, signedRequest, type Signer } from './client';
import * as shape from './venue';

type Query = Record<string, string | number | undefined>;

const query = (values: Query): string =>
  new URLSearchParams(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))).toString();

// --- before a login --------------------------------------------------------------------------------------------------

export interface WithdrawalToken {
  token: string;
  ledger: 'spot' | 'perpetual';
  address: string;
  decimals: number;
}

export interface Settings {
  test_deployment: boolean;
  chain_id: number;
  node: string | null;
  deposits: boolean;
  withdrawals: { vault: string; confirmations: number; tokens: WithdrawalToken[] } | null;
}

export const readSettings = (): Promise<Settings> => request('GET', '/web/settings.json');

export async function readMarkets(): Promise<{ markets: Market[]; listed: shape.ListedMarket[] }> {
  const [info, listed, spot] = await Promise.all([
    request<{ symbols: shape.FapiSymbol[]; serverTime: number }>('GET', '/fapi/v1/exchangeInfo'),
    request<shape.ListedMarket[]>('GET', '/api/v1/markets'),
    request<shape.SpotMarket[]>('GET', '/api/v1/spot/markets'),
  ]);
  setServerTime(info.serverTime);
  const perpetual = info.symbols
    .filter(({ status }) => status !== 'CLOSE')
    .map((symbol) => shape.perpetualMarket(symbol, listed.find((row) => row.symbol === symbol.symbol)));
  return { markets: [...perpetual, ...spot.filter(({ status }) => status !== 'delisted').map(shape.spotMarket)], listed };
}

export const readSpotTickers = (): Promise<shape.SpotTicker[]> => request('GET', '/api/v1/spot/ticker/24hr');

export async function readDepth({ venue, symbol }: Market): Promise<{ last_update_id: number; bids: [string, string][]; asks: [string, string][] }> {
  if (venue === 'spot') return request('GET', `/api/v1/spot/depth?${query({ symbol, limit: 100 })}`);
  type Depth = { lastUpdateId: number; bids: [string, string][]; asks: [string, string][] };
  const { lastUpdateId, bids, asks } = await request<Depth>('GET', `/fapi/v1/depth?${query({ symbol, limit: 500 })}`);
  return { last_update_id: lastUpdateId, bids, asks };
}

// Newest first.
export async function readTrades({ venue, symbol }: Market, limit: number) {
  if (venue === 'spot') {
    return (await request<shape.SpotTrade[]>('GET', `/api/v1/spot/trades?${query({ symbol, limit })}`)).map(shape.spotTrade);
  }
  return (await request<shape.FapiTrade[]>('GET', `/fapi/v1/trades?${query({ symbol, limit })}`)).map(shape.fapiTrade).reverse();
}

// Oldest first; before a time in seconds where one is given.
export async function readCandles({ venue, symbol }: Market, interval: string, limit: number, before?: number) {
  if (venue === 'spot') {
    const range = before === undefined ? {} : { end_time: before - 1 };
    const rows = await request<shape.KlineRow[]>('GET', `/api/v1/spot/klines?${query({ symbol, interval, limit, ...range })}`);
    return rows.map((row) => shape.candle(row, false));
  }
  const range = before === undefined ? {} : { endTime: before * 1_000 - 1 };
  const rows = await request<shape.KlineRow[]>('GET', `/fapi/v1/klines?${query({ symbol, interval, limit, ...range })}`);
  return rows.map((row) => shape.candle(row, true));
}

export interface PremiumIndex {
  markPrice: string;
  indexPrice: string;
  lastFundingRate: string;
  nextFundingTime: number;
}

export const readPremium = (symbol: string): Promise<PremiumIndex> => request('GET', `/fapi/v1/premiumIndex?${query({ symbol })}`);

// --- login -----------------------------------------------------------------------------------------------------------

export interface Nonce {
  nonce: string;
  version: number;
  typed_data: { message: LoginMessage; domain: unknown };
}

export interface LoginMessage {
  account: string;
  nonce: string;
  expiresAt: number;
  uri?: string;
  deployment?: string;
  issuedAt?: number;
}

export const readNonce = (address: string): Promise<Nonce> => request('GET', `/api/v1/auth/nonce?${query({ address })}`);

export const logIn = (address: string, nonce: Nonce, signature: string): Promise<{ token: string; address: string; expires_at: number }> =>
  request('POST', '/api/v1/auth/login', { body: { address, nonce: nonce.nonce, signature, version: nonce.version } });

export const logOutEverywhere = (token: string): Promise<unknown> => request('POST', '/api/v1/auth/logout', { token, body: {} });

export interface ApiKey {
  id: number;
  api_key: string;
  api_secret?: string;
  label: string;
  permissions: string[];
  ip_whitelist: string[];
  expires_at: number | null;
  enabled: boolean;
  created_at: number;
  last_used_at: number | null;
}

export interface NewKey {
  label: string;
  permissions: string[];
  ip_whitelist?: string[];
  expires_at?: number;
}

const KEYS = '/api/v1/account/api-keys';
export const readKeys = (token: string): Promise<ApiKey[]> => request('GET', KEYS, { token });
export const makeKey = (token: string, body: NewKey): Promise<ApiKey> => request('POST', KEYS, { token, body });
export const changeKey = (token: string, id: number, body: Partial<NewKey> & { enabled?: boolean }): Promise<ApiKey> =>
  request('PATCH', `${KEYS}/${id}`, { token, body });
export const deleteKey = (token: string, id: number): Promise<unknown> => request('DELETE', `${KEYS}/${id}`, { token });

// --- account ---------------------------------------------------------------------------------------------------------

export const readUnified = (token: string): Promise<shape.Unified> => request('GET', '/unified/account', { token });
export const readPositions = (token: string): Promise<shape.FapiPosition[]> => request('GET', '/positions/active', { token });

export async function readOpenOrders(token: string) {
  const [perpetual, open, partly] = await Promise.all([
    request<shape.FapiOrder[]>('GET', '/orders/open', { token }),
    request<shape.SpotOrder[]>('GET', '/api/v1/spot/orders?status=open&limit=200', { token }),
    request<shape.SpotOrder[]>('GET', '/api/v1/spot/orders?status=partially_filled&limit=200', { token }),
  ]);
  return [...perpetual.map(shape.fapiOrder), ...[...open, ...partly].map(shape.spotOrder)];
}

// Those of the conditional-order service.
export const readOpenAlgos = async (signer: Signer) =>
  (await signedRequest<shape.AlgoOrder[]>(signer, 'GET', '/fapi/v1/openAlgoOrders')).map(shape.algoOrder);

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export async function readOrderHistory(token: string, cursor: string) {
  const page = await request<Page<shape.FapiOrder>>('GET', `/account/orders?${query({ order: 'desc', limit: 50, cursor })}`, { token });
  return { rows: page.items.map(shape.fapiOrder), next: page.next_cursor };
}

export async function readFillHistory(token: string, cursor: string) {
  const page = await request<Page<shape.FapiFill>>('GET', `/account/trades?${query({ order: 'desc', limit: 50, cursor })}`, { token });
  return { rows: page.items.map(shape.fapiFill), next: page.next_cursor };
}

export const readSpotOrders = async (token: string, end?: number) =>
  (await request<shape.SpotOrder[]>('GET', `/api/v1/spot/orders?${query({ limit: 50, end })}`, { token })).map(shape.spotOrder);

export const readSpotFills = async (token: string, end?: number) =>
  (await request<shape.SpotFill[]>('GET', `/api/v1/spot/trades/me?${query({ limit: 50, end })}`, { token })).map(shape.spotFill);

export const readBalances = async (token: string) =>
  (await request<Array<{ token: string; available: string; frozen: string }>>('GET', '/api/v1/spot/balances', { token })).map(shape.spotBalance);

export const readTransfers = async (token: string) =>
  (await request<shape.SpotTransfer[]>('GET', '/api/v1/spot/transfers?limit=100', { token })).map(shape.spotTransfer);

export const transfer = (token: string, direction: 'to_spot' | 'to_perp', amount: string): Promise<unknown> =>
  request('POST', '/api/v1/spot/transfer', { token, body: { direction, token: 'USDT', amount } });

// The last 7 days.
export const readIncome = async (signer: Signer) =>
  (await signedRequest<shape.FapiIncome[]>(signer, 'GET', '/fapi/v1/income', { limit: '1000' })).map(shape.fapiIncome);

export const readLeverages = (signer: Signer): Promise<Array<{ symbol: string; leverage: number; marginType: string }>> =>
  signedRequest(signer, 'GET', '/fapi/v1/symbolConfig');

export const setLeverage = (signer: Signer, symbol: string, leverage: number): Promise<unknown> =>
  signedRequest(signer, 'POST', '/fapi/v1/leverage', { symbol, leverage: String(leverage) });

// Adds to the margin of an isolated position, or takes from it.
export const adjustMargin = (signer: Signer, symbol: string, amount: string, kind: 'add' | 'remove'): Promise<unknown> =>
  signedRequest(signer, 'POST', '/fapi/v1/positionMargin', { symbol, amount, type: kind === 'add' ? '1' : '2' });

// Ascending; figures of money.
export interface Bracket {
  initialLeverage: number;
  notionalCap: number;
  maintMarginRatio: number;
  cum: number;
}

export const readBrackets = async (symbol: string): Promise<Bracket[]> =>
  (await request<{ brackets: Bracket[] }>('GET', `/api/v1/markets/${symbol}/brackets`)).brackets;

export const setMarginMode = (token: string, symbol: string, mode: 'CROSSED' | 'ISOLATED'): Promise<unknown> =>
  request('POST', '/api/v1/account/margin-mode', { token, body: { symbol, margin_mode: mode } });

export interface FeeInfo {
  account: { tier_name: string; maker_rate: string; taker_rate: string; volume_14d: string };
}

export const readFees = (token: string): Promise<FeeInfo> => request('GET', '/account/fee-info', { token });

// --- orders ----------------------------------------------------------------------------------------------------------

export interface PreviewRequest {
  symbol: string;
  side: string;
  type: 'LIMIT' | 'MARKET';
  quantity: string;
  price?: string;
  reduce_only?: boolean;
  max_slippage?: string;
}

export interface Preview {
  quantity: string;
  avg_price: string | null;
  worst_price: string | null;
  fill_quantity: string;
  slippage: string;
  notional: string;
  fee: string;
  required_margin: string;
  available_balance: string;
  sufficient: boolean;
  liquidation_price: string;
}

export const preview = (token: string, body: PreviewRequest): Promise<Preview> => request('POST', '/orders/preview', { token, body });

export const placePerpetual = async (signer: Signer, values: Record<string, string>) =>
  shape.fapiOrder(await signedRequest<shape.FapiOrder>(signer, 'POST', '/fapi/v1/order', values));

export const amendPerpetual = async (signer: Signer, symbol: string, orderId: string, side: Side, price: string, quantity: string) =>
  shape.fapiOrder(await signedRequest<shape.FapiOrder>(signer, 'PUT', '/fapi/v1/order', { symbol, orderId, side: side.toUpperCase(), price, quantity }));

export const cancelPerpetual = async (signer: Signer, symbol: string, orderId: string) =>
  shape.fapiOrder(await signedRequest<shape.FapiOrder>(signer, 'DELETE', '/fapi/v1/order', { symbol, orderId }));

export const cancelAlgo = (signer: Signer, algoId: string): Promise<unknown> => signedRequest(signer, 'DELETE', '/fapi/v1/algoOrder', { algoId });

export const cancelAllPerpetual = (signer: Signer, symbol: string): Promise<unknown> =>
  signedRequest(signer, 'DELETE', '/fapi/v1/allOpenOrders', { symbol });

export const cancelAllAlgos = (signer: Signer, symbol: string): Promise<unknown> =>
  signedRequest(signer, 'DELETE', '/fapi/v1/algoOpenOrders', { symbol });

export const placeSpot = async (token: string, body: Record<string, string>) =>
  shape.spotOrder(await request<shape.SpotOrder>('POST', '/api/v1/spot/orders', { token, body }));

export const cancelSpot = async (token: string, id: string) =>
  shape.spotOrder(await request<shape.SpotOrder>('DELETE', `/api/v1/spot/orders/${id}`, { token }));

export const cancelAllSpot = (token: string, symbol?: string): Promise<unknown> =>
  request('DELETE', `/api/v1/spot/orders?${query({ symbol })}`, { token });

// --- trust -----------------------------------------------------------------------------------------------------------

export interface ProofToken {
  token: string;
  owed: string;
  spot: string;
  perpetual: string;
  funds: string;
  fees: string;
  in_flight: string;
  unbacked: string;
  missing: string;
  held: string | null;
  root: string;
}

export interface Proof {
  sequence: number;
  state_hash: string;
  root: string;
  time: number;
  block: number | null;
  tokens: ProofToken[];
}

export interface OwnLeaf {
  token: string;
  amount: string;
  salt: string;
  leaf: string;
  root: string;
  sum: string;
  path: Array<{ hash: string; side: string; sum: string }>;
}

export const readProof = (): Promise<Proof> => request('GET', '/api/v1/proof');
export const readOwnProof = (token: string): Promise<{ sequence: number; root: string; leaves: OwnLeaf[] }> =>
  request('GET', '/api/v1/proof/me', { token });
export const readFund = (): Promise<Array<{ assets: Array<{ asset: string; marginBalance: string }>; symbols: string[] }>> =>
  request('GET', '/fapi/v1/insuranceBalance');
export interface VenueLatency {
  // Upper bounds, exact to one part in 128; null before the first order.
  p50_us: number | null;
  p99_us: number | null;
  count: number;
}
export const readVenueLatency = (): Promise<VenueLatency> => request('GET', '/web/latency.json');
