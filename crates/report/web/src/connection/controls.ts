// The buttons above a connection's plots: which capture, which direction, and the time axis for those who
// do not drag.

import type { TimeAxis } from "../charts/axis";
import { duration, timeLabels } from "../format";
import { button, el } from "../page/dom";

/** One of several, as buttons of which one is pressed. */
export function choice(label: string, names: string[], chosen: number, choose: (at: number) => void): HTMLElement {
  const buttons = names.map((name, at) =>
    button(name, () => {
      buttons.forEach((one, index) => one.setAttribute("aria-pressed", String(index === at)));
      choose(at);
    }, { "aria-pressed": String(at === chosen) }));
  return el("div", { class: "switch", role: "group", "aria-label": label }, ...buttons);
}

export function zoomButtons(axis: TimeAxis): HTMLElement {
  const shown = el("output", { class: "range" });
  const out = button("−", () => axis.zoom(2), { "aria-label": "Zoom out", title: "Zoom out (−)" });
  const back = button("←", () => axis.pan(-0.5), { "aria-label": "Earlier", title: "Earlier (←)" });
  const on = button("→", () => axis.pan(0.5), { "aria-label": "Later", title: "Later (→)" });
  const every = button("Show all", () => axis.reset(), { title: "Show all (Esc, double click)" });
  const tell = () => {
    const [from, to] = axis.range;
    shown.textContent = axis.zoomed ? `${timeLabels([from, to], (to - from) / 100).join(" to ")} (${duration(to - from)})` : "all of it";
    for (const one of [out, back, on, every]) one.disabled = !axis.zoomed;
  };
  tell();
  axis.follow(tell);
  const bar = el("div", { class: "zoom", role: "group", "aria-label": "Time shown" });
  bar.append(out, button("+", () => axis.zoom(0.5), { "aria-label": "Zoom in", title: "Zoom in (+)" }), back, on, every, shown);
  return bar;
}
