// A test node of an EVM chain (anvil) and what scripts do with it through viem, a client library that the exchange does not
// use: clients for test keys, deployment from the committed artifacts, typed data of a release.
import { createRequire } from "node:module";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** viem and its accounts from a folder node_modules. */
export async function library(modules) {
    const require = createRequire(join(resolve(modules), "x"));
    const load = (name) => import(pathToFileURL(require.resolve(name)).href);
    return { viem: (await load("viem")), accounts: (await load("viem/accounts")) };
}

let ports = 0;
/** A port of this process's own, below those that a system gives away by itself: one that was free a moment ago may be taken. */
export const ownPort = () => 10_000 + ((process.pid * 4 + ports++) % 20_000);

/** Keys are small numbers: 1 signs for the exchange, as in the vectors of the specification. */
export const key = (number) => `0x${BigInt(number).toString(16).padStart(64, "0")}`;

export const artifact = (name) =>
    JSON.parse(readFileSync(new URL(`../../gateway/contracts/artifacts/${name}.json`, import.meta.url)));

/** Starts a node. `rpc(method, ...params)` asks it; `client(key)` sends as that key; `end()` kills it. */
export async function startNode(modules, { port, timestamp } = {}) {
    port ??= ownPort();
    const { viem, accounts } = await library(modules);
    const flags = ["--port", String(port), "--chain-id", "31337", "--silent"];
    if (timestamp) flags.push("--timestamp", String(timestamp));
    // The program itself: the package's starter would leave it running.
    const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
    const program = join(modules, `@foundry-rs/anvil-${platform}/bin/anvil`);
    const child = spawn(program, flags, { stdio: "ignore" });
    process.once("exit", () => child.kill("SIGKILL"));
    const url = `http://127.0.0.1:${port}`;
    const chain = viem.defineChain({
        id: 31337,
        name: "test",
        nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
        rpcUrls: { default: { http: [url] } },
    });
    // A node under load has no receipt for a moment; the library asks again.
    const reader = viem.createPublicClient({ chain, transport: viem.http(url), pollingInterval: 20, cacheTime: 0 });
    const rpc = (method, ...params) => reader.request({ method, params });
    for (let attempt = 0; ; attempt += 1) {
        try {
            await rpc("eth_chainId");
            break;
        } catch (error) {
            if (attempt === 100) throw error;
            await new Promise((next) => setTimeout(next, 100));
        }
    }
    const clients = new Map();
    const client = async (number) => {
        const account = accounts.privateKeyToAccount(key(number));
        if (!clients.has(number)) {
            clients.set(number, viem.createWalletClient({ account, chain, transport: viem.http(url) }));
        }
        // Each time: a test may have taken the chain back.
        await rpc("anvil_setBalance", account.address, "0x56bc75e2d63100000");
        return clients.get(number);
    };
    const node = { url, port, rpc, reader, client, viem, accounts, child };
    /**
     * Sends a transaction and waits for its receipt, which may say that it was reverted. One behind a chain that was taken back
     * once got none, and why is not known: the node's pool is shown, dropped, and it is sent again.
     */
    node.write = async (number, contract, functionName, args, options = {}) => {
        const wallet = await client(number);
        const send = () => wallet.writeContract({ ...contract, functionName, args, gas: 500_000n, ...options });
        const hash = await send();
        if (options.noWait) return hash;
        try {
            return await reader.waitForTransactionReceipt({ hash, timeout: 30_000 });
        } catch (error) {
            if (!(error instanceof viem.WaitForTransactionReceiptTimeoutError)) throw error;
            const { pending, queued } = await rpc("txpool_inspect");
            console.log(`${functionName} was not mined:`, JSON.stringify({ pending, queued }));
            await rpc("anvil_dropAllTransactions");
            return reader.waitForTransactionReceipt({ hash: await send(), timeout: 30_000 });
        }
    };
    node.read = (contract, functionName, args = []) => reader.readContract({ ...contract, functionName, args });
    /** Why a call would be refused: the name of the contract's error, the node's own words, or `paid`. */
    node.judge = async (number, contract, functionName, args) => {
        const { account } = await client(number);
        try {
            await reader.simulateContract({ ...contract, functionName, args, account });
            return "paid";
        } catch (error) {
            const revert = error.walk((cause) => cause instanceof viem.ContractFunctionRevertedError);
            return revert?.data?.errorName ?? revert?.reason ?? error.shortMessage;
        }
    };
    node.deploy = async (number, name, args) => {
        const { abi, bytecode } = artifact(name);
        const wallet = await client(number);
        const hash = await wallet.deployContract({ abi, bytecode, args });
        const { contractAddress } = await reader.waitForTransactionReceipt({ hash });
        return { abi, address: contractAddress };
    };
    node.now = async () => Number((await reader.getBlock()).timestamp);
    node.end = () =>
        new Promise((done) => {
            child.once("exit", done);
            child.kill("SIGKILL");
        });
    return node;
}

/** Typed data of a release, in the form that viem's accounts sign. */
export const release = (vault, message, { name = "SpotVault", chainId = 31337, version = "1" } = {}) => ({
    domain: { name, version, chainId, verifyingContract: vault },
    types: {
        SpotReleaseFunds: [
            { name: "account", type: "address" },
            { name: "token", type: "address" },
            { name: "value", type: "uint256" },
            { name: "nonce", type: "uint256" },
            { name: "deadline", type: "uint256" },
        ],
    },
    primaryType: "SpotReleaseFunds",
    message,
});
