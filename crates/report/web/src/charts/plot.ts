// A description of a plot into a uPlot: its scales, axes, cursor and zoom are uPlot's, its marks are drawn
// by the description with a pen, and its points answer to pointer and keyboard.

import uPlot from "uplot";
import { announce, el } from "../page/dom";
import type { Drawing } from "../page/live";
import { colour } from "../page/theme";
import { focusTip, hideTip, isPinned, showTip, tipText, type Tip } from "../page/tooltip";
import { firstFrom } from "../search";
import type { Range, TimeAxis } from "./axis";
import { FONT, Pen } from "./pen";

export interface Scale {
  range: () => Range;
  log?: boolean;
  marks: (low: number, high: number, most: number) => number[];
  labels: (marks: number[]) => string[];
  /** Least room between marks, in CSS pixels. */
  space?: number;
}

/** Something that can be pointed at. */
export interface Point {
  x: number;
  y: number;
  /** Where it covers a stretch of x: it is there all along. */
  span?: Range;
  tip: () => Tip;
}

export interface PlotOptions {
  label: string;
  height: number;
  x: Scale;
  y: Scale;
  /** CSS pixels beside the plot, on the left for the marks of its y axis. */
  leftRoom?: number;
  rightRoom?: number;
  /** Whether the marks of the x axis are written under the plot. */
  written?: boolean;
  draw: (pen: Pen) => void;
  /** In order of x. Asked for once, when first needed. */
  points: () => Point[];
  /** Whether the nearest point is looked for along x alone. */
  alongX?: boolean;
  /** What zooming moves. */
  axis?: TimeAxis;
  /** Plots whose cursors move together. */
  group?: string;
}

const REACH = 28;

export function plot(host: HTMLElement, options: PlotOptions, width: number): Drawing {
  const { axis } = options;
  let points: Point[] | null = null;
  let current = -1;
  const known = () => (points ??= options.points());

  const left = options.leftRoom ?? 60;
  const written = options.written ?? true;
  const u = new uPlot(
    {
      width,
      height: options.height,
      legend: { show: false },
      padding: [8, options.rightRoom ?? 12, 0, 0],
      scales: {
        x: { time: false, range: () => options.x.range(), ...(options.x.log ? { distr: 3 as uPlot.Scale.Distr } : {}) },
        y: { range: () => options.y.range(), ...(options.y.log ? { distr: 3 as uPlot.Scale.Distr } : {}) },
      },
      axes: [
        axisOptions(options.x, "x", 2, written ? 26 : 4, options.x.space ?? 84, written),
        axisOptions(options.y, "y", 3, left, options.y.space ?? 26, true),
      ],
      series: [{}, { scale: "y", points: { show: false } }],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: axis !== undefined, y: false, setScale: false, dist: 4 },
        // uPlot's own double click would show what its data spans.
        bind: { dblclick: () => () => null },
        ...(options.group
          ? {
              sync: {
                key: options.group,
                scales: ["x", null] as uPlot.Cursor.Sync.Scales,
                // A drag is not passed on: it ends in one place, and the axis tells the others.
                filters: { pub: (type: string) => type === "mousemove" || type === "mouseleave" },
              },
            }
          : {}),
      },
      hooks: {
        draw: [(self) => {
          self.ctx.save();
          const { left: x, top: y, width: w, height: h } = self.bbox;
          self.ctx.beginPath();
          self.ctx.rect(x, y, w, h);
          self.ctx.clip();
          options.draw(new Pen(self));
          self.ctx.restore();
          host.dataset["shown"] = `${self.scales["x"]?.min} ${self.scales["x"]?.max}`;
        }],
        setSelect: [(self) => {
          if (!axis || self.select.width < 4) return;
          axis.set(
            self.posToVal(self.select.left, "x"),
            self.posToVal(self.select.left + self.select.width, "x"),
          );
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    },
    // uPlot scales its data; what is drawn here is not uPlot's data, and scales itself.
    [[0, 1], [null, null]],
    host,
  );

  const mark = el("div", { class: "mark" });
  mark.hidden = true;
  u.over.append(mark);

  /** Where a point stands; one that covers a stretch, in the middle of what is seen of it. */
  function place({ x, y, span }: Point): { left: number; top: number } {
    const [low, high] = options.x.range();
    const at = span ? (Math.max(low, span[0]) + Math.min(high, span[1])) / 2 : x;
    return { left: u.valToPos(at, "x"), top: u.valToPos(y, "y") };
  }

  function nearest(atLeft: number, atTop: number): number {
    const list = known();
    const from = u.posToVal(atLeft - REACH, "x");
    const to = u.posToVal(atLeft + REACH, "x");
    const xs = (columns ??= list.map((point) => point.x));
    let best = -1;
    let least = options.alongX ? Infinity : REACH * REACH;
    const ordered = !options.alongX && !list[0]?.span;
    for (let i = ordered ? firstFrom(xs, from) : 0; i < list.length; i += 1) {
      const point = list[i] as Point;
      if (ordered && point.x > to) break;
      const at = place(point);
      const here = u.posToVal(atLeft, "x");
      const inside = point.span && here >= point.span[0] && here <= point.span[1];
      const dx = inside ? 0 : point.span ? REACH : at.left - atLeft;
      const dy = options.alongX ? 0 : at.top - atTop;
      const distance = dx * dx + dy * dy;
      if (distance < least) {
        least = distance;
        best = i;
      }
    }
    return best;
  }
  let columns: number[] | null = null;

  function point(at: number, keep: boolean): void {
    const found = known()[at];
    if (!found) return;
    current = at;
    const { left: x, top: y } = place(found);
    mark.hidden = false;
    mark.style.left = `${x}px`;
    mark.style.top = `${y}px`;
    const rect = u.over.getBoundingClientRect();
    showTip(found.tip(), rect.left + x, rect.top + y, keep, () => {
      mark.hidden = true;
      if (document.activeElement === document.body) host.focus({ preventScroll: true });
    });
  }

  function leave(): void {
    if (isPinned()) return;
    mark.hidden = true;
    hideTip();
  }

  let from = { x: 0, y: 0 };
  u.over.addEventListener("mousedown", (event) => (from = { x: event.clientX, y: event.clientY }));
  u.over.addEventListener("mousemove", (event) => {
    if (isPinned()) return;
    if (event.buttons & 1) return leave();
    const at = nearest(event.offsetX, event.offsetY);
    if (at < 0) leave();
    else point(at, false);
  });
  u.over.addEventListener("mouseleave", leave);
  u.over.addEventListener("click", (event) => {
    if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4) return;
    const at = nearest(event.offsetX, event.offsetY);
    if (at >= 0) point(at, true);
  });

  if (axis) {
    u.over.addEventListener("dblclick", () => {
      hideTip(true);
      axis.reset();
    });
    // The plain wheel belongs to the page; with Ctrl (which a pinch sends too) it zooms.
    u.over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      axis.zoom(event.deltaY < 0 ? 0.8 : 1.25, u.posToVal(event.offsetX, "x"));
    }, { passive: false });
    axis.follow(() => {
      leave();
      u.setScale("x", { min: axis.range[0], max: axis.range[1] });
    });
  }

  host.tabIndex = 0;
  host.setAttribute("role", "img");
  host.setAttribute("aria-label", options.label);
  host.addEventListener("keydown", (event) => {
    if (event.target !== host || event.ctrlKey || event.metaKey || event.altKey) return;
    if (key(event)) event.preventDefault();
  });
  host.addEventListener("blur", leave);

  function key(event: KeyboardEvent): boolean {
    const list = known();
    switch (event.key) {
      case "ArrowLeft":
      case "ArrowRight": {
        const forward = event.key === "ArrowRight";
        if (axis && !event.shiftKey) axis.pan(forward ? 0.2 : -0.2);
        else step(list, forward ? 1 : -1);
        return true;
      }
      case "+":
      case "=":
        axis?.zoom(0.5, focus(list));
        return axis !== undefined;
      case "-":
      case "_":
        axis?.zoom(2, focus(list));
        return axis !== undefined;
      case "Escape":
      case "0":
        mark.hidden = true;
        hideTip();
        axis?.reset();
        return true;
      case "Enter":
      case " ":
        if (current < 0 || mark.hidden) return false;
        point(current, true);
        focusTip();
        return true;
      default:
        return false;
    }
  }

  /** The point one stands on is what zooming keeps in its place. */
  function focus(list: Point[]): number | undefined {
    return mark.hidden ? undefined : list[current]?.x;
  }

  function step(list: Point[], by: number): void {
    const [low, high] = options.x.range();
    let next = mark.hidden ? -1 : current + by;
    if (mark.hidden) next = by > 0 ? list.findIndex(({ x }) => x >= low) : list.length - 1;
    const to = list[next];
    if (!to) return;
    if (axis && (to.x < low || to.x > high)) axis.set(to.x - (high - low) / 2, to.x + (high - low) / 2);
    point(next, false);
    announce(tipText(to.tip()));
  }

  return {
    redraw: (afresh = false) => {
      if (afresh) {
        leave();
        points = columns = null;
      }
      u.redraw(false, true);
    },
    resize: (to) => {
      leave();
      u.setSize({ width: to, height: options.height });
    },
  };
}

function axisOptions(scale: Scale, key: string, side: number, size: number, space: number, written: boolean): uPlot.Axis {
  const horizontal = side === 2;
  return {
    scale: key,
    side: side as uPlot.Axis.Side,
    size,
    gap: 4,
    font: `11px ${FONT}`,
    stroke: () => colour("ink-soft"),
    // uPlot looks for a step among these before it asks for marks; any will do.
    incrs: [1e-6, 1, 1e6, 1e12, 1e18, 1e24],
    space: 1,
    splits: (u, _axis, low, high) => {
      const length = (horizontal ? u.bbox.width : u.bbox.height) / uPlot.pxRatio;
      return scale.marks(low, high, Math.max(1, Math.floor(length / space)));
    },
    filter: (_u, marks) => marks,
    values: (_u, marks) => (written ? scale.labels(marks) : marks.map(() => "")),
    grid: { stroke: () => colour("grid"), width: 1 },
    ticks: { show: written, stroke: () => colour("grid"), width: 1, size: 4 },
  };
}
