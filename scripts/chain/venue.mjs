// Withdrawals from the request to what the chain made of them: a real node, a real signer process, the real exchange, and
// users who submit their releases themselves through viem.   node venue.mjs <ringside> <node_modules>
// In the end of each chapter what an account has, has frozen and was paid by the vault is what it was credited.
import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { ALICE, CREDIT, OWNER, sleep, startRig } from "./rig.mjs";

const [ringside, modules] = process.argv.slice(2);
const rig = await startRig(ringside, modules);
const { folder, node, address, df, vault, liar, startSigner, startVenue, kill, mine } = rig;
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
    const { status, body } = await askFor(amount, name);
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
/** What Alice has, has frozen and was paid is what she was credited. */
async function conserved() {
    const { available, frozen } = await balance();
    const paid = await node.read(df, "balanceOf", [address(ALICE)]);
    const list = (await call("/spot/withdrawals?limit=200")).body;
    const signed = list.filter((one) => one.status === "signed").reduce((sum, one) => sum + units(one.amount), 0n);
    const confirmed = list.filter((one) => one.status === "confirmed").reduce((sum, one) => sum + units(one.amount), 0n);
    assert.equal(frozen, signed, "frozen is what is on its way");
    assert.equal(available + frozen + confirmed, CREDIT, "supply is conserved");
    return { paid, confirmed };
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

for (const secret of [...rig.secrets, ...tokens]) {
    assert.ok(!readFileSync(join(folder, "signer.log")).includes(secret), "no secret is in a log");
    assert.ok(![rig.venue, rig.signer].some((child) => child.log.includes(secret)), "no secret is in a log");
}
console.log(`chain: ${chapters} chapters on a real node`);
process.exit(0);
