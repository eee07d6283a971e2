#!/usr/bin/env python3
"""The SBOM that cargo-cyclonedx wrote, into one that says what is shipped, and the same on every machine.

    scripts/sbom.py ROOT crates/cli/slowside-sbom.json > slowside.cdx.json

- The command is called slowside, as people know it, not `cli`.
- What the report's page is made of (npm) stands beside the crates: a report carries it inside itself.
- No path of the machine it was made on, and no number drawn by chance. Needs Python 3.9 and nothing else.
"""

import json
import pathlib
import sys


def page_components(root: pathlib.Path) -> list[dict]:
    """The packages that are in the page; those that only build it are not shipped."""
    packages = json.loads((root / "crates/report/web/package-lock.json").read_text())["packages"]
    components = []
    for path, package in packages.items():
        if not path or package.get("dev"):
            continue
        name = path.removeprefix("node_modules/")
        purl = f"pkg:npm/{name}@{package['version']}"
        licences = [{"license": {"id": package["license"]}}] if "license" in package else []
        components.append(
            {"type": "library", "bom-ref": purl, "name": name, "version": package["version"], "purl": purl, "licenses": licences}
        )
    return components


def main() -> None:
    root, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    # References, and the addresses of members, which are paths.
    text = path.read_text().replace(f"file://{root}", "file:///slowside")
    bom = json.loads(text)
    bom.pop("serialNumber", None)
    bom["metadata"]["component"]["name"] = "slowside"
    page = page_components(root)
    bom["components"] += page
    subject = bom["metadata"]["component"]["bom-ref"]
    for entry in bom["dependencies"]:
        if entry["ref"] == subject:
            entry["dependsOn"] = entry.get("dependsOn", []) + [component["bom-ref"] for component in page]
    if str(root) in json.dumps(bom):
        sys.exit(f"sbom: {root} stands in it: a path that only this machine has")
    json.dump(bom, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
