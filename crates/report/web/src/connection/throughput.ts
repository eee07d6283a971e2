// Payload a second into bars, with a red foot where bytes were sent again; and the sizes of the segments
// that carried it into a band from the smallest to the largest with the mean in it.

import type { Pen } from "../charts/pen";
import type { Point } from "../charts/plot";
import { byteScale, fromZero, rateScale, timeScale } from "../charts/scales";
import { bytes, duration, grouped, position, rate } from "../format";
import { colour } from "../page/theme";
import { within } from "../search";
import { WAYS, wayColour, type Panel, type Scene, type Way } from "./view";

export function throughput(scene: Scene, way: Way): Panel {
  const it = intervals(scene, way);
  return {
    x: timeScale(scene.axis),
    y: rateScale(() => fromZero(it.largest(it.columns.payload_bps))),
    draw: (pen) => {
      const area = new Path2D();
      const again = new Path2D();
      it.each(pen, (at, left, width) => {
        const top = pen.y(it.columns.payload_bps[at] as number);
        area.rect(left, top, width, pen.bottom - top);
        if ((it.columns.retransmitted[at] ?? 0) > 0) {
          again.rect(left, pen.bottom - 4 * pen.ratio, Math.max(2 * pen.ratio, width), 4 * pen.ratio);
        }
      });
      pen.ctx.fillStyle = colour(`${wayColour(way)}-mid`);
      pen.ctx.fill(area);
      pen.ctx.fillStyle = colour("retransmission");
      pen.ctx.fill(again);
    },
    points: () => it.points(it.columns.payload_bps),
    alongX: true,
  };
}

export function segmentSizes(scene: Scene, way: Way): Panel {
  const it = intervals(scene, way);
  return {
    x: timeScale(scene.axis),
    y: byteScale(() => fromZero(it.largest(it.columns.segment_max))),
    draw: (pen) => {
      const spread = new Path2D();
      const mean = new Path2D();
      it.each(pen, (at, left, width) => {
        const low = it.columns.segment_min[at];
        const high = it.columns.segment_max[at];
        const middle = it.columns.segment_mean[at];
        if (low == null || high == null || middle == null) return;
        const top = pen.y(high);
        spread.rect(left, top, width, Math.max(pen.ratio, pen.y(low) - top));
        mean.rect(left, pen.y(middle) - pen.ratio, Math.max(4 * pen.ratio, width), 2 * pen.ratio);
      });
      pen.ctx.fillStyle = colour(`${wayColour(way)}-soft`);
      pen.ctx.fill(spread);
      pen.ctx.fillStyle = colour(wayColour(way));
      pen.ctx.fill(mean);
    },
    points: () => it.points(it.columns.segment_mean),
    alongX: true,
  };
}

function intervals(scene: Scene, way: Way) {
  const columns = scene.view.directions[way].throughput;
  const { time_ns, width_ns } = columns;
  const shown = () => within(time_ns, [scene.axis.range[0] - width_ns, scene.axis.range[1]]);
  return {
    columns,
    largest: (column: (number | null)[]): number => {
      const [from, to] = shown();
      let most = 0;
      for (let at = from; at < to; at += 1) most = Math.max(most, column[at] ?? 0);
      return most;
    },
    each: (pen: Pen, draw: (at: number, left: number, width: number) => void): void => {
      const [from, to] = shown();
      for (let at = from; at < to; at += 1) {
        const left = pen.x(time_ns[at] as number);
        draw(at, left, Math.max(pen.ratio, pen.x((time_ns[at] as number) + width_ns) - left));
      }
    },
    points: (column: (number | null)[]): Point[] =>
      time_ns.map((time, at) => ({ x: time + width_ns / 2, y: column[at] ?? 0, tip: () => tip(at, time) })),
  };

  function tip(at: number, time: number) {
    const [small, mean, large] = [columns.segment_min[at], columns.segment_mean[at], columns.segment_max[at]];
    const again = columns.retransmitted[at] ?? 0;
    const rows: [string, string][] = [["segments", grouped(columns.segments[at] ?? 0)]];
    if (small != null && mean != null && large != null) {
      rows.push(["their size", `${bytes(small)} to ${bytes(large)}, mean ${bytes(mean)}`]);
    }
    if (again > 0) rows.push(["sent again", grouped(again)]);
    rows.push(["from", position(time)], ["during", duration(width_ns)], ["way", WAYS[way]]);
    return { title: rate(columns.payload_bps[at] ?? 0), rows };
  }
}
