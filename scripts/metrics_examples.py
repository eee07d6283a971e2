"""What the dashboard and the alerts of examples/metrics ask for, and what of that is in no scrape."""

import json
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "metrics"
# What Prometheus itself adds.
ADDED = {"instance", "job"}


@dataclass
class Question:
    """An expression, who asks it, and the texts that are filled in from its labels."""

    asker: str
    expression: str
    texts: list[str]


def variables() -> list[tuple[str, str]]:
    """Metric and label of each variable of the dashboard that has one."""
    board = json.loads((FOLDER / "dashboard.json").read_text())
    queries = [v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    return [re.fullmatch(r"label_values\((\w+), (\w+)\)", q).groups() for q in queries]


def questions() -> Iterator[Question]:
    board = json.loads((FOLDER / "dashboard.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            texts = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
            yield Question(panel["title"], target["expr"], texts)
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            texts = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
            yield Question(rule["alert"], rule["expr"], texts)


def unknown(families: list) -> list[str]:
    """What is asked for of metrics, labels and their values that none of these families has."""
    known: dict[str, dict[str, set[str]]] = {}
    for family in families:
        for sample in family.samples:
            labels = known.setdefault(sample.name, {})
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    wrong = []
    for metric, label in variables():
        if label not in {*known.get(metric, {}), *ADDED}:
            wrong.append(f"a variable: {metric} has no label {label}")
    for q in questions():
        labels = set(ADDED)
        for metric, chosen in re.findall(r"\b(slowside_\w+)(?:\{(.*?)\})?", q.expression):
            if metric not in known:
                wrong.append(f"{q.asker}: there is no {metric}")
                continue
            labels |= known[metric].keys()
            for label, how, value in re.findall(r'(\w+)(=~|!~|!=|=)"(.*?)"', chosen):
                if label not in {*known[metric], *ADDED}:
                    wrong.append(f"{q.asker}: {metric} has no label {label}")
                elif how in ("=", "!=") and value not in known[metric].get(label, {value}):
                    wrong.append(f'{q.asker}: no {metric} has {label}="{value}"')
        groups = [set(re.findall(r"\w+", g)) for g in re.findall(r"\bby \((.*?)\)", q.expression)]
        wrong += [f"{q.asker}: no label {label}" for group in groups for label in group - labels]
        kept = set.intersection(*groups) if groups else labels
        wrong += [f"{q.asker}: no label {label} in the answer" for label in set(q.texts) - kept]
    return wrong
