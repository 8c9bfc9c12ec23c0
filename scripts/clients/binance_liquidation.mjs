// npm `binance`, unchanged, is liquidated: its user stream, the public stream and REST say so.
// What happens to it is what happens to the clients of `liquidation.py`: both read the figures of `liquidation.json`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, url, adminKey, first, second] = process.argv.slice(2);
const { USDMClient, WebsocketClient } = createRequire(`${modules}/`)("binance");
const symbol = "BTCUSDT";
const figures = JSON.parse(readFileSync(new URL("liquidation.json", import.meta.url)));
const { quantity, fall } = figures;

function equal(found, expected, what) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    console.error(`${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
    process.exit(1);
  }
}

async function eventually(read, isThere, what) {
  for (const end = Date.now() + 30_000; ; ) {
    const found = await read();
    if (isThere(found)) return found;
    if (Date.now() > end) equal(found, "something else", what);
    await new Promise((done) => setTimeout(done, 100));
  }
}

function options(answer) {
  const made = JSON.parse(answer);
  return { api_key: made.api_key, api_secret: made.api_secret };
}

// Pins the index and waits until the mark has followed.
async function pin(price) {
  const body = JSON.stringify({ symbol, price: String(price) });
  const answer = await fetch(`${url}/admin/perpetual/index-price`, { method: "POST", headers: { "X-API-Key": adminKey }, body });
  equal(answer.status, 200, "index");
  const isNear = (row) => Math.abs(Number(row.markPrice) - price) < price * 0.005;
  await eventually(() => one.getMarkPrice({ symbol }), isNear, "mark");
}

const one = new USDMClient({ ...options(first), baseUrl: url });
const two = new USDMClient({ ...options(second), baseUrl: url });
const sockets = new WebsocketClient({
  ...options(first), wsUrl: url.replace("http", "ws"), restOptions: { baseUrl: url },
});
const [orders, positions, forced] = [[], [], []];
let opened = 0;
sockets.on("open", () => (opened += 1));
sockets.on("message", (message) => {
  const event = message.data ?? message;
  if (event.e === "ORDER_TRADE_UPDATE") orders.push(event.o);
  if (event.e === "ACCOUNT_UPDATE") positions.push(...event.a.P);
  if (event.e === "forceOrder") forced.push(event.o);
});
sockets.on("exception", (error) => equal(error, null, "sockets"));
sockets.subscribeUsdFuturesUserDataStream();
sockets.subscribeSymbolLiquidationOrders(symbol, "usdm");
await eventually(() => opened, (count) => count >= 2, "sockets");
await new Promise((done) => setTimeout(done, 1000));

const order = { symbol, quantity, timeInForce: "GTC" };
await two.submitNewOrder({ ...order, side: "SELL", type: "LIMIT", price: Number(figures.price) });
await one.submitNewOrder({ symbol, side: "BUY", type: "MARKET", quantity });
await pin(fall[0]);
await two.submitNewOrder({ ...order, side: "BUY", type: "LIMIT", price: Number(figures.bid) });
for (const price of fall.slice(1)) await pin(price);

const isOwn = (row) => (row.c ?? row.clientOrderId).startsWith("autoclose-");
const closed = () => orders.filter((row) => row.x === "CALCULATED").reduce((sum, row) => sum + Number(row.l), 0);
await eventually(closed, (sum) => sum === quantity, "what was closed");
await eventually(() => positions.at(-1), (row) => row?.s === symbol && Number(row.pa) === 0, "position");
await eventually(() => forced.length, (count) => count > 0, "forceOrder");
const own = orders.filter(isOwn);
equal([...new Set(own.map((row) => [row.o, row.S, row.f].join()))], ["LIQUIDATION,SELL,IOC"], "the closing orders");
equal([...new Set(forced.map((row) => [row.s, row.S, row.o, row.f].join()))], ["BTCUSDT,SELL,LIMIT,IOC"], "forceOrder");
const rows = await one.getForceOrders({ symbol });
equal([rows.every(isOwn), rows.reduce((sum, row) => sum + Number(row.executedQty), 0)], [true, quantity], "forceOrders");
equal((await one.getPositionsV3({ symbol })).length, 0, "positions");
console.log("npm binance sees its liquidation");
process.exit(0);
