// `.copy` (a filter or a command line) into one with a button that copies it. A page opened from a file
// may lack the clipboard's interface, so the older way stands behind it.

import { all, announce, button, el } from "./dom";

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const area = el("textarea", { class: "hidden", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    done = false;
  }
  area.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return done;
}

/** A button that copies; if copying is forbidden it selects the text in `shown` to be copied by hand. */
export function copyButton(text: () => string, what: string, shown?: HTMLElement): HTMLButtonElement {
  const label = el("span", { class: "copy-label" }, "Copy");
  const node = button("", () => {
    void copy(text()).then((done) => {
      label.textContent = done ? "Copied" : "Press Ctrl+C";
      node.classList.toggle("done", done);
      announce(done ? `${what} copied` : `${what} selected, press Ctrl and C to copy it`);
      if (!done && shown) getSelection()?.selectAllChildren(shown);
      setTimeout(() => {
        label.textContent = "Copy";
        node.classList.remove("done");
      }, 2000);
    });
  }, { class: "copy-button", "aria-label": `Copy ${what}` });
  node.append(label);
  return node;
}

/** Letters that fit five lines on any screen but a phone's. */
const LONG = 400;

export function copyButtons(): void {
  for (const place of all<HTMLElement>(".copy")) {
    const code = place.querySelector("code");
    if (!code) continue;
    // One that is longer than its box is moved with the keyboard too.
    if ((code.textContent?.length ?? 0) > LONG) code.tabIndex = 0;
    const what = place.querySelector(".label")?.textContent?.trim() ?? "text";
    place.append(copyButton(() => place.dataset["copy"] ?? code.textContent ?? "", what, code));
  }
}
