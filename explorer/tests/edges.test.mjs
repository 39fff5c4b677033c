// Results with little in them.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { docsphere, folder, launch, open, reportUrl, shows } from "./support.mjs";

let browser, home;

before(async () => {
  home = folder();
  writeFileSync(join(home, "pets.txt"), "cats purr\ndogs bark\ncats purr\ndogs bark\n\u{1f600}\n");
  writeFileSync(join(home, "rows.svm"), "1 1:1 2:1\n1 1:1 2:2\n1 3:1 4:1\n1 3:1 4:2\n");
  docsphere(home, "cluster", "pets.txt", "-k", "1", "-o", "one");
  docsphere(home, "cluster", "pets.txt", "-k", "4", "-o", "empty");
  docsphere(home, "cluster", "rows.svm", "-k", "2", "-o", "matrix");
  browser = await launch();
});
after(() => browser.close());

for (const [result, found, facts] of [
  ["one", "1 cluster", ["Documents5", "1 document without terms"]],
  ["empty", "2 clusters", ["Clusters2", "Empty clusters2"]],
  ["matrix", "2 clusters", ["Documents4", "Terms4"]],
]) {
  test(`a report of ${result}`, async () => {
    const { page, troubles, close } = await open(browser, reportUrl(join(home, result)));
    assert.equal(await page.locator("#found").textContent(), found);
    for (const fact of facts) assert.ok((await page.locator("#panel").textContent()).includes(fact), fact);
    const name = await page.locator("#rows .row .name").first().textContent();
    await page.locator("#rows .row").first().click();
    await shows(page, name);
    await page.locator("#title").click();
    await shows(page, "Overview");
    // With one cluster there is nothing to join.
    const level = page.locator("#level");
    if (await level.isEnabled()) await level.fill(await level.getAttribute("max"));
    assert.deepEqual(troubles, []);
    await close();
  });
}

test("an empty cluster can be looked at, too", async () => {
  const { page, troubles, close } = await open(browser, reportUrl(join(home, "empty"), "#cluster=3"));
  assert.ok((await page.locator("#panel").textContent()).includes("0 documents"));
  assert.deepEqual(troubles, []);
  await close();
});
