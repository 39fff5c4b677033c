// Five thousand clusters.

import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { docsphere, folder, launch, open, reportUrl, rows } from "./support.mjs";

const K = 5000;
let browser, result;

/** Numbers that are the same every time. */
function random(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

before(async () => {
  const home = folder();
  const next = random(7);
  // Words by Zipf's law within a hundred subjects, and long enough texts that not all can be shown
  // in ten megabytes.
  const word = (subject) => `w${subject}x${Math.floor(300 * next() ** 3)}`;
  const text = () => {
    const subject = Math.floor(100 * next());
    return Array.from({ length: 60 }, () => word(next() < 0.7 ? subject : 100)).join(" ");
  };
  const records = Array.from({ length: 20000 }, (_, id) => JSON.stringify({ id, text: text() }));
  writeFileSync(join(home, "large.jsonl"), records.join("\n"));
  docsphere(home, "cluster", "large.jsonl", "-k", String(K), "-o", "out", "--max-iter", "5", "--init", "random", "--quiet");
  result = join(home, "out");
  browser = await launch();
});
after(() => browser.close());

test("the file stays below ten megabytes", () => {
  const { size } = statSync(join(result, "report.html"));
  assert.ok(size < 10_000_000 && size > 5_000_000, `${size} bytes`);
});

test("it opens, searches, sorts and scrolls at once, with few elements", async () => {
  const { page, troubles, close } = await open(browser, reportUrl(result));
  assert.equal(await page.locator("#found").textContent(), "5,000 clusters");
  assert.ok((await page.locator("*").count()) < 2500, `${await page.locator("*").count()} elements`);
  const started = Date.now();
  await page.locator("#search").fill("w17x0");
  const found = Number((await page.locator("#found").textContent()).split(" ")[0].replace(",", ""));
  assert.ok(found > 0 && found < K, `${found}`);
  await page.locator("#search").fill("");
  await page.locator("#order").selectOption("name");
  await page.locator("#list").focus();
  await page.keyboard.press("End");
  assert.equal(await rows(page).last().getAttribute("aria-posinset"), "5000");
  assert.ok(Date.now() - started < 30_000, `${Date.now() - started} ms`);
  await page.locator("#level").fill("150");
  assert.equal(await page.locator("#level-number").textContent(), "150");
  assert.equal(await page.locator(".themes > .theme").count(), 40, "the largest ones");
  assert.deepEqual(troubles, []);
  await close();
});

test("the map stays fluid while it is moved", async () => {
  const { page, troubles, close } = await open(browser, reportUrl(result));
  const box = await page.locator("#map").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  // How long a frame takes to draw, asked of the page itself: frames in the background of a busy
  // machine say nothing.
  const round = () => page.evaluate(async () => {
    const canvas = document.getElementById("map");
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const times = [];
    for (let i = 0; i < 40; i++) {
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i < 20 ? -60 : 60, clientX: left + width / 2, clientY: top + height / 2, bubbles: true, cancelable: true }));
      const start = performance.now();
      // Drawing was asked for before this: it comes first in the frame.
      await new Promise((resolve) => requestAnimationFrame((begin) => resolve(times.push(performance.now() - Math.max(begin, start)))));
    }
    return times.sort((a, b) => a - b);
  });
  // The best of three rounds: a machine that others use, too, may be slow for a while.
  let frames = await round();
  for (let again = 0; again < 2 && frames[20] >= 33; again++) frames = await round();
  console.log(`a frame of ${K} clusters takes ${frames[20].toFixed(1)} ms, at most ${frames[39].toFixed(1)} ms`);
  assert.ok(frames[20] < 33, `${frames[20]} ms`);
  assert.deepEqual(troubles, []);
  await close();
});
