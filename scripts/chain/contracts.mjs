// What the contracts do, on a test node, asked through viem.   node contracts.mjs <node_modules>
import assert from "node:assert/strict";
import { key, release, startNode } from "./node.mjs";

const node = await startNode(process.argv[2]);
const { viem, accounts } = node;
const [SIGNER, ALICE, BOB, OWNER] = [1, 2, 3, 4];
const address = (number) => accounts.privateKeyToAccount(key(number)).address;
const E18 = 10n ** 18n;

const df = await node.deploy(OWNER, "TestToken", ["Df", "DF", 18, 1_000n * E18]);
const usdt = await node.deploy(OWNER, "TestTether", [1_000_000_000n]);
const refusing = await node.deploy(OWNER, "TestRefusingToken", []);
const vault = await node.deploy(OWNER, "SpotVault", ["SpotVault", address(SIGNER)]);
await node.write(OWNER, df, "transfer", [vault.address, 100n * E18]);
await node.write(OWNER, usdt, "transfer", [vault.address, 500_000_000n]);

/** The arguments of `withdraw`, signed by whoever is said to. */
const signed = async (changes = {}, { by = SIGNER, domain } = {}) => {
    const message = { account: address(ALICE), token: df.address, value: E18, nonce: 0n, deadline: 4_000_000_000n, ...changes };
    const signature = await accounts.privateKeyToAccount(key(by)).signTypedData(release(domain?.vault ?? vault.address, message, domain));
    return [message.token, message.value, message.deadline, signature];
};
const judge = (args, caller = ALICE) => node.judge(caller, vault, "withdraw", args);
const balance = (token, number) => node.read(token, "balanceOf", [address(number)]);
let count = 0;
const test = async (name, body) => {
    const snapshot = await node.rpc("evm_snapshot");
    try {
        await body();
    } catch (error) {
        console.error(`failed: ${name}: ${error.shortMessage ?? error.stack}`);
        await node.end();
        process.exit(1);
    }
    await node.rpc("evm_revert", snapshot);
    count += 1;
};

await test("the type, the domain and the digest are those of the specification", async () => {
    assert.equal(await node.read(vault, "RELEASE_TYPE_HASH"), "0xf985feced2f82d864d3edaabfa97b817b7a99d415e5a3a0779abe0f3427a9107");
    const domain = { name: "SpotVault", version: "1", chainId: 31337, verifyingContract: vault.address };
    assert.equal(await node.read(vault, "domainSeparator"), viem.domainSeparator({ domain }));
    const vector = release(`0x${"11".repeat(20)}`, {
        account: "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF", token: `0x${"22".repeat(20)}`, value: 1500000000000000000n, nonce: 0n, deadline: 1767225600n,
    });
    assert.equal(viem.hashTypedData(vector), "0xc9f77a0b32bf5550dfe7f1ee2ab03609fcdda4facc4768488c3af7bb800a209f");
    assert.equal(
        await accounts.privateKeyToAccount(key(1)).signTypedData(vector),
        "0x6e6f3ee5e8ac256b3c789b724f934abb0b20ad01bd836464041f09c69ea938fe6d7236113e09904284365ed36a8e7be025333d52ed7296dbc8af9eb9a371ef691b",
    );
});

await test("a release is paid once, tells its event, and the next nonce is the next", async () => {
    const first = await signed();
    const receipt = await node.write(ALICE, vault, "withdraw", first);
    assert.equal(receipt.status, "success");
    const [event] = viem.parseEventLogs({ abi: vault.abi, logs: receipt.logs, eventName: "FundsReleased" });
    assert.deepEqual(event.args, { account: address(ALICE), token: viem.getAddress(df.address), value: E18, nonce: 0n });
    assert.equal(event.topics?.[0], viem.keccak256(viem.toBytes("FundsReleased(address,address,uint256,uint256)")));
    assert.equal(await balance(df, ALICE), E18);
    assert.equal(await node.read(vault, "nonces", [address(ALICE)]), 1n);
    assert.equal(await judge(first), "SignatureInvalid");
    assert.equal(await judge(await signed({ nonce: 1n })), "paid");
    assert.equal((await node.write(ALICE, vault, "withdraw", first)).status, "reverted");
    assert.equal(await balance(df, ALICE), E18);
});

await test("nonces are taken in order; one that came early can be sent again", async () => {
    const later = await signed({ nonce: 1n, value: 2n * E18 });
    assert.equal((await node.write(ALICE, vault, "withdraw", later)).status, "reverted");
    await node.write(ALICE, vault, "withdraw", await signed());
    assert.equal((await node.write(ALICE, vault, "withdraw", later)).status, "success");
    assert.equal(await balance(df, ALICE), 3n * E18);
});

await test("each account counts its own nonces", async () => {
    await node.write(ALICE, vault, "withdraw", await signed());
    assert.equal(await judge(await signed({ account: address(BOB) }), BOB), "paid");
});

await test("nobody but the account can submit it", async () => {
    assert.equal(await judge(await signed(), BOB), "SignatureInvalid");
});

await test("strictly before the deadline", async () => {
    const deadline = (await node.now()) + 1_000;
    const args = await signed({ deadline: BigInt(deadline) });
    const at = async (time) => {
        const snapshot = await node.rpc("evm_snapshot");
        await node.rpc("evm_setNextBlockTimestamp", viem.toHex(time));
        const { status, blockNumber } = await node.write(ALICE, vault, "withdraw", args);
        assert.equal((await node.reader.getBlock({ blockNumber })).timestamp, BigInt(time));
        await node.rpc("evm_revert", snapshot);
        return status;
    };
    assert.equal(await at(deadline - 1), "success");
    assert.equal(await at(deadline), "reverted");
    assert.equal(await at(deadline + 1), "reverted");
    await node.rpc("evm_setNextBlockTimestamp", viem.toHex(deadline));
    await node.rpc("evm_mine");
    assert.equal(await judge(args), "DeadlinePassed");
});

await test("every field, the domain and the signer count", async () => {
    const good = await signed();
    const with_ = (index, value) => good.map((argument, at) => (at === index ? value : argument));
    const refused = {
        token: with_(0, usdt.address),
        value: with_(1, E18 + 1n),
        deadline: with_(2, 4_000_000_001n),
        "another signer": await signed({}, { by: BOB }),
        "another vault": await signed({}, { domain: { vault: df.address } }),
        "another name": await signed({}, { domain: { name: "Vault" } }),
        "another version": await signed({}, { domain: { version: "2" } }),
        "another chain": await signed({}, { domain: { chainId: 1 } }),
        "an early nonce": await signed({ nonce: 1n }),
    };
    for (const [name, args] of Object.entries(refused)) assert.equal(await judge(args), "SignatureInvalid", name);
});

await test("a signature has one form", async () => {
    const [token, value, deadline, signature] = await signed();
    const { r, s, v } = viem.parseSignature(signature);
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const high = viem.toHex(order - BigInt(s), { size: 32 });
    const other = v === 27n ? 28 : 27;
    const tail = (number) => viem.toHex(number, { size: 1 });
    const forms = {
        "the high twin": viem.concat([r, high, tail(other)]),
        "v counted from 0": viem.concat([r, s, tail(Number(v) - 27)]),
        "the other v": viem.concat([r, s, tail(other)]),
        "64 bytes": viem.concat([r, s]),
        "66 bytes": viem.concat([signature, "0x00"]),
        nothing: "0x",
        zeros: `0x${"00".repeat(64)}1b`,
    };
    for (const [name, form] of Object.entries(forms)) assert.equal(await judge([token, value, deadline, form]), "SignatureInvalid", name);
});

await test("a token that answers nothing is paid; one that refuses, lacks the money or is no contract takes no nonce", async () => {
    await node.write(ALICE, vault, "withdraw", await signed({ token: usdt.address, value: 25_000_000n }));
    assert.equal(await balance(usdt, ALICE), 25_000_000n);
    for (const [token, value] of [[refusing.address, 1n], [df.address, 101n * E18], [address(BOB), 1n], [vault.address, 1n]]) {
        assert.equal(await judge(await signed({ token, value, nonce: 1n })), "TransferFailed", token);
        assert.equal((await node.write(ALICE, vault, "withdraw", await signed({ token, value, nonce: 1n }))).status, "reverted");
        assert.equal(await node.read(vault, "nonces", [address(ALICE)]), 1n);
    }
});

await test("the owner pauses, nobody else", async () => {
    const args = await signed();
    assert.equal(await node.judge(SIGNER, vault, "setPaused", [true]), "NotOwner");
    await node.write(OWNER, vault, "setPaused", [true]);
    assert.equal(await judge(args), "Paused");
    await node.write(OWNER, vault, "setPaused", [false]);
    assert.equal(await judge(args), "paid");
});

await test("the owner replaces the signer, whose signatures are dead then", async () => {
    const args = await signed();
    assert.equal(await node.judge(ALICE, vault, "setSigner", [address(ALICE)]), "NotOwner");
    assert.equal(await node.judge(OWNER, vault, "setSigner", [viem.zeroAddress]), "ZeroAddress");
    await node.write(OWNER, vault, "setSigner", [address(BOB)]);
    assert.equal(await judge(args), "SignatureInvalid");
    assert.equal(await judge(await signed({}, { by: BOB })), "paid");
});

await test("native currency is not taken", async () => {
    await assert.rejects((await node.client(ALICE)).sendTransaction({ to: vault.address, value: 1n }));
});

await test("100 accounts at random: what was paid is what was signed, each nonce once", async () => {
    let seed = 7n;
    const random = (below) => {
        seed = (seed * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;
        return Number((seed >> 33n) % BigInt(below));
    };
    const paid = new Map();
    const nonces = new Map();
    for (let round = 0; round < 100; round += 1) {
        const account = 10 + random(4);
        const nonce = nonces.get(account) ?? 0;
        const named = nonce + [0, 0, 0, 1, -1][random(5)];
        if (named < 0) continue;
        const value = BigInt(1 + random(1_000_000));
        const args = await signed({ account: address(account), nonce: BigInt(named), value });
        const { status } = await node.write(account, vault, "withdraw", args);
        assert.equal(status, named === nonce ? "success" : "reverted");
        if (status === "success") {
            nonces.set(account, nonce + 1);
            paid.set(account, (paid.get(account) ?? 0n) + value);
        }
    }
    let sum = 0n;
    for (const [account, value] of paid) {
        assert.equal(await balance(df, account), value);
        sum += value;
    }
    assert.equal(await node.read(df, "balanceOf", [vault.address]), 100n * E18 - sum);
});

await test("referral records: unknown is zero; operators write; the nonce never falls", async () => {
    const referral = await node.deploy(OWNER, "Referral", []);
    assert.deepEqual(await node.read(referral, "userRebates", [address(ALICE)]), [0n, 0n, viem.zeroHash, viem.zeroAddress, 0]);
    assert.deepEqual(await node.read(referral, "referralInfo", [address(ALICE)]), [viem.zeroHash, viem.zeroAddress, 0, 0, 0]);
    const code = viem.stringToHex("ALICE1", { size: 32 });
    const rebate = { claimedUsd: 12_500_000n, nonce: 3n, referralCode: code, referrer: address(BOB), tierLevel: 2 };
    const terms = { code, referrer: address(BOB), totalRebateBps: 2000, traderDiscountBps: 500, affiliateRewardBps: 1500 };
    assert.equal(await node.judge(OWNER, referral, "setRebate", [address(ALICE), rebate]), "NotOperator");
    assert.equal(await node.judge(BOB, referral, "setOperator", [address(BOB), true]), "NotOwner");
    await node.write(OWNER, referral, "setOperator", [address(BOB), true]);
    assert.equal(await node.read(referral, "isOperator", [address(BOB)]), true);
    await node.write(BOB, referral, "setRebate", [address(ALICE), rebate]);
    await node.write(BOB, referral, "setTerms", [address(ALICE), terms]);
    assert.deepEqual(await node.read(referral, "userRebates", [address(ALICE)]), [12_500_000n, 3n, code, address(BOB), 2]);
    assert.deepEqual(await node.read(referral, "referralInfo", [address(ALICE)]), [code, address(BOB), 2000, 500, 1500]);
    assert.equal(await node.read(referral, "claimed", [address(ALICE)]), 12_500_000n);
    assert.equal(await node.judge(BOB, referral, "setRebate", [address(ALICE), { ...rebate, nonce: 2n }]), "NonceInvalid");
});

console.log(`contracts: ${count} tests passed on a real node`);
await node.end();
