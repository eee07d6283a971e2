// Response time against the calls that were outstanding when a call was sent: flat while the server works
// on all of them, rising from where it does not. Where a finding knows that place, a line says so.

import type { LatencyByOutstanding, Report } from "../data";
import { duration, plural } from "../format";
import { live } from "../page/live";
import { colour } from "../page/theme";
import type { Range } from "./axis";
import { chartPlace, labelOf } from "./place";
import { plot, type Point } from "./plot";
import { countScale, durationScale, fromZero } from "./scales";
import { captureColour } from "./sides";

const HEIGHT = 230;

export function load(figure: HTMLElement, data: LatencyByOutstanding, report: Report): void {
  const { outstanding, calls, mean_ns, cap } = data;
  if (outstanding.length === 0) return;
  const hue = captureColour(report, data.capture);
  const most = Math.max(...calls, 1);
  const x: Range = [0, Math.max(...outstanding, cap?.outstanding ?? 0, 1) * 1.04 + 0.5];
  const points = (): Point[] =>
    outstanding.map((count, at) => ({
      x: count,
      y: mean_ns[at] ?? 0,
      tip: () => ({
        title: `with ${count} outstanding: ${duration(mean_ns[at] ?? 0)}`,
        rows: [["mean of", plural(calls[at] ?? 0, "call")]],
      }),
    }));

  const host = chartPlace(figure, HEIGHT);
  live(host, 330, (width) =>
    plot(host, {
      label: labelOf(figure),
      height: HEIGHT,
      leftRoom: 54,
      x: { ...countScale(() => x), space: 44 },
      y: durationScale(() => fromZero(Math.max(...mean_ns))),
      points,
      draw: (pen) => {
        if (cap) {
          const at = pen.x(cap.outstanding);
          const side = colour(cap.side);
          pen.ctx.fillStyle = colour(`${cap.side}-faint`);
          pen.ctx.fillRect(at, pen.box.top, pen.box.left + pen.box.width - at, pen.box.height);
          pen.stroke(side, 1.5, [5, 3]);
          pen.ctx.beginPath();
          pen.ctx.moveTo(at, pen.box.top);
          pen.ctx.lineTo(at, pen.bottom);
          pen.ctx.stroke();
          pen.ctx.setLineDash([]);
          const words = cap.side === "server" ? `server works on ${cap.outstanding} at once` : `client sends ${cap.outstanding} at once`;
          const early = at < pen.box.left + pen.box.width / 2;
          pen.text(words, at + (early ? 6 : -6) * pen.ratio, pen.box.top + 9 * pen.ratio, side, early ? "left" : "right");
        }
        const curve = outstanding.map((count, at): [number, number] => [count, mean_ns[at] ?? 0]);
        pen.ctx.globalAlpha = 0.55;
        pen.line(curve, colour(hue), 1.25);
        pen.ctx.globalAlpha = 1;
        // A mean of many calls weighs more than one of a few.
        const dots = new Path2D();
        curve.forEach(([count, ns], at) => {
          pen.symbol(dots, "disc", pen.x(count), pen.y(ns), 1.5 + 3.5 * Math.sqrt((calls[at] ?? 0) / most));
        });
        pen.ctx.fillStyle = colour(hue);
        pen.ctx.fill(dots);
      },
    }, width),
  );
}
