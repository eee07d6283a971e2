// Percentiles into a curve whose axis gives each further nine of the slowest calls the same room: a tail
// that a linear axis hides in its last pixel is half of the picture.

import type { Operation, Report } from "../data";
import { duration, plural } from "../format";
import { live } from "../page/live";
import { colour } from "../page/theme";
import type { Range } from "./axis";
import { legend } from "./legend";
import { body, chartPlace, labelOf } from "./place";
import { plot, type Point, type Scale } from "./plot";
import { logDurationScale } from "./scales";
import { captureColour, captureName } from "./sides";

const HEIGHT = 210;
const MARKS = [0, 50, 90, 99, 99.9, 99.99, 99.999];

/** How many nines: 90 is 1, 99 is 2. */
const nines = (percent: number) => -Math.log10(1 - percent / 100);

export function percentiles(figure: HTMLElement, operation: Operation, report: Report): void {
  const seen = operation.seen.map(({ capture, latency }) => {
    const { percent, ns } = latency.percentiles;
    // The slowest call has no call above it; it stands where half a call would be above.
    const end = nines(100 - 50 / Math.max(1, latency.count));
    const curve = percent.map((p, at): [number, number] => [p >= 100 ? end : Math.min(end, nines(p)), Math.max(1, ns[at] ?? 1)]);
    return { capture, latency, percent, curve };
  });
  const every = seen.flatMap((one) => one.curve);
  if (every.length === 0) return;
  const values = every.map(([, ns]) => ns);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const y: Range = [low / 1.25, Math.max(high * 1.25, low * 2)];
  const x: Range = [0, Math.max(1.05, ...every.map(([at]) => at)) * 1.03];

  const scale: Scale = {
    range: () => x,
    marks: () => MARKS.map(nines).filter((mark) => mark <= x[1]),
    labels: (marks) => marks.map((mark) => String(MARKS.find((percent) => nines(percent) === mark) ?? "")),
  };

  const points = (): Point[] =>
    seen
      .flatMap(({ capture, latency, percent, curve }) =>
        curve.map(([at, ns], index) => {
          const p = percent[index] ?? 0;
          return {
            x: at,
            y: ns,
            tip: () => ({
              title: p >= 100 ? `the slowest: ${duration(ns)}` : `${p} % take up to ${duration(ns)}`,
              rows: [
                ["of", plural(latency.count, "call")],
                ["seen in", captureName(report, capture)],
              ] as [string, string][],
            }),
          };
        }),
      )
      .sort((a, b) => a.x - b.x);

  const host = chartPlace(figure, HEIGHT);
  live(host, 330, (width) =>
    plot(host, {
      label: labelOf(figure),
      height: HEIGHT,
      leftRoom: 54,
      rightRoom: 16,
      x: scale,
      y: logDurationScale(() => y),
      points,
      draw: (pen) => {
        for (const { capture, curve } of seen) {
          const hue = colour(captureColour(report, capture));
          pen.line(curve, hue, 2);
          const last = curve[curve.length - 1];
          if (!last) continue;
          const dot = new Path2D();
          pen.symbol(dot, "disc", pen.x(last[0]), pen.y(last[1]), 3);
          pen.ctx.fillStyle = hue;
          pen.ctx.fill(dot);
        }
      },
    }, width),
  );
  if (seen.length > 1) {
    body(figure).append(
      legend(seen.map(({ capture }) => ({ text: captureName(report, capture), colour: captureColour(report, capture), shape: "line" }))),
    );
  }
}
