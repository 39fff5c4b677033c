// Documents as points: what is drawn, how fast, and what happens without WebGL or without points.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { made, writePage } from "./made.mjs";
import { folder, launch, names, open, picture, rows, shows } from "./support.mjs";

let browser, plain, home;

before(async () => {
  home = folder();
  browser = await launch({ webgl: true });
  plain = await launch();
});
after(() => Promise.all([browser.close(), plain.close()]));

function page(name, options) {
  const path = join(home, `${name}.html`);
  writePage(path, made(options).data);
  return pathToFileURL(path).href;
}

const drawn = (page) => page.evaluate(() => Number(document.getElementById("map").dataset.points ?? 0));

/** The pixels of the points, counted by their colour; what is nearly transparent is left out. */
const colours = (page) =>
  page.evaluate(async () => {
    // The page draws when something changes; only then the canvas has pixels to be read.
    const canvas = document.getElementById("points");
    const read = new Promise((resolve) => {
      const { drawArrays } = WebGL2RenderingContext.prototype;
      WebGL2RenderingContext.prototype.drawArrays = function (...given) {
        drawArrays.apply(this, given);
        WebGL2RenderingContext.prototype.drawArrays = drawArrays;
        const pixels = new Uint8Array(4 * canvas.width * canvas.height);
        this.readPixels(0, 0, canvas.width, canvas.height, this.RGBA, this.UNSIGNED_BYTE, pixels);
        let [colourful, grey] = [0, 0];
        for (let i = 0; i < pixels.length; i += 4) {
          if (pixels[i + 3] < 8) continue;
          const [least, most] = [Math.min(...pixels.subarray(i, i + 3)), Math.max(...pixels.subarray(i, i + 3))];
          if (most - least > 0.2 * pixels[i + 3]) colourful += 1;
          else grey += 1;
        }
        resolve({ colourful, grey });
      };
    });
    document.getElementById("theme").click();
    const result = await read;
    document.getElementById("theme").click();
    return result;
  });

test("every document is a point, and a sample says how large it is", async () => {
  const whole = await open(browser, page("whole", { n: 5000, k: 40 }));
  assert.equal(await drawn(whole.page), 5000);
  assert.equal(await whole.page.locator("#sample").textContent(), "");
  assert.ok((await colours(whole.page)).colourful > 3000);
  assert.deepEqual(whole.troubles, []);
  await whole.close();
  const part = await open(browser, page("part", { n: 50_000, k: 40, sample: 2000 }));
  assert.equal(await drawn(part.page), 2000);
  assert.equal(await part.page.locator("#sample").textContent(), "a sample of 2,000 of 50,000 documents");
  assert.deepEqual(part.troubles, []);
  await part.close();
});

test("a point tells its document, and a click opens its cluster", async () => {
  const { page: tab, troubles, close } = await open(browser, page("few", { n: 300, k: 6 }));
  const box = await tab.locator("#map").boundingBox();
  const tip = tab.locator("#tip");
  let found;
  for (let y = box.y + 40; y < box.y + box.height && !found; y += 12) {
    for (let x = box.x + 40; x < box.x + box.width - 60 && !found; x += 12) {
      await tab.mouse.move(x, y);
      if ((await tip.isVisible()) && (await tip.locator(".doc").count()) > 0) found = [x, y];
    }
  }
  assert.ok(found, "there is no point under the pointer anywhere");
  assert.match(await tip.locator(".doc").textContent(), /^Document \d+ says /);
  const name = await tip.locator(".of").textContent();
  await tab.mouse.click(...found);
  await shows(tab, name);
  assert.deepEqual(troubles, []);
  await close();
});

test("the square map is not stretched to the window", async () => {
  const url = page("square", { n: 4000, k: 40 });
  const extents = [];
  for (const viewport of [{ width: 1800, height: 700 }, { width: 1100, height: 1000 }]) {
    const { page: tab, close } = await open(browser, url, { viewport });
    extents.push(
      await tab.evaluate(() => {
        const buttons = [...document.querySelectorAll("#take-items button")];
        let text = "";
        const { createObjectURL } = URL;
        URL.createObjectURL = (blob) => ((text = blob), createObjectURL(blob));
        buttons.find((button) => button.textContent.includes("SVG")).click();
        return text.text().then((drawing) => {
          const places = [...drawing.matchAll(/<circle cx="([-\d.]+)" cy="([-\d.]+)" r="1.3"/g)].map(([, x, y]) => [Number(x), Number(y)]);
          const length = (at) => Math.max(...places.map((place) => place[at])) - Math.min(...places.map((place) => place[at]));
          return length(0) / length(1);
        });
      }),
    );
    await close();
  }
  assert.ok(Math.abs(extents[0] - extents[1]) < 0.02, `${extents}`);
});

test("colours by column, with a legend; the address keeps the choice", async () => {
  const { page: tab, troubles, close } = await open(browser, page("coloured", { n: 3000, k: 20 }));
  assert.deepEqual(await tab.locator("#colouring option").allTextContents(), ["group", "cohesion", "created", "price", "region"]);
  await tab.locator("#colouring").selectOption("created");
  assert.match(await tab.locator("#legend").textContent(), /2022-01.*2023-12/);
  await tab.locator("#colouring").selectOption("region");
  assert.equal(await tab.locator("#legend .key").count(), 6);
  await tab.waitForFunction(() => location.hash === "#colour=c2");
  const again = await open(browser, tab.url());
  assert.equal(await again.page.locator("#colouring").inputValue(), "2");
  await again.close();
  assert.deepEqual(troubles, []);
  await close();
});

test("other clusters are grey while a group is open, and hits of a search are lit", async () => {
  const { page: tab, troubles, close } = await open(browser, page("lit", { n: 3000, k: 20 }));
  const before = await colours(tab);
  await tab.locator(".theme-name a").first().click();
  const group = await colours(tab);
  assert.ok(group.colourful < 0.6 * before.colourful && group.grey > before.grey + 200, JSON.stringify([before, group]));
  await tab.locator("#title").click();
  await tab.locator("#search").fill("document 2999");
  await tab.locator("#found").getByText(/^1 cluster/).waitFor();
  assert.match(await rows(tab).first().locator(".facts").textContent(), /^1 found/);
  assert.deepEqual(troubles, []);
  await close();
});

test("without WebGL, and without points, clusters are discs", async () => {
  for (const [name, points] of [["discs-webgl", true], ["discs-points", false]]) {
    const { page: tab, troubles, close } = await open(points ? plain : browser, page(name, { n: 3000, k: 20, points }));
    assert.equal(await drawn(tab), 0);
    const first = await picture(tab);
    await tab.locator("#colouring").selectOption("cohesion");
    assert.notEqual(await picture(tab), first);
    const largest = (await names(tab))[0];
    await rows(tab).first().click();
    await shows(tab, largest);
    assert.deepEqual(troubles, []);
    await close();
  }
});

test("a hundred thousand points move at thirty frames a second without a GPU", async () => {
  const { page: tab, troubles, close } = await open(browser, page("fast", { n: 100_000, k: 1000, sample: 100_000 }));
  assert.equal(await drawn(tab), 100_000);
  const round = () =>
    tab.evaluate(async () => {
      const canvas = document.getElementById("map");
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const at = (step) => ({ clientX: left + width / 2 + 60 * Math.cos(step / 5), clientY: top + height / 2 + 60 * Math.sin(step / 5), bubbles: true, cancelable: true, view: window });
      canvas.dispatchEvent(new MouseEvent("mousedown", at(0)));
      const times = [];
      let last = performance.now();
      for (let step = 0; step < 60; step++) {
        window.dispatchEvent(new MouseEvent("mousemove", at(step)));
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
      }
      window.dispatchEvent(new MouseEvent("mouseup", at(60)));
      return { frames: times.slice(20).sort((a, b) => a - b), points: Number(canvas.dataset.points) };
    });
  // The time of a frame on a clock, or the processor time that the busiest process takes for it: on
  // a machine that others use, too, only the latter says something. The best of three rounds.
  const session = await browser.newBrowserCDPSession();
  const used = async () => new Map((await session.send("SystemInfo.getProcessInfo")).processInfo.map(({ id, cpuTime }) => [id, cpuTime]));
  let best = { cost: Infinity };
  for (let again = 0; again < 3 && best.cost > 33; again++) {
    const before = await used();
    const { frames, points } = await round();
    const busiest = Math.max(...[...(await used())].map(([id, time]) => ((time - (before.get(id) ?? 0)) * 1000) / 60));
    const cost = Math.min(frames[20], busiest);
    if (cost < best.cost) best = { cost, points, clock: frames[20], busiest };
  }
  console.log(`while it moves: a frame every ${best.clock.toFixed(1)} ms, ${best.busiest.toFixed(1)} ms of the busiest process, with ${best.points} of 100000 points`);
  assert.ok(best.points >= 10_000, "not at the price of the picture");
  assert.ok(best.cost < 34, `${best.cost} ms`);
  await tab.waitForFunction(() => document.getElementById("map").dataset.points === "100000", null, { timeout: 20_000 });
  assert.deepEqual(troubles, []);
  await close();
});
