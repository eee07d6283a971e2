// What each direction waited for, stretch by stretch, into two bands of colours; and, beneath, how much of
// the time shown each class had.

import type { Point } from "../charts/plot";
import { timeScale } from "../charts/scales";
import { CLASSES, type Direction } from "../data";
import { duration, position, share } from "../format";
import { el } from "../page/dom";
import { colour } from "../page/theme";
import { firstFrom } from "../search";
import { WAYS, type Panel, type Scene, type Way } from "./view";

type Band = Direction["band"];

const BOTH: Way[] = [0, 1];
const nameOf = (index: number | undefined): string => CLASSES[index ?? CLASSES.length - 1] ?? "unknown";

/** The stretches that a range shows, cut to it. */
function stretches(band: Band, [low, high]: readonly [number, number], each: (from: number, to: number, name: string, at: number) => void): void {
  for (let at = firstFrom(band.until_ns, low); at < band.until_ns.length; at += 1) {
    const start = at > 0 ? (band.until_ns[at - 1] as number) : band.first_ns;
    if (start >= high) break;
    const from = Math.max(low, start);
    const to = Math.min(high, band.until_ns[at] as number);
    if (to > from) each(from, to, nameOf(band.class[at]), at);
  }
}

export function band(scene: Scene): Panel {
  const { axis } = scene;
  const of = (way: Way) => scene.view.directions[way].band;
  return {
    x: timeScale(axis),
    y: { range: () => [0, 2], marks: () => [0.5, 1.5], labels: () => ["server →", "client →"] },
    draw: (pen) => {
      for (const way of BOTH) {
        const top = pen.y(way === 0 ? 1.94 : 0.94);
        const height = pen.y(way === 0 ? 1.06 : 0.06) - top;
        const paint = (from: number, to: number, name: string) => {
          pen.ctx.fillStyle = colour(`class-${name}`);
          pen.ctx.fillRect(from, top, to - from, height);
        };
        // Stretches narrower than a pixel share it: it gets the colour of what fills most of it.
        let pixel = -1;
        let within = new Map<string, number>();
        const flush = () => {
          let best: [string, number] | null = null;
          for (const entry of within) if (!best || entry[1] > best[1]) best = entry;
          if (best) paint(pixel, pixel + 1, best[0]);
          within = new Map();
        };
        stretches(of(way), axis.range, (from, to, name) => {
          const left = pen.x(from);
          const right = pen.x(to);
          const first = Math.floor(left);
          const last = Math.floor(right);
          const add = (at: number, amount: number) => {
            if (at !== pixel) {
              flush();
              pixel = at;
            }
            within.set(name, (within.get(name) ?? 0) + amount);
          };
          if (first === last) {
            add(first, right - left);
            return;
          }
          add(first, first + 1 - left);
          if (last > first + 1) paint(first + 1, last, name);
          add(last, right - last);
        });
        flush();
      }
    },
    points: () =>
      BOTH.flatMap((way) => {
        const list: Point[] = [];
        stretches(of(way), axis.full, (from, to, name) => {
          list.push({
            x: (from + to) / 2,
            y: way === 0 ? 1.5 : 0.5,
            tip: () => ({
              title: name,
              rows: [
                ["way", WAYS[way]],
                ["for", duration(to - from)],
                ["from", position(from)],
                ["to", position(to)],
              ],
            }),
            span: [from, to],
          });
        });
        return list;
      }).sort((a, b) => a.x - b.x),
  };
}

/** How the time shown divides, direction by direction; follows the zoom. */
export function shares(scene: Scene): HTMLElement {
  const list = el("dl", { class: "shares" });
  const fill = () => {
    list.replaceChildren();
    for (const way of BOTH) {
      const sums = new Map<string, number>();
      let whole = 0;
      stretches(scene.view.directions[way].band, scene.axis.range, (from, to, name) => {
        sums.set(name, (sums.get(name) ?? 0) + to - from);
        whole += to - from;
      });
      if (whole === 0) continue;
      const items = el("dd");
      for (const [name, sum] of Array.from(sums).sort((a, b) => b[1] - a[1])) {
        items.append(
          el("span", { class: "class" }, el("span", { class: `swatch class-${name}` }), `${name} `, el("b", {}, share(sum / whole))),
          " ",
        );
      }
      list.append(el("dt", {}, WAYS[way]), items);
    }
  };
  fill();
  scene.axis.follow(fill);
  return list;
}
