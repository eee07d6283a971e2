// A range of an axis into the marks on it: round numbers, and round times (minutes are not decimal).

const DECIMAL = [1, 2, 5];

/** Steps of time axes above a second, in seconds. */
const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400];

function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of DECIMAL) if (factor * power >= least * 0.999999) return factor * power;
  return 10 * power;
}

export function timeStep(least: number): number {
  if (least > 0.5e9) {
    for (const seconds of SECONDS) if (seconds * 1e9 >= least) return seconds * 1e9;
  }
  return Math.max(1, roundStep(least));
}

/** Marks every `step` from `low` to `high`. */
function every(low: number, high: number, step: number): number[] {
  const marks: number[] = [];
  // Counted, not added up, so that errors do not add up either.
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9 && marks.length < 100; k += 1) {
    marks.push(k * step);
  }
  return marks;
}

export function timeMarks(low: number, high: number, most: number): { marks: number[]; step: number } {
  const step = timeStep((high - low) / Math.max(1, most));
  const marks = every(low, high, step);
  // One mark says neither how long nor in which direction: rather two that stand closer.
  return marks.length > 1 || most > 8 ? { marks, step } : timeMarks(low, high, most * 2);
}

export function linearMarks(low: number, high: number, most: number, whole = false): number[] {
  const step = roundStep((high - low) / Math.max(1, most));
  return every(low, high, whole ? Math.max(1, step) : step);
}

/**
 * Marks of a logarithmic axis: powers of ten, and 2 and 5 times them where there is room. Over less than
 * a factor of four it is nearly a linear one, and has its marks.
 */
export function logMarks(low: number, high: number, most: number): number[] {
  if (high < low * 4) return linearMarks(low, high, most).filter((mark) => mark > 0);
  const from = Math.floor(Math.log10(low));
  const to = Math.ceil(Math.log10(high));
  const candidates = [[1, 2, 5], [1, 3], [1]];
  for (const factors of candidates) {
    const marks = inside(low, high, from, to, 1, factors);
    if (marks.length <= most) return marks;
  }
  return inside(low, high, from, to, Math.ceil((to - from) / Math.max(1, most)), [1]);
}

function inside(low: number, high: number, from: number, to: number, step: number, factors: number[]): number[] {
  const marks: number[] = [];
  for (let power = from; power <= to; power += step) {
    for (const factor of factors) {
      const mark = factor * 10 ** power;
      if (mark >= low * 0.999 && mark <= high * 1.001) marks.push(mark);
    }
  }
  return marks;
}
