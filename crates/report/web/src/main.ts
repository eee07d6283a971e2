// The page's data and places into charts, sortable tables and buttons. Everything here only adds: without
// it the page says the same in words and tables.

import "./style/main.css";
import { heat } from "./charts/heat";
import { histogram } from "./charts/histogram";
import { load } from "./charts/load";
import { outstanding } from "./charts/outstanding";
import { percentiles } from "./charts/percentiles";
import { connectionFigures } from "./connection/figure";
import type { Report } from "./data";
import { copyButtons } from "./page/copy";
import { all } from "./page/dom";
import { watchPrinting } from "./page/live";
import { filters, foldedTables, sortableTables } from "./page/tables";
import { themeButton } from "./page/theme";
import { links } from "./page/links";

function readData(): Report | null {
  const text = document.getElementById("data")?.textContent;
  return text ? (JSON.parse(text) as Report) : null;
}

function charts(report: Report): void {
  const connections = new Map<number, HTMLElement[]>();
  for (const figure of all<HTMLElement>("figure[data-chart]")) {
    const index = Number(figure.dataset["index"]);
    const operation = report.operations[index];
    switch (figure.dataset["chart"]) {
      case "histogram":
        if (operation) histogram(figure, operation, report);
        break;
      case "percentiles":
        if (operation) percentiles(figure, operation, report);
        break;
      case "heat":
        if (operation) heat(figure, operation, report);
        break;
      case "outstanding": {
        const data = report.outstanding[index];
        if (data) outstanding(figure, data, report);
        break;
      }
      case "load": {
        const data = report.load[index];
        if (data) load(figure, data, report);
        break;
      }
      case "connection":
        connections.set(index, [...(connections.get(index) ?? []), figure]);
        break;
    }
  }
  for (const [index, figures] of connections) {
    const connection = report.connections[index];
    if (connection) connectionFigures(figures, connection, index, report);
  }
}

document.documentElement.classList.add("js");
(document.querySelector("body > header") ?? document.body).append(themeButton());
sortableTables();
filters();
foldedTables();
copyButtons();

// The answer is read before any chart, so the data is not even parsed before the page is painted.
let isPlaced = false;
function place(): void {
  if (isPlaced) return;
  isPlaced = true;
  const report = readData();
  if (report) charts(report);
  links();
}
watchPrinting(place);
requestAnimationFrame(() => setTimeout(place));
