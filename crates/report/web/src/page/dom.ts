// Elements from a tag, attributes and children. Text is always set as text, never parsed: names and SQL
// come from captures, and whoever wrote them may not be a friend.

export type Child = Node | string | null | undefined;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child != null) node.append(child);
  return node;
}

export function button(label: string, pressed: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const node = el("button", { type: "button", ...attributes }, label);
  node.addEventListener("click", pressed);
  return node;
}

export function all<T extends Element>(selector: string, within: ParentNode = document): T[] {
  return Array.from(within.querySelectorAll<T>(selector));
}

let region: HTMLElement | undefined;

/** Says something to those who listen to the page instead of looking at it. */
export function announce(text: string): void {
  if (!region) {
    region = el("p", { class: "hidden", role: "status", "aria-live": "polite" });
    document.body.append(region);
  }
  // The same text twice would not be read again.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}
