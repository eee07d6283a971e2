// What is at a point of a chart, shown beside it. It follows the pointer; a click or Enter keeps it, so
// that the filter in it can be copied; Escape or a click elsewhere lets it go.

import { copyButton } from "./copy";
import { button, el } from "./dom";

export interface Tip {
  title: string;
  rows: [label: string, value: string][];
  /** Display filter that finds the packet. */
  filter?: string;
}

const box = el("div", { class: "tip" });
box.hidden = true;
let pinned = false;
let release: (() => void) | null = null;

export const tipText = (tip: Tip): string =>
  [tip.title, ...tip.rows.map(([label, value]) => `${label} ${value}`)].join(", ");

export const isPinned = (): boolean => pinned;

/** Shows `tip` at a place of the window, in CSS pixels. `released` is called when a kept one goes. */
export function showTip(tip: Tip, left: number, top: number, keep = false, released?: () => void): void {
  if (!box.isConnected) {
    document.body.append(box);
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && pinned) {
        event.stopImmediatePropagation();
        hideTip(true);
      }
    }, true);
    addEventListener("pointerdown", (event) => {
      if (pinned && !box.contains(event.target as Node)) hideTip(true);
    }, true);
  }
  pinned = keep;
  release = released ?? null;
  const list = el("dl");
  for (const [label, value] of tip.rows) list.append(el("dt", {}, label), el("dd", {}, value));
  box.replaceChildren(el("p", { class: "tip-title" }, tip.title), list);
  if (tip.filter) {
    const code = el("code", {}, tip.filter);
    const line = el("p", { class: "tip-filter" }, code);
    const { filter } = tip;
    if (keep) line.append(copyButton(() => filter, "filter", code));
    box.append(line);
    if (!keep) box.append(el("p", { class: "tip-hint" }, "click to keep this and copy the filter"));
  }
  if (keep) box.prepend(button("×", () => hideTip(true), { class: "tip-close", "aria-label": "Close" }));
  box.classList.toggle("pinned", keep);
  box.hidden = false;
  place(left, top);
}

/** Beside the point, on the side where there is room. */
function place(left: number, top: number): void {
  const { width, height } = box.getBoundingClientRect();
  const gap = 14;
  const room = document.documentElement.clientWidth;
  let x = left + gap + width < room ? left + gap : left - gap - width;
  x = Math.max(4, Math.min(x, room - width - 4));
  let y = top - height - gap;
  if (y < 4) y = top + gap;
  box.style.left = `${x + scrollX}px`;
  box.style.top = `${y + scrollY}px`;
}

export function hideTip(force = false): void {
  if (pinned && !force) return;
  const tell = pinned ? release : null;
  pinned = false;
  release = null;
  box.hidden = true;
  tell?.();
}

/** Where the keyboard goes when a tip was kept with it. */
export function focusTip(): void {
  (box.querySelector<HTMLElement>(".copy-button") ?? box.querySelector<HTMLElement>("button"))?.focus();
}
