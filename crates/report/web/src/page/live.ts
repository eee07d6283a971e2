// Figures into drawings when they are needed: when one comes near the window, or all of them to print.
// A page of many charts opens at once, because nothing out of sight is drawn.

import { all } from "./dom";
import { onTheme, setPrinting } from "./theme";

export interface Drawing {
  /** Again, in other colours; and, if so, of other points. */
  redraw(afresh?: boolean): void;
  resize(width: number): void;
}

interface Figure {
  host: HTMLElement;
  /** Width on paper, in CSS pixels. */
  paper: number;
  draw: (width: number) => Drawing;
  drawing: Drawing | null;
  width: number;
}

const figures = new Map<Element, Figure>();

const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const figure = figures.get(entry.target);
      if (figure && entry.isIntersecting) show(figure, widthOf(figure));
    }
  },
  { rootMargin: "300px 0px" },
);

const sizes = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const figure = figures.get(entry.target);
    if (figure?.drawing && !printing) show(figure, widthOf(figure));
  }
});

const widthOf = (figure: Figure) => Math.floor(figure.host.clientWidth);

function show(figure: Figure, width: number): void {
  if (width < 40) return;
  if (!figure.drawing) {
    figure.drawing = figure.draw(width);
  } else if (width !== figure.width) {
    figure.drawing.resize(width);
  }
  figure.width = width;
}

/** Draws into `host` when it comes near the window. */
export function live(host: HTMLElement, paper: number, draw: (width: number) => Drawing): void {
  figures.set(host, { host, paper, draw, drawing: null, width: 0 });
  near.observe(host);
  sizes.observe(host);
}

onTheme(() => {
  for (const figure of figures.values()) figure.drawing?.redraw();
});

let printing = false;
let placed = () => {};
let opened: HTMLDetailsElement[] = [];

// What is folded on the screen would be lost on paper.
function beforePrint(): void {
  if (printing) return;
  printing = true;
  placed();
  opened = all<HTMLDetailsElement>("details:not([open])");
  for (const details of opened) details.open = true;
  setPrinting(true);
  for (const figure of figures.values()) if (figure.host.closest("[hidden]") === null) show(figure, figure.paper);
}

function afterPrint(): void {
  if (!printing) return;
  printing = false;
  for (const details of opened) details.open = false;
  setPrinting(false);
  for (const figure of figures.values()) if (figure.drawing) show(figure, widthOf(figure));
}

/** `place` puts what is drawn into the page, if it is not there yet. */
export function watchPrinting(place: () => void): void {
  placed = place;
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? beforePrint() : afterPrint()));
}
