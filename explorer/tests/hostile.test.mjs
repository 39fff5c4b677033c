// Documents that try to be more than text.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { docsphere, folder, launch, open, reportUrl } from "./support.mjs";

const ATTACKS = [
  "</script><script>window.hacked = 1</script>",
  "<img src=x onerror=window.hacked=1>",
  "<!--<script>",
  "<svg onload=window.hacked=1>",
  "\u2028window.hacked=1\u2029",
  "]]></style><style>body{display:none}</style>",
  "{\"docsphere\":\"data\"}",
  "javascript:window.hacked=1",
  "{{constructor.constructor('window.hacked=1')()}}",
];

let browser, home;

before(async () => {
  home = folder();
  const records = ATTACKS.flatMap((attack, i) => [0, 1, 2].map((n) => ({ id: `${attack}${n}`, text: `subject${i} ${attack} subject${i} number${n}` })));
  writeFileSync(join(home, "<b>hostile.jsonl"), records.map((record) => JSON.stringify(record)).join("\n"));
  docsphere(home, "cluster", "<b>hostile.jsonl", "--format", "jsonl", "-k", "9", "-o", "out", "--keep-numbers", "--report-chars", "2000");
  browser = await launch();
});
after(() => browser.close());

test("texts, ids, terms and names of files are shown as they are", async () => {
  const { page, troubles, close } = await open(browser, reportUrl(join(home, "out")));
  assert.equal(await page.locator("h1").textContent(), "<b>hostile.jsonl");
  let seen = "";
  for (let cluster = 0; cluster < 9; cluster++) {
    await page.evaluate((id) => (location.hash = `#cluster=${id}`), cluster);
    await page.waitForFunction((id) => document.querySelector("#panel .facts")?.textContent.startsWith(`cluster ${id} `), cluster);
    seen += await page.locator("#panel").textContent();
    assert.equal(await page.locator("#panel img, #panel script, #panel style:not(svg style)").count(), 0);
  }
  for (const attack of ATTACKS) {
    assert.ok(seen.includes(attack.trim()), `as text: ${attack}`);
    assert.ok(seen.includes(`${attack}0`), `as an id: ${attack}`);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.deepEqual(troubles, []);
  await close();
});

test("markup that got into the page by a mistake would still not run", async () => {
  const { page, troubles, close } = await open(browser, reportUrl(join(home, "out")));
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.hacked = 1";
    const style = document.createElement("style");
    style.textContent = "body { display: none }";
    document.body.append(script, style);
    document.body.insertAdjacentHTML("beforeend", '<p id="attack" style="color: red" onclick="window.hacked = 1">attack</p>');
    document.getElementById("attack").click();
  });
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.ok(await page.locator("h1").isVisible());
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.getElementById("attack")).color), "rgb(255, 0, 0)");
  assert.ok(troubles.length >= 4 && troubles.every((trouble) => trouble.includes("Content Security Policy")), `${troubles}`);
  await close();
});
