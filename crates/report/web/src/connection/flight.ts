// Bytes in flight into an area, under the line of the window that the receiver allowed: where they touch,
// the receiver was the limit.

import type { Point } from "../charts/plot";
import { byteScale, fromZero, timeScale } from "../charts/scales";
import { bytes } from "../format";
import { colour } from "../page/theme";
import { within } from "../search";
import { packetTip, WAYS, wayColour, type Panel, type Scene, type Way } from "./view";

export function flight(scene: Scene, way: Way): Panel {
  const { axis } = scene;
  const { time_ns, bytes: sent, window, frame, file } = scene.view.directions[way].flight;
  const hue = wayColour(way);
  return {
    x: timeScale(axis),
    y: byteScale(() => {
      const [from, to] = within(time_ns, axis.range, 1);
      let most = 0;
      let widest = 0;
      for (let i = from; i < to; i += 1) {
        most = Math.max(most, sent[i] as number);
        widest = Math.max(widest, window[i] ?? 0);
      }
      // A window many times what was ever sent would leave the flight a line on the floor.
      return fromZero(Math.max(most, Math.min(widest, most * 4)));
    }),
    draw: (pen) => {
      const [from, to] = within(time_ns, axis.range, 1);
      pen.steps(time_ns, sent, from, to, { colour: colour(hue), width: 1, fill: colour(`${hue}-soft`) });
      pen.steps(time_ns, window, from, to, { colour: colour("window"), width: 1.25, dash: [4, 3] });
    },
    points: () =>
      time_ns.map((time, i): Point => ({
        x: time,
        y: sent[i] as number,
        tip: () => {
          const allowed = window[i];
          return packetTip(scene, `${bytes(sent[i] as number)} in flight`, [
            ["window", allowed == null ? "unknown" : bytes(allowed)],
            ["way", WAYS[way]],
          ], time, frame[i] as number, file?.[i]);
        },
      })),
  };
}
