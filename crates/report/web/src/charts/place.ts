// A figure into the places its parts go to: what the chart needs stands between the figure's title and its
// words.

import { button, el } from "../page/dom";
import type { TimeAxis } from "./axis";

/** The element that a chart is drawn into, its height kept free from the beginning. */
export function chartPlace(figure: HTMLElement, height: number): HTMLElement {
  const host = el("div", { class: "plot" });
  host.style.minHeight = `${height}px`;
  body(figure).append(host);
  return host;
}

/** Everything the script puts into a figure, in order. */
export function body(figure: HTMLElement): HTMLElement {
  let part = figure.querySelector<HTMLElement>(":scope > .drawn");
  if (!part) {
    part = el("div", { class: "drawn" });
    const caption = figure.querySelector(":scope > figcaption");
    if (caption) caption.after(part);
    else figure.append(part);
  }
  return part;
}

/** What a figure is called by those who cannot see it: its title and its words. */
export function labelOf(figure: HTMLElement): string {
  const words = figure.querySelector("figcaption")?.textContent ?? "";
  return `Chart: ${words.replace(/\s+/g, " ").trim()}`;
}

/** A button that shows all again, there as long as not all is shown. */
export function resetButton(axis: TimeAxis, figure: HTMLElement): void {
  const reset = button("Show all", () => axis.reset(), { class: "reset" });
  reset.hidden = true;
  axis.follow(() => (reset.hidden = !axis.zoomed));
  body(figure).prepend(reset);
}
