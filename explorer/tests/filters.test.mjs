// Filters, the timeline and everything that follows them; taking things away.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { made, writePage } from "./made.mjs";
import { folder, launch, names, open, picture, rows } from "./support.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser, home, all, whole, sample, counts;

before(async () => {
  home = folder();
  all = made({ n: 6000, k: 30 });
  const write = (name, data) => {
    writePage(join(home, `${name}.html`), data);
    return pathToFileURL(join(home, `${name}.html`)).href;
  };
  whole = write("whole", all.data);
  sample = write("sample", made({ n: 6000, k: 30, sample: 1500 }).data);
  counts = write("counts", made({ n: 6000, k: 30, points: false }).data);
  browser = await launch();
});
after(() => browser.close());

function visit(title, url, visitor, options) {
  test(title, async () => {
    const { page, troubles, close } = await open(browser, url(), options);
    await visitor(page);
    assert.deepEqual(troubles, []);
    await close();
  });
}

/** Documents that pass, by cluster: counted here once more. */
function expected(tests) {
  const { cluster, bins } = all.documents;
  const byCluster = new Map();
  cluster.forEach((id, i) => {
    if (tests.every(([column, isIn]) => isIn(bins[column][i]))) byCluster.set(id, (byCluster.get(id) ?? 0) + 1);
  });
  return byCluster;
}

/** What the rows of the list say. */
async function listed(page) {
  const facts = await page.locator("#rows .row .facts").allTextContents();
  return new Map(facts.map((text) => [Number(/#(\d+)$/.exec(text)[1]), Number(/([\d,]+) of/.exec(text)[1].replace(",", ""))]));
}

async function brush(page, selector, from, to) {
  const box = await page.locator(selector).boundingBox();
  await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 6 });
  await page.mouse.up();
}

const status = (page) => page.locator("#filters > [role=status]");
const region = (page, name) => page.locator(".value", { hasText: name });

visit("several columns together, counted exactly over all documents", () => whole, async (page) => {
  const before = await picture(page);
  await region(page, "north").click();
  await region(page, "east").click();
  await brush(page, "#timeline .bars", 0.51, 0.99);
  const right = expected([[2, (bin) => bin === 0 || bin === 2], [0, (bin) => bin >= 12 && bin < 24]]);
  const total = [...right.values()].reduce((a, b) => a + b, 0);
  assert.match(await status(page).textContent(), new RegExp(`^${total.toLocaleString("en")} of 6,000 documents$`));
  assert.equal(await page.locator("#found").textContent(), `${right.size} clusters`);
  for (const [id, n] of await listed(page)) assert.equal(n, right.get(id), `cluster ${id}`);
  assert.notEqual(await picture(page), before, "the map follows");
  assert.match(await page.locator("#panel").textContent(), /Themes of what the filters leave/);
  assert.equal(await page.locator("#timeline .said").textContent(), "2023-01 to 2023-12");
  // Counts of a column are those that the other filters leave.
  const west = [...expected([[2, (bin) => bin === 3], [0, (bin) => bin >= 12 && bin < 24]]).values()].reduce((a, b) => a + b, 0);
  assert.equal(await region(page, "west").locator(".number").textContent(), west.toLocaleString("en"));
  // The address has it all.
  await page.waitForFunction(() => location.hash.includes("filter=2:0,2") && location.hash.includes("filter=0:12"));
  const again = await open(browser, page.url());
  assert.equal(await status(again.page).textContent(), await status(page).textContent());
  await again.close();
  await page.locator("#filters").getByRole("button", { name: "Clear all" }).click();
  assert.equal(await page.locator("#found").textContent(), "30 clusters");
  assert.equal(await picture(page), before);
});

visit("a sample estimates, and says so; one column is counted exactly", () => sample, async (page) => {
  await region(page, "north").click();
  const one = expected([[2, (bin) => bin === 0]]);
  for (const [id, n] of await listed(page)) assert.equal(n, one.get(id), `cluster ${id}`);
  assert.ok(!(await status(page).textContent()).includes("about"));
  await brush(page, "#timeline .bars", 0.01, 0.49);
  assert.match(await status(page).textContent(), /^about [\d,]+ of 6,000 documents, estimated from 1,500$/);
  const both = expected([[2, (bin) => bin === 0], [0, (bin) => bin < 12]]);
  const right = [...both.values()].reduce((a, b) => a + b, 0);
  const told = Number(/^about ([\d,]+)/.exec(await status(page).textContent())[1].replace(",", ""));
  assert.ok(Math.abs(told - right) < 0.2 * right, `${told} for ${right}`);
});

visit("without points one column at a time is filtered, exactly", () => counts, async (page) => {
  assert.match(await status(page).textContent(), /one column at a time/);
  await region(page, "north").click();
  await region(page, "south").click();
  const right = expected([[2, (bin) => bin < 2]]);
  for (const [id, n] of await listed(page)) assert.equal(n, right.get(id), `cluster ${id}`);
  await brush(page, "#timeline .bars", 0.01, 0.49);
  assert.equal(await region(page, "north").getAttribute("aria-pressed"), "false");
  const late = expected([[0, (bin) => bin < 12]]);
  for (const [id, n] of await listed(page)) assert.equal(n, late.get(id), `cluster ${id}`);
});

visit("the keyboard alone filters", () => whole, async (page) => {
  const from = page.getByRole("slider", { name: "price, from" });
  await from.focus();
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
  assert.equal(await from.getAttribute("aria-valuetext"), "50 to 60");
  const right = expected([[1, (bin) => bin >= 5]]);
  assert.match(await status(page).textContent(), new RegExp(`^${[...right.values()].reduce((a, b) => a + b, 0).toLocaleString("en")} of`));
  await region(page, "south").focus();
  await page.keyboard.press("Space");
  assert.equal(await region(page, "south").getAttribute("aria-pressed"), "true");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.includes("south")), true);
});

visit("rising and falling clusters, and a cluster against all", () => whole, async (page) => {
  const panel = page.locator("#panel");
  const rising = panel.locator("section", { has: page.getByRole("heading", { name: "Rising" }) });
  const falling = panel.locator("section", { has: page.getByRole("heading", { name: "Falling" }) });
  assert.equal(await rising.locator("li").count(), 5);
  for (const [part, rest] of [[rising, 0], [falling, 1]]) {
    for (const href of await part.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")))) {
      assert.equal(Number(/#cluster=(\d+)/.exec(href)[1]) % 2, rest, "clusters of even numbers rise");
    }
  }
  assert.match(await rising.textContent(), /since 2023-\d\d/);
  await page.locator("#order").selectOption("trend");
  assert.match(await rows(page).first().locator(".facts").textContent(), /× \d\.\d since/);
  assert.equal(await rows(page).locator(".spark").count(), await rows(page).count());
  await rising.locator("a").first().click();
  await page.locator("#panel h2").waitFor();
  const headings = await panel.locator("h3").allTextContents();
  for (const name of ["created", "price", "region"]) assert.ok(headings.includes(`${name}: this cluster against all`), `${headings}`);
  assert.match(await panel.locator(".facts").allTextContents().then((texts) => texts.join("\n")), /× \d\.\d since 2023/);
});

visit("clusters by period: those that have most of the chosen time come first", () => whole, async (page) => {
  await brush(page, "#timeline .bars", 0.8, 0.99);
  await page.locator("#order").selectOption("share");
  const shares = (await page.locator("#rows .row .facts").allTextContents()).map((text) => {
    const [, n, of] = /^([\d,]+) of ([\d,]+)/.exec(text);
    return Number(n.replace(",", "")) / (Number(of.replace(",", "")) + 10);
  });
  assert.ok(shares.every((share, i) => i === 0 || share <= shares[i - 1]), `${shares}`);
});

for (const colorScheme of ["light", "dark"]) {
  for (const hash of ["#filter=2:0,2&filter=0:12,13", "#cluster=4", "#colour=c2"]) {
    visit(`screen readers and contrast (axe), with columns, ${colorScheme} ${hash}`, () => whole + hash, async (page) => {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), []);
    }, { colorScheme });
  }
}

for (const hash of ["#filter=9:0", "#filter=2:99", "#filter=x", "#filter=2:", "#colour=c99", "#group=99999", "#colour=<script>", "#q=%ff%00", "#word=nosuchword"]) {
  visit(`an address that leads nowhere does no harm: ${hash}`, () => whole + hash, async (page) => {
    assert.equal(await page.locator("#filters > [role=status]").textContent(), "Drag over bars, or choose values.");
    assert.ok(await page.locator("#panel h2").isVisible());
  });
}

/** The file that a button of the menu gives. */
async function taken(page, label) {
  await page.locator("#take > summary").click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#take-items").getByRole("button", { name: label }).click()]);
  await page.locator("#take > summary").click();
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

visit("tables and pictures can be taken away", () => whole, async (page) => {
  await region(page, "north").click();
  const list = await taken(page, "List of clusters (CSV)");
  assert.equal(list.name, "made-up.csv-clusters.csv");
  const lines = list.content.toString().trim().split("\r\n");
  assert.equal(lines[0], "cluster,name,documents,group,cohesion,heap,keywords,documents_filtered");
  const right = expected([[2, (bin) => bin === 0]]);
  assert.equal(lines.length - 1, right.size);
  for (const line of lines.slice(1)) assert.equal(Number(line.split(",").at(-1)), right.get(Number(line.split(",")[0])));
  await rows(page).first().click();
  const documents = await taken(page, "Documents found or of the open cluster (CSV)");
  assert.match(documents.content.toString(), /^id,cluster,similarity,text\r\ndoc-\d+-0,\d+,0\.7,/);
  const png = await taken(page, "Map (PNG)");
  assert.deepEqual([...png.content.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
  assert.ok(png.content.length > 5000);
  const svg = (await taken(page, "Map (SVG)")).content.toString();
  const lettering = await page.evaluate((text) => [...new DOMParser().parseFromString(text, "image/svg+xml").querySelectorAll("text")].map((line) => line.textContent), svg);
  assert.ok(svg.startsWith("<svg") && lettering.length > 5);
});

test("cells that a spreadsheet would compute are texts", async () => {
  const { data } = made({ n: 100, k: 4, columns: false });
  data.clusters.forEach((cluster, id) => (cluster.name = ["=1+1", "@SUM(A1)", '-2"3', "plain, name"][id]));
  writePage(join(home, "formulas.html"), data);
  const { page, troubles, close } = await open(browser, pathToFileURL(join(home, "formulas.html")).href);
  assert.equal((await names(page)).length, 4);
  const text = (await taken(page, "List of clusters (CSV)")).content.toString();
  for (const cell of [",'=1+1,", ",'@SUM(A1),", ',"\'-2""3",', ',"plain, name",']) assert.ok(text.includes(cell), cell);
  assert.deepEqual(troubles, []);
  await close();
});

visit("on a phone filters have a part of their own, with the timeline", () => whole, async (page) => {
  await page.locator("#tabs").getByRole("button", { name: "Filters" }).click();
  assert.ok(await page.locator("#timeline .bars").isVisible());
  await region(page, "north").click();
  await page.locator("#tabs").getByRole("button", { name: "Clusters" }).click();
  assert.match(await rows(page).first().locator(".facts").textContent(), /of/);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390));
}, { viewport: { width: 390, height: 844 } });
