// Calls outstanding over time: the mean of each stretch as a line, its maximum as an area behind it.

import type { Outstanding, Report } from "../data";
import { digits, duration, position } from "../format";
import { live } from "../page/live";
import { colour } from "../page/theme";
import { within } from "../search";
import { TimeAxis } from "./axis";
import { legend } from "./legend";
import { body, chartPlace, labelOf, resetButton } from "./place";
import { plot, type Point } from "./plot";
import { countScale, fromZero, timeScale } from "./scales";
import { captureColour } from "./sides";

const HEIGHT = 190;

export function outstanding(figure: HTMLElement, data: Outstanding, report: Report): void {
  const { time_ns, max, mean, width_ns } = data;
  if (time_ns.length === 0) return;
  const hue = captureColour(report, data.capture);
  const end = (time_ns[time_ns.length - 1] ?? 0) + width_ns;
  const axis = new TimeAxis([Math.min(0, time_ns[0] ?? 0), Math.max(end, report.duration_ns)]);
  const host = chartPlace(figure, HEIGHT);
  resetButton(axis, figure);

  const points = (): Point[] =>
    time_ns.map((time, at) => ({
      x: time + width_ns / 2,
      y: max[at] ?? 0,
      tip: () => ({
        title: `at most ${digits(max[at] ?? 0)} outstanding`,
        rows: [
          ["on average", digits(mean[at] ?? 0)],
          ["from", position(time)],
          ["during", duration(width_ns)],
        ],
      }),
    }));

  live(host, 690, (width) =>
    plot(host, {
      label: labelOf(figure),
      height: HEIGHT,
      leftRoom: 48,
      x: timeScale(axis),
      y: countScale(() => {
        const [from, to] = within(time_ns, axis.range, 1);
        return fromZero(max.slice(from, to).reduce((a, b) => Math.max(a, b), 0));
      }),
      axis,
      alongX: true,
      points,
      draw: (pen) => {
        const [from, to] = within(time_ns, axis.range, 1);
        pen.steps(time_ns, max, from, to, { colour: colour(`${hue}-soft`), fill: colour(`${hue}-soft`), until: end });
        pen.steps(time_ns, mean, from, to, { colour: colour(hue), width: 1.5, until: end });
      },
    }, width),
  );
  body(figure).append(
    legend([
      { text: `most at once in each ${duration(width_ns)}`, colour: `${hue}-soft`, shape: "area" },
      { text: "on average", colour: hue, shape: "line" },
    ]),
  );
}
