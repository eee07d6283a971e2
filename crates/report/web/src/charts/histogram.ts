// Calls by response time into bars on a logarithmic axis; what two captures saw stands in outline, one
// over the other. The buckets that calls are counted in are not all equally wide there, so it is a bar's
// area that stands for its calls: with heights, the shape of the buckets would show in that of the calls.

import type { Latency, Operation, Report } from "../data";
import { duration, plural, share } from "../format";
import { live } from "../page/live";
import { colour } from "../page/theme";
import type { Range } from "./axis";
import { legend } from "./legend";
import { body, chartPlace, labelOf } from "./place";
import { plot, type Point } from "./plot";
import { countScale, fromZero, logDurationScale } from "./scales";
import { captureColour, captureName } from "./sides";

const HEIGHT = 210;

/** More bars than this are joined two by two. */
const BARS = 48;

interface Bar {
  low: number;
  high: number;
  calls: number;
}

/** A bucket begins where the one before ends; the first is as wide as the second. */
function bars({ histogram: { upper_ns, calls } }: Latency): Bar[] {
  const [first = 1, second = first * 1.25] = upper_ns;
  return upper_ns.map((high, at) => ({
    low: Math.max(1, at > 0 ? (upper_ns[at - 1] as number) : (first * first) / second),
    high: Math.max(2, high),
    calls: calls[at] ?? 0,
  }));
}

function joined(list: Bar[]): Bar[] {
  const pairs: Bar[] = [];
  for (let at = 0; at < list.length; at += 2) {
    const one = list[at] as Bar;
    const two = list[at + 1];
    pairs.push(two ? { low: one.low, high: two.high, calls: one.calls + two.calls } : one);
  }
  return pairs;
}

const octaves = (bar: Bar): number => Math.log2(bar.high / bar.low) || 1;

export function histogram(figure: HTMLElement, operation: Operation, report: Report): void {
  const seen = operation.seen.map(({ capture, latency }) => ({ capture, latency, bars: bars(latency) }));
  while (seen.some((one) => one.bars.length > BARS)) for (const one of seen) one.bars = joined(one.bars);
  const every = seen.flatMap((one) => one.bars);
  if (every.length === 0) return;
  // The axis is right for bars of the usual width. A few calls have no shape, and can be counted.
  const few = every.every((bar) => bar.calls < 10);
  const usual = every.reduce((sum, bar) => sum + octaves(bar), 0) / every.length;
  const height = (bar: Bar) => (few ? bar.calls : (bar.calls * usual) / octaves(bar));
  const largest = Math.max(...every.map(height));
  const x: Range = [Math.min(...every.map((bar) => bar.low)) / 1.15, Math.max(...every.map((bar) => bar.high)) * 1.15];

  const points = (): Point[] =>
    seen
      .flatMap(({ capture, latency, bars }) =>
        bars.filter((bar) => bar.calls > 0).map((bar) => ({
          x: Math.sqrt(bar.low * bar.high),
          y: height(bar),
          tip: () => ({
            title: `${duration(bar.low)} to ${duration(bar.high)}`,
            rows: [
              ["calls", `${plural(bar.calls, "call")}, ${share(bar.calls / latency.count)}`],
              ["seen in", captureName(report, capture)],
            ] as [string, string][],
          }),
        })),
      )
      .sort((a, b) => a.x - b.x);

  const host = chartPlace(figure, HEIGHT);
  live(host, 330, (width) =>
    plot(host, {
      label: labelOf(figure),
      height: HEIGHT,
      leftRoom: 48,
      x: { ...logDurationScale(() => x), space: 56 },
      y: countScale(() => fromZero(largest)),
      alongX: seen.length === 1,
      points,
      draw: (pen) => {
        for (const { capture, bars } of seen) {
          const hue = colour(captureColour(report, capture));
          const outline = new Path2D();
          pen.ctx.globalAlpha = seen.length > 1 ? 0.3 : 0.75;
          pen.ctx.fillStyle = hue;
          let open = false;
          for (const bar of bars) {
            const left = pen.x(bar.low);
            const right = pen.x(bar.high);
            const top = pen.y(height(bar));
            pen.ctx.fillRect(left, top, right - left, pen.bottom - top);
            if (!open) outline.moveTo(left, pen.bottom);
            open = true;
            outline.lineTo(left, top);
            outline.lineTo(right, top);
          }
          const last = bars[bars.length - 1];
          if (last) outline.lineTo(pen.x(last.high), pen.bottom);
          pen.ctx.globalAlpha = 1;
          pen.stroke(hue, 1.25);
          pen.ctx.stroke(outline);
        }
      },
    }, width),
  );
  if (seen.length > 1) {
    body(figure).append(
      legend(seen.map(({ capture }) => ({ text: captureName(report, capture), colour: captureColour(report, capture), shape: "area" }))),
    );
  }
}
