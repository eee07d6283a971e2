#!/usr/bin/env python3
"""Holds the sample output in README.md against what slowside says, or writes it anew.

usage: readme_sample.py SLOWSIDE [--update]

The sample is the answer to the README's main job without the operations that are not READ or WRITE, of
which an ellipsis is left.
"""

import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAIR = ["tests/lab/server-cap/server.pcap.zst", "tests/lab/server-cap/client.pcap.zst"]
START = f"```\n$ slowside {' '.join(PAIR)}\n"


def sample(slowside: str) -> str:
    done = subprocess.run(
        [slowside, *PAIR], cwd=ROOT, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {done.stderr}")
    lines: list[str] = []
    for line in done.stdout.rstrip().split("\n"):
        if line.startswith(("nfs3 ", "mount ")) and not line.startswith(("nfs3 READ ", "nfs3 WRITE ")):
            line = "…"
        if line != "…" or lines[-1:] != ["…"]:
            lines.append(line)
    return START + "\n".join(lines) + "\n```\n"


def main() -> int:
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    new = sample(os.path.abspath(sys.argv[1]))
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, _, rest = text.partition(START)
    _, _, after = rest.partition("\n```\n")
    if text == before + new + after:
        return 0
    if sys.argv[2:]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + new + after)
        return 0
    print("README.md shows another answer than this: scripts/readme_sample.py SLOWSIDE --update")
    print(new)
    return 1


if __name__ == "__main__":
    sys.exit(main())
