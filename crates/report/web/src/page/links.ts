// A link to something folded opens it, so that a row of a table leads to its charts.

import { all } from "./dom";

function open(): void {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id ? document.getElementById(id) : null;
  if (!target) return;
  const folded = target.closest("details") ?? target.querySelector(":scope > details");
  if (folded) folded.open = true;
  target.scrollIntoView();
}

export function linkedDetails(): void {
  addEventListener("hashchange", open);
  // The same link again changes no hash.
  for (const link of all<HTMLAnchorElement>('a[href^="#"]')) {
    link.addEventListener("click", () => {
      if (link.hash === location.hash) open();
    });
  }
  if (location.hash) open();
}
