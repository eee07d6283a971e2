// Numbers into text with their units, as slowside's terminal output has them: three significant digits,
// ns µs ms s, decimal multiples of bytes and bits. Times of day come from integers, exactly.

const NARROW = "\u202f";

/** Three significant digits, without trailing zeros behind a point that says nothing. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return grouped(Math.round(value));
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3).replace(/\.?0+$/, "");
}

/** 12345678 as 12,345,678. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function duration(ns: number): string {
  if (ns === 0) return "0";
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 999.5e3) return `${digits(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${digits(ns / 1e6)} ms`;
  if (size < 599.5e9) return `${digits(ns / 1e9)} s`;
  return clock(ns, 0);
}

/** Hours, minutes and seconds with so many decimals: 1:02:03.4. */
function clock(ns: number, decimals: number): string {
  const sign = ns < 0 ? "−" : "";
  const scale = 10 ** (9 - decimals);
  const ticks = Math.round(Math.abs(ns) / scale);
  const seconds = Math.floor(ticks / 10 ** decimals);
  const fraction = decimals > 0 ? `.${String(ticks % 10 ** decimals).padStart(decimals, "0")}` : "";
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const head = hours > 0 ? `${hours}:${two(minutes)}` : String(minutes);
  return `${sign}${head}:${two(seconds % 60)}${fraction}`;
}

/** A position on the time axis with all its digits: "12.345 678 901 s". */
export function position(ns: number): string {
  const whole = Math.trunc(ns / 1e9);
  const rest = String(Math.abs(ns % 1e9)).padStart(9, "0");
  const trimmed = rest.replace(/(000)+$/, "");
  const sign = ns < 0 && whole === 0 ? "-" : "";
  const fraction = trimmed.replace(/(\d{3})(?=\d)/g, `$1${NARROW}`);
  return `${sign}${grouped(whole)}${fraction ? `.${fraction}` : ""} s`;
}

/** Labels of a time axis whose marks are `step` apart: one unit for all, as many decimals as differ. */
export function timeLabels(marks: number[], step: number): string[] {
  const largest = Math.max(...marks.map(Math.abs), step);
  const places = (unit: number) => Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  if (largest >= 600e9) return marks.map((ns) => clock(ns, Math.min(9, places(1e9))));
  const [unit, name]: [number, string] =
    largest >= 1e9 ? [1e9, "s"] : largest >= 1e6 ? [1e6, "ms"] : largest >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return marks.map((ns) => `${(ns / unit).toFixed(places(unit))} ${name}`);
}

const MULTIPLES = ["", "k", "M", "G", "T", "P"];

/** A value with a decimal multiple: 1.23 MB. */
export function scaled(value: number, unit: string): string {
  if (value === 0) return "0";
  let size = value;
  let multiple = 0;
  while (Math.abs(size) >= 999.5 && multiple < MULTIPLES.length - 1) {
    size /= 1000;
    multiple += 1;
  }
  return `${digits(size)} ${MULTIPLES[multiple] ?? ""}${unit}`;
}

/**
 * Labels of an axis of ascending values: one unit for all, as many decimals as differ. Far along a large
 * connection that would be too many; there the labels count from the lowest mark.
 */
export function scaledLabels(marks: number[], unit: string): string[] {
  const [first = 0, second = first] = marks;
  const largest = Math.max(...marks.map(Math.abs), 0);
  const multiple = Math.min(MULTIPLES.length - 1, Math.max(0, Math.floor(Math.log10(largest || 1) / 3)));
  const size = 1000 ** multiple;
  const places = second > first ? Math.max(0, Math.ceil(-Math.log10((second - first) / size) - 1e-9)) : 0;
  if (places > 3) return marks.map((mark) => `+${scaled(mark - first, unit)}`);
  return marks.map((mark) => (mark === 0 ? "0" : `${(mark / size).toFixed(places)} ${MULTIPLES[multiple] ?? ""}${unit}`));
}

export const bytes = (value: number): string => scaled(value, "B");
export const rate = (bitsPerSecond: number): string => scaled(bitsPerSecond, "bit/s");

/** Time of day of a moment: nanoseconds since the epoch, as text, plus nanoseconds since then. */
export function utc(epoch: string, ns: number): string {
  const at = BigInt(epoch) + BigInt(Math.round(ns));
  const second = 1_000_000_000n;
  const fraction = ((at % second) + second) % second;
  const date = new Date(Number((at - fraction) / 1_000_000n));
  if (Number.isNaN(date.getTime())) return "";
  return `${date.toISOString().slice(0, 19).replace("T", " ")}.${String(fraction).padStart(9, "0")} UTC`;
}

/** 0.4257 as "43 %". */
export function share(part: number): string {
  const percent = part * 100;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  return `${percent > 0 && percent < 9.95 ? percent.toFixed(1) : Math.round(percent)} %`;
}

export function plural(count: number, word: string): string {
  return `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
}
