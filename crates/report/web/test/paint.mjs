// Pages into how soon Chromium shows them: first contentful paint, when all that the page brings is placed, and how
// many elements it has then; the median of several openings, each in a window of its own.
//
//   node test/paint.mjs REPORT.html…
//
// No test asserts these times; that nothing large is done before the first paint is in report.test.mjs.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const OPENINGS = 15;
const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const file of process.argv.slice(2)) {
  const seen = [];
  for (let i = 0; i < OPENINGS; i += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.goto(pathToFileURL(resolve(file)).href);
    await page.locator("a.self").first().waitFor({ state: "attached" });
    seen.push(await page.evaluate(() => ({
      painted: performance.getEntriesByName("first-contentful-paint")[0].startTime,
      placed: performance.now(),
      elements: document.querySelectorAll("*").length,
    })));
    await context.close();
  }
  const of = (name) => Math.round(median(seen.map((one) => one[name])));
  console.log(`${file}: painted after ${of("painted")} ms, placed within ${of("placed")} ms, ${of("elements")} elements`);
}
await browser.close();
