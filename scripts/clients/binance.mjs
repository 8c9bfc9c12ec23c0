// npm `binance` (USDMClient, and WebsocketAPIClient over the socket of requests), unchanged, trades here.
import { createRequire } from "node:module";

const [modules, url, adminKey, first, second] = process.argv.slice(2);
const { USDMClient, WebsocketAPIClient } = createRequire(`${modules}/`)("binance");
const symbol = "BTCUSDT";

function equal(found, expected, what) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    console.error(`${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
    process.exit(1);
  }
}

async function eventually(read, isThere, what) {
  for (const end = Date.now() + 15_000; ; ) {
    const found = await read();
    if (isThere(found)) return found;
    if (Date.now() > end) equal(found, "something else", what);
    await new Promise((done) => setTimeout(done, 100));
  }
}

function connect(answer) {
  const made = JSON.parse(answer);
  return new USDMClient({ api_key: made.api_key, api_secret: made.api_secret, baseUrl: url });
}

const one = connect(first);
const two = connect(second);

// Markets.
const info = await one.getExchangeInfo();
equal(info.symbols.map((row) => row.symbol).sort(), ["BTCUSDT", "ETHUSDT", "SOLUSDT"], "symbols");
equal((await one.setLeverage({ symbol, leverage: 20 })).leverage, 20, "leverage");

// Orders.
const buy = { symbol, side: "BUY", type: "LIMIT", timeInForce: "GTC" };
const placed = await one.submitNewOrder({ ...buy, quantity: 0.01, price: 59000, newOrderRespType: "RESULT" });
equal([placed.status, Number(placed.price)], ["NEW", 59000], "placed");
const edited = await one.modifyOrder({ symbol, side: "BUY", quantity: 0.02, price: 59500, orderId: placed.orderId });
equal([edited.orderId, Number(edited.price)], [placed.orderId, 59500], "edited");
const batch = await one.submitMultipleOrders([
  { ...buy, quantity: "0.001", price: "58000" },
  { ...buy, quantity: "0.001", price: "1000" },
]);
equal([batch[0].status, batch[1].code], ["NEW", -1013], "batch");
const gone = await one.cancelMultipleOrders({ symbol, orderIdList: [batch[0].orderId] });
equal(gone.map((row) => row.status), ["CANCELED"], "canceled");
await two.submitNewOrder({ symbol, side: "SELL", type: "MARKET", quantity: 0.005 });
await eventually(
  () => one.getOrder({ symbol, orderId: placed.orderId }),
  (row) => row.status === "PARTIALLY_FILLED" && Number(row.executedQty) === 0.005,
  "fill",
);
equal((await one.cancelAllOpenOrders({ symbol })).code, 200, "cancel all");

// A stop; the mark falls, it sells.
await two.submitNewOrder({ ...buy, quantity: 0.1, price: 58000 });
const stop = await one.submitNewOrder({
  symbol, side: "SELL", type: "STOP_MARKET", stopPrice: 59000, quantity: 0.005, workingType: "MARK_PRICE",
});
const pinned = await fetch(`${url}/admin/perpetual/index-price`, {
  method: "POST", headers: { "X-API-Key": adminKey }, body: JSON.stringify({ symbol, price: "58900" }),
});
equal(pinned.status, 200, "index");
await eventually(() => one.getOrder({ symbol, orderId: stop.orderId }), (row) => row.status === "FILLED", "stop");

// Reads.
equal((await one.getBalanceV3())[0].asset, "USDT", "balance");
equal((await one.getPositionsV3({ symbol })).length, 0, "positions");
equal((await one.getIncomeHistory()).length > 0, true, "income");
equal(Number((await one.getKlines({ symbol, interval: "1m" })).at(-1)[4]), 58000, "candle");
const refusal = await one.cancelOrder({ symbol, orderId: 999999 }).catch((error) => error);
equal([refusal.code, refusal.message ?? refusal.body?.msg], [-2011, "Unknown order sent."], "refusal");

// The same over the socket of requests.
const made = JSON.parse(first);
const quiet = { trace: () => {}, info: () => {}, error: console.error };
const socket = new WebsocketAPIClient(
  { api_key: made.api_key, api_secret: made.api_secret, wsUrl: url.replace("http", "ws"), attachEventListeners: false },
  quiet,
);
const now = () => ({ symbol, timestamp: Date.now() });
const own = (await socket.submitNewFuturesOrder("usdm", { ...buy, ...now(), quantity: "0.01", price: "57000" })).result;
equal([own.status, Number(own.price)], ["NEW", 57000], "placed over the socket");
const change = { ...now(), orderId: own.orderId, side: "BUY", quantity: "0.02", price: "57500" };
equal((await socket.modifyFuturesOrder("usdm", change)).result.orderId, own.orderId, "edited over the socket");
const found = (await socket.getFuturesOrderStatus("usdm", { ...now(), orderId: own.orderId })).result;
equal([found.status, Number(found.origQty)], ["NEW", 0.02], "order over the socket");
equal((await socket.getFuturesOrderBook({ symbol, limit: 5 })).result.asks, [], "book over the socket");
const ended = (await socket.cancelFuturesOrder("usdm", { ...now(), orderId: own.orderId })).result;
equal(ended.status, "CANCELED", "canceled over the socket");
equal((await socket.getFuturesAccountBalanceV2({ timestamp: Date.now() })).result[0].asset, "USDT", "balance over the socket");
const denied = await socket.cancelFuturesOrder("usdm", { ...now(), orderId: 999999 }).catch((error) => error);
equal([denied.status, denied.error.code], [400, -2011], "refusal over the socket");
socket.disconnectAll();
console.log("npm binance trades here unchanged");
