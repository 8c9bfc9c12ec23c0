// The exchange as the page reaches it: requests, and the stream at /ws, which carries the channels of the spot venue and
// the market streams of the perpetual one. Amounts stay the strings that the exchange sent.

const PING_MS = 30_000;
const RETRY_MS = [1_000, 5_000, 15_000, 30_000];

export class Refused extends Error {
  constructor(status, body) {
    super(body.msg ?? (body.message ? `${body.error ?? body.code}: ${body.message}` : body.error ?? `answer ${status}`));
    this.status = status;
    this.code = body.code ?? body.error;
  }
}

// JSON of an answer 200; throws Refused for others, TypeError without a connection.
export async function request(method, path, { token, body, headers = {} } = {}) {
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const json = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, json);
  return json;
}

export const settings = () => fetch('/web/settings.json').then((answer) => answer.json());

// One connection to /ws that comes back by itself. Channels subscribed to are subscribed again then.
export class Stream {
  constructor() {
    this.channels = new Map();
    this.streams = new Map();
    this.asked = 0;
    this.onState = () => {};
    this.isOpen = false;
    this.token = null;
    this.failures = 0;
  }

  start() {
    const url = new URL('/ws', location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url);
    this.socket = socket;
    let ping;
    socket.onopen = () => {
      this.isOpen = true;
      this.failures = 0;
      if (this.token) this.send({ type: 'auth_token', token: this.token });
      for (const channel of this.channels.keys()) this.send({ type: 'subscribe', channel });
      if (this.streams.size) this.ask('SUBSCRIBE', [...this.streams.values()].map(({ name }) => name));
      ping = setInterval(() => this.send({ type: 'ping' }), PING_MS);
      this.onState(true);
    };
    socket.onmessage = (message) => {
      const frame = JSON.parse(message.data);
      if (frame.e) this.streams.get(kindOf(frame))?.take(frame);
      else this.channels.get(frame.channel)?.(frame);
    };
    socket.onclose = () => {
      clearInterval(ping);
      if (this.isOpen) this.onState(false);
      this.isOpen = false;
      const wait = RETRY_MS[Math.min(this.failures++, RETRY_MS.length - 1)];
      setTimeout(() => this.start(), wait);
    };
  }

  send(frame) {
    if (this.isOpen) this.socket.send(JSON.stringify(frame));
  }

  // `take` gets every frame that names the channel, errors included.
  subscribe(channel, take) {
    this.channels.set(channel, take);
    this.send({ type: 'subscribe', channel });
  }

  unsubscribe(channel) {
    if (this.channels.delete(channel)) this.send({ type: 'unsubscribe', channel });
  }

  // The same for a market stream of the perpetual venue; `take` gets its events.
  subscribeStream(name, take) {
    this.streams.set(withoutSpeed(name), { name, take });
    this.ask('SUBSCRIBE', [name]);
  }

  unsubscribeStream(name) {
    if (this.streams.delete(withoutSpeed(name))) this.ask('UNSUBSCRIBE', [name]);
  }

  ask(method, params) {
    this.send({ method, params, id: ++this.asked });
  }

  authenticate(token) {
    this.token = token;
    if (token) this.send({ type: 'auth_token', token });
  }
}

// Events do not say which stream they are of, but symbol and kind tell.
const withoutSpeed = (name) => name.split('@').slice(0, 2).join('@');
const KINDS = { depthUpdate: 'depth', trade: 'trade', '24hrTicker': 'ticker', markPriceUpdate: 'markPrice' };
const kindOf = ({ e, s, k }) => `${s?.toLowerCase()}@${e === 'kline' ? `kline_${k.i}` : KINDS[e]}`;
