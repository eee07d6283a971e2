// Calls by time and response time into a heat map: the more calls a cell holds, the stronger its colour,
// by powers of ten, so that a single slow call still shows beside a thousand fast ones.

import type { Heat, Operation, Report } from "../data";
import { duration, grouped, plural, position } from "../format";
import { button, el } from "../page/dom";
import { live } from "../page/live";
import { colour, onTheme } from "../page/theme";
import { firstFrom } from "../search";
import { TimeAxis, type Range } from "./axis";
import type { Pen } from "./pen";
import { body, chartPlace, labelOf, resetButton } from "./place";
import { plot, type Point } from "./plot";
import { logDurationScale, timeScale } from "./scales";
import { captureName } from "./sides";

const HEIGHT = 210;
const STOPS = 6;

interface Cell {
  left: number;
  right: number;
  low: number;
  high: number;
  calls: number;
}

function cells(heat: Heat): Cell[] {
  const [first = 1, second = first * 1.25] = heat.upper_ns;
  const list = heat.column.map((column, at) => {
    const row = heat.row[at] ?? 0;
    const left = heat.first_ns + column * heat.width_ns;
    return {
      left,
      right: left + heat.width_ns,
      low: Math.max(1, row > 0 ? (heat.upper_ns[row - 1] ?? 1) : (first * first) / second),
      high: Math.max(2, heat.upper_ns[row] ?? 2),
      calls: heat.calls[at] ?? 0,
    };
  });
  return list.sort((a, b) => a.left - b.left || a.low - b.low);
}

/** Of `STOPS` colours the one for so many calls. */
function stop(calls: number, most: number): number {
  if (most <= 1) return STOPS - 1;
  return Math.round((Math.log(calls) / Math.log(most)) * (STOPS - 1));
}

export function heat(figure: HTMLElement, operation: Operation, report: Report): void {
  const seen = operation.seen.filter((one) => one.heat.column.length > 0).map((one) => ({ capture: one.capture, heat: one.heat, cells: cells(one.heat) }));
  if (seen.length === 0) return;
  const every = seen.flatMap((one) => one.cells);
  const most = every.reduce((value, cell) => Math.max(value, cell.calls), 1);
  const low = every.reduce((value, cell) => Math.min(value, cell.low), Infinity);
  const high = every.reduce((value, cell) => Math.max(value, cell.high), 0);
  const y: Range = [low / 1.1, high * 1.1];
  const axis = new TimeAxis([
    Math.min(0, ...seen.map(({ heat }) => heat.first_ns)),
    Math.max(report.duration_ns, ...seen.map(({ heat }) => heat.first_ns + heat.columns * heat.width_ns)),
  ]);

  if (seen.length > 1) body(figure).append(switcher());
  let shown = 0;
  const redraws: (() => void)[] = [];

  function switcher(): HTMLElement {
    const group = el("div", { class: "switch", role: "group", "aria-label": "Capture shown" });
    const buttons = seen.map(({ capture }, at) =>
      button(captureName(report, capture), () => {
        shown = at;
        buttons.forEach((one, index) => one.setAttribute("aria-pressed", String(index === at)));
        for (const redraw of redraws) redraw();
      }, { "aria-pressed": String(at === 0) }));
    group.append(...buttons);
    return group;
  }

  const host = chartPlace(figure, HEIGHT);
  resetButton(axis, figure);
  live(host, 690, (width) => {
    const make = (at: number) => {
      const here = seen[at] ?? seen[0];
      const list = here?.cells ?? [];
      return {
        draw: (pen: Pen) => {
          const widest = here?.heat.width_ns ?? 0;
          const from = firstFrom(list.map((cell) => cell.left), axis.range[0] - widest);
          for (let i = from; i < list.length; i += 1) {
            const cell = list[i] as Cell;
            if (cell.left > axis.range[1]) break;
            pen.ctx.fillStyle = colour(`heat-${stop(cell.calls, most)}`);
            const left = pen.x(cell.left);
            const top = pen.y(cell.high);
            pen.ctx.fillRect(left, top, Math.max(pen.ratio, pen.x(cell.right) - left), Math.max(pen.ratio, pen.y(cell.low) - top));
          }
        },
        points: (): Point[] =>
          list.map((cell) => ({
            x: (cell.left + cell.right) / 2,
            y: Math.sqrt(cell.low * cell.high),
            tip: () => ({
              title: plural(cell.calls, "call"),
              rows: [
                ["took", `${duration(cell.low)} to ${duration(cell.high)}`],
                ["from", position(cell.left)],
                ["to", position(cell.right)],
                ["seen in", captureName(report, here?.capture ?? 0)],
              ],
            }),
          })),
      };
    };
    const made = seen.map((_, at) => make(at));
    const drawing = plot(host, {
      label: labelOf(figure),
      height: HEIGHT,
      leftRoom: 54,
      x: timeScale(axis),
      y: logDurationScale(() => y),
      axis,
      draw: (pen) => made[shown]?.draw(pen),
      points: () => made[shown]?.points() ?? [],
    }, width);
    redraws.push(() => drawing.redraw(true));
    return drawing;
  });
  body(figure).append(scale(most));
}

/** The colours and the numbers of calls they stand for. */
function scale(most: number): HTMLElement {
  const stops = most > 1 ? Array.from({ length: STOPS }, (_, at) => at) : [stop(1, most)];
  const strip = el("canvas", { width: `${stops.length * 20}`, height: "10", "aria-hidden": "true" });
  const paint = () => {
    const ctx = strip.getContext("2d");
    stops.forEach((at, i) => {
      if (!ctx) return;
      ctx.fillStyle = colour(`heat-${at}`);
      ctx.fillRect(i * 20, 0, 20, 10);
    });
  };
  paint();
  onTheme(paint);
  const words = most > 1 ? ["1 call", strip, `${grouped(most)} calls in a cell`] : [strip, "1 call in a cell"];
  return el("p", { class: "heat-scale" }, ...words);
}
