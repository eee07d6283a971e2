// Payload a second into an area; over it, on an axis of its own, the segments' sizes (from the smallest to
// the largest, the mean as a dash); below, a red foot where bytes were sent again.

import type { PlotOptions, Point } from "../charts/plot";
import { byteScale, fromZero, rateScale, timeScale } from "../charts/scales";
import { bytes, duration, grouped, position, rate } from "../format";
import { colour } from "../page/theme";
import { within } from "../search";
import { WAYS, wayColour, type Scene, type Way } from "./view";

export function throughput(scene: Scene, way: Way): Partial<PlotOptions> & Pick<PlotOptions, "x" | "y" | "draw" | "points"> {
  const { axis } = scene;
  const it = scene.view.directions[way].throughput;
  const hue = wayColour(way);
  const largest = (column: (number | null)[]) => {
    const [from, to] = within(it.time_ns, [axis.range[0] - it.width_ns, axis.range[1]]);
    let most = 0;
    for (let i = from; i < to; i += 1) most = Math.max(most, column[i] ?? 0);
    return most;
  };
  return {
    x: timeScale(axis),
    y: rateScale(() => fromZero(largest(it.payload_bps))),
    right: byteScale(() => fromZero(largest(it.segment_max))),
    draw: (pen) => {
      const { ctx, ratio } = pen;
      const [from, to] = within(it.time_ns, [axis.range[0] - it.width_ns, axis.range[1]]);
      const area = new Path2D();
      const spread = new Path2D();
      const mean = new Path2D();
      const again = new Path2D();
      for (let i = from; i < to; i += 1) {
        const time = it.time_ns[i] as number;
        const left = pen.x(time);
        const width = Math.max(ratio, pen.x(time + it.width_ns) - left);
        const top = pen.y(it.payload_bps[i] as number);
        area.rect(left, top, width, pen.bottom - top);
        const smallest = it.segment_min[i];
        const biggest = it.segment_max[i];
        const average = it.segment_mean[i];
        const middle = left + width / 2;
        if (smallest != null && biggest != null) {
          spread.moveTo(middle, pen.y(smallest, "right"));
          spread.lineTo(middle, pen.y(biggest, "right"));
        }
        if (average != null) {
          const half = Math.max(1.5 * ratio, Math.min(width / 2, 4 * ratio));
          const y = pen.y(average, "right");
          mean.moveTo(middle - half, y);
          mean.lineTo(middle + half, y);
        }
        if ((it.retransmitted[i] ?? 0) > 0) again.rect(left, pen.bottom - 4 * ratio, Math.max(2 * ratio, width), 4 * ratio);
      }
      ctx.fillStyle = colour(`${hue}-soft`);
      ctx.fill(area);
      pen.stroke(colour("size-spread"), 1);
      ctx.stroke(spread);
      pen.stroke(colour("size"), 1.75);
      ctx.stroke(mean);
      ctx.fillStyle = colour("retransmission");
      ctx.fill(again);
    },
    points: () =>
      it.time_ns.map((time, i): Point => ({
        x: time + it.width_ns / 2,
        y: it.payload_bps[i] as number,
        tip: () => {
          const [small, mean, large] = [it.segment_min[i], it.segment_mean[i], it.segment_max[i]];
          return {
            title: rate(it.payload_bps[i] as number),
            rows: [
              ["segments", grouped(it.segments[i] ?? 0)],
              ...(small != null && mean != null && large != null
                ? [["their size", `${bytes(small)} to ${bytes(large)}, mean ${bytes(mean)}`] as [string, string]]
                : []),
              ...((it.retransmitted[i] ?? 0) > 0
                ? [["sent again", grouped(it.retransmitted[i] ?? 0)] as [string, string]]
                : []),
              ["from", position(time)],
              ["during", duration(it.width_ns)],
              ["way", WAYS[way]],
            ],
          };
        },
      })),
    alongX: true,
  };
}
