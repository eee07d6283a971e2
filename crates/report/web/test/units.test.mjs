// Numbers into text, and ranges into marks: what is drawn on a canvas and cannot be read from there.

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const source = join(dirname(fileURLToPath(import.meta.url)), "..", "src");
const { outputFiles } = await build({
  stdin: { contents: 'export * from "./format"; export * from "./ticks"; export * from "./search"; export * from "./charts/axis";', resolveDir: source, loader: "ts" },
  bundle: true, format: "esm", write: false,
});
const it = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);

test("durations have three digits and the unit that suits them", () => {
  const expected = [[0, "0"], [185, "185 ns"], [768_000, "768 µs"], [1_000_000, "1 ms"], [20_500_000, "20.5 ms"], [999_499_999, "999 ms"],
    [999_600_000, "1 s"], [1_220_000_000, "1.22 s"], [13_900_000_000, "13.9 s"], [599_000_000_000, "599 s"], [3_723_000_000_000, "1:02:03"]];
  for (const [ns, text] of expected) assert.equal(it.duration(ns), text);
});

test("bytes and rates have decimal multiples", () => {
  assert.equal(it.bytes(999), "999 B");
  assert.equal(it.bytes(65160), "65.2 kB");
  assert.equal(it.bytes(7_770_000), "7.77 MB");
  assert.equal(it.bytes(2 ** 53), "9.01 PB");
  assert.equal(it.rate(1_000_000_000), "1 Gbit/s");
  assert.equal(it.grouped(9007199254740991), "9,007,199,254,740,991");
});

test("labels of an axis differ, however far along it they are", () => {
  assert.deepEqual(it.scaledLabels([0, 5e6, 1e7, 1.5e7], "B"), ["0", "5 MB", "10 MB", "15 MB"]);
  assert.deepEqual(it.scaledLabels([0, 500, 1000], "B"), ["0", "0.5 kB", "1.0 kB"]);
  assert.deepEqual(it.scaledLabels([24000, 25000], "B"), ["24 kB", "25 kB"]);
  assert.deepEqual(it.scaledLabels([2 ** 53 - 2e7, 2 ** 53 - 1e7], "B"), ["+0", "+10 MB"]);
});

test("a time of day is exact to the nanosecond, which no double at this size is", () => {
  assert.equal(it.utc("1795175226154870368", 1), "2026-11-20 11:47:06.154870369 UTC");
  assert.equal(it.utc("999999999", 2), "1970-01-01 00:00:01.000000001 UTC");
  assert.equal(it.position(1_039_506_903).replaceAll("\u202f", "_"), "1.039_506_903 s");
  assert.equal(it.position(5_000_000).replaceAll("\u202f", "_"), "0.005 s");
});

test("marks of time are round, in minutes too, and all in one unit", () => {
  const labels = (low, high, most) => {
    const { marks, step } = it.timeMarks(low, high, most);
    return it.timeLabels(marks, step);
  };
  assert.deepEqual(labels(0, 1.3e9, 4), ["0.0 s", "0.5 s", "1.0 s"]);
  assert.deepEqual(labels(-0.04e9, 4.05e9, 2), ["0 s", "2 s", "4 s"]);
  assert.deepEqual(labels(0, 900e9, 4), ["0:00", "5:00", "10:00", "15:00"]);
  assert.deepEqual(labels(12e9, 12e9 + 3000, 3), ["12.000000 s", "12.000001 s", "12.000002 s", "12.000003 s"]);
});

test("marks of a logarithmic axis are fewer than asked for, never none", () => {
  for (const [low, high] of [[1, 1e9], [2e6, 3e6], [1e3, 5e4], [5e5, 8e7]]) {
    for (const most of [2, 4, 8]) assert.ok(it.logMarks(low, high, most).length <= Math.max(most, 3));
  }
  assert.deepEqual(it.logMarks(1e6, 1e8, 8), [1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8]);
  assert.ok(it.logMarks(2.1e6, 2.9e6, 8).length > 0);
});

test("what a range shows", () => {
  assert.deepEqual(it.within([0, 10, 10, 20, 30], [10, 20]), [1, 4]);
  assert.deepEqual(it.within([0, 10, 10, 20, 30], [11, 12], 1), [2, 4]);
  assert.deepEqual(it.within([], [0, 1]), [0, 0]);
});

test("a time axis stays within what there is, and shows no less than a microsecond", () => {
  const odd = new it.TimeAxis([-0.5, 4e9 + 0.25]);
  odd.zoom(0.5);
  odd.reset();
  assert.equal(odd.zoomed, false);

  const axis = new it.TimeAxis([0, 1e9]);
  let told = 0;
  axis.follow(() => (told += 1));
  axis.set(-5e8, 5e8);
  assert.deepEqual(axis.range, [0, 1e9]);
  axis.set(9e8, 11e8);
  assert.deepEqual(axis.range, [8e8, 1e9]);
  axis.zoom(0, 9e8);
  assert.equal(axis.range[1] - axis.range[0], 1000);
  axis.reset();
  assert.equal(axis.zoomed, false);
  assert.equal(told, 3);
});
