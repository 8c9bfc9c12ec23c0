// Deposits as somebody at the page makes them, the part of page.mjs about them: with a browser wallet that agrees, refuses, is on
// another chain or does not answer, and by hand.
import assert from "node:assert/strict";
import { ALICE, BOB, E18, OWNER } from "./rig.mjs";

const APPROVE = "0x095ea7b3";
const DEPOSIT = "0x47e7ef24";

/** Shows it all; `open`, `openWallet` and the logins are page.mjs's. */
export async function showDeposits({ rig, shown, open, openWallet, logInByKey }) {
    const { node, address, df, usdt, gold, vault, mine, operate } = rig;
    const alice = address(ALICE);
    const page = await openWallet();
    const part = page.getByRole("region", { name: "Deposits", exact: true });
    const [choice, amount] = [part.getByLabel("Token"), part.getByLabel("Amount")];
    const press = (name = "Deposit") => part.getByRole("button", { name, exact: true }).click();
    const until = (what, ...more) => page.waitForFunction(what, ...more);
    const says = (id, text) => until(([id, text]) => document.getElementById(id)?.textContent.includes(text), [id, text]);
    const row = (state, ...texts) =>
        until(
            ([state, texts]) => {
                const row = document.querySelector("#deposit-rows tr");
                return row?.dataset.state === state && texts.every((text) => row.textContent.includes(text));
            },
            [state, texts],
        );
    const step = (index, state, text) =>
        until(
            ([index, state, text]) => {
                const line = document.querySelectorAll("#deposit-steps li")[index];
                return line?.dataset.state === state && line.textContent === text;
            },
            [index, state, text],
        );
    /** What the wallet refuses: a method, and for transactions the call, with a code of EIP-1193. */
    const refuse = (method, call = "", code = 4001) =>
        page.evaluate(
            ([wanted, call, code]) => {
                window.walletJudges = (method, params) => {
                    if (method !== wanted || !(params[0].data ?? "").startsWith(call)) return;
                    throw Object.assign(new Error("User rejected the request."), { code });
                };
            },
            [method, call, code],
        );
    const agree = () => page.evaluate(() => { window.walletJudges = () => {}; });
    const has = async (token) => {
        const { body } = await rig.ask("/api/v1/spot/balances");
        return body.find((balance) => balance.token === token)?.available ?? "0";
    };
    /** The balances that the page shows. */
    const shows = (token, available) =>
        until(
            ([token, available]) => {
                const rows = [...document.querySelectorAll("#balances tr")];
                const row = rows.find((row) => row.dataset.balance === token);
                return row?.cells[2].textContent.replaceAll(",", "") === available;
            },
            [token, available],
        );
    const sentBy = () => node.reader.getTransactionCount({ address: alice });
    const allowance = (token) => node.read(token, "allowance", [alice, vault.address]);

    // What is known of a token, and what its wallet has, is followed without a reload.
    assert.equal((await operate("/admin/tokens", { symbol: "GOLD", address: gold.address, decimals: 6 })).status, 200);
    await node.write(OWNER, gold, "transfer", [alice, 5_000_000n]);
    await page.locator("#deposit select option", { hasText: "GOLD" }).waitFor({ state: "attached" });
    await choice.selectOption("GOLD");
    await says("deposit-free", "your wallet is on chain 1; it is asked to change to 31337");
    await choice.selectOption("DF");
    await amount.fill("4.25");
    await refuse("wallet_switchEthereumChain");
    await press();
    await step(0, "failed", "Chain 31337: not done");
    await says("deposit-answer", "you refused it in your wallet. Deposit tries again.");
    await refuse("wallet_switchEthereumChain", "", 4902);
    await press();
    await says("deposit-answer", "your wallet does not know that chain: add it there.");
    await agree();
    shown("a wallet on another chain is asked to change, and what it refuses is said");

    await refuse("eth_sendTransaction", APPROVE);
    const before = await sentBy();
    await press();
    await step(0, "done", "Chain 31337");
    await step(1, "failed", "Let the vault take 4.25 DF: not done");
    await says("deposit-answer", "you refused it in your wallet. Deposit tries again.");
    assert.equal(await sentBy(), before, "nothing was sent");
    const wrong = async (token, text, fault) => {
        await choice.selectOption(token);
        await amount.fill(text);
        await press();
        await says("deposit-fault", fault);
        assert.equal(await amount.getAttribute("aria-invalid"), "true");
        assert.match(await amount.getAttribute("aria-describedby"), /deposit-fault/);
        assert.equal(await page.evaluate(() => document.activeElement.name), "amount");
    };
    await wrong("DF", "0.0000000000000000001", "at most 18 decimals");
    await wrong("GOLD", "1.0000001", "at most 6 decimals");
    await says("deposit-free", "5 GOLD in your wallet");
    await wrong("GOLD", "5.000001", "your wallet has 5 GOLD");
    await wrong("GOLD", "1,5", "digits, with a point before its decimals");
    await wrong("GOLD", "-1", "digits, with a point before its decimals");
    await wrong("GOLD", "0.0", "more than 0");
    await press("All of it");
    assert.equal(await amount.inputValue(), "5");
    await says("deposit-fault", "");
    assert.equal(await amount.getAttribute("aria-invalid"), "false");
    assert.equal(await sentBy(), before, "nothing was sent");
    shown("an amount of too many decimals, more than there is, of nothing or of other signs is refused beside its field");

    // DF: allowed, then refused, then gone on with, with a reload in between and each block seen to count.
    const startedWith = await has("DF");
    await choice.selectOption("DF");
    await amount.fill("4.25");
    await refuse("eth_sendTransaction", DEPOSIT);
    await press();
    await step(2, "failed", "Deposit 4.25 DF: not done");
    await says("deposit-answer", "you refused it in your wallet. The vault may take it already: Deposit goes on from there.");
    assert.equal(await allowance(df), (425n * E18) / 100n);
    await agree();
    await node.rpc("evm_setAutomine", false);
    await press();
    await says("deposit-answer", "sent as 0x");
    assert.equal(await page.locator("#deposit-steps li[data-state=done]").count(), 3);
    await row("sent", "DF4.25", "waits for a block");
    await mine(1);
    await node.rpc("evm_setAutomine", true);
    await row("pending", "DF4.25", "0 of 20 confirmations");
    assert.equal(await sentBy(), before + 2, "one to allow it, one to deposit");
    assert.equal(await page.locator("#deposit-rows tr").count(), 1);
    await mine(1);
    await row("pending", "1 of 20 confirmations");
    await mine(6);
    await row("pending", "7 of 20 confirmations");
    await page.reload();
    await row("pending", "DF4.25", "7 of 20 confirmations");
    await mine(12);
    await row("pending", "19 of 20 confirmations");
    assert.equal(await has("DF"), startedWith, "nothing is credited before");
    await mine(1);
    await row("credited", "DF4.25", "credited");
    const grown = String(Number(startedWith) + 4.25);
    assert.equal(Number(await has("DF")), Number(grown));
    await shows("DF", grown);
    shown("DF: refused by the wallet, gone on with; its confirmations count up across a reload, at the twentieth it is credited");

    // USDT has 6 decimals; an allowance that is too small is taken back first.
    const hadUsdt = Number(await has("USDT"));
    await node.write(ALICE, usdt, "approve", [vault.address, 1n]);
    const sent = await sentBy();
    await choice.selectOption("USDT");
    await amount.fill("1.000001");
    await node.rpc("evm_setAutomine", false);
    await press();
    await step(1, "now", "Take back what the vault was let before: sent, waits for a block");
    assert.ok(await page.locator("#deposit-ask").isDisabled());
    await mine(1);
    await step(1, "now", "Let the vault take 1.000001 USDT: sent, waits for a block");
    await mine(1);
    await step(1, "done", "The vault may take 1.000001 USDT");
    await row("sent", "USDT1.000001");
    await mine(1);
    await node.rpc("evm_setAutomine", true);
    await row("pending", "USDT1.000001", "0 of 20 confirmations");
    assert.equal(await sentBy(), sent + 3);
    assert.equal(await allowance(usdt), 0n, "it was let take that and no more");
    await mine(10);
    await row("pending", "10 of 20 confirmations");
    await mine(10);
    await row("credited", "USDT1.000001");
    assert.equal(await has("USDT"), String(hadUsdt + 1.000001));
    await shows("USDT", String(hadUsdt + 1.000001));
    shown("USDT with its 6 decimals: an allowance that is too small is taken back, then given; credited to the unit");

    // A wallet that does not answer is given up; what it sends later counts all the same.
    await choice.selectOption("GOLD");
    await amount.fill("0.5");
    await page.evaluate(() => {
        window.walletJudges = (method) => method === "eth_sendTransaction" && new Promise((answer) => { window.walletAnswers = answer; });
    });
    await press();
    await step(1, "now", "Let the vault take 0.5 GOLD: confirm in your wallet");
    await press("Stop waiting");
    await says("deposit-answer", "Nothing more is asked of your wallet");
    await agree();
    await page.evaluate(() => window.walletAnswers());
    for (let round = 0; (await allowance(gold)) !== 500_000n; round += 1) {
        assert.ok(round < 200, "what the wallet has sent late counts");
        await page.waitForTimeout(50);
    }
    assert.equal(await node.read(gold, "balanceOf", [alice]), 5_000_000n, "and nothing after it was asked for");
    // A transaction that fails in its block says so. The vault is paused between the look and the block.
    await node.rpc("evm_setAutomine", false);
    await press();
    await row("sent", "GOLD0.5");
    await node.write(OWNER, vault, "setPaused", [true], { noWait: true, gasPrice: 100_000_000_000n });
    await mine(1);
    await node.rpc("evm_setAutomine", true);
    await row("failed", "GOLD0.5", "failed: nothing was deposited");
    await amount.fill("0.5");
    await press();
    await says("deposit-answer", "the vault is paused on the chain: it takes nothing just now");
    await node.write(OWNER, vault, "setPaused", [false]);
    shown("a wallet that does not answer is given up, a deposit that fails in its block is said to, a paused vault is not asked");

    // By hand, as the page says it to somebody without a browser wallet, from another account.
    await amount.fill("0.75");
    await part.getByText("Without a browser wallet").click();
    assert.equal(await part.locator("#deposit-chain").textContent(), "31337");
    assert.equal((await part.locator("#deposit-vault").textContent()).toLowerCase(), vault.address.toLowerCase());
    const told = async (id) => (await part.locator(`#deposit-${id}`).textContent()).match(/^(\w+)\((.*)\)$/).slice(1);
    const byHand = async (contract, [name, words]) =>
        node.write(BOB, contract, name, words.split(", ").map((word) => (word.startsWith("0x") ? word : BigInt(word))));
    await node.write(OWNER, gold, "transfer", [address(BOB), 750_000n]);
    await byHand({ ...gold, address: await part.locator("#deposit-contract").textContent() }, await told("approve"));
    await byHand(vault, await told("for"));
    await row("pending", "GOLD0.75", "0 of 20 confirmations");
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "it fits a phone");
    await mine(20);
    await row("credited", "GOLD0.75");
    await shows("GOLD", "0.75");
    shown("by hand from another account, with the calls that the page tells");

    // Paused by an operator: said, and what comes is held until they go on.
    const patch = (body) => operate("/admin/tokens/GOLD", body, "ann", "PATCH");
    assert.equal((await patch({ deposits_paused: true })).status, 200);
    await says("deposit-paused", "Deposits of GOLD are paused: what arrives is held until they go on.");
    assert.ok(await page.locator("#deposit-ask").isDisabled());
    await choice.selectOption("DF");
    assert.ok(await page.locator("#deposit-paused").isHidden() && (await page.locator("#deposit-ask").isEnabled()));
    await node.write(ALICE, gold, "approve", [vault.address, 250_000n]);
    await node.write(ALICE, vault, "deposit", [gold.address, 250_000n]);
    await mine(20);
    await row("held", "GOLD0.25", "held: deposits of the token are paused");
    assert.equal((await patch({ deposits_paused: false })).status, 200);
    await row("credited", "GOLD0.25");
    await shows("GOLD", "1");
    shown("paused deposits of a token are said, what came is shown as held, and credited once they go on");

    // More than a page of them.
    const MANY = 60;
    await node.write(OWNER, gold, "approve", [vault.address, BigInt(MANY)]);
    for (let count = 0; count < MANY; count += 1) await node.write(OWNER, vault, "depositFor", [alice, gold.address, 1n]);
    await mine(20);
    await shows("GOLD", "1.00006");
    await page.reload();
    const listed = (count) => until((count) => document.querySelectorAll("#deposit-rows tr[data-state=credited]").length === count, count);
    await listed(50);
    await press("Older");
    await listed(MANY + 4);
    await page.locator("#deposits-older").waitFor({ state: "hidden" });
    await node.write(OWNER, gold, "approve", [vault.address, 1n]);
    await node.write(OWNER, vault, "depositFor", [alice, gold.address, 1n]);
    await row("pending", "GOLD0.000001");
    await mine(20);
    await listed(MANY + 5);
    const ids = await page.evaluate(() => {
        const rows = [...document.querySelectorAll("#deposit-rows tr[data-deposit]")];
        return rows.map((row) => Number(row.dataset.deposit.split("-")[2]));
    });
    assert.deepEqual(ids, [...Array(MANY + 5).keys()].map((index) => MANY + 5 - index), "each once, newest first");
    shown("the history goes on page by page, and stays while more is credited");

    await page.locator("#account").click();
    await page.locator("#logout").click();
    await says("no-deposits", "Log in to see your deposits.");
    assert.equal(await page.locator("#deposit-rows tr").count(), 0);
    await page.close();

    // What the server sends is text, and a login that cannot send is told what it can do.
    const markup = '<img src="x" onerror="document.title=\'broken\'">';
    const answer = (body) => (route) => route.fulfill({ json: body });
    const other = await open({ viewport: { width: 1440, height: 900 } }, async (page) => {
        await page.route("**/web/settings.json", async (route) => {
            const settings = await (await route.fetch()).json();
            await route.fulfill({ json: { ...settings, node: null } });
        });
        const token = { symbol: markup, address: markup, decimals: 6, deposits_paused: true };
        const place = { chain_id: 31337, vault_address: markup, former_vault_addresses: [markup], tokens: [token], confirmations: 20 };
        const held = { id: "31337-0x00-1", token: markup, amount: markup, tx_hash: markup, status: "pending", held: markup, seen_at: 0 };
        await page.route("**/api/v1/spot/deposits/address", answer(place));
        await page.route("**/api/v1/spot/deposits?status=pending*", answer([held]));
        await page.route("**/api/v1/spot/deposits?status=credited*", answer([]));
    });
    await logInByKey(other);
    await other.locator("#deposit-rows tr").waitFor();
    assert.equal(await other.locator("#deposits img").count(), 0);
    assert.match(await other.locator("#deposit-rows").textContent(), /held: <img src/);
    assert.ok(await other.locator("#no-wallet").isVisible() && (await other.locator("#deposit-ask").isDisabled()));
    assert.equal(await other.locator("#deposit-vault").textContent(), markup);
    await other.close();
    shown("what the server says is shown as text alone; a login that cannot send still sees where deposits go");
}
