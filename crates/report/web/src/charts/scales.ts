// The scales that plots are made of: time, durations, bytes, rates and plain numbers.

import { digits, duration, scaledLabels, timeLabels } from "../format";
import { linearMarks, logMarks, timeMarks, timeStep } from "../ticks";
import type { Range, TimeAxis } from "./axis";
import type { Scale } from "./plot";

export function timeScale(axis: TimeAxis): Scale {
  return {
    range: () => axis.range,
    marks: (low, high, most) => timeMarks(low, high, most).marks,
    labels: (marks) => {
      const [first, second] = marks;
      const step = first !== undefined && second !== undefined ? second - first : timeStep(axis.range[1] - axis.range[0]);
      return timeLabels(marks, step);
    },
  };
}

function linear(range: () => Range, labels: (marks: number[]) => string[], whole = false): Scale {
  return { range, marks: (low, high, most) => linearMarks(low, high, most, whole), labels };
}

export const durationScale = (range: () => Range): Scale => linear(range, (marks) => marks.map(duration));
export const byteScale = (range: () => Range): Scale => linear(range, (marks) => scaledLabels(marks, "B"), true);
export const rateScale = (range: () => Range): Scale => linear(range, (marks) => scaledLabels(marks, "bit/s"));
export const countScale = (range: () => Range): Scale =>
  linear(range, (marks) => (marks.some((mark) => mark >= 10000) ? scaledLabels(marks, "") : marks.map(digits)), true);

export const logDurationScale = (range: () => Range): Scale => ({
  range,
  log: true,
  marks: logMarks,
  labels: (marks) => marks.map(duration),
});

/** From zero to a little above the largest value. */
export function fromZero(largest: number): Range {
  return [0, largest > 0 ? largest * 1.08 : 1];
}
