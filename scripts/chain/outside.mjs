// What is there before a venue opens, for scripts/open_venue.sh: a node that makes a block every half second, with the tokens DF and
// USDT of somebody else's, some of them in the wallets that will deposit; and three sources of prices on one https server, which read
// theirs from a file. Prints NAME=VALUE lines, then `ready`, and lasts until it is killed.
//   node outside.mjs <node_modules> <folder>      the folder has key.pem and certificate.pem for localhost, and a file `price`
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { key, startNode } from "./node.mjs";

const [modules, folder] = process.argv.slice(2);
/** Whose wallets: users, the owner of the vault, the venue's own, and who made the tokens. */
const [ALICE, BOB, OWNER, TREASURY, MAKER] = [2, 3, 4, 5, 6];

const node = await startNode(modules, { timestamp: Math.floor(Date.now() / 1000) });
const address = (number) => node.accounts.privateKeyToAccount(key(number)).address;
const df = await node.deploy(MAKER, "TestToken", ["Df", "DF", 18, 10n ** 24n]);
const usdt = await node.deploy(MAKER, "TestTether", [10n ** 12n]);
await node.write(MAKER, df, "transfer", [address(ALICE), 100_000n * 10n ** 18n]);
for (const who of [ALICE, BOB, TREASURY]) await node.write(MAKER, usdt, "transfer", [address(who), 50_000n * 10n ** 6n]);
for (const who of [ALICE, BOB, OWNER, TREASURY]) await node.rpc("anvil_setBalance", address(who), "0x56bc75e2d63100000");
// Beside those of transactions, so that what was sent becomes final.
setInterval(() => node.rpc("evm_mine").catch(() => {}), 500);

/** Each around the price of the file, as its venue writes it. */
const sources = {
    "/api/v3/ticker/bookTicker": (price) => ({ symbol: "BTCUSDT", bidPrice: `${price - 1}`, askPrice: `${price + 1}` }),
    "/api/v5/market/ticker": (price) => ({ code: "0", data: [{ bidPx: `${price}`, askPx: `${price + 2}` }] }),
    "/products/BTC-USDT/ticker": (price) => ({ bid: `${price - 2}`, ask: `${price}` }),
};
const read = (name) => readFileSync(join(folder, name));
const server = createServer({ key: read("key.pem"), cert: read("certificate.pem") }, (request, response) => {
    const source = sources[request.url.split("?")[0]];
    if (!source) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(source(Number(read("price")))));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

// Two ways to the one node: what one node says is not enough.
console.log(`NODE_1=http://127.0.0.1:${node.port}/`);
console.log(`NODE_2=http://localhost:${node.port}/`);
console.log(`DF=${df.address}`);
console.log(`USDT=${usdt.address}`);
console.log(`SOURCES=https://localhost:${server.address().port}`);
console.log("ready");
process.on("SIGTERM", () => process.exit(0));
