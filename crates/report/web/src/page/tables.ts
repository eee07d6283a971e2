// `table[data-sortable]` into one whose heads sort it; `table[data-filter]` and the list of findings into
// ones with a field that leaves only what holds the words in it; long tables into short ones that unfold.

import { all, announce, button, el } from "./dom";
import { plural } from "../format";

export function sortableTables(): void {
  for (const table of all<HTMLTableElement>("table[data-sortable]")) {
    for (const head of all<HTMLTableCellElement>("thead tr:last-child > th[data-sort]", table)) {
      const label = head.textContent?.trim() ?? "";
      const toggle = button(label, () => sort(table, head, label), { class: "sort" });
      head.replaceChildren(toggle);
    }
  }
}

function sort(table: HTMLTableElement, head: HTMLTableCellElement, label: string): void {
  const numeric = head.dataset["sort"] === "number";
  const before = head.getAttribute("aria-sort");
  // What is largest is what one looks for; text begins with A.
  const descending = before ? before === "ascending" : numeric;
  for (const other of all("thead th[aria-sort]", table)) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");

  const column = columnOf(head);
  for (const body of Array.from(table.tBodies)) {
    const rows = Array.from(body.rows).map((row, at) => ({ row, at, key: key(row.cells[column], numeric) }));
    rows.sort((a, b) => compare(a.key, b.key, descending) || a.at - b.at);
    body.append(...rows.map(({ row }) => row));
  }
  announce(`Sorted by ${label}, ${descending ? "largest" : "smallest"} first`);
}

function columnOf(head: HTMLTableCellElement): number {
  let column = 0;
  for (let cell = head.previousElementSibling; cell; cell = cell.previousElementSibling) {
    column += (cell as HTMLTableCellElement).colSpan;
  }
  return column;
}

type Key = number | string | null;

function key(cell: HTMLTableCellElement | undefined, numeric: boolean): Key {
  const text = (cell?.dataset["value"] ?? cell?.textContent ?? "").trim();
  if (!numeric) return text.toLowerCase();
  const value = text === "" ? NaN : Number(text);
  return Number.isNaN(value) ? null : value;
}

/** What is unknown comes last, whichever way. */
function compare(a: Key, b: Key, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return descending ? -order : order;
}

/** Rows of a table that are shown at first; a table of a few more is shown whole. */
const ROWS = 25;

/** Long tables show their first rows, and the rest on demand; on paper and when searched, all. */
export function foldedTables(): void {
  for (const table of all<HTMLTableElement>("table[data-sortable]")) {
    const count = Array.from(table.tBodies).reduce((sum, body) => sum + body.rows.length, 0);
    if (count < ROWS * 1.4) continue;
    table.classList.add("folded");
    const more = button(`Show all ${count} rows`, () => {
      const folded = table.classList.toggle("folded");
      more.textContent = folded ? `Show all ${count} rows` : `Show ${ROWS} rows`;
      more.setAttribute("aria-expanded", String(!folded));
    }, { class: "unfold", "aria-expanded": "false" });
    // A link leads to a row that is folded.
    table.addEventListener("reveal", ({ target }) => {
      if (target instanceof HTMLElement && target.offsetParent === null && table.classList.contains("folded")) more.click();
    });
    (table.closest(".scroll") ?? table).after(more);
  }
}

export function filters(): void {
  for (const table of all<HTMLTableElement>("table[data-filter]")) {
    const rows = Array.from(table.tBodies).flatMap((body) => Array.from(body.rows));
    if (rows.length < 4) continue;
    const name = table.dataset["filter"] || table.closest("section")?.querySelector("h2")?.textContent || "rows";
    (table.closest(".scroll") ?? table).before(filter(name.trim().toLowerCase(), rows));
  }
  const findings = all<HTMLElement>("#findings article.finding");
  const first = findings[0];
  if (first && findings.length > 5) first.before(filter("findings", findings));
}

let fields = 0;

function filter(name: string, items: HTMLElement[]): HTMLElement {
  fields += 1;
  const id = `filter-${fields}`;
  const field = el("input", { type: "search", id, autocomplete: "off", spellcheck: "false", placeholder: "words" });
  const count = el("span", { class: "count" }, `${items.length}`);
  let texts: string[] | undefined;
  const line = el("p", { class: "filter" }, el("label", { for: id }, `Filter ${name}`), field, count);
  const apply = () => {
    texts ??= items.map((item) => (item.textContent ?? "").toLowerCase());
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    items.forEach((item, at) => {
      item.hidden = !words.every((word) => texts?.[at]?.includes(word));
      if (!item.hidden) shown += 1;
    });
    items[0]?.closest("table")?.classList.toggle("searched", words.length > 0);
    line.classList.toggle("active", words.length > 0);
    count.textContent = words.length ? `${shown} of ${items.length}` : `${items.length}`;
    announce(`${plural(shown, "row")} of ${items.length} shown`);
  };
  field.addEventListener("input", apply);
  // A link leads to what is filtered away.
  for (const item of items) {
    item.addEventListener("reveal", () => {
      if (!item.hidden) return;
      field.value = "";
      apply();
    });
  }
  return line;
}
