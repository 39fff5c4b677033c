// The pictures of the docs: node screenshots.mjs RESULT FOLDER, with DOCSPHERE_COMMAND and
// DOCSPHERE_BROWSER set as for the tests. RESULT is a result folder with report.html.

import { join, resolve } from "node:path";

import { launch, open, reportUrl, rows } from "./tests/support.mjs";

const [result, out] = process.argv.slice(2).map((path) => resolve(path));
const browser = await launch();

async function picture(name, hash, options, prepare = async () => {}) {
  const { page, close } = await open(browser, reportUrl(result, hash), { viewport: { width: 1280, height: 760 }, ...options });
  await prepare(page);
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(out, name), type: "jpeg", quality: 72 });
  await close();
}

await picture("report.jpg", "", {}, async (page) => {
  await rows(page).nth(5).click();
  await page.mouse.move(640, 20);
});
await picture("report-dark.jpg", "", { colorScheme: "dark" }, async (page) => {
  await page.locator("#colouring").selectOption("cohesion");
  for (let i = 0; i < 2; i++) await page.locator("#zoom-in").click();
});
await picture("report-phone.jpg", "", { viewport: { width: 390, height: 760 } });
await browser.close();
