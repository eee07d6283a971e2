#!/usr/bin/env python3
"""Holds the sample output in README.md and docs/answers.md against what slowside says, or writes it anew.

usage: readme_sample.py SLOWSIDE [--update]

The sample is the answer to the README's main job: in docs/answers.md all of it, without the operations that are
not READ or WRITE, of which an ellipsis is left; in README.md what held calls up, and the first finding with what to do.
"""

import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAIR = ["tests/lab/server-cap/server.pcap.zst", "tests/lab/server-cap/client.pcap.zst"]
START = f"```\n$ slowside {' '.join(PAIR)}\n"


def answer(slowside: str) -> list[str]:
    done = subprocess.run(
        [slowside, *PAIR], cwd=ROOT, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {done.stderr}")
    return done.stdout.rstrip().split("\n")


def whole(answer: list[str]) -> list[str]:
    lines: list[str] = []
    for line in answer:
        if line.startswith(("nfs3 ", "mount ")) and not line.startswith(("nfs3 READ ", "nfs3 WRITE ")):
            line = "…"
        if line != "…" or lines[-1:] != ["…"]:
            lines.append(line)
    return lines


def short(answer: list[str]) -> list[str]:
    parts = next(i for i, line in enumerate(answer) if line.startswith("Where a call's"))
    first = answer.index("Findings")
    advice = [i for i, line in enumerate(answer) if i > first and line.startswith("   Do: ")]
    return [*answer[:parts], "…", answer[first + 1], "…", *answer[advice[0] : advice[1]], "…"]


def main() -> int:
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    said = answer(os.path.abspath(sys.argv[1]))
    status = 0
    for page, lines in {"README.md": short(said), "docs/answers.md": whole(said)}.items():
        new = START + "\n".join(lines) + "\n```\n"
        path = os.path.join(ROOT, page)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        before, start, rest = text.partition(START)
        if not start:
            sys.exit(f"{page} has no sample")
        # The sample may be empty yet.
        _, _, after = ("\n" + rest).partition("\n```\n")
        if text == before + new + after:
            continue
        if sys.argv[2:]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(before + new + after)
            continue
        print(f"{page} shows another answer than this: scripts/readme_sample.py SLOWSIDE --update")
        print(new)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
