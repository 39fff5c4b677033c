// Edits from the page: offered only by a server that takes them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { made, serve } from "./made.mjs";
import { launch, open } from "./support.mjs";

let browser;

before(async () => {
  browser = await launch();
});
after(() => browser.close());

test("a server that takes edits gets them, one by one, and the last can be undone", async () => {
  const whole = made({ n: 500, k: 8, served: true, editable: true });
  const server = await serve(whole);
  const { page, troubles, close } = await open(browser, `${server.url}#cluster=2`, { origin: server.url });
  const editor = page.locator("#editor");
  const act = async (name, prepare) => {
    await editor.locator("summary").click();
    await prepare();
    await Promise.all([page.waitForEvent("load"), editor.getByRole("button", { name, exact: true }).click()]);
    await page.locator("#panel h2").waitFor();
  };
  await act("Rename", () => editor.getByRole("textbox", { name: "New name" }).fill("Late refunds"));
  await act("Note", () => editor.getByRole("textbox", { name: "Note" }).fill("ask Anna"));
  await act("Merge into", () => editor.getByRole("combobox", { name: "Cluster to merge into" }).selectOption("5"));
  await act("Split", () => editor.getByRole("combobox", { name: "Number of parts" }).selectOption("3"));
  await act("Hide", () => {});
  await act("Mark as outliers", () => {});
  assert.deepEqual(
    server.edits.map(({ time: _, ...edit }) => edit),
    [
      { op: "rename", cluster: 2, name: "Late refunds", id: 1 },
      { op: "note", cluster: 2, text: "ask Anna", id: 2 },
      { op: "merge", clusters: [2, 5], into: 5, id: 3 },
      { op: "split", cluster: 2, parts: 3, id: 4 },
      { op: "hide", cluster: 2, id: 5 },
      { op: "outliers", cluster: 2, id: 6 },
    ],
  );
  await editor.locator("summary").click();
  await editor.getByText("6 edits; the last: outliers 2").waitFor();
  await Promise.all([page.waitForEvent("load"), editor.getByRole("button", { name: "Undo" }).click()]);
  assert.equal(server.edits.length, 5);
  assert.deepEqual(troubles, []);
  await close();
  server.close();
});

test("elsewhere what was edited is shown only", async () => {
  const all = made({ n: 500, k: 8, served: true });
  Object.assign(all.data.clusters[2], { renamed: "old <b>name</b>", note: "ask <i>Anna</i>" });
  all.data.clusters[4].hidden = true;
  const server = await serve(all);
  const { page, troubles, close } = await open(browser, `${server.url}#cluster=2`, { origin: server.url });
  assert.equal(await page.locator("#editor").count(), 0);
  assert.equal(await page.locator("#panel .note").textContent(), "ask <i>Anna</i>");
  assert.ok((await page.locator("#panel").textContent()).includes("renamed from old <b>name</b>"));
  assert.equal(await page.locator("#found").textContent(), "7 clusters", "without the hidden one");
  await page.locator("#title").click();
  assert.match(await page.locator("#panel").textContent(), /1 cluster hidden/);
  assert.ok(!server.asked.some((request) => request.startsWith("POST") || request.includes("edits")));
  assert.deepEqual(troubles, []);
  await close();
  server.close();
});

test("an address that a browser would run is no link", async () => {
  const all = made({ n: 300, k: 4, served: true });
  const server = await serve(all);
  const { page, troubles, close } = await open(browser, `${server.url}#cluster=1`, { origin: server.url });
  await page.locator("#panel .browser li").first().waitFor();
  const hrefs = await page.locator("#panel .browser a[target]").evaluateAll((links) => links.map((link) => link.href));
  assert.ok(hrefs.length > 0 && hrefs.every((href) => href.startsWith("https://example.org/")), `${hrefs}`);
  assert.match(await page.locator("#panel .browser").textContent(), /javascript:window\.hacked=1/);
  assert.deepEqual(troubles, []);
  await close();
  server.close();
});

test("a million documents behind a server: soon there, and filtered well below 300 ms", async () => {
  const all = made({ n: 1_000_000, k: 1000, served: true });
  const server = await serve(all);
  const started = Date.now();
  const { page, troubles, close } = await open(browser, server.url, { origin: server.url });
  assert.equal(await page.locator("#found").textContent(), "1,000 clusters");
  const first = Date.now() - started;
  // With all points, several columns can be filtered together.
  await page.locator("#filters > [role=status]").getByText("Drag over bars, or choose values.", { exact: true }).waitFor();
  const ready = Date.now() - started;
  const times = [];
  // On and off again, and the fastest counts: a machine that others use, too, may be slow for a
  // while.
  for (const name of ["north", "south", "east", "west", "north", "south", "east", "west", "abroad", "north", "south"]) {
    times.push(
      await page.evaluate((value) => {
        const button = [...document.querySelectorAll(".value")].find((one) => one.textContent.includes(value));
        const start = performance.now();
        button.click();
        // Numbers, list and charts have changed when this returns; the map follows.
        return performance.now() - start;
      }, name),
    );
  }
  times.sort((a, b) => a - b);
  console.log(`a page of a million documents: clusters after ${first} ms, points after ${ready} ms; a filter takes ${times[0].toFixed(0)} ms, at most ${times.at(-1).toFixed(0)} ms`);
  assert.match(await page.locator("#filters > [role=status]").textContent(), /^[\d,]+ of 1,000,000 documents$/);
  assert.ok(times[0] < 300, `${times}`);
  assert.deepEqual(troubles, []);
  await close();
  server.close();
});
