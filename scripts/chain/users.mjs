// Two users of a venue that scripts/open_venue.sh opens, one step of theirs a run, so that the exchange can be killed in between.
//   node users.mjs <node_modules> <ringside> <url> <node> <vault> <df> <usdt> <step>
// Alice brings both tokens, sells DF and is short of BTC; Bob brings USDT, buys DF and is long of BTC with all he has.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { artifact, key, library } from "./node.mjs";

const [modules, ringside, url, nodeUrl, vaultAddress, dfAddress, usdtAddress, step] = process.argv.slice(2);
const [ALICE, BOB] = [2, 3];
const { viem, accounts } = await library(modules);
const chain = viem.defineChain({
    id: 31337,
    name: "test",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [nodeUrl] } },
});
const reader = viem.createPublicClient({ chain, transport: viem.http(nodeUrl), pollingInterval: 100, cacheTime: 0 });
const contract = (name, address) => ({ abi: artifact(name).abi, address });
const vault = contract("SpotVault", vaultAddress);
const df = contract("TestToken", dfAddress);
const usdt = contract("TestTether", usdtAddress);
const address = (number) => accounts.privateKeyToAccount(key(number)).address;
const sleep = (ms) => new Promise((next) => setTimeout(next, ms));

async function write(number, to, functionName, args) {
    const account = accounts.privateKeyToAccount(key(number));
    const wallet = viem.createWalletClient({ account, chain, transport: viem.http(nodeUrl) });
    const hash = await wallet.writeContract({ ...to, functionName, args, gas: 500_000n });
    const receipt = await reader.waitForTransactionReceipt({ hash });
    assert.equal(receipt.status, "success", functionName);
    return receipt;
}

/** Waits until `look` gives something. */
async function until(what, look, seconds = 60) {
    let last;
    for (const end = Date.now() + seconds * 1_000; Date.now() < end; ) {
        const found = await look((seen) => (last = seen));
        if (found) return found;
        await sleep(200);
    }
    throw new Error(`never ${what}: ${JSON.stringify(last)}`);
}

class User {
    constructor(number) {
        this.number = number;
        const options = ["login", "--url", url, "--key", key(number).slice(2)];
        this.token = execFileSync(ringside, options).toString().trim();
    }
    async ask(method, path, body, headers = { authorization: `Bearer ${this.token}` }) {
        const sent = body && JSON.stringify(body);
        const answer = await fetch(`${url}${path}`, { method, body: sent, headers: { "content-type": "application/json", connection: "close", ...headers } });
        return { status: answer.status, body: await answer.json() };
    }
    async call(method, path, body, headers) {
        const { status, body: told } = await this.ask(method, path, body, headers);
        assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(told)}`);
        return told;
    }
    /** A signed request to the perpetual venue. */
    async signed(method, path, parameters = {}) {
        this.key ??= await this.call("POST", "/api/v1/account/api-keys", { label: "bot", permissions: ["read", "trade"] });
        const query = new URLSearchParams({ ...parameters, timestamp: Date.now() }).toString();
        const signature = createHmac("sha256", this.key.api_secret).update(query).digest("hex");
        return this.call(method, `${path}?${query}&signature=${signature}`, undefined, { "x-mbx-apikey": this.key.api_key });
    }
    async deposit(token, amount) {
        await write(this.number, token, "approve", [vault.address, amount]);
        await write(this.number, vault, "deposit", [token.address, amount]);
    }
    async balance(token) {
        const found = (await this.call("GET", "/api/v1/spot/balances")).find((one) => one.token === token);
        return found ?? { available: "0", frozen: "0" };
    }
    async credited(count) {
        await until("credited", async (seen) => {
            const all = await this.call("GET", "/api/v1/spot/deposits?limit=200");
            seen(all);
            return all.filter((one) => one.status === "credited").length === count;
        });
    }
    async position() {
        const [position] = await this.signed("GET", "/fapi/v2/positionRisk", { symbol: "BTCUSDT" });
        return Number(position?.positionAmt ?? 0);
    }
}

const alice = new User(ALICE);
const bob = new User(BOB);
const limit = { type: "LIMIT", timeInForce: "GTC", symbol: "BTCUSDT" };

const steps = {
    /** Sent and seen: what comes next happens to deposits on their way. */
    async deposit() {
        await alice.deposit(df, 10_000n * 10n ** 18n);
        await alice.deposit(usdt, 30_000n * 10n ** 6n);
        await bob.deposit(usdt, 10_000n * 10n ** 6n);
        await until("seen", async () => (await alice.call("GET", "/api/v1/spot/deposits")).length === 2);
    },
    async credited() {
        await alice.credited(2);
        await bob.credited(1);
        assert.equal((await alice.balance("DF")).available, "10000");
        assert.equal((await alice.balance("USDT")).available, "30000");
        assert.equal((await bob.balance("USDT")).available, "10000");
    },
    async trade() {
        const order = { symbol: "DFUSDT", type: "limit", price: "0.2", quantity: "1000" };
        await alice.call("POST", "/api/v1/spot/orders", { ...order, side: "sell" });
        const bought = await bob.call("POST", "/api/v1/spot/orders", { ...order, side: "buy" });
        assert.equal(bought.status, "filled", JSON.stringify(bought));
        await alice.call("POST", "/api/v1/spot/transfer", { token: "USDT", amount: "20000", direction: "to_perp" });
        await bob.call("POST", "/api/v1/spot/transfer", { token: "USDT", amount: "5000", direction: "to_perp" });
        await bob.signed("POST", "/fapi/v1/leverage", { symbol: "BTCUSDT", leverage: 20 });
        await alice.signed("POST", "/fapi/v1/order", { ...limit, side: "SELL", quantity: "1", price: "60000" });
        await bob.signed("POST", "/fapi/v1/order", { ...limit, side: "BUY", quantity: "1", price: "60000" });
        assert.deepEqual([await alice.position(), await bob.position()], [-1, 1]);
    },
    /** What was traded is there after a kill. */
    async kept() {
        assert.deepEqual([await alice.position(), await bob.position()], [-1, 1]);
        assert.equal((await bob.balance("DF")).available, "1000");
    },
    /** After the price fell: Bob has lost all. Nobody bid, so the fund took over what he had, for what it is worth and all he had left
     * or lacked: Alice's side is whole, and the other one is the fund's. */
    async liquidated() {
        await until("liquidated", async (seen) => (seen(await bob.position()), (await bob.position()) === 0), 30);
        const [account] = (await bob.signed("GET", "/fapi/v2/balance")).filter((one) => one.asset === "USDT");
        assert.equal(Number(account.balance), 0, JSON.stringify(account));
        const orders = await bob.signed("GET", "/fapi/v1/forceOrders", { symbol: "BTCUSDT" });
        assert.ok(orders.length > 0, "the liquidation is in his history");
        assert.equal(await alice.position(), -1, "nobody was deleveraged: the fund has the other side");
    },
    async withdraw() {
        const asked = { token: "USDT", amount: "1234.567891" };
        const given = await until("signed", async (seen) => {
            const { status, body } = await alice.ask("POST", "/withdraw/request", asked);
            seen(body);
            return status === 200 && body;
        }, 20);
        const before = await reader.readContract({ ...usdt, functionName: "balanceOf", args: [address(ALICE)] });
        const amount = viem.parseUnits(given.amount, 6);
        await write(ALICE, vault, "withdraw", [usdt.address, amount, BigInt(given.deadline), given.signature]);
        const after = await reader.readContract({ ...usdt, functionName: "balanceOf", args: [address(ALICE)] });
        assert.equal(after - before, 1_234_567_891n);
    },
    async confirmed() {
        await until("confirmed", async (seen) => {
            const [one] = await alice.call("GET", "/withdraw/requests");
            seen(one);
            return one.status === "confirmed";
        });
        assert.equal((await alice.balance("USDT")).frozen, "0");
    },
};
await steps[step]();
console.log(`  ${step}: done`);
