// The time sequence of one direction: each data segment as a stroke from its first byte to its last, what
// was acknowledged and how far the window let the sender go as lines, and what was sent again marked.

import type { Range } from "../charts/axis";
import type { Key } from "../charts/legend";
import type { Pen, Symbol } from "../charts/pen";
import type { Point } from "../charts/plot";
import { byteScale, timeScale } from "../charts/scales";
import { bytes, grouped } from "../format";
import { colour } from "../page/theme";
import { within } from "../search";
import { packetTip, WAYS, wayColour, type Panel, type Scene, type Way } from "./view";

/** By `segments.kind`; new data has no mark of its own. */
const KINDS: { name: string; colour: string; shape: Symbol; filled: boolean }[] = [
  { name: "new data", colour: "", shape: "disc", filled: true },
  { name: "retransmission", colour: "retransmission", shape: "triangle", filled: true },
  { name: "spurious retransmission", colour: "spurious", shape: "hollow-triangle", filled: false },
  { name: "out of order", colour: "out-of-order", shape: "square", filled: false },
  { name: "probe", colour: "ink-soft", shape: "cross", filled: false },
];

/** The keys for what a view holds. */
export function sequenceKeys(scene: Scene): Key[] {
  const kinds = new Set(scene.view.directions.flatMap((way) => way.segments.kind));
  const keys: Key[] = [
    { text: "data from client", colour: "client", shape: "bar" },
    { text: "data from server", colour: "server", shape: "bar" },
    { text: "acknowledged", colour: "acknowledged", shape: "line" },
    { text: "window's edge", colour: "window", shape: "dashed" },
  ];
  KINDS.forEach((kind, at) => {
    if (at > 0 && kinds.has(at)) keys.push({ text: kind.name, colour: kind.colour, shape: kind.shape });
  });
  return keys;
}

export function sequence(scene: Scene, way: Way): Panel {
  const { segments, acks } = scene.view.directions[way];
  const { axis } = scene;

  function range(): Range {
    let low = Infinity;
    let high = -Infinity;
    const [from, to] = within(segments.time_ns, axis.range, 1);
    for (let i = from; i < to; i += 1) {
      low = Math.min(low, segments.from[i] as number);
      high = Math.max(high, segments.to[i] as number);
    }
    const [first, last] = within(acks.time_ns, axis.range, 1);
    for (let i = first; i < last; i += 1) {
      low = Math.min(low, acks.acknowledged[i] as number);
      high = Math.max(high, acks.acknowledged[i] as number);
    }
    if (low > high) return [0, 1];
    // The window's edge is worth some room, but not so much that the data lies flat on the floor.
    const room = high + Math.max(1, (high - low) * 0.35);
    let edge = high;
    for (let i = first; i < last; i += 1) edge = Math.max(edge, Math.min(room, acks.window_end[i] ?? 0));
    const pad = Math.max(1, (edge - low) * 0.04);
    // Above, room for the mark of a segment that was sent again.
    return [Math.max(0, low - pad), edge + 2.5 * pad];
  }

  function draw(pen: Pen): void {
    const { ctx, ratio } = pen;
    const [first, last] = within(acks.time_ns, axis.range, 1);
    pen.steps(acks.time_ns, acks.window_end, first, last, { colour: colour("window"), width: 1, dash: [4, 3] });
    pen.steps(acks.time_ns, acks.acknowledged, first, last, { colour: colour("acknowledged"), width: 1 });

    const [from, to] = within(segments.time_ns, axis.range);
    const fresh = new Path2D();
    const strokes = KINDS.map(() => new Path2D());
    const marks = KINDS.map(() => new Path2D());
    for (let i = from; i < to; i += 1) {
      const kind = Math.min(segments.kind[i] ?? 0, KINDS.length - 1);
      const x = pen.x(segments.time_ns[i] as number);
      const low = pen.y(segments.from[i] as number);
      const high = Math.min(pen.y(segments.to[i] as number), low - 2 * ratio);
      if (kind === 0) {
        fresh.rect(x - 0.9 * ratio, high, 1.8 * ratio, low - high);
      } else {
        strokes[kind]?.rect(x - 0.9 * ratio, high, 1.8 * ratio, low - high);
        pen.symbol(marks[kind] as Path2D, (KINDS[kind] as { shape: Symbol }).shape, x, high - 2 * ratio, 4.5);
      }
    }
    ctx.setLineDash([]);
    ctx.fillStyle = colour(wayColour(way));
    ctx.fill(fresh);
    KINDS.forEach((kind, at) => {
      if (at === 0) return;
      ctx.fillStyle = colour(kind.colour);
      ctx.fill(strokes[at] as Path2D);
      pen.stroke(colour(kind.colour), 1.5);
      if (kind.filled) ctx.fill(marks[at] as Path2D);
      else ctx.stroke(marks[at] as Path2D);
    });
  }

  function points(): Point[] {
    const list: Point[] = segments.time_ns.map((time, i) => {
      const from = segments.from[i] as number;
      const to = segments.to[i] as number;
      const kind = KINDS[segments.kind[i] ?? 0]?.name ?? "data";
      return {
        x: time,
        y: to,
        tip: () =>
          packetTip(scene, kind, [
            ["bytes", `${grouped(from)} to ${grouped(to)}`],
            ["length", bytes(to - from)],
            ["way", WAYS[way]],
          ], time, segments.frame[i] as number, segments.file?.[i]),
      };
    });
    acks.time_ns.forEach((time, i) => {
      const edge = acks.window_end[i];
      const upTo = acks.acknowledged[i] as number;
      list.push({
        x: time,
        y: upTo,
        tip: () =>
          packetTip(scene, "acknowledgement", [
            ["up to byte", grouped(upTo)],
            ["window", edge == null ? "unknown" : bytes(edge - upTo)],
            ["of way", WAYS[way]],
          ], time, acks.frame[i] as number, acks.file?.[i]),
      });
    });
    return list.sort((a, b) => a.x - b.x);
  }

  return { x: timeScale(axis), y: byteScale(range), draw, points };
}
