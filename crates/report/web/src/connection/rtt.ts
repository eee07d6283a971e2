// Round-trip times into dots, those of each direction's data in its sender's colour.

import type { Point } from "../charts/plot";
import { durationScale, fromZero, timeScale } from "../charts/scales";
import { duration } from "../format";
import { colour } from "../page/theme";
import { within } from "../search";
import { packetTip, WAYS, wayColour, type Panel, type Scene, type Way } from "./view";

const BOTH: Way[] = [0, 1];

export function rtt(scene: Scene): Panel {
  const { axis } = scene;
  const of = (way: Way) => scene.view.directions[way].rtt;
  return {
    x: timeScale(axis),
    y: durationScale(() => {
      let largest = 0;
      for (const way of BOTH) {
        const { time_ns, ns } = of(way);
        const [from, to] = within(time_ns, axis.range);
        for (let i = from; i < to; i += 1) largest = Math.max(largest, ns[i] as number);
      }
      return fromZero(largest || 1e6);
    }),
    draw: (pen) => {
      for (const way of BOTH) {
        const { time_ns, ns } = of(way);
        const [from, to] = within(time_ns, axis.range);
        const dots = new Path2D();
        const size = to - from < 60 ? 2.6 : 1.7;
        for (let i = from; i < to; i += 1) {
          pen.symbol(dots, "disc", pen.x(time_ns[i] as number), pen.y(ns[i] as number), size);
        }
        pen.ctx.fillStyle = colour(wayColour(way));
        pen.ctx.fill(dots);
      }
    },
    points: () =>
      BOTH.flatMap((way) => {
        const { time_ns, ns, frame, file } = of(way);
        return time_ns.map((time, i): Point => ({
          x: time,
          y: ns[i] as number,
          tip: () =>
            packetTip(scene, `round trip ${duration(ns[i] as number)}`, [["of data", WAYS[way]]], time, frame[i] as number, file?.[i]),
        }));
      }).sort((a, b) => a.x - b.x),
  };
}

export const hasRtt = (scene: Scene): boolean => scene.view.directions.some((way) => way.rtt.time_ns.length > 0);
