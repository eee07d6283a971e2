#!/usr/bin/env python3
"""Fails when a dependency's licence is not one that slowside may be shipped with.

Reads `cargo metadata --locked` and the SPDX expression of every dependency that is not a member of
the workspace, development dependencies included; and those of the report's page from its lock file.
What is allowed stands in deny.toml; cargo-deny, which reads it too, knows only crates and is not
installed everywhere. Needs Python 3.11 and cargo, nothing else.

What a report carries inside itself comes with its notice: uPlot (MIT), whose whole licence stands at the
head of crates/report/assets/report.js and report.css. It is put there by crates/report/web/build.mjs,
and missed here.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPORT = ROOT / "crates" / "report"

# One list for both: that of cargo deny.
ALLOWED = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])


# What builds or tests the page and is in nothing that is shipped, so that its licence asks for nothing.
TOOLS = {"axe-core": "MPL-2.0"}


class Malformed(Exception):
    """An expression that is not SPDX."""


def allowed(expression: str) -> bool:
    """Whether an SPDX licence expression can be met with allowed licences alone.

    The grammar of SPDX 2.3, annex D: WITH binds closest, then AND, then OR. A slash means OR in
    manifests from before Cargo took SPDX.
    """
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def peek() -> str:
        return tokens[position] if position < len(tokens) else ""

    def take() -> str:
        nonlocal position
        token = peek()
        position += 1
        return token

    def either() -> bool:
        value = both()
        while peek().upper() == "OR":
            take()
            # Both sides are parsed, so that a malformed one is noticed.
            right = both()
            value = value or right
        return value

    def both() -> bool:
        value = one()
        while peek().upper() == "AND":
            take()
            right = one()
            value = value and right
        return value

    def one() -> bool:
        token = take()
        if token == "(":
            value = either()
            if take() != ")":
                raise Malformed("a parenthesis is left open")
            return value
        if not token or token == ")" or token.upper() in {"AND", "OR", "WITH"}:
            raise Malformed(f"a licence is missing before {token!r}")
        if peek().upper() == "WITH":
            take()
            exception = take()
            if not exception:
                raise Malformed("WITH needs an exception")
            token = f"{token} WITH {exception}"
        return token in ALLOWED

    value = either()
    if position != len(tokens):
        raise Malformed(f"{peek()!r} is not expected")
    return value


def self_test() -> None:
    """The expressions that are easy to get wrong."""
    expected = {
        "MIT": True,
        "GPL-3.0-only": False,
        "MIT/Apache-2.0": True,
        "MIT OR GPL-3.0-only": True,
        "MIT AND GPL-3.0-only": False,
        "GPL-3.0-only OR MIT AND Zlib": True,
        "(GPL-3.0-only OR MIT) AND GPL-2.0-only": False,
        "(MIT OR Apache-2.0) AND Unicode-3.0": True,
        "Apache-2.0 WITH LLVM-exception": True,
        "Apache-2.0 WITH Unknown-exception": False,
        "GPL-3.0-only WITH LLVM-exception OR ISC": True,
    }
    for expression, value in expected.items():
        assert allowed(expression) == value, expression
    for expression in ["", "MIT OR", "(MIT", "MIT MIT", "AND MIT", "MIT WITH"]:
        try:
            allowed(expression)
        except Malformed:
            continue
        raise AssertionError(f"{expression!r} was accepted")


def is_tool(name: str, package: dict) -> bool:
    return bool(package.get("dev")) and name in TOOLS and TOOLS[name] == package.get("license")


def page_dependencies() -> list:
    """Name, licence and where to read it, of what the report's page is made with and of."""
    packages = json.loads((REPORT / "web" / "package-lock.json").read_text())["packages"]
    return [
        (f"{path.removeprefix('node_modules/')} {package['version']}", package.get("license"), "its source")
        for path, package in packages.items()
        if path and not is_tool(path.removeprefix("node_modules/"), package)
    ]


def missing_notices() -> list:
    """Licences that must stand in what is shipped, and do not."""
    notice = "Copyright (c) 2022 Leon Sorokin"
    return [
        f"crates/report/assets/{name}: the licence of uPlot ({notice}) is missing"
        for name in ["report.js", "report.css"]
        if notice not in (REPORT / "assets" / name).read_text()
    ]


def main() -> int:
    self_test()
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    members = set(metadata["workspace_members"])
    bad = missing_notices()
    packages = [
        (f"{p['name']} {p['version']}", p["license"], p["license_file"] or "its source")
        for p in metadata["packages"]
        if p["id"] not in members
    ] + page_dependencies()
    for name, expression, source in packages:
        if not expression:
            bad.append(f"{name}: no licence expression; read {source}")
            continue
        try:
            if not allowed(expression):
                bad.append(f"{name}: {expression} is not allowed")
        except Malformed as problem:
            bad.append(f"{name}: {expression!r} is no licence expression: {problem}")
    for line in bad:
        print(line, file=sys.stderr)
    if bad:
        print("Drop these dependencies, or add a permissive licence to deny.toml.", file=sys.stderr)
        return 1
    print(f"{len(packages)} dependencies, all under allowed licences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
