#!/usr/bin/env python3
"""Holds metrics against Prometheus' own parser, and against `ops`.

usage: metrics_checks.py SLOWSIDE CAPTURE…

`ops --format openmetrics` must be valid OpenMetrics text, count what `ops --by op,server` counts, and so must what
`live --metrics` answers over HTTP while it reads the same packets. What `live --otlp` pushes must be a request by
OpenTelemetry's own definition, with the same counts. What is made of it, prometheus_checks.py looks at.
Needs Python 3.9 with prometheus-client and opentelemetry-proto, as
  python3 -m venv V && V/bin/pip install prometheus-client opentelemetry-proto
"""

import csv
import http.server
import io
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE
from prometheus_client.openmetrics.parser import text_string_to_metric_families

TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# Of files there is no present.
ONLY_LIVE = {
    "slowside_outstanding", "slowside_tcp_packets", "slowside_tcp_payload_bytes",
    "slowside_tcp_retransmitted_packets", "slowside_round_trips", "slowside_round_trips_seconds",
    "slowside_verdict", "slowside_finding",
}  # fmt: skip

csv.field_size_limit(1 << 30)


def run(*words: str, given: bytes = b"") -> str:
    done = subprocess.run(words, input=given, capture_output=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(words)}: {done.stderr.decode().strip()}")
    return done.stdout.decode()


def families(text: str) -> dict:
    """By name; the parser refuses what is not valid."""
    return {family.name: family for family in text_string_to_metric_families(text)}


def values(known: dict, sample: str) -> dict:
    """Of all samples with this name, by protocol, operation and server."""
    found = {}
    for family in known.values():
        for s in family.samples:
            if s.name == sample:
                key = tuple(s.labels.get(name, "") for name in ("protocol", "op", "server"))
                found[key] = found.get(key, 0) + s.value
    return found


def of_ops(slowside: str, path: str) -> list[dict]:
    text = run(slowside, "ops", path, "--by", "op,server", "--format", "csv", "--raw-cells", "-q")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def differences(known: dict, rows: list[dict]) -> list[str]:
    """Where counts are not those of `ops`."""
    wrong = []
    columns = {
        "slowside_response_time_seconds_count": "count",
        "slowside_wait_seconds_count": "count",
        "slowside_transfer_seconds_count": "count",
        "slowside_errors_total": "errors",
        "slowside_retransmits_total": "retransmits",
        "slowside_request_bytes_total": "request_bytes",
        "slowside_response_bytes_total": "response_bytes",
        "slowside_no_response_total": "no_response",
        "slowside_no_request_total": "no_request",
        "slowside_incomplete_total": "incomplete",
    }
    for sample, column in columns.items():
        expected = {(r["protocol"], r["op"], r["server"]): int(r[column]) for r in rows}
        if values(known, sample) != expected:
            wrong.append(f"{sample}: {values(known, sample)}, not {expected}")
    times = {(r["protocol"], r["op"], r["server"]): int(r["total_ns"]) / 1e9 for r in rows}
    parts = {}
    for sample in ("slowside_wait_seconds_sum", "slowside_transfer_seconds_sum"):
        for key, value in values(known, sample).items():
            parts[key] = parts.get(key, 0) + value
    for name, sums in {
        "response times": values(known, "slowside_response_time_seconds_sum"),
        "parts": parts,
    }.items():
        if sums.keys() != times.keys() or any(abs(sums[k] - times[k]) > 1e-6 for k in times):
            wrong.append(f"{name}: {sums}, not {times}")
    return wrong


class Live:
    """`slowside live` that has read a file from standard input and waits for more."""

    def __init__(self, slowside: str, packets: bytes, *words: str):
        self.process = subprocess.Popen(
            [slowside, "live", "-", "--format=json", "--metrics=127.0.0.1:0", *words],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        said = self.process.stderr.readline().decode()
        self.url = re.search(r"http://\S+", said)[0]
        self.feed(packets)

    def feed(self, packets: bytes) -> None:
        self.process.stdin.write(packets)
        self.process.stdin.flush()

    def get(self, token: str = "") -> tuple[int, str, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, headers=headers)) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.headers["Content-Type"], e.read().decode()

    def end(self) -> None:
        self.process.stdin.close()
        self.process.stderr.read()
        if self.process.wait() not in (0, 3):
            raise SystemExit("slowside live did not end well")


def unpacked(path: str) -> bytes:
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout
    return pathlib.Path(path).read_bytes()


def scraped(slowside: str, path: str, calls: int) -> dict:
    """What `live` answers once it has counted as many calls as have both halves."""
    live = Live(slowside, unpacked(path))
    before = time.monotonic()
    while True:
        status, kind, text = live.get()
        if (status, kind) != (200, TYPE):
            raise SystemExit(f"{status} {kind}: {text}")
        known = families(text)
        if sum(values(known, "slowside_response_time_seconds_count").values()) >= calls:
            break
        if time.monotonic() - before > 60:
            raise SystemExit(f"{path}: never counts {calls} calls")
        time.sleep(0.3)
    live.end()
    return known


def pushed(slowside: str, path: str) -> list:
    """The metrics of the last request that `live` pushes; a field that is not the protocol's is an error."""
    bodies = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200 if self.path == "/v1/metrics" else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    run(slowside, "live", path, "--format=json", "-q", "--otlp", f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    request = json_format.Parse(bodies[-1], ExportMetricsServiceRequest())
    (resource,) = request.resource_metrics
    (scope,) = resource.scope_metrics
    names = {a.key for a in resource.resource.attributes}
    if names != {"service.name", "service.version", "service.instance.id", "host.name"}:
        raise SystemExit(f"{path}: resource {names}")
    return scope.metrics


def otlp_differences(metrics: list, known: dict) -> list[str]:
    """Where what is pushed is not what OpenMetrics says of the same packets."""
    wrong = []
    here = {metric.name: metric for metric in metrics}
    if len(here) != len(metrics):
        wrong.append("metrics of one name")
    for name, family in known.items():
        expected = {}
        for s in family.samples:
            labels = {k: v for k, v in s.labels.items() if v}
            bound = labels.pop("le", "")
            if s.name.endswith("_bucket"):
                expected[tuple(sorted(labels.items())), float(bound)] = s.value
            elif s.name.endswith("_sum") and family.type == "histogram":
                expected[tuple(sorted(labels.items())), "sum"] = s.value
            elif not s.name.endswith("_count") or family.type != "histogram":
                expected[tuple(sorted(labels.items())), ""] = s.value
        found, metric = {}, here.pop(name, None)
        if metric is None:
            wrong += [f"{name} is not there"] if expected else []
            continue
        data = getattr(metric, metric.WhichOneof("data"))
        if metric.WhichOneof("data") != "gauge" and data.aggregation_temporality != AGGREGATION_TEMPORALITY_CUMULATIVE:
            wrong.append(f"{name} is not cumulative")
        for point in data.data_points:
            labels = tuple(sorted((a.key, a.value.string_value) for a in point.attributes))
            if metric.HasField("histogram"):
                total = 0
                for bound, count in zip([*point.explicit_bounds, float("inf")], point.bucket_counts):
                    total += count
                    found[labels, bound] = total
                found[labels, "sum"] = point.sum
                if total != point.count or not 0 < point.start_time_unix_nano <= point.time_unix_nano:
                    wrong.append(f"{name}: {point}")
            else:
                found[labels, ""] = getattr(point, point.WhichOneof("value"))
        if found != expected:
            wrong.append(f"{name}: {found}, not {expected}")
    database = here.pop("db.client.operation.duration", None)
    timed = values(known, "slowside_response_time_seconds_count")
    expected = sum(n for (protocol, *_), n in timed.items() if protocol in ("pgsql", "mysql", "tns"))
    counts = [point.count for point in database.histogram.data_points] if database else []
    if sum(counts) != expected:
        wrong.append(f"db.client.operation.duration: {counts}, not {expected}")
    wrong += [f"{name} is of no file" for name in here if name not in ONLY_LIVE]
    return wrong


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    slowside, files = sys.argv[1], sys.argv[2:]
    wrong, metrics = [], set()
    for path in files:
        rows = of_ops(slowside, path)
        text = run(slowside, "ops", path, "--format", "openmetrics", "-q")
        known = families(text)
        wrong += [f"ops {path}: {what}" for what in differences(known, rows)]
        for by in ("client,file", "connection,size,step"):
            more = families(run(slowside, "ops", path, "--format", "openmetrics", "--by", by, "-q"))
            counts = [sum(values(k, "slowside_calls_total").values()) for k in (known, more)]
            if counts[0] != counts[1]:
                wrong.append(f"ops {path} --by {by}: {counts}")
        wrong += [f"otlp {path}: {what}" for what in otlp_differences(pushed(slowside, path), known)]
        live = scraped(slowside, path, sum(int(r["count"]) for r in rows))
        timed = "slowside_response_time_seconds_count"
        if values(live, timed) != values(known, timed):
            wrong.append(f"live {path}: {values(live, timed)}, not {values(known, timed)}")
        if live.keys() - known.keys() != ONLY_LIVE or known.keys() - live.keys():
            wrong.append(f"live {path}: has {live.keys() ^ known.keys()} alone")
        metrics |= live.keys()
    for line in wrong:
        print(line)
    print(f"{len(files)} captures, {len(metrics)} metrics, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
