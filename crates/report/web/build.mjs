// Bundles src/main.ts and src/style/main.css into the two files that a report carries inside itself,
// ../assets/report.js and ../assets/report.css, and their hashes for the page's content security policy
// into ../assets/csp.txt. The same sources and lock file give the same bytes; `node build.mjs DIRECTORY`
// writes elsewhere, to compare.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..", "assets");

// Both files hold code of uPlot (its style sheet too), whose licence asks for its text to be kept.
const uplot = join(here, "node_modules", "uplot");
const { version } = JSON.parse(readFileSync(join(uplot, "package.json"), "utf8"));
const licence = readFileSync(join(uplot, "LICENSE"), "utf8").trim().replaceAll("\r\n", "\n");
const banner = `/*!
slowside report. MIT OR Apache-2.0. Built from crates/report/web, not to be edited.
With uPlot ${version}, https://github.com/leeoniya/uPlot:

${licence}
*/`;

const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: { report: "src/main.ts" },
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "ascii",
  legalComments: "none",
  banner: { js: banner, css: banner },
  outdir: "out",
  write: false,
});

// What would end the element that the file is put into.
const forbidden = { "report.js": /<\/script|<!--/i, "report.css": /<\/style/i };

mkdirSync(target, { recursive: true });
let policy = "";
for (const name of ["report.js", "report.css"]) {
  const bytes = outputFiles.find((file) => file.path.endsWith(name)).contents;
  if (forbidden[name].test(Buffer.from(bytes).toString())) {
    throw new Error(`${name} cannot be put into a page: it holds ${forbidden[name]}`);
  }
  writeFileSync(join(target, name), bytes);
  policy += `${name} sha256-${createHash("sha256").update(bytes).digest("base64")}\n`;
}
writeFileSync(join(target, "csp.txt"), policy);
