// Compiles gateway/contracts/*.sol and writes, or compares, gateway/contracts/artifacts/*.json: one file per contract with its
// interface, its code and what made it. Nothing but the sources, the compiler and the settings below goes into the bytes.
//   node build.mjs <node_modules> check|write
import { createRequire } from "node:module";
import { readdirSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { join, resolve } from "node:path";

const [modules, action] = process.argv.slice(2);
const solc = createRequire(join(resolve(modules), "x"))("solc");
const folder = new URL("../../gateway/contracts/", import.meta.url).pathname;

const names = readdirSync(folder).filter((name) => name.endsWith(".sol")).sort();
const settings = {
    optimizer: { enabled: true, runs: 200 },
    // The oldest instruction set that current chains share.
    evmVersion: "paris",
    // Without the hash of sources and paths at its end, the code depends on what it does alone.
    metadata: { appendCBOR: false, bytecodeHash: "none" },
};
const input = {
    language: "Solidity",
    sources: Object.fromEntries(names.map((name) => [name, { content: readFileSync(join(folder, name), "utf8") }])),
    settings: { ...settings, outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } } },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const fault of output.errors ?? []) console.error(fault.formattedMessage);
if (output.errors?.length) process.exit(1);

let differ = 0;
const expected = new Set();
for (const [source, contracts] of Object.entries(output.contracts)) {
    for (const [name, { abi, evm }] of Object.entries(contracts)) {
        // An interface has no code.
        if (!evm.bytecode.object) continue;
        const artifact = { name, source, compiler: `solc ${solc.version()}`, settings, abi, bytecode: `0x${evm.bytecode.object}` };
        const text = `${JSON.stringify(artifact, null, 1)}\n`;
        const file = join(folder, "artifacts", `${name}.json`);
        expected.add(`${name}.json`);
        if (action === "write") writeFileSync(file, text);
        else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
            console.error(`${file} is not what its source compiles to; scripts/contracts.sh write`);
            differ += 1;
        }
    }
}
for (const file of readdirSync(join(folder, "artifacts"))) {
    if (!expected.has(file)) {
        console.error(`artifacts/${file} has no source`);
        differ += 1;
    }
}
console.log(`contracts: ${expected.size} artifacts by ${solc.version()}${action === "write" ? " written" : differ ? "" : ", equal byte for byte"}`);
process.exit(differ ? 1 : 0);
