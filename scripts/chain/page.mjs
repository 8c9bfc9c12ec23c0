// Deposits and withdrawals as somebody at the page does them: a real node, a real signer process, the real exchange, a headless Chromium.
//   node page.mjs <ringside> <node_modules> <playwright module> [<browser>]     one line per thing shown; exit code 0 or 1
import assert from "node:assert/strict";
import { key, library } from "./node.mjs";
import { showDeposits } from "./page_deposits.mjs";
import { ALICE, startRig } from "./rig.mjs";

const [ringside, modules, playwright, browser] = process.argv.slice(2);
const { chromium } = await import(playwright);
const { privateKeyToAccount } = (await library(modules)).accounts;
// Slow nodes are shown elsewhere: a busy machine is no part of this.
const rig = await startRig(ringside, modules, (node) => ({ RINGSIDE_PAGE_NODE: node.url, RINGSIDE_CHAIN_PATIENCE: "15s" }));
const { node, address, df, usdt, vault, mine, operate } = rig;
const shown = (what) => console.log(`ok: ${what}`);
const launched = await chromium.launch({ executablePath: browser || undefined });
const faults = [];

async function open(options, prepare) {
    const page = await launched.newPage(options);
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
        // A refusal is an answer, of which the browser complains by itself.
        if (message.type() === "error" && !/WebSocket|status of [45]\d\d/.test(message.text())) faults.push(message.text());
    });
    if (prepare) await prepare(page);
    await page.goto(`${rig.url}/#/wallet`);
    await page.locator("#withdrawals").waitFor();
    return page;
}

async function logInByKey(page) {
    await page.locator("#login").click();
    await page.locator("#key").fill(key(ALICE).slice(2));
    await page.locator("#with-key").click();
    await page.locator("#login-dialog").waitFor({ state: "hidden" });
}

/**
 * A browser wallet on a phone, as far as the page sees one: it signs what it is handed and sends what it is asked to, on the
 * chain it is on. `walletJudges(method, params)` of the page may throw what it refuses with, or wait; `walletLeaves()` takes it to
 * another chain.
 */
async function openWallet() {
    const page = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, colorScheme: "light" }, async (page) => {
        await page.exposeFunction("walletSends", async (call) => {
            const client = await node.client(ALICE);
            assert.equal(call.from, address(ALICE).toLowerCase());
            return client.sendTransaction({ to: call.to, data: call.data, gas: 500_000n });
        });
        await page.exposeFunction("walletSigns", (text) => {
            const { domain, types, message, primaryType } = JSON.parse(text);
            const { EIP712Domain: _, ...rest } = types;
            return privateKeyToAccount(key(ALICE)).signTypedData({ domain, types: rest, primaryType, message });
        });
        await page.exposeFunction("walletAsks", (method, params) => node.rpc(method, ...params));
        await page.addInitScript((account) => {
            let chain = "0x1";
            window.walletLeaves = () => { chain = "0x1"; };
            window.walletJudges = () => {};
            window.ethereum = {
                async request({ method, params }) {
                    await window.walletJudges(method, params);
                    if (method === "eth_requestAccounts") return [account];
                    if (method === "eth_chainId") return chain;
                    if (method === "wallet_switchEthereumChain") return void (chain = params[0].chainId);
                    if (method === "eth_signTypedData_v4") return window.walletSigns(params[1]);
                    // Another chain has other contracts: none here.
                    if (chain !== "0x7a69") throw new Error(`${method} on chain ${chain}`);
                    return method === "eth_sendTransaction" ? window.walletSends(params[0]) : window.walletAsks(method, params);
                },
            };
        }, address(ALICE).toLowerCase());
    });
    await logInByWallet(page);
    return page;
}

async function logInByWallet(page) {
    await page.locator("#login").click();
    await page.locator("#wallet").click();
    await page.locator("#login-dialog").waitFor({ state: "hidden" });
}

/** The newest row, once it is in a state; its texts. */
async function newest(page, state, text = "") {
    await page.waitForFunction(
        ([state, text]) => {
            const row = document.querySelector("#withdrawal-rows tr");
            return row?.dataset.state === state && row.textContent.includes(text);
        },
        [state, text],
    );
    return page.evaluate(() => [...document.querySelector("#withdrawal-rows tr").cells].map((cell) => cell.textContent));
}

async function ask(page, token, amount) {
    await page.locator("#withdraw select[name=token]").selectOption(token);
    await page.locator("#withdraw input[name=amount]").fill(amount);
    await page.locator("#withdraw-ask").click();
}

const submit = (page) => page.locator("#withdrawal-rows tr").first().getByRole("button", { name: "Submit" }).click();
const paid = (contract) => node.read(contract, "balanceOf", [address(ALICE)]);

try {
    const alice = { user_address: address(ALICE), reason: "page" };
    assert.equal((await operate("/api/v1/admin/spot/balances/credit", { ...alice, token: "DF", amount: "1000" })).status, 200);
    assert.equal((await operate("/admin/perpetual/credit", { ...alice, amount: "500" })).status, 200);

    // Her transactions cost gas.
    await node.client(ALICE);

    const page = await open({ viewport: { width: 1440, height: 900 }, colorScheme: "dark" });
    await logInByKey(page);
    await ask(page, "DF", "0.5");
    await page.waitForFunction(() => /amount below minimum 1/.test(document.querySelector("#withdraw-answer")?.textContent));
    await ask(page, "DF", "12.5");
    const row = await newest(page, "signed");
    assert.deepEqual(row.slice(0, 2), ["DF", "12.5"]);
    await page.waitForFunction(() => /DFSpot987\.512\.5/.test(document.querySelector("#balances")?.textContent));
    shown("a withdrawal is asked for, a refusal says why, the amount is frozen");

    await submit(page);
    await page.waitForFunction(() => /^sent as 0x[0-9a-f]{64}$/.test(document.querySelector("#withdraw-answer")?.textContent));
    await newest(page, "sent");
    assert.equal(await paid(df), 12_500_000_000_000_000_000n, "the vault has paid");
    for (const blocks of [1, 6, 12]) {
        await mine(blocks);
        const seen = (await node.reader.getBlockNumber()) - (await lastRelease()).blockNumber;
        await newest(page, "confirming", `${seen} of 20 confirmations`);
    }
    shown("submitted with the pasted key, its confirmations count up: 1, 7, 19");
    await mine(1);
    const { blockNumber, transactionHash } = await lastRelease();
    const done = await newest(page, "confirmed", `confirmed in block ${blockNumber}`);
    assert.equal(done[4], `${transactionHash.slice(0, 8)}…${transactionHash.slice(-4)}`);
    await page.waitForFunction(() => /DFSpot987\.50/.test(document.querySelector("#balances")?.textContent));
    shown("at the twentieth it is confirmed, with its block and transaction");

    assert.equal((await operate("/admin/withdrawals/pause", { paused: true, reason: "page" })).status, 200);
    await page.locator("#withdraw select[name=token]").selectOption("USDT");
    await page.locator("#withdrawals-paused").waitFor();
    assert.ok(await page.locator("#withdraw-ask").isDisabled());
    await page.locator("#withdraw select[name=token]").selectOption("DF");
    await page.locator("#withdrawals-paused").waitFor({ state: "hidden" });
    assert.equal((await operate("/admin/withdrawals/pause", { paused: false })).status, 200);
    shown("a pause of the perpetual side shows, the spot side goes on");

    // What was asked for before a reload can be submitted after it, and in the order of the nonces alone.
    await ask(page, "DF", "1");
    await newest(page, "signed");
    await ask(page, "DF", "2");
    await page.waitForFunction(() => document.querySelectorAll("#withdrawal-rows tr").length === 3);
    const buttons = page.locator("#withdrawal-rows").getByRole("button", { name: "Submit" });
    assert.deepEqual([await buttons.nth(0).isDisabled(), await buttons.nth(1).isDisabled()], [true, false]);
    await page.close();

    const wallet = await openWallet();
    await wallet.waitForFunction(() => document.querySelectorAll("#withdrawal-rows tr").length === 3);
    for (let said = ""; (await wallet.locator("#withdrawal-rows button").count()) > 0; said = await wallet.locator("#withdraw-answer").textContent()) {
        await wallet.locator("#withdrawal-rows button:enabled").click();
        await wallet.waitForFunction((said) => {
            const now = document.querySelector("#withdraw-answer")?.textContent;
            return /^sent as/.test(now) && now !== said;
        }, said);
    }
    await mine(21);
    await newest(wallet, "confirmed");
    await wallet.waitForFunction(() => document.querySelectorAll("#withdrawal-rows tr[data-state=confirmed]").length === 3);
    assert.equal(await paid(df), 15_500_000_000_000_000_000n);
    shown("after a reload, by a browser wallet that had to change its chain: both are paid, in their order");

    await ask(wallet, "USDT", "25.5");
    assert.deepEqual((await newest(wallet, "signed")).slice(0, 2), ["USDT", "25.5"]);
    await submit(wallet);
    await newest(wallet, "sent");
    await mine(20);
    await newest(wallet, "confirmed");
    assert.equal(await paid(usdt), 25_500_000n);
    shown("margin is withdrawn as USDT");

    await ask(wallet, "DF", "3");
    await newest(wallet, "signed");
    await node.rpc("evm_increaseTime", 90_000);
    await mine(22);
    await newest(wallet, "expired");
    for (const theme of ["light", "dark"]) {
        assert.equal(await wallet.evaluate(() => document.documentElement.dataset.theme), theme);
        const width = await wallet.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= 390, `${width} pixels wide on a phone`);
        await wallet.locator("#theme").click();
    }
    shown("what nobody submits expires; the history fits a phone, dark and light");

    assert.equal(await node.read(vault, "nonces", [address(ALICE)]), 4n);
    await wallet.close();
    await showDeposits({ rig, shown, open, openWallet, logInByKey });
    assert.deepEqual(faults, [], "the browser had nothing to complain of");
} catch (error) {
    for (const context of launched.contexts()) {
        for (const page of context.pages()) for (const part of ["#deposits", "#withdrawals"]) console.error(await page.locator(part).innerText());
    }
    console.error(`${error.stack}\nfaults: ${faults}\nexchange:\n${rig.venue?.log}\nsigner:\n${rig.signer?.log}`);
    process.exit(1);
}

/** The newest payment of the vault. */
async function lastRelease() {
    const logs = await node.reader.getContractEvents({ address: vault.address, abi: vault.abi, eventName: "FundsReleased", fromBlock: 0n });
    return logs.at(-1);
}
process.exit(0);
