#!/usr/bin/env python3
"""Runs Prometheus on `slowside live --metrics`, and asks it all that dashboard and alerts of examples/metrics ask.

usage: prometheus_checks.py SLOWSIDE CAPTURE

Two of `slowside live` read the capture, one half of it after the other, so that counts grow between two scrapes; one asks
for a token. Prometheus scrapes both by the configuration of examples/metrics, with their ports put in. Metrics, labels and
values that are named there must be among what was scraped; every panel must have an answer, every alert be evaluated; and
alerts must fire and stay silent as examples/metrics/alerts_test.yml has it. Needs prometheus and promtool (Debian's
prometheus), editcap (wireshark-common), zstd, and what metrics_checks.py needs.
"""

import json
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable

import metrics_examples as examples
import yaml
from metrics_checks import Live, families, run, unpacked

TOKEN = "one-word-that-others-cannot-guess"
# A scrape a second, so that a minute's rate has several.
SCRAPE = {"scrape_interval": "1s", "evaluation_interval": "1s"}
VARIABLES = {"$instance": ".*", "$protocol": ".*", "$server": ".*", "$__rate_interval": "1m"}
# Seconds.
PATIENCE = 30


def with_drops(packets: bytes) -> bytes:
    """As pcapng, which says in the end what the kernel dropped, as that of an interface does."""
    line = ["editcap", "-F", "pcapng", "-", "-"]
    capture = subprocess.run(line, input=packets, check=True, capture_output=True).stdout
    dropped = struct.pack("<HHQ", 5, 8, 7) + struct.pack("<HH", 0, 0)
    length = 24 + len(dropped)
    return capture + struct.pack("<IIIII", 5, length, 0, 0, 0) + dropped + struct.pack("<I", length)


def until(what: str, found: Callable[[], object]) -> object:
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        if answer := found():
            return answer
        time.sleep(0.3)
    raise SystemExit(f"{what}: not within {PATIENCE} s")


class Prometheus:
    """One of this run alone, on a port that nobody has."""

    def __init__(self, folder: pathlib.Path, config: dict):
        path = folder / "prometheus.yml"
        path.write_text(yaml.safe_dump(config))
        run("promtool", "check", "config", str(path))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address={self.address}"],
            stdout=self.log, stderr=self.log,
        )  # fmt: skip

    def get(self, what: str, **asked: str) -> dict:
        url = f"http://{self.address}/api/v1/{what}?{urllib.parse.urlencode(asked)}"
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)["data"]

    def __enter__(self) -> "Prometheus":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def up(self) -> bool:
        if self.process.poll() is not None:
            self.log.seek(0)
            raise SystemExit(f"prometheus: {self.log.read()}")
        try:
            targets = self.get("targets")["activeTargets"]
        except OSError:
            return False
        return bool(targets) and all(t["health"] == "up" for t in targets)

    def ask(self, expression: str) -> list:
        for variable, value in VARIABLES.items():
            expression = expression.replace(variable, value)
        return self.get("query", query=expression)["result"]


def configuration(folder: pathlib.Path, lives: list[Live]) -> dict:
    """That of examples/metrics, for what runs here."""
    config = yaml.safe_load((examples.FOLDER / "prometheus.yml").read_text())
    config["global"] = SCRAPE
    config["rule_files"] = [str(examples.FOLDER / name) for name in config["rule_files"]]
    for job, live in zip(config["scrape_configs"], lives, strict=True):
        job["static_configs"] = [{"targets": [urllib.parse.urlparse(live.url).netloc]}]
        if "authorization" in job:
            job["authorization"]["credentials_file"] = str(folder / "token")
    return config


def differences(prometheus: Prometheus) -> list[str]:
    """What has no answer."""
    wrong = []
    alerts = {r["name"]: r for g in prometheus.get("rules")["groups"] for r in g["rules"]}
    for q in examples.questions():
        if q.asker in alerts:
            if alerts[q.asker]["health"] != "ok":
                wrong.append(f"{q.asker}: {alerts[q.asker].get('lastError')}")
        elif not prometheus.ask(q.expression):
            wrong.append(f"{q.asker}: no answer to {q.expression}")
    for metric, label in examples.variables():
        asked = {"match[]": metric}
        if not prometheus.get(f"label/{label}/values", **asked):
            wrong.append(f"a variable: {metric} has no {label}")
    return wrong


def settled(prometheus: Prometheus) -> list[str]:
    """What has none either once there were more scrapes: a rate takes two that have the metric."""
    began = time.monotonic()
    while (wrong := differences(prometheus)) and time.monotonic() - began < PATIENCE:
        time.sleep(1)
    return wrong


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    slowside, capture = sys.argv[1:]
    packets = with_drops(unpacked(capture))
    half = len(packets) // 2
    run("promtool", "check", "rules", str(examples.FOLDER / "alerts.yml"))
    run("promtool", "test", "rules", str(examples.FOLDER / "alerts_test.yml"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        token = folder / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        lives = [
            Live(slowside, packets[:half]),
            Live(slowside, packets[:half], f"--metrics-token-file={token}"),
        ]
        with Prometheus(folder, configuration(folder, lives)) as prometheus:
            until("both are scraped", prometheus.up)
            until("calls are counted", lambda: len(prometheus.ask("sum by (job) (slowside_calls_total) > 0")) == 2)
            for live in lives:
                live.feed(packets[half:])
            until("a verdict of both", lambda: len(prometheus.ask("slowside_verdict == 1")) == 2)
            until("calls grow", lambda: len(prometheus.ask("sum by (job) (rate(slowside_calls_total[1m])) > 0")) == 2)
            known = families(lives[0].get()[2])
            wrong = examples.unknown(list(known.values())) + settled(prometheus)
        for live in lives:
            live.end()
    for line in wrong:
        print(line)
    print(f"{len(known)} metrics, {len(list(examples.questions()))} questions to Prometheus, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
