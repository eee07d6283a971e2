// The figures of one connection (one a capture that saw it) into plots on one time axis.

import { TimeAxis } from "../charts/axis";
import { legend } from "../charts/legend";
import { body } from "../charts/place";
import { plot } from "../charts/plot";
import { captureName } from "../charts/sides";
import type { Connection, Report } from "../data";
import { bytes, duration } from "../format";
import { el } from "../page/dom";
import { live } from "../page/live";
import { band, shares } from "./band";
import { choice, zoomButtons } from "./controls";
import { flight } from "./flight";
import { hasRtt, rtt } from "./rtt";
import { sequence, sequenceKeys } from "./sequence";
import { segmentSizes, throughput } from "./throughput";
import { carried, span, WAYS, type Panel, type Scene, type Way } from "./view";

const BOTH: Way[] = [0, 1];
const PAPER = 690;

export function connectionFigures(figures: HTMLElement[], connection: Connection, index: number, report: Report): void {
  const shown = figures.flatMap((figure) => {
    const view = connection.views[Number(figure.dataset["view"] ?? 0)];
    return view ? [{ figure, view }] : [];
  });
  const first = shown[0];
  if (!first) return;
  const axes = timeAxes(shown.map(({ view }) => span(view)));
  const together = axes[0] === axes[axes.length - 1];

  const heavier: Way = carried(first.view, 1) >= carried(first.view, 0) ? 1 : 0;
  const views = el("div", { class: "views", "data-way": String(heavier) });
  first.figure.before(views);
  const controls = el("div", { class: "controls" });
  if (shown.length > 1) {
    const names = shown.map(({ view }) => captureName(report, view.capture));
    controls.append(choice("Capture shown", [...names, "side by side"], 0, (at) => {
      views.classList.toggle("beside", at === shown.length);
      shown.forEach(({ figure }, index) => figure.classList.toggle("off", at < shown.length && index !== at));
    }));
    shown.forEach(({ figure }, index) => figure.classList.toggle("off", index > 0));
  }
  controls.append(
    choice("Direction shown", [...WAYS, "both"], heavier, (at) => (views.dataset["way"] = at < 2 ? String(at) : "both")),
  );
  if (together && axes[0]) controls.append(zoomButtons(axes[0]));
  views.before(controls);
  controls.after(
    el("p", { class: "hint" }, matchMedia("(hover: none)").matches ? "Tap a plot to see what is there; + − ← → move the time axis." : "Drag to zoom, double click to show all. Ctrl and wheel, or + − ← → on a plot, zoom and move; Shift ← → goes from point to point, Enter keeps one."),
  );

  shown.forEach(({ figure, view }, at) => {
    const axis = axes[at] as TimeAxis;
    views.append(figure);
    if (!together) body(figure).append(zoomButtons(axis));
    panels(figure, { report, connection, view, axis, group: `connection-${index}-${together ? "" : at}` });
  });
}

/**
 * One axis for all views; or one for each, where their clocks are so far apart that each would be a sliver
 * on a common one.
 */
function timeAxes(spans: [number, number][]): TimeAxis[] {
  const union: [number, number] = [Math.min(...spans.map(([from]) => from)), Math.max(...spans.map(([, to]) => to))];
  const longest = Math.max(...spans.map(([from, to]) => to - from));
  if (union[1] - union[0] > 2 * longest) return spans.map(roomy);
  const axis = roomy(union);
  return spans.map(() => axis);
}

/** With room at both ends, where the first and the last packet would be cut in half. */
function roomy([from, to]: [number, number]): TimeAxis {
  const room = Math.max(500, (to - from) * 0.01);
  return new TimeAxis([from - room, to + room]);
}

function panels(figure: HTMLElement, scene: Scene): void {
  const { view } = scene;
  const name = `connection ${scene.connection.number}, ${captureName(scene.report, view.capture)}`;
  const busier: Way = carried(view, 1) >= carried(view, 0) ? 1 : 0;
  const add = (title: string, height: number, panel: Panel, way?: Way, written = false) => {
    const host = el("div", { class: "plot" });
    host.style.minHeight = `${height}px`;
    const head = el("p", { class: "panel-title" }, title);
    const box = el("div", { class: "panel", ...(way === undefined ? {} : { "data-way": String(way) }) }, head, host);
    body(figure).append(box);
    live(host, PAPER, (width) =>
      plot(host, {
        label: `Chart: ${title}, ${name}`,
        height,
        leftRoom: 70,
        written,
        axis: scene.axis,
        group: scene.group,
        ...panel,
      }, width));
  };

  const sequences = BOTH.filter((way) => view.directions[way].segments.time_ns.length + view.directions[way].acks.time_ns.length > 0);
  for (const way of sequences) {
    const last = way === sequences[sequences.length - 1];
    add(`Bytes sent, ${WAYS[way]} (${bytes(carried(view, way))})`, way === busier ? 220 : 120, sequence(scene, way), undefined, last);
  }
  if (hasRtt(scene)) add("Round-trip time", 100, rtt(scene));
  for (const way of BOTH) {
    if (view.directions[way].flight.time_ns.length > 0) {
      add(`Bytes in flight and receive window, ${WAYS[way]}`, 120, flight(scene, way), way);
    }
    if (view.directions[way].throughput.time_ns.length > 0) {
      add(`Throughput, ${WAYS[way]}, each ${duration(view.directions[way].throughput.width_ns)}`, 90, throughput(scene, way), way);
      add(`Segment sizes, ${WAYS[way]}`, 80, segmentSizes(scene, way), way);
    }
  }
  add("What each direction waited for", 80, band(scene), undefined, true);
  body(figure).append(
    shares(scene),
    legend(sequenceKeys(scene)),
  );
}
