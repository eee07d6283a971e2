// Light or dark, as the system says until the reader says otherwise; and the style sheet's colours for
// what is drawn on canvases, so that each colour stands in one place (style/colours.css).

import { button } from "./dom";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let chosen: "light" | "dark" | null = null;
let printing = false;
let known = new Map<string, string>();

export function isDark(): boolean {
  return !printing && (chosen ? chosen === "dark" : system.matches);
}

/** The value of the style sheet's property `--name` in the present theme. */
export function colour(name: string): string {
  let value = known.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    known.set(name, value);
  }
  return value;
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

/** Paper is light, whatever the screen is. */
export function setPrinting(on: boolean): void {
  printing = on;
  apply();
}

let darkRule: CSSMediaRule | undefined;

// The dark colours stand once, in a rule for those whose system is dark; a choice moves the rule's
// condition. With the choice as a second selector all colours would have to stand there twice.
function apply(): void {
  darkRule ??= findDarkRule();
  if (darkRule) darkRule.media.mediaText = isDark() ? "screen" : "not all";
  known = new Map();
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  for (const listener of listeners) listener();
}

function findDarkRule(): CSSMediaRule | undefined {
  for (const sheet of Array.from(document.styleSheets)) {
    for (const rule of Array.from(sheet.cssRules)) {
      if (rule instanceof CSSMediaRule && rule.media.mediaText.includes("prefers-color-scheme")) return rule;
    }
  }
  return undefined;
}

export function themeButton(): HTMLButtonElement {
  const toggle = button("", () => {
    chosen = isDark() ? "light" : "dark";
    apply();
  }, { class: "theme" });
  const label = () => {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.title = `Show this page ${isDark() ? "light" : "dark"}`;
  };
  onTheme(label);
  system.addEventListener("change", apply);
  apply();
  return toggle;
}
