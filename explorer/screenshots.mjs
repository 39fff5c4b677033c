// The pictures of the docs: node screenshots.mjs RESULT FOLDER, with DOCSPHERE_COMMAND and
// DOCSPHERE_BROWSER set as for the tests. RESULT is a result folder with report.html and a kept
// column of dates.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { launch, open, reportUrl } from "./tests/support.mjs";

const [result, out] = process.argv.slice(2).map((path) => resolve(path));
const browser = await launch({ webgl: true });

async function picture(name, hash, options, prepare = async () => {}) {
  const { page, close } = await open(browser, reportUrl(result, hash), { viewport: { width: 1440, height: 900 }, ...options });
  await prepare(page);
  await page.waitForTimeout(1000);
  await page.screenshot({ path: join(out, name), type: "jpeg", quality: 72 });
  await close();
}

const dates = JSON.parse(readFileSync(join(result, "columns.json"), "utf8")).columns.findIndex(({ kind }) => kind === "date");

await picture("report.jpg", "", {});
await picture("report-dark.jpg", `#colour=c${dates}`, { colorScheme: "dark" }, async (page) => {
  await page.locator("#order").selectOption("trend");
  await page.locator("#rows .row").nth(1).click();
});
await picture("report-phone.jpg", "", { viewport: { width: 390, height: 844 } });
await browser.close();
