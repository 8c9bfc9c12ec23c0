// The dashboard against Grafana's own types: written out as a literal of type `Dashboard` of @grafana/schema and given to the
// TypeScript compiler, which knows neither a missing member nor one too many.   node dashboard.mjs <node_modules> <grafana.json>
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import assert from "node:assert/strict";

const [modules, path] = process.argv.slice(2);
const text = readFileSync(path, "utf8");
const dashboard = JSON.parse(text);
const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
symlinkSync(resolve(modules), join(folder, "node_modules"));

function compiles(literal) {
    writeFileSync(
        join(folder, "dashboard.ts"),
        `import type { Dashboard } from "@grafana/schema";\nexport const dashboard: Dashboard = ${literal};\n`,
    );
    const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--moduleResolution", "nodenext"];
    try {
        execFileSync(process.execPath, [join(modules, "typescript/bin/tsc"), ...flags, join(folder, "dashboard.ts")]);
        return "";
    } catch (error) {
        return `${error.stdout}${error.stderr}`;
    }
}
assert.equal(compiles(text), "");
// The compiler does judge: a panel without a type, a member that Grafana does not know.
assert.match(compiles(JSON.stringify({ ...dashboard, panels: [{ title: "x" }] })), /error TS/);
assert.match(compiles(JSON.stringify({ ...dashboard, panel: [] })), /error TS/);

// What types do not say: ids are its own, places do not overlap, every panel and target names the data source that is asked for.
const source = dashboard.templating.list.find((variable) => variable.type === "datasource");
const wanted = { type: source.query, uid: `\${${source.name}}` };
const ids = dashboard.panels.map((panel) => panel.id);
assert.equal(new Set(ids).size, ids.length, "an id twice");
const taken = new Map();
for (const { id, title, type, gridPos, targets = [], datasource } of dashboard.panels) {
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
            assert.ok(x < 24 && !taken.has(`${x} ${y}`), `${title} lies over panel ${taken.get(`${x} ${y}`)}`);
            taken.set(`${x} ${y}`, id);
        }
    }
    if (type === "row") continue;
    assert.ok(targets.length > 0, `${title} shows nothing`);
    for (const asked of [datasource, ...targets.map((target) => target.datasource)]) assert.deepEqual(asked, wanted);
    assert.equal(new Set(targets.map((target) => target.refId)).size, targets.length, title);
}
console.log(`${dashboard.panels.length} panels are what Grafana's types ask for`);
