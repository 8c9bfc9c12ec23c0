// Withdrawals from the request to what the chain made of them, and deposits from their first block to their credit: a real node,
// a real signer process, the real exchange, and users who submit and deposit themselves through viem.
//   node venue.mjs <ringside> <node_modules>
// In the end of each chapter what an account has, has frozen and was paid by the vault is what it was credited and has deposited.
import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { ALICE, BOB, CREDIT, E18, NEW_SIGNER, OWNER, sleep, startRig } from "./rig.mjs";

const [ringside, modules] = process.argv.slice(2);
const rig = await startRig(ringside, modules);
const { folder, node, address, df, gold, fee, vault, twin, liar, startSigner, startVenue, kill, mine } = rig;
const { viem } = node;
const call = (path, ...more) => rig.ask(`/api/v1${path}`, ...more);

/** Login tokens that were used, which nothing keeps. */
const tokens = new Set();
/** What was signed, by id: the lists of withdrawals do not show signatures. */
const signed = new Map();
/** Asks for a withdrawal; `name` is the key that a retry gets the same answer by. */
async function askFor(amount, name = crypto.randomUUID()) {
    tokens.add(rig.token);
    const headers = { authorization: `Bearer ${rig.token}`, "idempotency-key": name };
    const answer = await call("/spot/withdraw/request", { token: "DF", amount }, headers);
    if (answer.status === 200) signed.set(answer.body.id, answer.body);
    return answer;
}
async function requested(amount, name) {
    let { status, body } = await askFor(amount, name);
    // On a busy machine the node may be slow to answer for a moment, which pauses withdrawals.
    for (let round = 0; body.error === "WITHDRAWALS_PAUSED" && round < 200; round += 1) {
        await sleep(50);
        ({ status, body } = await askFor(amount, name));
    }
    assert.equal(status, 200, JSON.stringify(body));
    return body;
}
const withdrawal = async (id) => (await call(`/spot/withdrawals/${id}`)).body;
async function becomes(id, status, seconds = 20) {
    let now;
    for (let round = 0; round < seconds * 20; round += 1) {
        now = await withdrawal(id);
        if (now.status === status) return now;
        await sleep(50);
    }
    throw new Error(`${id} is ${JSON.stringify(now)}, not ${status}\n${rig.venue.log}`);
}
async function stays(id, status, ms = 1_500) {
    const end = Date.now() + ms;
    while (Date.now() < end) {
        assert.equal((await withdrawal(id)).status, status);
        await sleep(100);
    }
}
const units = (text) => viem.parseUnits(text, 18);
const submission = (given) => [df.address, units(given.amount), BigInt(given.deadline), given.signature];
const submit = async (given, options) => {
    const receipt = await node.write(ALICE, vault, "withdraw", submission(given), options);
    if (!options?.noWait) assert.equal(receipt.status, "success");
    return receipt;
};
async function balance() {
    const all = (await call("/spot/balances")).body;
    const found = (all.balances ?? all).find((one) => one.token === "DF");
    return { available: units(found.available), frozen: units(found.frozen) };
}
/** What of DF was deposited for Alice and is credited. */
let deposited = 0n;
const allowed = new Set();
/** Deposits of Alice's, for whomever; the receipt. */
async function deposit(token, amount, { to = ALICE, into = vault, noWait } = {}) {
    const name = `${token.address}${into.address}`;
    if (!allowed.has(name)) {
        await node.write(OWNER, token, "transfer", [address(ALICE), 1_000_000_000n + (token === df ? 1_000n * E18 : 0n)]);
        await node.write(ALICE, token, "approve", [into.address, 2n ** 255n]);
        allowed.add(name);
    }
    const receipt = await node.write(ALICE, into, "depositFor", [address(to), token.address, amount], { noWait });
    if (!noWait) assert.equal(receipt.status, "success");
    return receipt;
}
const deposits = async (query = "") => (await call(`/spot/deposits${query}`)).body;
/** A deposit by its number, once it is so. */
async function depositIs(status, number, seconds = 20) {
    let now;
    for (let round = 0; round < seconds * 20; round += 1) {
        now = (await deposits("?limit=200")).find((one) => one.number === number);
        if (now?.status === status) return now;
        await sleep(50);
    }
    throw new Error(`deposit ${number} is ${JSON.stringify(now)}, not ${status}\n${rig.venue.log}`);
}
const count = async () => Number(await node.read(vault, "depositCount"));
async function holds(token) {
    const found = (await call("/spot/balances")).body.find((one) => one.token === token);
    return found?.available;
}

/** What Alice has, has frozen and was paid is what she was credited and has deposited. */
async function conserved() {
    const { available, frozen } = await balance();
    const paid = await released();
    const list = (await call("/spot/withdrawals?limit=200")).body.filter((one) => one.token === "DF");
    const signed = list.filter((one) => one.status === "signed").reduce((sum, one) => sum + units(one.amount), 0n);
    const confirmed = list.filter((one) => one.status === "confirmed").reduce((sum, one) => sum + units(one.amount), 0n);
    assert.equal(frozen, signed, "frozen is what is on its way");
    assert.equal(available + frozen + confirmed, CREDIT + deposited, "supply is conserved");
    return { paid, confirmed };
}
/** What the vaults have paid Alice of DF. */
async function released() {
    let sum = 0n;
    for (const one of rig.vaults) {
        const logs = await node.reader.getContractEvents({ address: one.address, abi: vault.abi, eventName: "FundsReleased", fromBlock: 0n });
        for (const { args } of logs) if (args.token.toLowerCase() === df.address.toLowerCase()) sum += args.value;
    }
    return sum;
}
/** Waits until the newest final block is told: a deadline is counted from its time. */
async function caughtUp() {
    const last = Number(await node.reader.getBlockNumber()) - 20;
    for (let round = 0; (await rig.operate("/admin/chain")).body.vaults[0].block < last; round += 1) {
        assert.ok(round < 400, rig.venue.log);
        await sleep(50);
    }
}
async function settled() {
    const { paid, confirmed } = await conserved();
    assert.equal(paid, confirmed, "what the vault paid is what was confirmed");
}

let chapters = 0;
async function chapter(name, body) {
    try {
        await body();
        await conserved();
    } catch (error) {
        console.error(`failed: ${name}\n${error.stack}\nexchange:\n${rig.venue?.log}\nsigner:\n${rig.signer?.log}`);
        process.exit(1);
    }
    chapters += 1;
    console.log(`chain: ${name}`);
}

const credit = { user_address: address(ALICE), token: "DF", amount: viem.formatUnits(CREDIT, 18) };
assert.equal((await rig.operate("/api/v1/admin/spot/balances/credit", credit)).status, 200);

await chapter("a release is submitted by its user and confirmed after 20 blocks, not after 19", async () => {
    const given = await requested("1.5");
    assert.equal(given.vault_address.toLowerCase(), vault.address.toLowerCase());
    assert.deepEqual([given.nonce, given.chain_id, units(given.amount)], [0, 31337, units("1.5")]);
    assert.equal(await node.judge(OWNER, vault, "withdraw", submission(given)), "SignatureInvalid");
    assert.equal((await balance()).frozen, units("1.5"));
    const receipt = await submit(given);
    await mine(19);
    await stays(given.id, "signed");
    await mine(1);
    const done = await becomes(given.id, "confirmed");
    assert.deepEqual([done.tx_hash, done.block_number], [receipt.transactionHash, Number(receipt.blockNumber)]);
    await settled();
});

await chapter("three at once take three nonces and are paid in their order", async () => {
    const given = await Promise.all(["2", "3", "4"].map(requested));
    given.sort((a, b) => a.nonce - b.nonce);
    assert.deepEqual(given.map((one) => one.nonce), [1, 2, 3]);
    assert.equal(await node.judge(ALICE, vault, "withdraw", submission(given[2])), "SignatureInvalid");
    for (const one of given) await submit(one);
    await mine(20);
    for (const one of given) await becomes(one.id, "confirmed");
    await settled();
});

await chapter("a release in the very last second of its deadline is confirmed, though the deadline is past by then", async () => {
    const given = await requested("5");
    await node.rpc("evm_setNextBlockTimestamp", viem.toHex(given.deadline - 1));
    await submit(given);
    await mine(25, 60);
    await becomes(given.id, "confirmed");
    await settled();
});

await chapter("what nobody submits expires on the chain's time, 20 blocks after its deadline, and its nonce is given again", async () => {
    const given = await requested("6");
    await node.rpc("evm_setNextBlockTimestamp", viem.toHex(given.deadline + 1));
    await mine(20);
    await stays(given.id, "signed");
    await mine(1);
    await becomes(given.id, "expired");
    assert.equal(await node.judge(ALICE, vault, "withdraw", submission(given)), "DeadlinePassed");
    const next = await requested("7");
    assert.equal(next.nonce, given.nonce);
    await submit(next);
    await mine(20);
    await becomes(next.id, "confirmed");
    await settled();
});

await chapter("a reorganization drops a release, which has not counted; submitted again it does", async () => {
    const given = await requested("8");
    await submit(given);
    await mine(10);
    await stays(given.id, "signed", 500);
    await node.rpc("anvil_reorg", 12, []);
    await mine(25);
    await stays(given.id, "signed");
    await submit(given);
    await mine(20);
    await becomes(given.id, "confirmed");
    await settled();
});

await chapter("a reorganization moves a release to a later block, from which its confirmations count", async () => {
    const given = await requested("9");
    const first = await submit(given);
    await mine(15);
    await node.rpc("anvil_reorg", 17, []);
    const moved = await submit(given);
    assert.ok(moved.blockNumber > first.blockNumber);
    await mine(19);
    await stays(given.id, "signed");
    await mine(1);
    assert.equal((await becomes(given.id, "confirmed")).block_number, Number(moved.blockNumber));
    await settled();
});

for (const mood of ["fails", "silent", "drowns", "hides", "forges", "lags"]) {
    await chapter(`one of two nodes ${mood}: nothing is concluded; it recovers: everything is`, async () => {
        const given = await requested("10");
        liar.head = Number(await node.reader.getBlockNumber());
        liar.mood = mood;
        await submit(given);
        await mine(30);
        await stays(given.id, "signed", 3_000);
        liar.mood = "honest";
        await becomes(given.id, "confirmed");
        await settled();
    });
}

await chapter("the signer is killed 20 times while requests come: every one of them is signed once or goes back", async () => {
    const answers = [];
    for (let round = 0; round < 20; round += 1) {
        const asked = [1, 2, 3].map((part) => askFor(`${part}`));
        await sleep(Math.random() * 30);
        await kill(rig.signer);
        await startSigner();
        answers.push(...(await Promise.all(asked)));
    }
    const given = answers.filter((answer) => answer.status === 200).map((answer) => answer.body);
    for (const answer of answers) assert.ok([200, 400, 500, 503].includes(answer.status), JSON.stringify(answer));
    assert.equal(new Set(given.map((one) => one.nonce)).size, given.length, "one live signature per nonce");
    console.log(`  ${given.length} of ${answers.length} were signed`);
});

await chapter("the exchange is killed 20 times while requests come: a retry gets what was answered, and all else is there once", async () => {
    let answered = 0;
    for (let round = 0; round < 20; round += 1) {
        const parts = [1, 2, 3].map((part) => [`${part}`, `kill-${round}-${part}`]);
        const asked = parts.map(([amount, name]) => askFor(amount, name).catch(() => ({ status: 0 })));
        await sleep(Math.random() * 40);
        await kill(rig.venue);
        const answers = await Promise.all(asked);
        await startVenue();
        for (const [at, [amount, name]] of parts.entries()) {
            const again = await requested(amount, name);
            if (answers[at].status !== 200) continue;
            assert.deepEqual(again, answers[at].body);
            answered += 1;
        }
    }
    const open = (await call("/spot/withdrawals?status=signed&limit=200")).body;
    assert.equal(new Set(open.map((one) => one.nonce)).size, open.length, "one live signature per nonce");
    for (const one of open) assert.ok(signed.has(one.id), "nothing is there that nobody asked for");
    console.log(`  ${answered} of 60 were answered before the kill`);
});

/** Everything that is signed, submitted in order, or left to expire. */
async function finish() {
    for (let round = 0; round < 3; round += 1) {
        const open = (await call("/spot/withdrawals?status=signed&limit=200")).body.sort((a, b) => a.nonce - b.nonce);
        for (const one of open) await submit(signed.get(one.id));
        await mine(21);
        for (const one of open) await becomes(one.id, "confirmed");
    }
}

await chapter("all that was signed through those kills is paid, once", async () => {
    await finish();
    await settled();
});

await chapter("restored from an old copy, the exchange learns from its signer what it has forgotten", async () => {
    const before = await requested("11");
    rig.venue.kill("SIGTERM");
    await rig.venue.ended;
    cpSync(join(folder, "data"), join(folder, "copy"), { recursive: true });
    await startVenue();
    const forgotten = await requested("12");
    await submit(before);
    await submit(forgotten);
    await mine(10);
    await kill(rig.venue);
    rmSync(join(folder, "data"), { recursive: true });
    cpSync(join(folder, "copy"), join(folder, "data"), { recursive: true });
    await startVenue();
    await mine(11);
    await becomes(before.id, "confirmed");
    for (let round = 0; round < 200; round += 1) {
        const list = (await call("/spot/withdrawals?limit=200")).body;
        if (list.some((one) => one.nonce === forgotten.nonce && one.status === "confirmed" && one.amount === forgotten.amount)) break;
        await sleep(50);
    }
    await settled();
    const next = await requested("13");
    assert.equal(next.nonce, forgotten.nonce + 1);
    await submit(next);
    await mine(20);
    await becomes(next.id, "confirmed");
    await settled();
});

/** Questions to the signer, past the exchange, whose connection must have ended. */
async function atSocket(question) {
    const stream = connect(rig.socket);
    stream.write(`${JSON.stringify(question)}\n`);
    let text = "";
    for await (const part of stream) {
        text += part;
        if (text.endsWith("\n")) break;
    }
    stream.destroy();
    return JSON.parse(text);
}

await chapter("whoever takes the exchange's place at the signer gets nothing new without an account's own token", async () => {
    const given = await requested("14");
    const others = rig.logIn(OWNER);
    await kill(rig.venue);
    const { issued } = await atSocket({ issued: 0 });
    const { release, signed: known } = issued.at(-1);
    assert.equal(known.signature, given.signature);
    const wanted = { ...release, key: { ...release.key, nonce: release.key.nonce + 1 } };
    const forged = `${rig.token.split(".").slice(0, 2).join(".")}.${"A".repeat(43)}`;
    for (const token of [undefined, forged, others]) {
        assert.ok((await atSocket({ sign: { release: wanted, token } })).unauthorized, token);
    }
    // What it has signed it signs again for a venue that was restarted and has no token any more.
    assert.deepEqual((await atSocket({ sign: { release } })).signed, known);
    assert.equal((await atSocket({ issued: 0 })).issued.length, issued.length);
    await startVenue();
    await submit(given);
    await mine(20);
    await becomes(given.id, "confirmed");
    await settled();
});

await chapter("a deposit is shown from its first block, its confirmations count up, and at the twentieth it is credited", async () => {
    const where = (await call("/spot/deposits/address")).body;
    assert.deepEqual([where.chain_id, where.vault_address], [31337, vault.address.toLowerCase()]);
    assert.deepEqual(where.tokens.map((token) => [token.symbol, token.decimals]).sort(), [["DF", 18], ["USDT", 6]]);
    const receipt = await deposit(df, units("25.000000000000000001"));
    const number = await count();
    const seen = await depositIs("pending", number);
    assert.deepEqual([seen.amount, seen.confirmations, seen.tx_hash], ["25.000000000000000001", 0, receipt.transactionHash]);
    const before = (await balance()).available;
    await mine(19);
    for (let round = 0; round < 10; round += 1) {
        assert.equal((await balance()).available, before);
        await sleep(50);
    }
    assert.equal((await depositIs("pending", number)).confirmations, 19);
    await mine(1);
    const done = await depositIs("credited", number);
    assert.deepEqual([done.block_number, done.id], [Number(receipt.blockNumber), seen.id]);
    deposited += units("25.000000000000000001");
    assert.equal((await balance()).available, before + units("25.000000000000000001"));
});

await chapter("a deposit for somebody who never logged in is theirs", async () => {
    await deposit(df, 7n * E18, { to: BOB });
    await mine(21);
    await sleep(500);
    const bob = rig.logIn(BOB);
    const { body } = await call("/spot/deposits", undefined, { authorization: `Bearer ${bob}` });
    assert.deepEqual(body.map((one) => [one.amount, one.status]), [["7", "credited"]]);
});

await chapter("a reorganization drops a deposit before it counted; mined again it counts once", async () => {
    const before = (await balance()).available;
    await deposit(df, 3n * E18);
    const number = await count();
    await mine(10);
    await depositIs("pending", number);
    await node.rpc("anvil_reorg", 12, []);
    await mine(30);
    await sleep(1_000);
    assert.equal((await balance()).available, before);
    assert.ok(!(await deposits("?limit=200")).some((one) => one.number === number), "it is shown no longer");
    await deposit(df, 3n * E18);
    assert.equal(await count(), number, "its number is given again");
    await mine(20);
    await depositIs("credited", number);
    deposited += 3n * E18;
});

await chapter("the exchange is killed 20 times while deposits come: each is credited, once", async () => {
    for (let round = 0; round < 20; round += 1) {
        await deposit(df, E18 / 10n);
        deposited += E18 / 10n;
        await mine(1 + (round % 7) * 4);
        await sleep(Math.random() * 250);
        await kill(rig.venue);
        await startVenue();
    }
    await mine(21);
    await depositIs("credited", await count());
    const all = await deposits("?limit=200");
    assert.equal(new Set(all.map((one) => one.number)).size, all.length);
});

await chapter("restored from an old copy, deposits are credited once, and what they paid for is taken", async () => {
    rig.venue.kill("SIGTERM");
    await rig.venue.ended;
    rmSync(join(folder, "copy"), { recursive: true, force: true });
    cpSync(join(folder, "data"), join(folder, "copy"), { recursive: true });
    await startVenue();
    await deposit(df, 50n * E18);
    await mine(20);
    await depositIs("credited", await count());
    deposited += 50n * E18;
    // All that she has: without the deposit it could not be covered.
    const given = await requested(viem.formatUnits((await balance()).available, 18));
    await kill(rig.venue);
    rmSync(join(folder, "data"), { recursive: true });
    cpSync(join(folder, "copy"), join(folder, "data"), { recursive: true });
    await startVenue();
    await depositIs("credited", await count());
    await submit(given);
    await mine(20);
    for (let round = 0; round < 200; round += 1) {
        const list = (await call("/spot/withdrawals?limit=200")).body;
        if (list.some((one) => one.nonce === given.nonce && one.status === "confirmed")) break;
        await sleep(50);
    }
    await settled();
    assert.equal((await balance()).available, 0n);
    assert.deepEqual((await rig.operate("/admin/chain")).body.paused, []);
    await deposit(df, 100n * E18);
    await mine(20);
    await depositIs("credited", await count());
    deposited += 100n * E18;
});

await chapter("a token of six decimals comes in before it is known, and goes out in its own units", async () => {
    await deposit(gold, 2_500_000n);
    const number = await count();
    await mine(20);
    for (let round = 0; ; round += 1) {
        const now = await depositIs("pending", number);
        if (now.held) break;
        assert.ok(round < 200);
        await sleep(50);
    }
    const add = (more) => rig.operate("/admin/tokens", { symbol: "GOLD", address: gold.address, decimals: 6, ...more });
    assert.deepEqual((await add({ decimals: 8 })).body, { code: "INVALID_PARAMETER", message: "decimals: the contract has 6" });
    const nowhere = { address: address(BOB) };
    assert.deepEqual((await add(nowhere)).body, { code: "INVALID_PARAMETER", message: "address: there is no contract at it" });
    const none = { address: vault.address };
    assert.deepEqual((await add(none)).body, { code: "INVALID_PARAMETER", message: "address: its contract is no token" });
    assert.equal((await add({ min_withdrawal: "0.5" })).status, 200);
    await depositIs("credited", number);
    assert.equal(await holds("GOLD"), "2.5");
    const headers = { authorization: `Bearer ${rig.token}` };
    const { status, body } = await call("/spot/withdraw/request", { token: "GOLD", amount: "1.25" }, headers);
    assert.equal(status, 200, JSON.stringify(body));
    const before = await node.read(gold, "balanceOf", [address(ALICE)]);
    const args = [gold.address, 1_250_000n, BigInt(body.deadline), body.signature];
    assert.equal((await node.write(ALICE, vault, "withdraw", args)).status, "success");
    assert.equal((await node.read(gold, "balanceOf", [address(ALICE)])) - before, 1_250_000n);
    await mine(20);
    await becomes(body.id, "confirmed");
    assert.equal(await holds("GOLD"), "1.25");
});

await chapter("of a token that keeps a fee what arrived is credited; a token that lies deposits nothing", async () => {
    assert.equal((await rig.operate("/admin/tokens", { symbol: "FEE", address: fee.address, decimals: 8 })).status, 200);
    await deposit(fee, 300_000_000n);
    await mine(20);
    const done = await depositIs("credited", await count());
    assert.deepEqual([done.token, done.amount, await holds("FEE")], ["FEE", "2.97", "2.97"]);
    const lying = await node.deploy(OWNER, "TestLyingToken", []);
    const before = await count();
    assert.equal(await node.judge(ALICE, vault, "deposit", [lying.address, E18]), "NothingArrived");
    assert.equal(await node.judge(ALICE, vault, "deposit", [address(BOB), E18]), "TransferFailed");
    assert.equal(await count(), before);
});

await chapter("both nodes leave out the events of each block when they are asked first: nothing is given back, nothing is left out", async () => {
    const given = await requested("5");
    for (const proxy of [twin, liar]) proxy.mood = "forgets";
    await submit(given);
    await deposit(df, E18);
    deposited += E18;
    const number = await count();
    // Past its deadline: what was not seen would be given back.
    await node.rpc("evm_setNextBlockTimestamp", viem.toHex(given.deadline + 60));
    await mine(25, 30);
    await becomes(given.id, "confirmed");
    await depositIs("credited", number);
    for (const proxy of [twin, liar]) proxy.mood = "honest";
    // Before that the chain is past any deadline that the exchange would choose.
    await caughtUp();
    const next = await requested("1");
    assert.equal(next.nonce, given.nonce + 1);
    await submit(next);
    await mine(21);
    await becomes(next.id, "confirmed");
    await settled();
});

for (const mood of ["slow", "stutters"]) {
    await chapter(`sixty blocks behind, with nodes of which each ${mood === "slow" ? "answers ten questions a second" : "knows nothing now and then"}: slower, and done`, async () => {
        await kill(rig.venue);
        await deposit(df, E18);
        deposited += E18;
        await mine(80);
        for (const proxy of [twin, liar]) proxy.mood = mood;
        await startVenue();
        await depositIs("credited", await count(), 240);
        for (const proxy of [twin, liar]) proxy.mood = "honest";
        for (let round = 0; (await rig.operate("/admin/chain")).body.paused.length > 0; round += 1) {
            assert.ok(round < 200, "withdrawals go on");
            await sleep(50);
        }
        const given = await requested("1");
        await submit(given);
        await mine(21);
        await becomes(given.id, "confirmed");
        await settled();
    });
}

await chapter("a vault that is paused, or pays for another signer, is said to, and nothing is signed for it", async () => {
    const refused = async (pattern) => {
        for (let round = 0; round < 200; round += 1) {
            const { status, body } = await askFor("1");
            if (status === 503 && pattern.test(body.message)) return assert.equal(body.error, "WITHDRAWALS_PAUSED");
            if (status === 200) await submit(body, { noWait: true }).catch(() => {});
            await sleep(50);
        }
        throw new Error(`never ${pattern}`);
    };
    await node.write(OWNER, vault, "setPaused", [true]);
    await refused(/^the vault is paused$/);
    await node.write(OWNER, vault, "setPaused", [false]);
    for (let round = 0; (await rig.operate("/admin/chain")).body.paused.length > 0; round += 1) {
        assert.ok(round < 200, "withdrawals go on");
        await sleep(50);
    }
    await finish();
});

await chapter("a reorganization of final blocks stops everything until two operators have decided; then it goes on, and nothing counts twice", async () => {
    const before = await node.rpc("evm_snapshot");
    await deposit(df, 4n * E18);
    const number = await count();
    const given = await requested("2");
    await submit(given);
    await mine(22);
    await depositIs("credited", number);
    await becomes(given.id, "confirmed");
    // The node's own reorganization loses its state this far into a chain.
    assert.ok(await node.rpc("evm_revert", before));
    await mine(40, 2);
    let found;
    for (let round = 0; !found; round += 1) {
        assert.ok(round < 400, rig.venue.log);
        found = (await rig.operate("/admin/chain")).body.vaults[0].replaced;
        await sleep(50);
    }
    assert.equal(found.deposits[0].number, number);
    assert.ok(found.withdrawals.some((one) => one.id === given.id));
    assert.equal((await askFor("1")).status, 503);
    const body = { vault_address: vault.address, block: found.kept_block, reason: "a deep reorganization" };
    assert.equal((await rig.operate("/admin/chain/rewind", body, "ann")).body.agreed, false);
    await sleep(500);
    assert.equal((await withdrawal(given.id)).status, "confirmed", "one person decides nothing");
    assert.equal((await rig.operate("/admin/chain/rewind", body, "bob")).body.agreed, true);
    await becomes(given.id, "signed");
    // Both are sent again; the deposit's number is given again.
    await submit(given);
    await deposit(df, 4n * E18);
    deposited += 4n * E18;
    assert.equal(await count(), number);
    await mine(22);
    await becomes(given.id, "confirmed");
    await depositIs("credited", number);
    for (let round = 0; (await rig.operate("/admin/chain")).body.paused.length > 0; round += 1) {
        assert.ok(round < 200, "withdrawals go on");
        await sleep(50);
    }
    await settled();
});

await chapter("a signer is rotated: what the old one signed and nobody released comes back, and the new one signs", async () => {
    const [first, second] = [await requested("3"), await requested("4")];
    await submit(first);
    await node.write(OWNER, vault, "setSigner", [address(NEW_SIGNER)]);
    assert.equal(await node.judge(ALICE, vault, "withdraw", submission(second)), "SignatureInvalid");
    await kill(rig.venue);
    await kill(rig.signer);
    rig.signerKey = NEW_SIGNER;
    await startSigner();
    await startVenue();
    await stays(second.id, "signed", 1_000);
    await mine(22);
    await becomes(first.id, "confirmed");
    await becomes(second.id, "expired");
    for (let round = 0; (await rig.operate("/admin/chain")).body.paused.length > 0; round += 1) {
        assert.ok(round < 200, "withdrawals go on");
        await sleep(50);
    }
    const next = await requested("5");
    assert.equal(next.nonce, second.nonce);
    await submit(next);
    await mine(21);
    await becomes(next.id, "confirmed");
    await settled();
    assert.equal(await node.judge(OWNER, vault, "setSigner", [address(1)]), "SignerRetired");
});

await chapter("a vault is replaced: both are shown and watched, and each deposit counts where it was made", async () => {
    const next = await node.deploy(OWNER, "SpotVault", ["SpotVault", address(NEW_SIGNER)]);
    await node.write(OWNER, df, "transfer", [next.address, 100n * E18]);
    const left = await requested("6");
    await kill(rig.venue);
    await kill(rig.signer);
    rig.vaults.push(next);
    await startSigner();
    await startVenue();
    const where = (await call("/spot/deposits/address")).body;
    assert.equal(where.vault_address, next.address.toLowerCase());
    assert.deepEqual(where.former_vault_addresses, [vault.address.toLowerCase()]);
    await deposit(df, 2n * E18);
    await deposit(df, 3n * E18, { into: next });
    deposited += 5n * E18;
    await submit(left);
    await mine(22);
    await becomes(left.id, "confirmed");
    for (let round = 0; ; round += 1) {
        const all = await deposits("?status=credited&limit=200");
        const of = (at, amount) => all.some((one) => one.id.includes(at.address.toLowerCase()) && one.amount === amount);
        if (of(vault, "2") && of(next, "3")) break;
        assert.ok(round < 400, JSON.stringify(all.slice(0, 3)));
        await sleep(50);
    }
    const given = await requested("1.5");
    assert.deepEqual([given.vault_address, given.nonce], [next.address.toLowerCase(), 0]);
    assert.equal((await node.write(ALICE, next, "withdraw", submission(given))).status, "success");
    await mine(21);
    await becomes(given.id, "confirmed");
    await settled();
});

for (const secret of [...rig.secrets, ...tokens]) {
    assert.ok(!readFileSync(rig.signerLog()).includes(secret), "no secret is in a log");
    assert.ok(![rig.venue, rig.signer].some((child) => child.log.includes(secret)), "no secret is in a log");
}
console.log(`chain: ${chapters} chapters on a real node`);
process.exit(0);
