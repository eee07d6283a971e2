// What the plots of one view of a connection share: whose packets these are, the time axis, and how a
// packet is told of.

import type { TimeAxis } from "../charts/axis";
import type { PlotOptions } from "../charts/plot";
import type { Capture, Connection, Report, View } from "../data";
import { position, utc } from "../format";
import type { Tip } from "../page/tooltip";

export type Way = 0 | 1;

/** What a panel adds to what all have. */
export type Panel = Pick<PlotOptions, "x" | "y" | "draw" | "points"> & Partial<PlotOptions>;

export interface Scene {
  report: Report;
  connection: Connection;
  view: View;
  axis: TimeAxis;
  /** Plots whose cursors move together. */
  group: string;
}

export const WAYS = ["client → server", "server → client"] as const;

/** The colour of what a direction sends: its sender's. */
export const wayColour = (way: Way): string => (way === 0 ? "client" : "server");

/** A packet as the tip of a point tells of it. */
export function packetTip(
  scene: Scene,
  title: string,
  rows: [string, string][],
  time: number,
  frame: number,
  file: number | undefined,
): Tip {
  const capture: Capture | undefined = scene.report.captures[scene.view.capture];
  const name = file === undefined ? undefined : capture?.files[file];
  return {
    title: `frame ${frame}: ${title}`,
    rows: [
      ...rows,
      ["at", position(time)],
      ["", utc(scene.report.start.epoch_ns, time)],
      ...(name ? [["in", name] as [string, string]] : []),
    ],
    filter: `frame.number == ${frame}`,
  };
}

/** First and last time of anything in a view. */
export function span(view: View): [number, number] {
  let first = Infinity;
  let last = -Infinity;
  const take = (column: number[], wide = 0) => {
    const [start] = column;
    const end = column[column.length - 1];
    if (start !== undefined) first = Math.min(first, start);
    if (end !== undefined) last = Math.max(last, end + wide);
  };
  for (const way of view.directions) {
    take(way.segments.time_ns);
    take(way.acks.time_ns);
    take(way.rtt.time_ns);
    take(way.flight.time_ns);
    if (way.band.until_ns.length > 0) {
      take([way.band.first_ns]);
      take(way.band.until_ns);
    }
  }
  return first <= last ? [first, last] : [0, 1];
}

/** Bytes that a direction carried. */
export function carried(view: View, way: Way): number {
  const { to } = view.directions[way].segments;
  return to.reduce((most, at) => Math.max(most, at), 0);
}
