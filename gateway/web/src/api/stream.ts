// The one socket to /ws: channels of the account API, and market streams of /fapi. It comes back by itself and subscribes again:
// to channels of the account behind the last number that it was told, so that nothing is missed without a word.
import { signal } from '@preact/signals';

const PING_MS = 10_000;
// Without a frame for so long the connection counts as dead: a ping is answered.
const SILENT_MS = 25_000;
const RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000];

export type StreamState = 'connecting' | 'open' | 'lost';

// Event of a market stream of /fapi: what it is of tell its own members.
export interface MarketEvent {
  e: string;
  s: string;
  k?: { i: string };
}

export interface Frame {
  type: string;
  channel?: string;
  data?: unknown;
  code?: string;
  message?: string;
  success?: boolean;
  // Of channels of the account: the place in the venue's order, and of a gap the place to go on behind.
  seq?: number;
  through?: number;
}

export const streamState = signal<StreamState>('connecting');
// When the next attempt begins, in ms since 1970.
export const retryAt = signal(0);
// From a ping to its answer, in ms.
export const roundTrip = signal<number | null>(null);

type TakeFrame = (frame: Frame) => void;
type TakeEvent = (event: never) => void;

interface Channel {
  take: TakeFrame;
  // Of an account: called when something was missed for good.
  missed?: () => void;
  // Where to go on.
  from?: number;
}

const channels = new Map<string, Channel>();
const streams = new Map<string, { name: string; take: TakeEvent }>();
const onOpen = new Set<(isAgain: boolean) => void>();
let socket: WebSocket | null = null;
let token: string | null = null;
let failures = 0;
let asked = 0;
let wasOpen = false;
let retry: ReturnType<typeof setTimeout> | undefined;

const isOpen = (): boolean => socket?.readyState === WebSocket.OPEN;
const send = (frame: unknown): void => {
  if (isOpen()) socket?.send(JSON.stringify(frame));
};
const ask = (method: string, params: string[]): void => send({ method, params, id: ++asked });

// Called with every connection; true when there was one before.
export function whenOpen(act: (isAgain: boolean) => void): void {
  onOpen.add(act);
}

export function connect(): void {
  clearTimeout(retry);
  const url = new URL('/ws', location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const own = new WebSocket(url);
  socket = own;
  let heard = Date.now();
  let pinged = 0;
  const beat = setInterval(() => {
    if (Date.now() - heard > SILENT_MS) own.close();
    else if (isOpen()) {
      pinged = performance.now();
      send({ type: 'ping' });
    }
  }, PING_MS);
  own.onopen = () => {
    failures = 0;
    if (token) send({ type: 'auth_token', token });
    for (const [name, channel] of channels) {
      sendSubscribe(name, channel);
      if (wasOpen && channel.from === undefined) channel.missed?.();
    }
    if (streams.size) ask('SUBSCRIBE', [...streams.values()].map(({ name }) => name));
    streamState.value = 'open';
    for (const act of onOpen) act(wasOpen);
    wasOpen = true;
  };
  own.onmessage = (message: MessageEvent<string>) => {
    heard = Date.now();
    const frame = JSON.parse(message.data) as Frame | MarketEvent | MarketEvent[];
    if (Array.isArray(frame)) take(nameOfList(frame), frame);
    else if ('e' in frame) take(nameOf(frame), frame);
    else if (frame.type === 'pong') roundTrip.value = performance.now() - pinged;
    else if (frame.channel) takeFrame(frame, channels.get(frame.channel));
  };
  own.onclose = () => {
    clearInterval(beat);
    if (socket !== own) return;
    streamState.value = wasOpen ? 'lost' : 'connecting';
    const wait = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]! * (0.8 + 0.4 * Math.random());
    failures += 1;
    retryAt.value = Date.now() + wait;
    retry = setTimeout(connect, wait);
  };
}

// At once instead of when its time has come.
export function reconnectNow(): void {
  if (!isOpen()) connect();
}

// `take` gets every frame that names the channel, refusals included. With `missed`, for a channel of the account, what happens while
// the connection is down is told afterwards, and `missed` is called where it no longer can be.
export function subscribe(name: string, take: TakeFrame, missed?: () => void): void {
  const channel = { take, missed };
  channels.set(name, channel);
  sendSubscribe(name, channel);
}

function sendSubscribe(name: string, { missed, from }: Channel): void {
  send({ type: 'subscribe', channel: name, ...(missed && { resume: true, from }) });
}

function takeFrame(frame: Frame, channel: Channel | undefined): void {
  if (!channel) return;
  channel.from = frame.through ?? frame.seq ?? channel.from;
  if (frame.type === 'gap') channel.missed?.();
  else channel.take(frame);
}

export function unsubscribe(channel: string): void {
  if (channels.delete(channel)) send({ type: 'unsubscribe', channel });
}

// The same for a market stream of /fapi; `take` gets its events.
export function follow<E>(name: string, take: (event: E) => void): void {
  streams.set(withoutSpeed(name), { name, take: take as TakeEvent });
  ask('SUBSCRIBE', [name]);
}

export function unfollow(name: string): void {
  const known = streams.get(withoutSpeed(name));
  if (known && streams.delete(withoutSpeed(name))) ask('UNSUBSCRIBE', [known.name]);
}

// Who asks. Private channels are subscribed to after it.
export function authenticate(by: string | null): void {
  token = by;
  if (by) send({ type: 'auth_token', token: by });
}

function take(name: string, event: unknown): void {
  streams.get(name)?.take(event as never);
}

// Events do not say which stream they are of, but symbol and kind tell.
const withoutSpeed = (name: string): string => name.split('@').slice(0, 2).join('@');
const KINDS: Record<string, string> = {
  depthUpdate: 'depth', trade: 'trade', '24hrTicker': 'ticker', markPriceUpdate: 'markPrice', forceOrder: 'forceOrder',
};
const nameOf = ({ e, s, k }: MarketEvent): string => `${s?.toLowerCase()}@${e === 'kline' ? `kline_${k?.i}` : KINDS[e]}`;
const nameOfList = (events: MarketEvent[]): string => (events[0]?.e === '24hrTicker' ? '!ticker@arr' : '!markPrice@arr');
