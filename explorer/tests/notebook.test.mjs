// The page within a notebook: the frame that docsphere.report makes, without an origin of its own.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { docsphere, folder, launch, open } from "./support.mjs";

// As python/src/docsphere/_report.py has it.
const SANDBOX = "allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox";

let browser, home;

before(async () => {
  home = folder();
  const lines = Array.from({ length: 90 }, (_, i) => `subject${i % 9} "quoted" & more${i} words${i % 5}`);
  writeFileSync(join(home, "texts.txt"), lines.join("\n"));
  docsphere(home, "cluster", "texts.txt", "-k", "9", "-o", "out", "--keep-numbers");
  const escaped = readFileSync(join(home, "out", "report.html"), "utf8").replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const frame = `<iframe sandbox="${SANDBOX}" srcdoc="${escaped}" style="width: 1200px; height: 760px"></iframe>`;
  writeFileSync(join(home, "notebook.html"), `<!doctype html><title>notebook</title><p id="cell">cell</p>${frame}`);
  browser = await launch();
});
after(() => browser.close());

test("a page in a frame of a notebook works, and stays in it", async () => {
  const { page, troubles, close } = await open(browser, pathToFileURL(join(home, "notebook.html")).href);
  await page.waitForSelector("iframe");
  const frame = page.frames().find((found) => found.parentFrame());
  await frame.waitForSelector("h1");
  assert.equal(await frame.locator("h1").textContent(), "texts.txt");
  for (const cluster of [3, 7]) {
    await frame.evaluate((id) => (location.hash = `#cluster=${id}`), cluster);
    await frame.waitForFunction((id) => document.querySelector("#panel .facts")?.textContent.startsWith(`cluster ${id} `), cluster);
  }
  // Typing changes the address of a page of its own; here there is none.
  await frame.locator("input[type=search]").first().fill("subject3");
  await page.waitForTimeout(1500);
  assert.match(frame.url(), /^about:srcdoc/, "links and searches do not lead out of the frame");
  const reached = await frame.evaluate(() => {
    try {
      return String(parent.document.title);
    } catch {
      return "nothing";
    }
  });
  assert.equal(reached, "nothing");
  assert.equal(await page.locator("#cell").textContent(), "cell");
  assert.deepEqual(troubles, []);
  await close();
});
