// docsphere serve: the same page, with all documents behind it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { command, docsphere, folder, launch, open, shows } from "./support.mjs";

let browser, server, url;

before(async () => {
  const home = folder();
  const subjects = ["cats purr softly", "dogs bark loudly", "stocks fall again"];
  const records = Array.from({ length: 90 }, (_, id) => JSON.stringify({ id: `d${id}`, text: `${subjects[id % 3]} text${id}` }));
  records.push(JSON.stringify({ id: "long", text: `${"cats purr and sleep ".repeat(100)} needle <script>window.hacked=1</script>` }));
  writeFileSync(join(home, "pets.jsonl"), records.join("\n"));
  docsphere(home, "cluster", "pets.jsonl", "-k", "3", "-o", "out", "--index", "--quiet");
  server = spawn(command, ["serve", "out", "--port", "0"], { cwd: home, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(server.stdout, "data");
  url = /http:\S+/.exec(String(line))[0];
  browser = await launch();
});
after(async () => {
  await browser.close();
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  assert.equal(code, 0, "it shuts down cleanly");
});

test("all documents can be searched, and lead to their clusters", async () => {
  const { page, troubles, close } = await open(browser, url, { origin: url });
  const panel = page.locator("#panel");
  await panel.locator("input[type=search]").fill("bark text4");
  await panel.locator(".documents li").first().waitFor();
  // text4, text40, text43, ...: the last word may go on.
  const texts = await panel.locator(".documents .text").allTextContents();
  assert.ok(texts.length > 1 && texts.every((text) => text.includes("dogs bark") && text.includes("text4")), `${texts}`);
  assert.ok((await panel.locator(".documents mark").count()) >= 2);
  await panel.locator(".documents a").first().click();
  await panel.getByRole("heading", { name: /dogs|bark/, level: 2 }).waitFor();
  await page.goBack();
  await shows(page, "Overview");
  assert.equal(await panel.locator("input[type=search]").inputValue(), "bark text4", "the search is as it was");
  assert.equal(await panel.locator(".documents li").count(), texts.length);
  await panel.locator("input[type=search]").fill("\u{1f600}");
  await panel.getByText("Nothing found").waitFor();
  assert.deepEqual(troubles, []);
  await close();
});

test("a cluster's documents are paged through to the last", async () => {
  const { page, troubles, close } = await open(browser, url, { origin: url });
  await page.locator("#rows .row", { hasText: "dogs" }).click();
  const browser_ = page.locator(".browser");
  const seen = new Set();
  for (const status of ["1 to 20 of 30", "21 to 30 of 30"]) {
    await browser_.getByText(status, { exact: true }).waitFor();
    for (const fact of await browser_.locator("li .facts").allTextContents()) seen.add(fact.split(" ")[0]);
    const next = browser_.getByRole("button", { name: "Next" });
    if (await next.isVisible()) await next.click();
  }
  assert.equal(seen.size, 30);
  assert.ok(!(await browser_.getByRole("button", { name: "Next" }).isVisible()));
  await browser_.getByRole("button", { name: "Previous" }).click();
  await browser_.getByText("1 to 20 of 30", { exact: true }).waitFor();
  assert.deepEqual(troubles, []);
  await close();
});

test("a long text is shown around what was searched for, then whole, and as text", async () => {
  const { page, troubles, close } = await open(browser, url, { origin: url });
  const panel = page.locator("#panel");
  await panel.locator("input[type=search]").fill("needle");
  const text = panel.locator(".documents .text");
  await text.waitFor();
  assert.ok((await text.textContent()).includes("needle") && (await text.textContent()).length < 1000);
  await panel.getByRole("button", { name: "Whole text" }).click();
  await panel.getByRole("button", { name: "Whole text" }).waitFor({ state: "detached" });
  assert.ok((await text.textContent()).length > 1900);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await panel.locator("input[type=search]").fill('"; DROP TABLE documents; --');
  await panel.getByText("Nothing found").waitFor();
  assert.deepEqual(troubles, []);
  await close();
});
