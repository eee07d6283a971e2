// What a reader does with a report, done by Chromium: open it, zoom, point, sort, filter, copy, make it
// dark, print it. Any word on the console, any error and any request but for the page itself fails.
//
//   npm test                              the page of example.mjs
//   REPORT=report.html npm test           and one that slowside made
//   COMPARISON=compare.html npm test      and one of slowside compare
//
// CHROMIUM names the browser where it is not on the PATH. Without one the test is skipped, in CI it fails.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { comparison, data, page as examplePage } from "./example.mjs";

const names = ["chromium", "chromium-browser", "google-chrome"];
const browserPath =
  process.env.CHROMIUM ??
  (process.env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
const skip = browserPath ? false : "no chromium (on Debian: apt install chromium)";
if (skip && process.env.CI) throw new Error(skip);

const folder = mkdtempSync(join(tmpdir(), "slowside-report-"));
let browser;

before(async () => {
  if (!skip) browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Runs `use` on an open page and fails for whatever the page should not do. */
async function open(file, use, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    const [address] = request.url().split("#");
    if (address !== pathToFileURL(file).href && address !== "about:blank" && !request.url().startsWith("data:")) wrong.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(pathToFileURL(file).href);
    // What the script adds comes after the first paint, the signs beside headings last.
    if (options.javaScriptEnabled !== false) await page.locator("a.self").first().waitFor({ state: "attached" });
    await use(page);
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
  }
}

function write(name, html) {
  const file = join(folder, name);
  writeFileSync(file, html);
  return file;
}

const pages = [["example", write("example.html", examplePage(data()))]];
if (process.env.REPORT) pages.push(["report", process.env.REPORT]);

/** The plots of the first connection that has any, all drawn. */
async function connectionPlots(page) {
  const connection = page.locator("#connections .views").first();
  const plots = connection.locator("figure:not(.off) .panel:visible .plot");
  for (const plot of await plots.all()) {
    await plot.scrollIntoViewIfNeeded();
    await plot.locator("canvas").waitFor();
  }
  return plots;
}

/** Where something is on the screen, in whose middle it is brought. */
async function middle(place) {
  await place.evaluate((it) => it.scrollIntoView({ block: "center", behavior: "instant" }));
  return place.boundingBox();
}

/** The stretches of time that plots show; one, if they agree. */
const ranges = async (plots) => new Set(await plots.evaluateAll((all) => all.map((plot) => plot.dataset.shown)));

for (const [name, file] of pages) {
  describe(name, { skip }, () => {
    test("dragging over one plot of a connection zooms all of them, Escape shows all again", () =>
      open(file, async (page) => {
        const plots = await connectionPlots(page);
        const whole = await ranges(plots);
        assert.equal(whole.size, 1);
        const box = await middle(plots.first().locator(".u-over"));
        await page.mouse.move(box.x + box.width * 0.3, box.y + 20);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.5, box.y + 25, { steps: 4 });
        await page.mouse.up();
        await page.waitForTimeout(100);
        const zoomed = await ranges(await connectionPlots(page));
        assert.equal(zoomed.size, 1);
        assert.notDeepEqual(zoomed, whole);
        const [[a, b], [c, d]] = [[...zoomed][0], [...whole][0]].map((text) => text.split(" ").map(Number));
        assert.ok(Math.abs((b - a) / (d - c) - 0.2) < 0.03, `a fifth is shown: ${b - a} of ${d - c}`);
        await plots.first().focus();
        await page.keyboard.press("ArrowRight");
        await page.keyboard.press("+");
        await page.waitForTimeout(100);
        const moved = await ranges(plots);
        assert.equal(moved.size, 1);
        assert.notDeepEqual(moved, zoomed);
        await page.keyboard.press("Escape");
        await page.waitForTimeout(100);
        assert.deepEqual(await ranges(plots), whole);

        // The wheel alone scrolls the page, as it does elsewhere.
        const there = await middle(plots.first().locator(".u-over"));
        await page.mouse.move(there.x + there.width / 2, there.y + there.height / 2);
        await page.mouse.wheel(0, -100);
        await page.waitForTimeout(100);
        assert.deepEqual(await ranges(plots), whole);
        const again = await middle(plots.first().locator(".u-over"));
        await page.mouse.move(again.x + again.width / 2, again.y + again.height / 2);
        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -100);
        await page.keyboard.up("Control");
        await page.waitForTimeout(100);
        assert.equal((await ranges(plots)).size, 1);
        assert.notDeepEqual(await ranges(plots), whole);
        await plots.first().locator(".u-over").dblclick();
        await page.waitForTimeout(100);
        assert.deepEqual(await ranges(plots), whole);
      }));

    test("a point names its frame and when it was; the filter of one that is kept can be copied", () =>
      open(file, async (page) => {
        const plot = (await connectionPlots(page)).first();
        await plot.focus();
        await page.keyboard.press("Shift+ArrowRight");
        const tip = page.locator(".tip");
        await tip.waitFor();
        assert.match(await tip.innerText(), /frame \d+:.*\n[^]*UTC/);
        await page.keyboard.press("Enter");
        const filter = await tip.locator("code").innerText();
        assert.match(filter, /^frame\.number == \d+$/);
        await tip.getByRole("button", { name: "Copy filter" }).click();
        await page.getByText("Copied").first().waitFor();
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), filter);
        await page.keyboard.press("Escape");
        assert.equal(await tip.isVisible(), false);
      }));

    test("the pointer finds a packet", () =>
      open(file, async (page) => {
        const over = (await connectionPlots(page)).first().locator(".u-over");
        const box = await middle(over);
        const tip = page.locator(".tip");
        let found = "";
        for (let x = 2; x < box.width && !found; x += 7) {
          for (const y of [0.05, 0.3, 0.6, 0.9]) {
            await page.mouse.move(box.x + x, box.y + box.height * y);
            if (await tip.isVisible()) found = await tip.innerText();
            if (found) break;
          }
        }
        assert.match(found, /^frame \d+/);
      }));

    test("a table is sorted by what its columns mean, and filtered", () =>
      open(file, async (page) => {
        const table = page.locator("#operations table, #statements table").first();
        const head = table.locator("thead tr:last-child th[data-sort=number]").first();
        const column = await head.evaluate((cell) => Array.from(cell.parentElement.children).indexOf(cell));
        const values = () => table.locator("tbody tr").evaluateAll((rows, at) => rows.map((row) => Number(row.cells[at].dataset.value)), column);
        await head.getByRole("button").click();
        assert.equal(await head.getAttribute("aria-sort"), "descending");
        const down = await values();
        assert.deepEqual(down, [...down].sort((a, b) => b - a));
        await head.getByRole("button").click();
        assert.equal(await head.getAttribute("aria-sort"), "ascending");
        assert.deepEqual(await values(), [...down].sort((a, b) => a - b));

        const field = page.getByRole("searchbox").first();
        if ((await field.count()) === 0) return;
        const rows = page.locator("p.filter + .scroll tbody").first().locator("tr");
        const words = await rows.first().innerText();
        const all = await rows.count();
        await field.fill(words.replace(/\s+/g, " ").toUpperCase());
        const left = await rows.locator("visible=true").count();
        assert.ok(left >= 1 && left < all, `${left} of ${all} have ${words}`);
        await field.fill("");
        assert.ok((await rows.locator("visible=true").count()) > left);
      }));

    test("a filter is copied as it stands there", () =>
      open(file, async (page) => {
        const place = page.locator("main .copy:visible").first();
        await place.getByRole("button").click();
        await place.getByText("Copied").waitFor();
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await place.locator("code").textContent());
      }));

    test("where there is no clipboard to write to, copying still works", () =>
      open(file, async (page) => {
        await page.evaluate(() => {
          window.board = navigator.clipboard;
          Object.defineProperty(navigator, "clipboard", { value: undefined });
        });
        const place = page.locator("main .copy:visible").first();
        await place.getByRole("button").click();
        await place.getByText("Copied").waitFor();
        assert.equal(await page.evaluate(() => window.board.readText()), await place.locator("code").textContent());
      }));

    test("light and dark", () =>
      open(file, async (page) => {
        const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const light = await paper();
        await page.getByRole("button", { name: "Dark", exact: true }).click();
        const dark = await paper();
        assert.notEqual(dark, light);
        await page.getByRole("button", { name: "Light", exact: true }).click();
        assert.equal(await paper(), light);
        await page.emulateMedia({ colorScheme: "dark" });
        assert.equal(await paper(), light, "what the reader chose stays");
      }));

    test("paper has everything open and drawn, nothing to press, and nothing cut", () =>
      open(file, async (page) => {
        await page.emulateMedia({ media: "print", colorScheme: "dark" });
        await page.setViewportSize({ width: 703, height: 1000 });
        await page.waitForTimeout(300);
        assert.equal(await page.locator("details:not([open])").count(), 0);
        assert.equal(await page.locator(".plot").count(), await page.locator(".plot canvas").count());
        assert.equal(await page.locator(".copy-button:visible, .theme:visible, .controls:visible, .filter:visible").count(), 0);
        assert.equal(await page.locator("main button:visible:not(.sort), main input:visible, .self:visible").count(), 0);
        const inks = await page.evaluate(() => [getComputedStyle(document.body), ...Array.from(document.querySelectorAll("td, p.why, pre"), (it) => getComputedStyle(it))].map(({ color, backgroundColor }) => `${color} on ${backgroundColor}`));
        assert.equal(inks.shift(), "rgb(0, 0, 0) on rgb(255, 255, 255)");
        for (const ink of new Set(inks)) assert.match(ink, /^rgb\((0, 0, 0|51, 51, 51)\) on (rgb\(255, 255, 255\)|rgba\(0, 0, 0, 0\))$/);
        const rows = page.locator("tbody tr");
        assert.equal(await rows.count(), await rows.locator("visible=true").count(), "no row is left out");
        const wide = await page.evaluate(() =>
          Array.from(document.querySelectorAll(".plot canvas, svg, code, p, table, th, td, pre")).filter((it) => it.getBoundingClientRect().right > 705).map((it) => it.outerHTML.slice(0, 120)));
        assert.deepEqual(wide, []);
        assert.ok((await page.pdf()).length > 20_000);
        await page.emulateMedia({ media: "screen" });
        assert.equal(await page.locator(".theme:visible").count(), 1);
      }));

    test("a phone's width is enough, and the keyboard reaches every control and shows where it is", () =>
      open(file, async (page) => {
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
        await page.setViewportSize({ width: 1280, height: 900 });
        const seen = new Set();
        for (let i = 0; i < 40; i += 1) {
          await page.keyboard.press("Tab");
          const at = await page.evaluate(() => {
            const it = document.activeElement;
            return [it.outerHTML.slice(0, 200), getComputedStyle(it).outlineStyle];
          });
          seen.add(at[0]);
          assert.notEqual(at[1], "none", `no focus shown on ${at[0]}`);
        }
        assert.ok(seen.size > 10);
      }, { viewport: { width: 360, height: 780 } }));

    test("without a script the page still has its words and no empty charts or dead buttons", () =>
      open(file, async (page) => {
        assert.equal(await page.locator("button, canvas").count(), 0);
        assert.ok((await page.locator("main").innerText()).length > 300);
      }, { javaScriptEnabled: false }));
  });
}

/** Follows a link from elsewhere: as if its address were typed. */
const goTo = (page, id) => page.evaluate((to) => (location.hash = `#${to}`), id);

/** Whether it is on the screen, as soon as the page has moved there. */
async function isSeen(place) {
  for (let i = 0; i < 40; i += 1) {
    const box = await place.boundingBox();
    const height = place.page().viewportSize().height;
    if (box && box.y >= 0 && box.y < height) return true;
    await place.page().waitForTimeout(50);
  }
  return false;
}

for (const [name, file] of pages) {
  describe(`links within the ${name}`, { skip }, () => {
    test("questions lead to sections that are there, the address follows, and back leads back", () =>
      open(file, async (page) => {
        const questions = page.locator("nav.questions a");
        assert.ok((await questions.count()) >= 3);
        await page.evaluate(() => scrollTo({ top: 40, behavior: "instant" }));
        for (const question of await questions.all()) {
          const id = (await question.getAttribute("href")).slice(1);
          await question.click();
          assert.equal(new URL(page.url()).hash, `#${id}`);
          assert.ok(await isSeen(page.locator(`section[id="${id}"]`)), id);
          await page.goBack();
          await page.waitForFunction(() => Math.abs(scrollY - 40) < 5);
          assert.equal(new URL(page.url()).hash, "");
        }
      }, { reducedMotion: "reduce" }));

    test("every section, finding, connection, operation and call is a place that a link opens", () =>
      open(file, async (page) => {
        const ids = await page.evaluate(() => Array.from(document.querySelectorAll("main section[id], article[id], details[id], tr[id]"), (it) => it.id));
        assert.equal(await page.locator("article.finding:not([id]), article.connection:not([id]), details.operation:not([id]), details.ladder:not([id])").count(), 0);
        const some = ids.filter((_, at) => at % Math.ceil(ids.length / 40) === 0);
        for (const id of some) {
          await goTo(page, id);
          const place = page.locator(`[id="${id}"]`);
          assert.ok(await isSeen(place), `${id} is on the screen`);
          assert.equal(await place.evaluate((it) => it instanceof HTMLDetailsElement && !it.open), false, `${id} is open`);
        }
      }));

    test("what is opened by hand, and the sign beside a heading, stand in the address bar", () =>
      open(file, async (page) => {
        const folded = page.locator("details[id]:not([open])").first();
        const id = await folded.getAttribute("id");
        await folded.locator("summary").click();
        assert.equal(decodeURIComponent(new URL(page.url()).hash), `#${id}`);
        const there = page.url();
        await page.goto("about:blank");
        await page.goto(there);
        assert.ok(await isSeen(page.locator(`[id="${id}"][open]`)), "it is open when the page is opened there");
        const sign = page.locator("a.self").last();
        await sign.focus();
        await page.keyboard.press("Enter");
        assert.equal(new URL(page.url()).hash, await sign.getAttribute("href"));
        assert.equal(await sign.evaluate((it) => `#${it.parentElement.id}`), await sign.getAttribute("href"));
      }));
  });
}

const comparisons = [["comparison", write("comparison.html", examplePage(comparison()))]];
if (process.env.COMPARISON) comparisons.push(["comparison by slowside", process.env.COMPARISON]);

for (const [name, file] of comparisons) {
  describe(name, { skip }, () => {
    test("every chart of an operation has a curve of each run", () =>
      open(file, async (page) => {
        for (const details of await page.locator("details.operation:not([open])").all()) await details.locator("summary").click();
        const figures = await page.locator("figure[data-chart]").all();
        assert.ok(figures.length >= 2);
        for (const figure of figures) {
          await figure.scrollIntoViewIfNeeded();
          await figure.locator(".plot canvas").waitFor();
          const legend = await figure.locator(".legend li").allInnerTexts();
          assert.deepEqual(legend.map((text) => text.split(":")[0]), ["baseline", "problem"]);
        }
        await figures[0].locator(".plot").focus();
        await page.keyboard.press("Shift+ArrowRight");
        await page.locator(".tip").waitFor();
      }));

    test("it sorts, prints and fits a phone", () =>
      open(file, async (page) => {
        await page.getByRole("button", { name: "now" }).or(page.getByRole("button", { name: "calls" })).first().click();
        assert.equal(await page.locator("[aria-sort]").count(), 1);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
        await page.emulateMedia({ media: "print" });
        await page.waitForTimeout(300);
        assert.equal(await page.locator("details:not([open])").count(), 0);
        assert.equal(await page.locator(".plot").count(), await page.locator(".plot canvas").count());
      }, { viewport: { width: 360, height: 780 } }));
  });
}

describe("for those who cannot see it or use no mouse", { skip }, () => {
  for (const [name, file] of [...pages, ...comparisons]) {
    for (const colorScheme of ["light", "dark"]) {
      test(`axe finds nothing wrong with the ${name}, ${colorScheme}`, () =>
        // The page allows no other script than its own.
        open(
          file,
          async (page) => {
            await page.addScriptTag({ content: axe.source });
            const found = await page.evaluate(() => globalThis.axe.run(document));
            assert.ok(found.passes.length > 30);
            assert.deepEqual(found.violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
          },
          { colorScheme, bypassCSP: true },
        ));
    }
  }
});

describe("hostile and large", { skip }, () => {
  test("names that are markup stay text", () => {
    const name = `</script><script>document.title="broken"</script><img src=x onerror=alert(1)>"'`;
    const report = data({ name });
    report.captures[0].label = name;
    report.connections[0].client = name;
    const file = write("hostile.html", examplePage(report));
    return open(file, async (page) => {
      await connectionPlots(page);
      assert.notEqual(await page.title(), "broken");
      assert.equal(await page.locator("img").count(), 0);
    });
  });

  test("positions up to 2^53 bytes are told exactly", () => {
    const file = write("far.html", examplePage(data({ connections: 2 })));
    return open(file, async (page) => {
      const plot = page.locator("article.connection").nth(1).locator(".panel .plot").nth(1);
      await plot.scrollIntoViewIfNeeded();
      await plot.locator("canvas").waitFor();
      await plot.focus();
      await page.keyboard.press("Shift+ArrowRight");
      assert.match(await page.locator(".tip").innerText(), /9,007,197,107,257,344 to/);
    });
  });

  test("a long table shows its first rows, all of them on demand, and finds in all", () => {
    const file = write("long.html", examplePage(data(), { rows: 200 }));
    return open(file, async (page) => {
      const rows = page.locator("#operations tbody tr").locator("visible=true");
      assert.equal(await rows.count(), 25);
      await page.getByRole("searchbox").fill("op199");
      assert.equal(await rows.count(), 1);
      await page.getByRole("searchbox").fill("");
      await page.getByRole("button", { name: "Show all 200 rows" }).click();
      assert.equal(await rows.count(), 200);
    });
  });

  test("a link leads to a row that is folded, and to one that is filtered away", () => {
    const file = write("rows.html", examplePage(data(), { rows: 200 }));
    return open(file, async (page) => {
      const row = page.locator("#operation-nfs3-OP180");
      assert.equal(await row.isVisible(), false);
      await goTo(page, "operation-nfs3-OP180");
      assert.ok(await isSeen(row), "it was folded");
      await page.getByRole("searchbox").fill("op1");
      await goTo(page, "operation-nfs3-OP2");
      assert.ok(await isSeen(page.locator("#operation-nfs3-OP2")), "it was filtered away");
      assert.equal(await page.getByRole("searchbox").inputValue(), "");
      await page.getByRole("button", { name: "Show 25 rows" }).click();
      await goTo(page, "nothing%ff");
      // A page of its own: one that is loaded again is brought by the browser to where its reader had got to.
      const opened = await page.context().newPage();
      await opened.goto(`${pathToFileURL(file).href}#operation-nfs3-OP199`);
      assert.ok(await isSeen(opened.locator("#operation-nfs3-OP199")), "also when the page opens there");
    });
  });

  test("the data of a large page is not parsed before the page is painted, and little is in it until it is looked at", () => {
    const file = write("paint.html", examplePage(data({ connections: 10, points: 4000 }), { rows: 300 }));
    return open(file, async (page) => {
      await page.addInitScript(() => {
        const { parse } = JSON;
        JSON.parse = (...all) => {
          window.parsed ??= performance.now();
          window.before = document.querySelectorAll("body *").length;
          return parse(...all);
        };
      });
      await page.reload();
      await page.locator(".plot").first().waitFor({ state: "attached" });
      const { painted, parsed, before } = await page.evaluate(() => ({
        painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
        parsed: window.parsed,
        before: window.before,
      }));
      assert.ok(painted !== undefined && painted <= parsed, `painted ${painted} ms, parsed ${parsed} ms after it was opened`);
      // Four elements a row, and what stands around them: nothing for the points.
      assert.ok(before < 300 * 6 + 600, `${before} elements`);
    });
  });

  test("who filtered a table prints what is left and the words that it was filtered by; a long one is printed whole", () => {
    const file = write("filtered.html", examplePage(data(), { rows: 200 }));
    return open(file, async (page) => {
      const rows = page.locator("#operations tbody tr").locator("visible=true");
      await page.emulateMedia({ media: "print" });
      assert.equal(await rows.count(), 200);
      assert.equal(await page.locator("p.filter:visible").count(), 0);
      await page.emulateMedia({ media: "screen" });
      await page.getByRole("searchbox").fill("op199");
      await page.emulateMedia({ media: "print" });
      assert.equal(await rows.count(), 1);
      assert.match(await page.locator("p.filter:visible").innerText(), /Filter operations.*1 of 200/s);
    });
  });

  test("without its script a page prints what is folded", () =>
    open(pages[0][1], async (page) => {
      const charts = page.locator("details:not([open]) .charts").first();
      assert.equal(await charts.isVisible(), false);
      await page.emulateMedia({ media: "print" });
      assert.ok((await charts.boundingBox())?.height > 0);
    }, { javaScriptEnabled: false }));

  test("a page of ten connections with all their points draws none of them before it is looked at", () => {
    const file = write("large.html", examplePage(data({ connections: 10, points: 2000 })));
    return open(file, async (page) => {
      await page.waitForTimeout(200);
      assert.ok((await page.locator(".plot").count()) > 100);
      assert.ok((await page.locator(".plot canvas").count()) < 12);
    });
  });
});
