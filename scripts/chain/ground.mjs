// A chain for an exchange that somebody else starts: a node that makes a block every second and calls blocks final, the vault and
// its tokens, and settings of a signer in the exchange's own process. Prints the exchange's environment, one NAME=VALUE a line,
// then `ready`, and lasts until it is killed.   node ground.mjs <node_modules> <folder>
import { chmodSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { key, startNode } from "./node.mjs";

const [modules, folder] = process.argv.slice(2);
const [SIGNER, OWNER] = [1, 4];
const SUPPLY = 10n ** 24n;

const node = await startNode(modules, { timestamp: Math.floor(Date.now() / 1000) });
const signer = node.accounts.privateKeyToAccount(key(SIGNER)).address;
const df = await node.deploy(OWNER, "TestToken", ["Df", "DF", 18, SUPPLY]);
const usdt = await node.deploy(OWNER, "TestTether", [1_000_000_000_000n]);
const vault = await node.deploy(OWNER, "SpotVault", ["SpotVault", signer]);
await node.write(OWNER, df, "transfer", [vault.address, SUPPLY / 2n]);
await node.rpc("evm_setIntervalMining", 1);

const at = (name) => join(resolve(folder), name);
writeFileSync(at("signer_key"), key(SIGNER).slice(2));
chmodSync(at("signer_key"), 0o600);
const caps = `account = "${SUPPLY}"\nhour = "${SUPPLY}"\ntotal = "${SUPPLY}"\n`;
const tokens = [df, usdt].map((token) => `[[token]]\naddress = "${token.address}"\n${caps}`).join("");
writeFileSync(
    at("signer.toml"),
    `log = "${at("signer.log")}"\nkey_file = "${at("signer_key")}"\n` +
        `[[vault]]\nchain_id = 31337\naddress = "${vault.address}"\nname = "SpotVault"\n${tokens}`,
);
// Two ways to the one node: what one node says is not enough.
const nodes = `http://127.0.0.1:${node.port},http://localhost:${node.port}`;
const environment = {
    RINGSIDE_CHAIN_NODES: nodes,
    RINGSIDE_CHAIN_EVERY: "200ms",
    RINGSIDE_CHAIN_CONFIRMATIONS: "2",
    RINGSIDE_VAULT_ADDRESS: vault.address,
    RINGSIDE_DF_ADDRESS: df.address,
    RINGSIDE_USDT_ADDRESS: usdt.address,
    RINGSIDE_SIGNER_SETTINGS: at("signer.toml"),
};
for (const [name, value] of Object.entries(environment)) console.log(`${name}=${value}`);
console.log("ready");
process.on("SIGTERM", () => process.exit(0));
