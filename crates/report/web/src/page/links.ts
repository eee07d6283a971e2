// Links within the page into what they name: what is folded or filtered away is opened, wherever the link came
// from, and going back leads to where one was. What is opened by hand, and what the sign beside a heading is
// pressed on, stands in the address bar, to be kept.

import { all, el } from "./dom";

/** What an address names; nothing if there is no such thing on this page. */
function named(hash: string): HTMLElement | null {
  try {
    return document.getElementById(decodeURIComponent(hash.slice(1)));
  } catch {
    // A percent sign that begins no character.
    return document.getElementById(hash.slice(1));
  }
}

/** Opens all that `target` lies in, itself too. */
function unfold(target: HTMLElement): void {
  for (let around = target.closest("details"); around; around = around.parentElement?.closest("details") ?? null) around.open = true;
  // Tables know themselves which of their rows they hide.
  target.dispatchEvent(new CustomEvent("reveal", { bubbles: true }));
}

function show(behavior: ScrollBehavior = "auto"): void {
  const target = named(location.hash);
  if (!target) return;
  unfold(target);
  target.scrollIntoView({ behavior });
}

/** The address bar names `id`, as if a link had been followed, without another step to go back over. */
function name(id: string): void {
  try {
    history.replaceState({ seen: true }, "", `#${id}`);
  } catch {
    // Some browsers forbid it to pages of files; then the sign beside a heading is what names it.
  }
}

function signs(): void {
  for (const heading of all<HTMLElement>("section[id] > h2, article[id] > h3")) {
    const at = heading.parentElement as HTMLElement;
    const sign = el("a", { class: "self", href: `#${at.id}`, "aria-label": `Link to ${heading.textContent?.replace(/\s+/g, " ").trim() ?? ""}` }, "#");
    at.prepend(sign);
  }
}

/** Once what gives the page its height is there. */
export function links(): void {
  signs();
  document.addEventListener("click", ({ target }) => {
    const at = target instanceof Element ? target : null;
    // The same link again changes no address, and is no step.
    const link = at?.closest<HTMLAnchorElement>('a[href^="#"]');
    if (link && link.hash === location.hash) show();
    const details = at?.closest("summary")?.closest<HTMLDetailsElement>("details[id]");
    if (details && !details.open) name(details.id);
  });
  // A step back, or forward again, is to a place that was seen: the browser finds it again, so it is only unfolded.
  addEventListener("popstate", ({ state }) => {
    if ((state as { seen?: boolean } | null)?.seen) {
      const target = named(location.hash);
      if (target) unfold(target);
      return;
    }
    history.replaceState({ seen: true }, "");
    show();
  });
  history.replaceState({ seen: true }, "");
  // The browser went there before the page had its height.
  if (location.hash) show("instant");
}
