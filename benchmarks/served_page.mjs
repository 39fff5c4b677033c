// Times of the page of a served result in a browser: when the clusters are listed, when its thread
// is free (the end of the last task of 50 ms or more), when all points are there, how long a filter
// and a search take, and frames while panning.
// Usage: node served_page.mjs URL [ROUNDS] > times.csv, beside a running `docsphere serve`.
// DOCSPHERE_BROWSER names the browser; playwright-core comes with the page (explorer/).

import { chromium } from "../explorer/node_modules/playwright-core/index.mjs";

const [url, rounds = "5"] = process.argv.slice(2);
const args = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"];
const browser = await chromium.launch({ executablePath: process.env.DOCSPHERE_BROWSER, args });
console.log("round,listed_ms,free_ms,longest_task_ms,points_ms,points,filter_ms,search_ms,frame_ms,points_while_moving");
for (let round = 0; round < Number(rounds); round++) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.busy = [];
    new PerformanceObserver((list) => window.busy.push(...list.getEntries())).observe({ entryTypes: ["longtask"] });
  });
  const start = performance.now();
  const since = () => (performance.now() - start).toFixed(0);
  await page.goto(url, { waitUntil: "commit" });
  await page.locator("#found").getByText(/clusters$/).waitFor();
  const listed = since();
  await page.locator("#filters > [role=status]").getByText(/^Drag over bars/).waitFor({ timeout: 60_000 });
  const points = since();
  await page.waitForTimeout(2000);
  const [free, longest] = await page.evaluate(() => [
    Math.max(...window.busy.map((task) => task.startTime + task.duration)).toFixed(0),
    Math.max(...window.busy.map((task) => task.duration)).toFixed(0),
  ]);
  const filter = await page.evaluate(() => {
    const button = document.querySelector("#filters .value");
    const begin = performance.now();
    button.click();
    return performance.now() - begin;
  });
  await page.evaluate(() => document.querySelector("#filters .value").click());
  await page.waitForTimeout(1000);
  const typed = performance.now();
  await page.locator("#search").fill("climate");
  await page.locator("#panel .documents mark").first().waitFor();
  const search = performance.now() - typed;
  await page.locator("#search").fill("");
  await page.waitForTimeout(1000);
  const moved = await page.evaluate(async () => {
    const canvas = document.getElementById("map");
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const at = (step) => ({ clientX: left + width / 2 + 60 * Math.cos(step / 5), clientY: top + height / 2 + 60 * Math.sin(step / 5), bubbles: true, cancelable: true, view: window });
    canvas.dispatchEvent(new MouseEvent("mousedown", at(0)));
    const times = [];
    let last = performance.now();
    for (let step = 0; step < 90; step++) {
      window.dispatchEvent(new MouseEvent("mousemove", at(step)));
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    const points = Number(canvas.dataset.points);
    window.dispatchEvent(new MouseEvent("mouseup", at(90)));
    return { median: times.slice(30).sort((a, b) => a - b)[30], points };
  });
  const all = await page.evaluate(() => document.getElementById("map").dataset.points);
  console.log([round, listed, free, longest, points, all, filter.toFixed(0), search.toFixed(0), moved.median.toFixed(0), moved.points].join());
  await context.close();
}
await browser.close();
