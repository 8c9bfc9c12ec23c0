// A venue with deposits and withdrawals, for scripts: a real node with the contracts, two ways to it that answer as told, the
// signer as a process of its own, and the exchange. Everything ends with the script.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as ask } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { key, ownPort, startNode } from "./node.mjs";

/** Keys of those who take part. */
export const [SIGNER, ALICE, BOB, OWNER, NEW_SIGNER] = [1, 2, 3, 4, 5];
export const E18 = 10n ** 18n;
/** What Alice is given of DF, in base units. */
export const CREDIT = 100_000n * E18;
const ADMIN_KEY = "the-admin-key-of-this-test-exchange";
/** Under which the exchange makes login tokens and the signer verifies them. */
const TOKEN_SECRET = "the-secret-of-login-tokens-of-this-test-exchange";
export const sleep = (ms) => new Promise((next) => setTimeout(next, ms));

/** Starts it all; `settings` are more of the exchange's, or a function of the node that gives them. */
export async function startRig(ringside, modules, settings = () => ({})) {
    const folder = mkdtempSync(join(tmpdir(), "ringside-chain-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    const node = await startNode(modules, { timestamp: Math.floor(Date.now() / 1000) });
    const address = (number) => node.accounts.privateKeyToAccount(key(number)).address;
    const df = await node.deploy(OWNER, "TestToken", ["Df", "DF", 18, 10n * CREDIT]);
    const usdt = await node.deploy(OWNER, "TestTether", [1_000_000_000_000n]);
    const vault = await node.deploy(OWNER, "SpotVault", ["SpotVault", address(SIGNER)]);
    await node.write(OWNER, df, "transfer", [vault.address, 5n * CREDIT]);
    await node.write(OWNER, usdt, "transfer", [vault.address, 500_000_000_000n]);
    const gold = await node.deploy(OWNER, "TestToken", ["Gold", "GOLD", 6, 1_000_000_000_000n]);
    const fee = await node.deploy(OWNER, "TestFeeToken", [8, 1_000_000_000_000n]);
    const [twin, liar] = [await startProxy(node), await startProxy(node)];

    const socket = join(folder, "signer.socket");
    const secret = (name, text) => {
        writeFileSync(join(folder, name), text);
        chmodSync(join(folder, name), 0o600);
        return join(folder, name);
    };
    const caps = `account = "${5n * CREDIT}"\nhour = "${5n * CREDIT}"\ntotal = "${5n * CREDIT}"\n`;
    const tokens = [df, usdt, gold, fee].map((token) => `[[token]]\naddress = "${token.address}"\n${caps}`).join("");
    const vaults = [vault];
    const writeSigner = (number) =>
        writeFileSync(
            join(folder, "signer.toml"),
            `socket = "${socket}"\nlog = "${join(folder, `signer-${number}.log`)}"\n` +
                `key_file = "${secret(`key-${number}`, key(number))}"\n` +
                `token_secret_file = "${secret("tokens", TOKEN_SECRET)}"\n` +
                vaults.map(({ address }) => `[[vault]]\nchain_id = 31337\naddress = "${address}"\nname = "SpotVault"\n`).join("") +
                tokens,
        );

    const children = new Set();
    process.once("exit", () => children.forEach((child) => child.kill("SIGKILL")));
    const start = (args, env, name) => {
        const child = spawn(ringside, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
        children.add(child);
        child.said = "";
        child.log = "";
        child.stdout.on("data", (text) => (child.said += text));
        child.stderr.on("data", (text) => (child.log += text));
        child.ended = new Promise((done) => child.once("exit", () => (children.delete(child), done())));
        child.name = name;
        return child;
    };

    const rig = {
        folder, node, address, df, usdt, gold, fee, vault, twin, liar, socket, vaults,
        signerKey: SIGNER, signer: null, venue: null, url: null, token: null,
    };
    rig.secrets = [key(SIGNER).slice(2), key(NEW_SIGNER).slice(2), TOKEN_SECRET];
    rig.signerLog = () => join(folder, `signer-${rig.signerKey}.log`);
    rig.startSigner = async () => {
        writeSigner(rig.signerKey);
        rig.signer = start(["signer", "--settings", join(folder, "signer.toml")], { RINGSIDE_LOG: "warn" }, "signer");
        await said(rig.signer, /signs for (0x\w+)/);
    };
    rig.startVenue = async () => {
        const env = {
            RINGSIDE_DATA_DIR: join(folder, "data"),
            RINGSIDE_LISTEN: "127.0.0.1:0",
            RINGSIDE_ANY_FILE_SYSTEM: "true",
            RINGSIDE_TEST_ACCOUNTS: "0",
            RINGSIDE_LOG: "warn",
            RINGSIDE_ADMIN_KEY: ADMIN_KEY,
            RINGSIDE_JWT_SECRET: TOKEN_SECRET,
            RINGSIDE_CHAIN_NODES: `http://127.0.0.1:${twin.port},http://127.0.0.1:${liar.port}`,
            RINGSIDE_CHAIN_EVERY: "100ms",
            RINGSIDE_CHAIN_PATIENCE: "1s",
            RINGSIDE_VAULT_ADDRESS: rig.vaults.at(-1).address,
            RINGSIDE_DF_ADDRESS: df.address,
            RINGSIDE_USDT_ADDRESS: usdt.address,
            RINGSIDE_SIGNER_SOCKET: socket,
            RINGSIDE_SIGNER_ADDRESS: address(rig.signerKey),
            ...settings(node),
        };
        rig.venue = start([], env, "exchange");
        rig.url = (await said(rig.venue, /curl (http:\/\/[^/]*)\/openapi.json/))[1];
        rig.token = rig.logIn(ALICE);
    };
    rig.logIn = (number) =>
        execFileSync(ringside, ["login", "--url", rig.url, "--key", key(number).slice(2)]).toString().trim();
    rig.kill = async (child) => (child.kill("SIGKILL"), child.ended);
    rig.ask = async (path, body, headers = { authorization: `Bearer ${rig.token}` }, method = body ? "POST" : "GET") => {
        const answer = await fetch(`${rig.url}${path}`, {
            method,
            headers: { "content-type": "application/json", ...headers },
            body: body && JSON.stringify(body),
        });
        return { status: answer.status, body: await answer.json() };
    };
    const keys = new Map();
    const keyOf = (name) => {
        const env = { ...process.env, RINGSIDE_DATA_DIR: join(folder, "data") };
        if (!keys.has(name)) keys.set(name, execFileSync(ringside, ["operator", name], { env }).toString().trim());
        return keys.get(name);
    };
    /** As an operator by a key of their own. */
    rig.operate = (path, body, name = "ann", method) => rig.ask(path, body, { "x-api-key": keyOf(name) }, method);
    rig.mine = (blocks, seconds = 1) => node.rpc("anvil_mine", node.viem.toHex(blocks), node.viem.toHex(seconds));
    await rig.startSigner();
    await rig.startVenue();
    // Before anything is copied: keys are in the data folder.
    ["ann", "bob"].forEach(keyOf);
    return rig;
}

async function said(child, pattern) {
    for (let round = 0; round < 600; round += 1) {
        const found = child.said.match(pattern);
        if (found) return found;
        if (child.exitCode !== null) break;
        await sleep(50);
    }
    throw new Error(`${child.name} does not start:\n${child.said}${child.log}`);
}

/** A way to the node, which answers as `mood` has it. */
async function startProxy(node) {
    const proxy = { mood: "honest", head: 0, asked: new Set(), count: 0, budget: 10, port: ownPort() };
    // Of a node that answers ten questions a second.
    setInterval(() => (proxy.budget = Math.min(10, proxy.budget + 1)), 100).unref();
    const server = createServer((request, response) => {
        const parts = [];
        request.on("data", (part) => parts.push(part));
        request.on("end", () => {
            const question = JSON.parse(Buffer.concat(parts));
            proxy.count += 1;
            if (proxy.mood === "silent") return;
            if (proxy.mood === "fails") return response.writeHead(429).end();
            if (proxy.mood === "slow" && (proxy.budget -= 1) < 0) return (proxy.budget = 0), response.writeHead(429).end();
            if (proxy.mood === "drowns") {
                response.writeHead(200, { "content-length": 64 << 20 });
                return response.end(Buffer.alloc(64 << 20, 120));
            }
            if (proxy.mood === "lags" && question.params?.[0] === "latest") question.params[0] = node.viem.toHex(proxy.head);
            const onward = ask({ port: node.port, method: "POST", headers: { "content-type": "application/json" } }, (answer) => {
                let text = "";
                answer.on("data", (part) => (text += part));
                answer.on("end", () => {
                    const said = JSON.parse(text);
                    const isOfEvents = question.method === "eth_getLogs";
                    if (proxy.mood === "hides" && isOfEvents) said.result = [];
                    if (proxy.mood === "forgets" && isOfEvents && !proxy.asked.has(question.params[0].blockHash)) {
                        proxy.asked.add(question.params[0].blockHash);
                        said.result = [];
                    }
                    if (proxy.mood === "stutters" && proxy.count % 3 === 0) said.result = null;
                    if (proxy.mood === "forges" && question.method === "eth_getBlockByNumber" && said.result) {
                        said.result.hash = said.result.hash.replace(/^0x../, "0xfe");
                    }
                    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said));
                });
            });
            onward.on("error", () => response.writeHead(502).end());
            onward.end(JSON.stringify(question));
        });
    }).listen(proxy.port, "127.0.0.1");
    server.unref();
    return proxy;
}
