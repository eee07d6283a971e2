// The colour of what one capture saw: that of the side it was taken at.

import type { Capture, Report } from "../data";

export function captureColour(report: Report, capture: number): string {
  return sideColour(report.captures[capture]?.side ?? "unknown", capture);
}

function sideColour(side: Capture["side"], capture: number): string {
  if (side === "client" || side === "server") return side;
  return capture === 0 ? "one" : "two";
}

/** "client.pcap", with its side if the name does not say it. */
export function captureName(report: Report, capture: number): string {
  const it = report.captures[capture];
  if (!it) return `capture ${capture + 1}`;
  const known = it.side === "client" || it.side === "server";
  return known && !it.label.includes(it.side) ? `${it.label} (${it.side})` : it.label;
}
