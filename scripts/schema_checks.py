#!/usr/bin/env python3
"""Holds what slowside writes for programs against docs/schemas, with Python's jsonschema.

usage: schema_checks.py SLOWSIDE CAPTURE_OR_TRACE…

Each file is given to every command that writes JSON and takes it. A property that no schema describes is an
error here, although readers are told to expect further ones. Needs Python 3.9 and jsonschema 4
(python3-jsonschema).
"""

import json
import os
import subprocess
import sys

from jsonschema import Draft202012Validator

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "schemas")

# What is asked of a file, and the schema of each line, or None where the answer names its own.
CAPTURE = [
    (["diagnose", "--format", "json"], None),
    (["ops", "--by", "op,client,server,connection,file,size,time=1s", "--format", "json"], None),
    (["conns", "--format", "json"], None),
    (["sql", "--by", "statement,user,program", "--show-literals", "--format", "json"], None),
    (["whatif", "--rtt", "5ms", "--format", "json"], None),
    (["calls", "--format", "jsonl"], "slowside.calls/1"),
    (["conns", "--series", "100ms", "--format", "jsonl"], "slowside.series/1"),
    (["live", "--interval", "100ms", "--when", "rtt>1us", "--format", "json"], "slowside.live/1"),
]
TRACE = [(["trace", "--format", "json"], None)]


def closed(schema: object) -> object:
    """The schema with nothing allowed beyond what it describes."""
    if isinstance(schema, dict):
        inner = {key: closed(value) for key, value in schema.items()}
        if "properties" in inner:
            inner.setdefault("additionalProperties", False)
        return inner
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    return schema


def load() -> dict[str, Draft202012Validator]:
    validators = {}
    for name in sorted(os.listdir(SCHEMAS)):
        with open(os.path.join(SCHEMAS, name), encoding="utf-8") as file:
            schema = json.load(file)
        Draft202012Validator.check_schema(schema)
        validators[schema["title"]] = Draft202012Validator(closed(schema))
    return validators


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    validators = load()
    slowside, files = sys.argv[1], sys.argv[2:]
    answers, wrong = 0, set()
    for file in files:
        for (command, *options), title in TRACE if ".trc" in file else CAPTURE:
            done = subprocess.run(
                [slowside, command, *options, file], capture_output=True, text=True
            )
            if done.returncode == 2:
                wrong.add(f"{command} {file}: {done.stderr.strip()}")
                continue
            texts = done.stdout.splitlines() if title else [done.stdout]
            for value in map(json.loads, texts):
                answers += 1
                name = title or value["schema"]
                for error in validators[name].iter_errors(value):
                    place = "/".join(str(p) for p in error.path if isinstance(p, str))
                    wrong.add(f"{name} {place}: {error.message[:200]} ({file})")
    for line in sorted(wrong):
        print(line)
    print(f"{answers} answers and rows, {len(wrong)} kinds of errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
