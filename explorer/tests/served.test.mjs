// docsphere serve: the same page, with all documents behind it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { command, docsphere, folder, launch, open, shows } from "./support.mjs";

let browser, gpu, home, server, url;

before(async () => {
  home = folder();
  const subjects = ["cats purr softly", "dogs bark loudly", "stocks fall again"];
  const kept = (id) => ({ region: id % 2 === 0 ? "north" : "south", link: `https://example.org/${id % 7}` });
  const records = Array.from({ length: 90 }, (_, id) => JSON.stringify({ id: `d${id}`, text: `${subjects[id % 3]} text${id}`, ...kept(id) }));
  records.push(JSON.stringify({ id: "long", ...kept(0), text: `${"cats purr and sleep ".repeat(100)} needle <script>window.hacked=1</script>` }));
  writeFileSync(join(home, "pets.jsonl"), records.join("\n"));
  docsphere(home, "cluster", "pets.jsonl", "-k", "3", "-o", "out", "--index", "--keep", "region,link", "--quiet");
  server = spawn(command, ["serve", "out", "--port", "0"], { cwd: home, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(server.stdout, "data");
  url = /http:\S+/.exec(String(line))[0];
  browser = await launch();
  gpu = await launch({ webgl: true });
});
after(async () => {
  await Promise.all([browser.close(), gpu.close()]);
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  assert.equal(code, 0, "it shuts down cleanly");
});

test("one search box: all documents, hits by cluster, and why", async () => {
  const { page, troubles, close } = await open(browser, url, { origin: url });
  const panel = page.locator("#panel");
  await page.locator("#search").fill("bark text4");
  await shows(page, "Search: bark text4");
  await panel.locator(".documents li").first().waitFor();
  // text4, text40, text43, ...: the last word may go on.
  const texts = await panel.locator(".documents .text").allTextContents();
  assert.ok(texts.length > 1 && texts.every((text) => text.includes("dogs bark") && text.includes("text4")), `${texts}`);
  assert.ok((await panel.locator(".documents mark").count()) >= 2);
  await page.locator("#rows .row .facts", { hasText: new RegExp(`^${texts.length} found`) }).waitFor();
  await panel.getByText(new RegExp(`^${texts.length} documents, 1 cluster`)).waitFor();
  await panel.locator(".documents a").first().click();
  await panel.getByRole("heading", { name: /dogs|bark/, level: 2 }).waitFor();
  // Within the cluster, too, the documents are those that were searched for.
  await panel.locator(".browser").getByText(`1 to ${texts.length} of ${texts.length}`, { exact: true }).waitFor();
  await page.goBack();
  await shows(page, "Search: bark text4");
  assert.equal(await page.locator("#search").inputValue(), "bark text4", "the search is as it was");
  await panel.locator(".documents li").first().waitFor();
  assert.equal(await panel.locator(".documents li").count(), texts.length);
  await page.locator("#search").fill("\u{1f600}");
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
    for (const fact of await browser_.locator("li > span.facts").allTextContents()) seen.add(fact.split(" ")[0]);
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
  await page.locator("#search").fill("needle");
  const text = panel.locator(".documents .text");
  await text.waitFor();
  assert.ok((await text.textContent()).includes("needle") && (await text.textContent()).length < 1000);
  await panel.getByRole("button", { name: "Whole text" }).click();
  await panel.getByRole("button", { name: "Whole text" }).waitFor({ state: "detached" });
  assert.ok((await text.textContent()).length > 1900);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await page.locator("#search").fill('"; DROP TABLE documents; --');
  await panel.getByText("Nothing found").waitFor();
  assert.deepEqual(troubles, []);
  await close();
});

test("every document is a point, whose text is asked for when the pointer rests on it", async () => {
  const { page, troubles, close } = await open(gpu, url, { origin: url });
  await page.waitForFunction(() => document.getElementById("map").dataset.points === "91");
  assert.equal(await page.locator("#sample").textContent(), "");
  const box = await page.locator("#map").boundingBox();
  const text = page.locator("#tip .doc");
  for (let y = box.y + 20; y < box.y + box.height && (await text.count()) === 0; y += 25) {
    for (let x = box.x + 20; x < box.x + box.width - 60 && (await text.count()) === 0; x += 25) {
      await page.mouse.move(x, y);
      await page.waitForTimeout((await page.locator("#tip").isVisible()) ? 200 : 0);
    }
  }
  assert.match(await text.textContent(), /^(cats purr|dogs bark|stocks fall)/);
  assert.deepEqual(troubles, []);
  await close();
});

test("filters hold for the map, the list, and the documents of the server", async () => {
  const { page, troubles, close } = await open(gpu, url, { origin: url });
  await page.waitForFunction(() => document.getElementById("map").dataset.points === "91");
  await page.locator(".value", { hasText: "north" }).click();
  await page.locator("#filters > [role=status]").getByText("46 of 91 documents").waitFor();
  await page.locator("#search").fill("dogs");
  await page.locator("#panel .browser [role=status]").getByText("1 to 15 of 15").waitFor();
  assert.ok((await page.locator("#panel .documents li").allTextContents()).every((text) => text.includes("region: north")));
  // Addresses of the web are links, others are texts.
  const links = await page.locator("#panel .documents a[target]").evaluateAll((found) => found.map((link) => [link.protocol, link.rel]));
  assert.ok(links.length === 15 && links.every(([protocol, rel]) => protocol === "https:" && rel === "noopener noreferrer"), `${links}`);
  assert.deepEqual(troubles, []);
  await close();
});

test("edits from the page change the result, and are taken back", async () => {
  const editing = spawn(command, ["serve", "out", "--edit", "--port", "0"], { cwd: home, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(editing.stdout, "data");
  const address = /http:\S+/.exec(String(line))[0];
  const { page, troubles, close } = await open(browser, `${address}#cluster=1`, { origin: address });
  const old = await page.locator("#panel h2").textContent();
  const editor = page.locator("#editor");
  const act = async (name) => {
    await Promise.all([page.waitForEvent("load"), editor.getByRole("button", { name, exact: true }).click()]);
    await page.locator("#panel h2").waitFor();
    await editor.locator("summary").click();
  };
  await editor.locator("summary").click();
  await editor.getByRole("textbox", { name: "New name" }).fill("Late refunds");
  await act("Rename");
  await shows(page, "Late refunds");
  assert.ok((await page.locator("#panel").textContent()).includes(`renamed from ${old}`));
  await act("Undo");
  await shows(page, old);
  assert.deepEqual(troubles, []);
  await close();
  editing.kill("SIGTERM");
  await once(editing, "exit");
});
