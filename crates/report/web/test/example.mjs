// A report's page made up without slowside: data in the shape of src/data.ts, in the frame that the
// report writes, around the built script and style. The same numbers every time.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, "..", "..", "assets");

/** Numbers from 0 to 1, the same in each run. */
function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const MS = 1_000_000;

/** One direction of `points` points over `duration` ns. */
function direction(random, points, duration, size, origin) {
  const d = {
    segments: { time_ns: [], from: [], to: [], frame: [], kind: [] },
    acks: { time_ns: [], acknowledged: [], window_end: [], frame: [] },
    rtt: { time_ns: [], ns: [], frame: [] },
    flight: { time_ns: [], bytes: [], window: [], frame: [] },
    throughput: { width_ns: 50 * MS, time_ns: [], payload_bps: [], segments: [], segment_min: [], segment_mean: [], segment_max: [], retransmitted: [] },
    band: { first_ns: 0, until_ns: [], class: [] },
  };
  let at = origin;
  let time = 5 * MS;
  for (let i = 0; i < points; i += 1) {
    // A silence, some losses, and fast stretches between.
    time += Math.round((duration / points) * (0.2 + 1.5 * random()));
    if (i === Math.floor(points * 0.6)) time += Math.round(duration * 0.08);
    if (time > duration) time = duration;
    const kind = random() < 0.02 ? 1 : random() < 0.004 ? 2 : random() < 0.004 ? 3 : random() < 0.002 ? 4 : 0;
    const length = Math.round(size * (0.3 + 0.7 * random()));
    const from = kind === 1 || kind === 2 ? Math.max(origin, at - 3 * length) : at;
    d.segments.time_ns.push(time);
    d.segments.from.push(from);
    d.segments.to.push(from + length);
    d.segments.frame.push(3 * i + 7);
    d.segments.kind.push(kind);
    if (kind === 0) at += length;
    const rtt = Math.round(MS * (0.8 + 3 * random() ** 4 + (kind ? 20 : 0)));
    d.acks.time_ns.push(Math.min(duration, time + rtt));
    d.acks.acknowledged.push(at);
    d.acks.window_end.push(i % 50 < 48 ? at + 262144 : null);
    d.acks.frame.push(3 * i + 9);
    d.rtt.time_ns.push(Math.min(duration, time + rtt));
    d.rtt.ns.push(rtt);
    d.rtt.frame.push(3 * i + 9);
    d.flight.time_ns.push(time);
    d.flight.bytes.push(Math.round(200000 * random() ** 2));
    d.flight.window.push(262144);
    d.flight.frame.push(3 * i + 7);
  }
  for (let t = 0; t < duration; t += d.throughput.width_ns) {
    const quiet = t > duration * 0.6 && t < duration * 0.68;
    d.throughput.time_ns.push(t);
    d.throughput.payload_bps.push(quiet ? 0 : Math.round(8e7 * (0.5 + 0.5 * random())));
    d.throughput.segments.push(quiet ? 0 : 40);
    d.throughput.segment_min.push(quiet ? null : Math.round(size * 0.3));
    d.throughput.segment_mean.push(quiet ? null : Math.round(size * 0.7));
    d.throughput.segment_max.push(quiet ? null : size);
    d.throughput.retransmitted.push(random() < 0.1 ? 2 : 0);
  }
  let until = 0;
  while (until < duration) {
    until = Math.min(duration, until + Math.round(duration * 0.03 * random() ** 2 + MS));
    d.band.until_ns.push(until);
    d.band.class.push(Math.floor(random() * 11));
  }
  for (const list of [d.acks, d.rtt]) {
    // Made out of order by the round trips.
    const order = list.time_ns.map((_, i) => i).sort((a, b) => list.time_ns[a] - list.time_ns[b] || a - b);
    for (const column of Object.keys(list)) list[column] = order.map((i) => list[column][i]);
  }
  return d;
}

function latency(random, count, typical) {
  const upper = Array.from({ length: 24 }, (_, i) => Math.round(typical * 2 ** ((i - 8) / 3)));
  const calls = upper.map((_, i) => Math.round(count * 0.16 * Math.exp(-((i - 8) ** 2) / 12) + (i > 14 ? 3 * random() : 0)));
  const percent = [1, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100];
  return {
    count: calls.reduce((a, b) => a + b, 0),
    histogram: { upper_ns: upper, calls },
    percentiles: { percent, ns: percent.map((_, i) => Math.round(typical * 0.5 * 1.6 ** i)) },
  };
}

function heat(random, duration, typical) {
  const it = { first_ns: 0, width_ns: duration / 120, columns: 120, upper_ns: Array.from({ length: 20 }, (_, i) => Math.round(typical * 2 ** ((i - 8) / 2))), column: [], row: [], calls: [] };
  for (let column = 0; column < 120; column += 1) {
    for (let row = 0; row < 20; row += 1) {
      const calls = Math.round(300 * Math.exp(-((row - 7 - 4 * Number(column > 70 && column < 85)) ** 2) / 3) * random());
      if (calls > 0) {
        it.column.push(column);
        it.row.push(row);
        it.calls.push(calls);
      }
    }
  }
  return it;
}

export function data({ connections = 2, views = 2, points = 400, seed = 1, name = "READ" } = {}) {
  const random = chance(seed);
  const duration = 12_000 * MS;
  const both = [0, 1].slice(0, views);
  return {
    schema: "slowside.report/1",
    start: { epoch_ns: "1795175226154870368", utc: "2026-11-20 11:47:06.154870368 UTC" },
    duration_ns: duration,
    captures: [
      { label: "client.pcap", side: "client", files: ["client.pcap0", "client.pcap1"] },
      { label: "server.pcap", side: "server", files: ["server.pcap"] },
    ].slice(0, views),
    operations: [name, "WRITE"].map((operation, i) => ({
      protocol: "nfs3",
      name: operation,
      seen: both.map((capture) => ({ capture, latency: latency(random, 5000, (2 + i - capture) * MS), heat: heat(random, duration, (2 + i - capture) * MS) })),
    })),
    outstanding: both.map((capture) => {
      const time = Array.from({ length: 240 }, (_, i) => i * 50 * MS);
      const max = time.map((_, i) => Math.round(4 + 20 * Math.abs(Math.sin(i / 30)) + 4 * random()));
      return { capture, scope: "all clients → 10.0.0.2:2049", width_ns: 50 * MS, time_ns: time, max, mean: max.map((n) => n * 0.7) };
    }),
    load: both.map((capture) => {
      const outstanding = Array.from({ length: 32 }, (_, i) => i + 1);
      return {
        capture, scope: "all clients → 10.0.0.2:2049", operation: name, outstanding,
        calls: outstanding.map((n) => Math.round(200 * Math.exp(-((n - 12) ** 2) / 80)) + 1),
        mean_ns: outstanding.map((n) => Math.round(4 * MS * Math.max(1, n / 8) * (0.95 + 0.1 * random()))),
        cap: { outstanding: 8, code: "server-concurrency-cap", side: "server" },
      };
    }),
    connections: Array.from({ length: connections }, (_, c) => ({
      number: c + 1, client: `10.0.0.${c + 10}:${40000 + c}`, server: "10.0.0.2:2049", protocol: "nfs3", why: "waited 4.3 s, most of it loss-recovery",
      views: both.map((capture) => {
        const directions = [direction(random, points, duration, 200, 0), direction(random, points, duration, 65160, c === 1 ? 2 ** 53 - 2 ** 31 : 0)];
        if (capture === 0) for (const d of directions) d.segments.file = d.segments.frame.map((_, i) => (i * 2 < points ? 0 : 1));
        return { capture, packets: 100000, points: points * 8, points_seen: 90000, bucket_ns: 12 * MS, directions };
      }),
    })),
    ladders: [],
  };
}

/** What the page of a comparison has: two runs, and their response times. */
export function comparison() {
  const it = data();
  it.captures = ["baseline", "problem"].map((run) => ({ label: `${run}: ${run}.pcap`, side: "unknown", files: [`${run}.pcap`] }));
  for (const seen of it.operations.flatMap((operation) => operation.seen)) delete seen.heat;
  return { ...it, outstanding: [], load: [], connections: [], ladders: [] };
}

const escape = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** What a connection is called in the page's address. */
export const anchor = ({ client, server }) => escape(`connection-${client}-${server}`);

const figure = (chart, index, title, text, view) =>
  `<figure class="chart" data-chart="${chart}" data-index="${index}"${view === undefined ? "" : ` data-view="${view}"`}><figcaption><span class="title">${escape(title)}</span> <span class="text">${escape(text)}</span></figcaption></figure>`;

export function page(report, { rows = 8 } = {}) {
  const policy = Object.fromEntries(readFileSync(join(assets, "csp.txt"), "utf8").trim().split("\n").map((line) => line.split(" ")));
  const json = JSON.stringify(report).replaceAll("<", "\\u003c").replaceAll("&", "\\u0026");
  const random = chance(7);
  const lines = Array.from({ length: rows }, (_, i) => {
    const mean = Math.round(20 * MS * random());
    return `<tr id="operation-nfs3-OP${i}"><th scope="row"><a href="#operation-nfs3-OP${i}">nfs3 OP${i}</a></th><td class="number" data-value="${i * 31}">${i * 31}</td><td class="number" data-value="${i === 3 ? "" : mean}">${i === 3 ? "-" : (mean / MS).toFixed(2)}</td></tr>`;
  });
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '${policy["report.css"]}'; script-src '${policy["report.js"]}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>The SERVER is slow</title>
<style>${readFileSync(join(assets, "report.css"), "utf8")}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the answer</a>
<header>
  <p class="what"><span class="product">slowside</span> client.pcap, server.pcap · <time>2026-11-20 11:47:06 UTC</time> · 12.0 s</p>
  <nav aria-label="Sections"><ul><li><a href="#findings">Findings</a></li><li><a href="#operations">Operations</a></li><li><a href="#connections">Connections</a></li></ul></nav>
</header>
<main id="main">
<section id="verdict" data-side="server"><h1>The SERVER is slow: of 20.5 ms per call it holds 18.6 ms, mostly queueing.</h1>
<p class="cost">It costs 13.9 s of 18.6 s of call time.</p><p class="confidence">Confidence high (85 %).</p></section>
<nav class="questions" aria-label="Questions"><ul><li><a href="#findings">Which side, why, and what to do?</a></li><li><a href="#operations">Which operations were slow, and when?</a></li><li><a href="#connections">Was it loss, a window, the path?</a></li></ul></nav>
<section id="findings"><h2>Findings</h2>
<article class="finding" id="finding-server-concurrency-cap" data-side="server"><h3><span class="code">server-concurrency-cap</span> <span class="side">server</span> <span class="cost">13.9 s</span></h3>
<p class="why">It answers about 3 calls at a time.</p>
<div class="evidence"><div class="copy" data-what="filter"><span class="label">Wireshark</span><code>frame.number in {2166,2174}</code></div></div></article></section>
<section id="operations"><h2>Operations</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Operations"><table class="numbers" data-sortable data-filter><caption>Response times in ms</caption>
<thead><tr><td></td><th scope="colgroup" colspan="2">client</th></tr><tr><th scope="col" data-sort="text">op</th><th scope="col" class="number" data-sort="number">calls</th><th scope="col" class="number" data-sort="number">mean</th></tr></thead>
<tbody>${lines.join("\n")}</tbody></table></div>
${report.operations.map((operation, i) => `<details class="operation" id="operation-${i ? "nfs3-WRITE" : "nfs3-READ"}"${i ? "" : " open"}><summary><h3>${escape(`${operation.protocol} ${operation.name}`)}</h3></summary><div class="charts">
${figure("histogram", i, "Response times", "Half of the calls took up to 2 ms.")}${figure("percentiles", i, "Percentiles", "99 of 100 took up to 9 ms.")}${operation.seen.some((one) => one.heat) ? figure("heat", i, "Response times over time", "Slower from 7 s to 8.5 s.") : ""}</div></details>`).join("\n")}</section>
<section id="load"><h2>Load</h2><div class="charts">
${report.outstanding.map((_, i) => figure("outstanding", i, "Calls outstanding", "At most 28 at once.")).join("")}
${report.load.map((_, i) => figure("load", i, "READ against calls outstanding", "Rises from 8 on.")).join("")}</div></section>
<section id="connections"><h2>Connections</h2>
${report.connections.map((connection, i) => `<article class="connection" id="${anchor(connection)}"><h3><span class="number">${connection.number}</span> ${escape(connection.client)} → ${escape(connection.server)}</h3><p class="why">${escape(connection.why)}</p>
${connection.views.map((view, v) => figure("connection", i, `As ${report.captures[view.capture].label} saw it`, `${view.points} of ${view.points_seen} points are drawn: the extremes of each 12 ms.`, v)).join("\n")}</article>`).join("\n")}</section>
</main>
<footer id="about"><p>Made by hand.</p></footer>
<script type="application/json" id="data">${json}</script>
<script>${readFileSync(join(assets, "report.js"), "utf8")}</script>
</body>
</html>
`;
}
