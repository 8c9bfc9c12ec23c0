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

await test("ownership moves in two steps, and only to who accepts it", async () => {
    assert.equal(await node.judge(ALICE, vault, "transferOwnership", [address(ALICE)]), "NotOwner");
    assert.equal(await node.judge(ALICE, vault, "acceptOwnership", []), "NotCandidate");
    await node.write(OWNER, vault, "transferOwnership", [address(ALICE)]);
    assert.equal(await node.read(vault, "owner"), address(OWNER), "an offer changes nothing");
    assert.equal(await node.judge(ALICE, vault, "setPaused", [true]), "NotOwner");
    assert.equal(await node.judge(BOB, vault, "acceptOwnership", []), "NotCandidate");
    // An offer to a wrong address is taken back.
    await node.write(OWNER, vault, "transferOwnership", [viem.zeroAddress]);
    assert.equal(await node.judge(ALICE, vault, "acceptOwnership", []), "NotCandidate");
    await node.write(OWNER, vault, "transferOwnership", [address(BOB)]);
    const { logs } = await node.write(BOB, vault, "acceptOwnership", []);
    const [told] = viem.parseEventLogs({ abi: vault.abi, logs, eventName: "OwnershipTransferred" });
    assert.deepEqual(told.args, { former: address(OWNER), owner: address(BOB) });
    assert.equal(await node.judge(OWNER, vault, "setPaused", [true]), "NotOwner");
    await node.write(BOB, vault, "setPaused", [true]);
    assert.equal(await node.judge(BOB, vault, "acceptOwnership", []), "NotCandidate", "an offer is taken once");
});

/** Gives Alice so much of a token, which she lets the vault take. */
const allow = async (token, amount) => {
    await node.write(OWNER, token, "transfer", [address(ALICE), amount]);
    await node.write(ALICE, token, "approve", [vault.address, amount]);
};
const deposited = (receipt) =>
    viem.parseEventLogs({ abi: vault.abi, logs: receipt.logs, eventName: "Deposited" }).map((event) => event.args);

await test("deposits are numbered from 1, in whatever token and for whomever, and tell what arrived", async () => {
    await allow(df, 10n * E18);
    await allow(usdt, 5_000_000n);
    const first = await node.write(ALICE, vault, "deposit", [df.address, 4n * E18]);
    const token = viem.getAddress(df.address);
    assert.deepEqual(deposited(first), [{ number: 1n, account: address(ALICE), token, value: 4n * E18 }]);
    const { topics } = first.logs.find((log) => log.address === vault.address.toLowerCase());
    assert.equal(topics[0], viem.keccak256(viem.toBytes("Deposited(uint256,address,address,uint256)")));
    assert.equal(topics.length, 4);
    const second = await node.write(ALICE, vault, "depositFor", [address(BOB), usdt.address, 5_000_000n]);
    assert.deepEqual(deposited(second), [{ number: 2n, account: address(BOB), token: viem.getAddress(usdt.address), value: 5_000_000n }]);
    const third = await node.write(ALICE, vault, "deposit", [df.address, 6n * E18]);
    assert.equal(deposited(third)[0].number, 3n);
    assert.equal(await node.read(vault, "depositCount"), 3n);
    assert.equal(await node.read(df, "balanceOf", [vault.address]), 110n * E18);
    assert.equal(await node.read(usdt, "balanceOf", [vault.address]), 505_000_000n);
    // Releases and deposits are counted apart.
    assert.equal(await judge(await signed()), "paid");
});

await test("a deposit that nothing arrives of, of nobody, of no token or not allowed takes no number", async () => {
    const lying = await node.deploy(OWNER, "TestLyingToken", []);
    await allow(df, E18);
    const refused = [
        ["deposit", [df.address, 2n * E18], "TransferFailed"],
        ["deposit", [df.address, 0n], "NothingArrived"],
        ["deposit", [lying.address, E18], "NothingArrived"],
        ["deposit", [refusing.address, E18], "TransferFailed"],
        ["deposit", [address(BOB), E18], "TransferFailed"],
        ["deposit", [viem.zeroAddress, E18], "TransferFailed"],
        ["depositFor", [viem.zeroAddress, df.address, E18], "ZeroAddress"],
    ];
    for (const [name, args, error] of refused) {
        assert.equal(await node.judge(ALICE, vault, name, args), error, `${name} ${args}`);
        assert.equal((await node.write(ALICE, vault, name, args)).status, "reverted");
    }
    assert.equal(await node.read(vault, "depositCount"), 0n);
    // What comes without the vault's own call is nobody's.
    await node.write(ALICE, df, "transfer", [vault.address, E18]);
    assert.equal(await node.read(vault, "depositCount"), 0n);
});

await test("of a token that keeps a fee, what arrived is told", async () => {
    const fee = await node.deploy(OWNER, "TestFeeToken", [18, 1_000n * E18]);
    await allow(fee, 100n * E18);
    const [told] = deposited(await node.write(ALICE, vault, "deposit", [fee.address, 100n * E18]));
    assert.equal(told.value, 99n * E18);
    assert.equal(await node.read(fee, "balanceOf", [vault.address]), 99n * E18);
});

await test("a token that calls back reaches nothing that moves tokens", async () => {
    const token = await node.deploy(OWNER, "TestReentrantToken", []);
    await allow(token, 10n * E18);
    await node.write(OWNER, token, "transfer", [vault.address, 10n * E18]);
    const release = await signed({ account: token.address });
    const attacks = [
        ["depositFor", [address(BOB), df.address, E18]],
        ["deposit", [token.address, E18]],
        ["withdraw", release],
    ];
    for (const [at, [functionName, args]] of attacks.entries()) {
        await node.write(OWNER, token, "aim", [vault.address, viem.encodeFunctionData({ abi: vault.abi, functionName, args })]);
        const [told] = deposited(await node.write(ALICE, vault, "deposit", [token.address, E18]));
        assert.deepEqual([told.number, told.value], [BigInt(at + 1), E18], functionName);
        assert.equal(await node.read(token, "wasRefused"), true, functionName);
        const paid = await signed({ token: token.address, nonce: BigInt(at) });
        assert.equal((await node.write(ALICE, vault, "withdraw", paid)).status, "success");
        assert.equal(await node.read(token, "wasRefused"), true, functionName);
    }
    assert.deepEqual([await node.read(vault, "depositCount"), await node.read(vault, "releaseCount")], [3n, 3n]);
});

await test("what an exchange must know comes in one answer", async () => {
    await allow(df, E18);
    await node.write(ALICE, vault, "deposit", [df.address, E18]);
    await node.write(ALICE, vault, "withdraw", await signed());
    await node.write(ALICE, vault, "withdraw", await signed({ nonce: 1n }));
    const domain = await node.read(vault, "domainSeparator");
    assert.deepEqual(await node.read(vault, "state"), [1n, 2n, address(SIGNER), false, domain]);
    await node.write(OWNER, vault, "setPaused", [true]);
    await node.write(OWNER, vault, "setSigner", [address(BOB)]);
    assert.deepEqual(await node.read(vault, "state"), [1n, 2n, address(BOB), true, domain]);
});

await test("a paused vault takes no deposits", async () => {
    await allow(df, E18);
    await node.write(OWNER, vault, "setPaused", [true]);
    assert.equal(await node.judge(ALICE, vault, "deposit", [df.address, E18]), "Paused");
    await node.write(OWNER, vault, "setPaused", [false]);
    assert.equal(await node.judge(ALICE, vault, "deposit", [df.address, E18]), "paid");
});

await test("the owner replaces the signer, whose signatures are dead then", async () => {
    const args = await signed();
    assert.equal(await node.judge(ALICE, vault, "setSigner", [address(ALICE)]), "NotOwner");
    assert.equal(await node.judge(OWNER, vault, "setSigner", [viem.zeroAddress]), "ZeroAddress");
    await node.write(OWNER, vault, "setSigner", [address(BOB)]);
    assert.equal(await judge(args), "SignatureInvalid");
    assert.equal(await judge(await signed({}, { by: BOB })), "paid");
    // What it signed was given back: it would be paid twice if it came back.
    assert.equal(await node.judge(OWNER, vault, "setSigner", [address(SIGNER)]), "SignerRetired");
    assert.equal(await node.judge(OWNER, vault, "setSigner", [address(BOB)]), "SignerRetired");
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
