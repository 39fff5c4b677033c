// The report of the demo, as people use it.

import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { docsphere, folder, launch, names, open, reportUrl, rows, shows, picture } from "./support.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser, home, result;

before(async () => {
  home = folder();
  docsphere(home, "demo", "-o", "demo");
  result = join(home, "demo");
  browser = await launch();
});
after(() => browser.close());

/** Opens the report, does something, and expects no trouble. */
function visit(title, hash, options, visitor) {
  test(title, async () => {
    const { page, troubles, close } = await open(browser, reportUrl(result, hash), options);
    await visitor(page);
    assert.deepEqual(troubles, []);
    await close();
  });
}

visit("the overview tells what was done", "", {}, async (page) => {
  const panel = page.locator("#panel");
  for (const fact of ["Documents480", "Clusters20", "Documents without terms0", "Seed0"]) {
    assert.ok((await panel.textContent()).includes(fact), fact);
  }
  assert.match(await panel.locator(".lead").textContent(), /^480 documents in 20 clusters\. Each/);
  assert.ok((await panel.locator(".theme").count()) >= 10, "what the corpus is about comes first");
  assert.match(await panel.textContent(), /100% of the documents are in a cluster/);
  assert.ok(!(await panel.locator("table").first().isVisible()), "how the run went is behind Details");
  await panel.locator("details > summary").click();
  assert.ok(await panel.locator("table").first().isVisible());
  assert.equal(await panel.locator("svg").count(), 3, "sizes, objective, moved documents");
  assert.ok((await panel.textContent()).includes("--n-init10"), "settings as they were typed");
  assert.equal(await page.title(), "demo.jsonl");
  assert.equal(await page.locator("#found").textContent(), "20 clusters");
});

visit("searching as one types, in keywords and in texts", "", {}, async (page) => {
  await page.keyboard.press("/");
  await page.keyboard.type("dough");
  const found = await names(page);
  assert.ok(found.length >= 1 && found.length < 20, `${found}`);
  assert.match(await rows(page).first().locator(".facts").textContent(), /keyword “dough”|in the name|in a text|found/, "and says why");
  await shows(page, "Search: dough");
  await page.keyboard.type(" nosuchword");
  assert.equal(await page.locator("#found").textContent(), "Nothing found");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#found").textContent(), "20 clusters");
});

visit("sorting", "", {}, async (page) => {
  const facts = async (pattern) => (await page.locator("#rows .row .facts").allTextContents()).map((text) => Number(pattern.exec(text)[1]));
  const descending = (values) => values.every((value, i) => i === 0 || value <= values[i - 1]);
  assert.ok(descending(await facts(/^(\d+)/)), "by size");
  await page.locator("#order").selectOption("cohesion");
  assert.ok(descending(await facts(/cohesion ([\d.]+)/)), "by cohesion");
  await page.locator("#order").selectOption("name");
  const sorted = await names(page);
  assert.deepEqual(sorted, [...sorted].sort((a, b) => a.localeCompare(b)));
});

visit("a click opens a cluster, and its address can be shared", "", {}, async (page) => {
  const name = (await names(page))[2];
  await rows(page).nth(2).click();
  const panel = page.locator("#panel");
  await shows(page, name);
  assert.match(page.url(), /#cluster=\d+$/);
  assert.equal(await panel.locator(".keywords li").count(), 10);
  assert.match(await panel.locator(".keywords li").first().textContent(), /\d{1,3}%$/, "the share of documents");
  assert.ok((await panel.locator("mark").count()) > 0, "terms are marked");
  assert.equal(await panel.locator(".documents").count(), 2, "typical and least typical");
  assert.equal(await panel.locator("svg").count(), 1, "the histogram");
  assert.equal(await panel.locator(".near li > a").count(), 5);
  const { page: other, close } = await open(browser, page.url());
  await shows(other, name);
  await close();
  // Neighbours are links, and the browser's way back works.
  await panel.locator(".near li > a").first().click();
  await page.waitForFunction((old) => document.querySelector("#panel h2").textContent !== old, name);
  await page.goBack();
  await shows(page, name);
  await page.keyboard.press("Escape");
  await shows(page, "Overview");
});

visit("the keyboard alone is enough", "", {}, async (page) => {
  await page.locator("#search").focus();
  await page.keyboard.press("ArrowDown");
  for (const key of ["ArrowDown", "ArrowDown", "End", "Home", "ArrowDown"]) await page.keyboard.press(key);
  const active = await page.locator("#list").getAttribute("aria-activedescendant");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.tagName === "H2"); // what was opened is read out
  assert.equal(`row-${/#cluster=(\d+)/.exec(page.url())[1]}`, active);
  await page.locator("#map").focus();
  const first = await picture(page);
  const seen = new Set([first]);
  for (const key of ["+", "ArrowLeft", "ArrowDown"]) {
    await page.keyboard.press(key);
    seen.add(await picture(page));
  }
  assert.equal(seen.size, 4, "every key changes the map");
  await page.keyboard.press("0");
  assert.equal(await picture(page), first, "0 shows all again");
});

for (const hash of ["#cluster=99999", "#cluster=-1", "#cluster=x", "#cluster=1e1", "#<img src=x onerror=alert(1)>"]) {
  visit(`an address that leads nowhere shows the overview: ${hash}`, hash, {}, async (page) => {
    await shows(page, "Overview");
  });
}

visit("the map answers to the pointer", "", {}, async (page) => {
  const box = await page.locator("#map").boundingBox();
  const tip = page.locator("#tip");
  let found;
  for (let y = box.y + 20; y < box.y + box.height && !found; y += 14) {
    for (let x = box.x + 20; x < box.x + box.width - 60 && !found; x += 14) {
      await page.mouse.move(x, y);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      if (await tip.isVisible()) found = [x, y];
    }
  }
  assert.ok(found, "there is no circle under the pointer anywhere");
  const name = await tip.locator(".of").textContent();
  assert.match(await tip.locator(".more").first().textContent(), /^\d+ documents, cohesion 0\.\d\d$/);
  await page.mouse.click(...found);
  await shows(page, name);
  const address = page.url();
  const before = await picture(page);
  await page.mouse.down();
  await page.mouse.move(found[0] + 80, found[1] + 40, { steps: 4 });
  await page.mouse.up();
  assert.equal(page.url(), address, "moving the map opens nothing");
  await page.mouse.move(box.x - 20, box.y + 20);
  const moved = await picture(page);
  assert.notEqual(moved, before);
  await page.mouse.move(...found);
  await page.mouse.wheel(0, -500);
  await page.mouse.move(box.x - 20, box.y + 20);
  assert.notEqual(await picture(page), moved);
  await page.locator("#zoom-reset").click();
  const all = await picture(page);
  await page.locator("#zoom-in").click();
  assert.notEqual(await picture(page), all);
  await page.locator("#zoom-out").click();
  await page.locator("#zoom-reset").click();
  assert.equal(await picture(page), all);
});

visit("clusters that differ equally have no groups until some are asked for", "", {}, async (page) => {
  assert.equal(await page.locator("#level-number").textContent(), "1");
  assert.ok((await page.locator("#panel").textContent()).includes("Largest clusters"));
  assert.equal(await page.locator("#colouring").inputValue(), "cohesion", "one group has one colour");
  await page.locator("#level").fill("4");
  assert.equal(await page.locator(".themes > .theme").count(), 4);
  assert.equal(await page.locator("#colouring").inputValue(), "group");
  await page.locator("#colouring").selectOption("cohesion");
  await page.locator("#level").fill("5");
  assert.equal(await page.locator("#colouring").inputValue(), "cohesion", "the choice stays");
});

test("groups are those of groups.json, none has most documents, and all names differ", async () => {
  docsphere(home, "cluster", "demo.jsonl", "-k", "60", "--min-df", "2", "--silhouette", "--min-similarity", "0.4", "-o", "grouped", "--quiet");
  const stored = () => JSON.parse(readFileSync(join(home, "grouped/groups.json"), "utf8"));
  const { page, troubles, close } = await open(browser, reportUrl(join(home, "grouped")));
  // Not rounded, as the tooltips of the themes have it.
  const shown = async () => (await page.locator(".themes > .theme").evaluateAll((themes) => themes.map((theme) => Number(theme.dataset.size))));
  const sizes = ({ groups }) => groups.map(({ size }) => size).sort((a, b) => b - a);
  const first = stored();
  assert.ok(first.n_groups > 1 && first.structure > 1.25, "else this tests nothing");
  assert.deepEqual(await shown(), sizes(first));
  const total = sizes(first).reduce((sum, size) => sum + size);
  assert.ok(sizes(first)[0] < 0.6 * total, `${sizes(first)}`);
  for (const wanted of [2, 5, 13, 40]) {
    docsphere(home, "merge", "grouped", "--groups", String(wanted));
    await page.locator("#level").fill(String(wanted));
    assert.deepEqual(await shown(), sizes(stored()));
    const names = stored().groups.map(({ name }) => name);
    assert.equal(new Set(names).size, wanted, `${names}`);
  }
  const panel = page.locator("#panel");
  assert.match(await panel.textContent(), /are less similar than 0\.4\d* to every cluster/);
  assert.match(await panel.textContent(), /Mean silhouette, from -1 to 10\.\d{3}/);
  assert.match(await panel.textContent(), /Outliers, whose similarity to every cluster is below 0\.4[1-9]/);
  await rows(page).first().click();
  assert.match(await panel.locator(".facts").first().textContent(), / · silhouette -?0\.\d{3}$/);
  assert.deepEqual(troubles, []);
  await close();
});

visit("groups: a level is chosen, opened down to clusters, and shown alone", "", {}, async (page) => {
  await page.locator("#level").fill("5");
  assert.equal(await page.locator("#level-number").textContent(), "5");
  const panel = page.locator("#panel");
  const themes = panel.locator(".themes > .theme");
  assert.equal(await themes.count(), 5);
  const first = themes.first();
  const name = await first.locator(".theme-name a").textContent();
  const before = await picture(page);
  await first.locator(".theme-name a").click();
  await shows(page, name);
  assert.match(page.url(), /#group=\d+&groups=5$/);
  const clusters = Number(/^group of (\d+) clusters/.exec(await panel.locator(".facts").first().textContent())[1]);
  assert.match(await page.locator("#found").textContent(), new RegExp(`^${clusters} clusters of the group`));
  assert.notEqual(await picture(page), before, "the others are faint");
  assert.ok((await panel.locator(".keywords a").count()) > 5);
  // Down the tree to a cluster; the browser's way back leads up again.
  let depth = 0;
  for (; depth < 20 && !/#cluster=/.test(page.url()); depth++) {
    const old = page.url();
    await panel.locator(".themes .theme-name a").first().click();
    await page.waitForFunction((url) => location.href !== url, old);
  }
  assert.match(page.url(), /#cluster=\d+&groups=5$/);
  assert.match(await panel.locator(".facts").nth(1).textContent(), /^in the group /);
  await page.locator("#level").fill("1");
  assert.equal(await panel.locator(".facts").nth(1).textContent(), "", "with one group there is none to name");
  assert.match(page.url(), /#cluster=/, "the cluster stays open");
  for (; depth >= 0; depth--) await page.goBack();
  await shows(page, "Overview");
  assert.equal(await page.locator("#found").textContent(), "20 clusters");
});

visit("a keyword shows where else it lives", "", {}, async (page) => {
  await rows(page).first().click();
  const link = page.locator("#panel .keywords a").first();
  const word = await link.textContent();
  await link.click();
  await shows(page, word);
  assert.match(page.url(), /#word=/);
  const n = Number(/keyword of (\d+) cluster/.exec(await page.locator("#panel .facts").first().textContent())[1]);
  assert.equal(await page.locator("#panel .theme").count(), n);
  assert.match(await page.locator("#found").textContent(), new RegExp(`^${n} clusters? with “`));
  await page.locator("#panel a", { hasText: "Search for" }).click();
  await shows(page, `Search: ${word}`);
  assert.equal(await page.locator("#search").inputValue(), word);
});

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

visit("light and dark: the system's, until one chooses", "", { colorScheme: "dark" }, async (page) => {
  const dark = await background(page);
  await page.emulateMedia({ colorScheme: "light" });
  const light = await background(page);
  assert.notEqual(dark, light);
  await page.locator("#theme").click();
  assert.equal(await background(page), dark);
  await page.locator("#theme").click();
  assert.equal(await background(page), light);
  await page.locator("#colouring").selectOption("group");
  assert.ok(!(await page.locator(".ramp").isVisible()));
  const byGroup = await picture(page);
  await page.locator("#colouring").selectOption("cohesion");
  assert.ok(await page.locator(".ramp").isVisible());
  assert.notEqual(await picture(page), byGroup);
});

for (const colorScheme of ["light", "dark"]) {
  for (const hash of ["", "#cluster=3", "#group=37", "#word=dough", "#q=dough"]) {
    visit(`names for screen readers, contrast and order (axe), ${colorScheme} ${hash}`, hash, { colorScheme }, async (page) => {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), []);
    });
  }
}

visit("the link for those who skip the map leaves the cluster open", "#cluster=3", {}, async (page) => {
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "list");
  assert.match(page.url(), /#cluster=3$/);
});

test("a cluster that has a centroid but lost its documents counts as it does in groups.json", async () => {
  const texts = ["cats purr", "dogs bark", "dogs bark", "stocks fall", "rain pours", "trains run late"];
  writeFileSync(join(home, "few.txt"), texts.join("\n"));
  docsphere(home, "vectorize", "few.txt", "-o", "few", "--quiet");
  // Every document is a seed, two of them the same; no iteration gives the second one others.
  docsphere(home, "cluster", "few.txt", "-k", "6", "--init", "few/matrix.npz", "--time-limit", "0.001s", "-o", "lost", "--quiet");
  const { clusters } = JSON.parse(readFileSync(join(home, "lost/clusters.json"), "utf8"));
  const { group_of_cluster } = JSON.parse(readFileSync(join(home, "lost/groups.json"), "utf8"));
  assert.ok(clusters[2].size === 0 && group_of_cluster[2] >= 0, "else this tests nothing");
  const { page, troubles, close } = await open(browser, reportUrl(join(home, "lost")));
  const level = page.locator("#level");
  assert.equal(await level.getAttribute("max"), "6");
  for (const wanted of ["1", "4", "6"]) {
    await level.fill(wanted);
    assert.equal(await page.locator("#level-number").textContent(), wanted);
    if (wanted !== "1") assert.equal(await page.locator(".themes > .theme").count(), Number(wanted) - (wanted === "6" ? 1 : 0), "the empty one is not listed");
  }
  assert.deepEqual(troubles, []);
  await close();
});

/** Whether nothing is drawn at the very edge of the map. */
const isEdgeFree = (page) =>
  page.evaluate(() => {
    const map = document.getElementById("map");
    const { width, height } = map;
    const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    context.drawImage(map, 0, 0);
    const edges = [[0, 0, width, 1], [0, height - 1, width, 1], [0, 0, 1, height], [width - 1, 0, 1, height]];
    return edges.every((edge) => context.getImageData(...edge).data.every((value) => value === 0));
  });

for (const [k, viewport] of [[2, { width: 1280, height: 800 }], [5, { width: 1280, height: 800 }], [20, { width: 1400, height: 900 }], [20, { width: 360, height: 700 }]]) {
  test(`no circle is cut off: ${k} clusters, ${viewport.width} pixels`, async () => {
    docsphere(home, "cluster", "demo.jsonl", "-k", String(k), "-o", `edge-${k}-${viewport.width}`, "--quiet");
    const { page, troubles, close } = await open(browser, reportUrl(join(home, `edge-${k}-${viewport.width}`)), { viewport });
    await picture(page);
    assert.ok(await isEdgeFree(page));
    // And it would be noticed.
    for (let i = 0; i < 3; i++) await page.locator("#zoom-in").click();
    await picture(page);
    if (k === 20) assert.ok(!(await isEdgeFree(page)));
    assert.deepEqual(troubles, []);
    await close();
  });
}

visit("on a phone a shared link opens on the cluster, and all parts are a tap away", "#cluster=3", { viewport: { width: 390, height: 844 } }, async (page) => {
  const isVisible = (selector) => page.locator(selector).first().isVisible();
  assert.ok(await isVisible("#panel h2"));
  assert.ok(!(await isVisible("#map")) && !(await isVisible("#list")), "one part at a time");
  for (const [tab, part] of [["Map", "#map"], ["Clusters", "#rows .row"], ["Details", "#panel h2"]]) {
    await page.locator("#tabs").getByRole("button", { name: tab }).click();
    await page.waitForTimeout(150);
    assert.ok(await isVisible(part), tab);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390), tab);
  }
  await page.locator("#tabs").getByRole("button", { name: "Clusters" }).click();
  const name = (await names(page))[1];
  await rows(page).nth(1).click();
  await shows(page, name);
  await page.locator("#panel .back a").click();
  await shows(page, "Overview");
  assert.ok(await isVisible("#map"));
});

visit("on paper there are the map and the cluster, and no controls", "#cluster=3", {}, async (page) => {
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.locator("#panel h2").isVisible());
  for (const id of ["#search", "#theme", "#zoom-in", "#level"]) assert.ok(!(await page.locator(id).isVisible()), id);
  assert.ok((await page.locator("#map").boundingBox()).height > 300, "the map is large enough to be read");
  // Also where the screen is dark: paper is light.
  await page.emulateMedia({ media: "screen", colorScheme: "dark" });
  const dark = await picture(page);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  const printed = await page.evaluate(() => document.getElementById("map").toDataURL());
  assert.notEqual(printed, dark);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  assert.equal(await picture(page), dark, "and back");
});

test("it is small, and can be made again", () => {
  const path = join(result, "report.html");
  const first = readFileSync(path, "utf8");
  assert.ok(statSync(path).size < 1_000_000, `${statSync(path).size} bytes`);
  docsphere(home, "report", "demo");
  assert.equal(readFileSync(path, "utf8"), first);
  docsphere(home, "report", "demo", "--report-chars", "10");
  assert.ok(readFileSync(path, "utf8").length < first.length);
  docsphere(home, "report", "demo");
});
