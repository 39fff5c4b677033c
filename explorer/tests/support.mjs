// What all tests share: results of the real command, and pages in a real browser that must stay
// silent and offline.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const COMMAND = process.env.DOCSPHERE_COMMAND;
const BROWSER = process.env.DOCSPHERE_BROWSER;
assert.ok(COMMAND && BROWSER, "run `make explorer`, which builds the command and finds a browser");

export const command = COMMAND;

/** An empty folder, removed when the process ends. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "docsphere-explorer-"));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs the command, which must succeed. */
export function docsphere(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync(COMMAND, args, { cwd, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** The browser; without a sandbox, since tests may run as root. Without WebGL, unless it is asked for. */
export function launch({ webgl = false } = {}) {
  const drawing = webgl ? ["--disable-gpu", "--enable-unsafe-swiftshader"] : ["--disable-gpu", "--disable-3d-apis"];
  const quiet = ["--no-sandbox", ...drawing, "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath: BROWSER, args: quiet });
}

/** A page that collects all that must not happen: errors, and requests to anywhere but `origin`. */
export async function open(browser, url, { origin = "file://", ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const troubles = [];
  // The software renderer complains about the speed of its own readback.
  const isAboutPage = (text) => !/GL Driver Message .*Performance/.test(text);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && isAboutPage(message.text()) && troubles.push(message.text()));
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("request", (request) => {
    const isNear = request.url().startsWith(origin) || request.url().startsWith("data:") || request.url().startsWith("blob:");
    if (!isNear) troubles.push(`asked for ${request.url()}`);
  });
  if (origin === "file://") await context.setOffline(true);
  await page.goto(url);
  return { page, troubles, close: () => context.close() };
}

export function reportUrl(result, hash = "") {
  return pathToFileURL(join(result, "report.html")).href + hash;
}

export const rows = (page) => page.locator("#rows .row");
export const names = (page) => page.locator("#rows .row .name").allTextContents();

/** What the map looks like, in brief. */
export async function picture(page) {
  // Not while it is about to change its size.
  await page.waitForFunction(() => {
    const map = document.getElementById("map");
    const isRight = (has, needs) => has === Math.round(needs * devicePixelRatio);
    return isRight(map.width, map.clientWidth) && isRight(map.height, map.clientHeight);
  });
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  return page.evaluate(() => document.getElementById("map").toDataURL());
}

/** Waits until the panel shows what has this name. */
export const shows = (page, name) => page.locator("#panel").getByRole("heading", { name, exact: true, level: 2 }).waitFor();
