// Requests to the exchange: JSON, a login token, or the signature of an API key.
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

// An answer that is no success: its status, its code as the venue names it, and what it says.
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfter: number | null,
  ) {
    super(message);
  }
}

export interface Signer {
  key: string;
  secret: string;
}

interface Options {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
}

interface Fault {
  code?: string | number;
  error?: string;
  msg?: string;
  message?: string;
}

// What the venue's clock is ahead of this one, in ms, as it last said.
let ahead = 0;
export const setServerTime = (ms: number): void => {
  ahead = ms - Date.now();
};
export const serverNow = (): number => Date.now() + ahead;

// Throws Refused for an answer that is no success, TypeError without a connection.
export async function request<T>(method: string, path: string, { token, body, headers = {} }: Options = {}): Promise<T> {
  const sent = { ...headers };
  if (token) sent.authorization = `Bearer ${token}`;
  if (body !== undefined) sent['content-type'] = 'application/json';
  const answer = await fetch(path, { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body) });
  if (answer.ok) return (await answer.json()) as T;
  const fault = (await answer.json().catch(() => ({}))) as Fault;
  const code = String(fault.code ?? fault.error ?? answer.status);
  const after = answer.headers.get('retry-after');
  throw new Refused(answer.status, code, fault.msg ?? fault.message ?? fault.error ?? '', after ? Number(after) : null);
}

// A request to /fapi, signed as its clients sign.
export function signedRequest<T>(signer: Signer, method: string, path: string, values: Record<string, string> = {}): Promise<T> {
  const query = new URLSearchParams({ ...values, timestamp: String(Math.round(serverNow())) }).toString();
  const signature = bytesToHex(hmac(sha256, utf8ToBytes(signer.secret), utf8ToBytes(query)));
  return request(method, `${path}?${query}&signature=${signature}`, { headers: { 'X-EX-APIKEY': signer.key } });
}
