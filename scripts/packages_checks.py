#!/usr/bin/env python3
"""Installs what scripts/packages made where nothing is, uses it, removes it, and fails where anything is wrong or left over.

    sudo scripts/packages_checks.py target/packages                       in Debian 12
    sudo scripts/packages_checks.py target/packages --ubuntu noble        in Ubuntu, too
    scripts/packages_checks.py --image slowside-oci.tar                   the form of an image alone; needs no root

Roots are made by debootstrap (minbase) and kept in target/roots for the next time. ARM64 binaries run under
qemu-aarch64-static; without it that is said. Needs Debian's debootstrap and rpm, and Python 3.11.
"""

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEBIAN = "http://deb.debian.org/debian"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
LARGEST = 15_000_000
FINDING = "server-concurrency-cap"
INSTALLED = [
    "usr/bin/slowside",
    "usr/share/man/man1/slowside.1.gz",
    "usr/share/man/man1/slowside-live.1.gz",
    "usr/share/bash-completion/completions/slowside",
    "usr/share/fish/vendor_completions.d/slowside.fish",
]
# What package managers keep of themselves, whatever they did.
KEPT = ("var/lib/dpkg/", "var/lib/rpm/", "var/log/", "var/cache/", "root/", "proc/", "dev/", "tmp/")


# Folders that the package `filesystem` owns where rpm is at home.
FILESYSTEM = {
    "usr/share/fish",
    "usr/share/fish/vendor_completions.d",
    "usr/share/licenses",
    "usr/share/zsh",
    "usr/share/zsh/site-functions",
}


class Wrong(Exception):
    """What does not hold."""


def holds(true: object, what: str) -> None:
    if not true:
        raise Wrong(what)


def run(*command: object, **more: object) -> str:
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    said = done.stdout.decode(errors="replace")
    holds(done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}: {said[-2000:]}")
    return said


def demo(*before: object, folder: pathlib.Path) -> None:
    """The first thing that anybody types."""
    said = run(*before, "demo", cwd=folder)
    holds(FINDING in said, f"slowside demo does not name {FINDING}: {said[:500]}")


def files(root: pathlib.Path) -> set[str]:
    found = run("find", root, "-xdev", "-printf", "%P\\n").splitlines()
    return {path for path in found if path and not f"{path}/".startswith(KEPT)}


def made_root(suite: str, mirror: str, more: list[str], script: list[str]) -> pathlib.Path:
    target = ROOT / "target" / "roots" / suite
    if not (target / "made").exists():
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", *more, suite, target, mirror, *script)
        (target / "made").touch()
    return target


@contextlib.contextmanager
def copy_of(root: pathlib.Path):
    """The root to install into: what one check leaves is not another's."""
    with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
        run("cp", "-a", f"{root}/.", scratch)
        yield pathlib.Path(scratch)


def used(root: pathlib.Path) -> None:
    """What was installed does what it is for."""
    for path in INSTALLED:
        holds((root / path).exists(), f"{path} is not installed")
    demo("chroot", root, "sh", "-c", 'cd "$(mktemp -d)" && exec slowside "$@"', "sh", folder=root)
    completed = run(
        "chroot", root, "bash", "-c",
        ". /usr/share/bash-completion/completions/slowside; COMP_WORDS=(slowside diag); COMP_CWORD=1; "
        '_slowside slowside diag slowside; echo "${COMPREPLY[@]}"',
    )
    holds("diagnose" in completed, f"bash completes `slowside diag` to {completed!r}")
    page = run("sh", "-c", f"zcat {root}/usr/share/man/man1/slowside.1.gz")
    holds(".SH EXIT" in page, "the manual page does not say what exit codes are")


def deb(package: pathlib.Path, made: pathlib.Path) -> None:
    """Installed, used, purged: the root is what it was."""
    with copy_of(made) as root:
        before = files(root)
        run("dpkg", f"--root={root}", "-i", package)
        used(root)
        run("dpkg", f"--root={root}", "--purge", "slowside")
        left = files(root) ^ before
    holds(not left, f"left over: {sorted(left)[:10]}")


def rpm(package: pathlib.Path, made: pathlib.Path) -> None:
    """The same by rpm, whose scripts run in the root, too."""
    listed = run("rpm", "-qlp", package).splitlines()
    for path in INSTALLED:
        holds(f"/{path}" in listed, f"{package.name} has no {path}")
    needed = [line for line in run("rpm", "-qp", "--requires", package).splitlines() if not line.startswith("rpmlib(")]
    holds(set(needed) <= {"/bin/sh"}, f"{package.name} needs {needed}")
    with copy_of(made) as root:
        before = files(root)
        manager = ["rpm", f"--root={root}", "--force-debian", "--nodeps"]
        run("rpm", f"--root={root}", "--initdb")
        run(*manager, "-i", package)
        used(root)
        run(*manager, "-e", "slowside")
        left = (files(root) ^ before) - FILESYSTEM
    holds(not left, f"left over: {sorted(left)[:10]}")


def blobs(image: pathlib.Path, folder: pathlib.Path) -> None:
    """The layout's files, each with the digest that it is called by."""
    with tarfile.open(image) as tar:
        tar.extractall(folder, filter="data")
    holds(json.loads((folder / "oci-layout").read_text())["imageLayoutVersion"] == "1.0.0", "oci-layout")
    for blob in (folder / "blobs/sha256").iterdir():
        digest = hashlib.sha256(blob.read_bytes()).hexdigest()
        holds(digest == blob.name, f"blob {blob.name} has the digest {digest}")


def images(folder: pathlib.Path) -> list[tuple[str, dict, list[pathlib.Path]]]:
    """Of each architecture: its configuration and its layers."""
    found = []

    def named(descriptor: dict) -> pathlib.Path:
        path = folder / "blobs" / descriptor["digest"].replace(":", "/")
        holds(path.stat().st_size == descriptor["size"], f"{path.name} is not as large as it is said to be")
        return path

    def walk(descriptor: dict) -> None:
        content = json.loads(named(descriptor).read_text())
        if "index" in descriptor["mediaType"]:
            for manifest in content["manifests"]:
                walk(manifest)
            return
        config = json.loads(named(content["config"]).read_text())
        found.append((config["architecture"], config, [named(layer) for layer in content["layers"]]))

    for descriptor in json.loads((folder / "index.json").read_text())["manifests"]:
        walk(descriptor)
    return found


def image(path: pathlib.Path, started: bool) -> None:
    """Unpacked; with `started` the entry point of this machine's architecture is run, with nothing else in its root."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "layout").mkdir()
        blobs(path, folder / "layout")
        found = images(folder / "layout")
        holds(machine in {name for name, _, _ in found}, f"{path.name} has no image for {machine}")
        for name, config, layers in found:
            holds(len(layers) == len(config["rootfs"]["diff_ids"]), "layers and their digests")
            root = folder / name
            for layer in layers:
                with tarfile.open(layer) as tar:
                    tar.extractall(root, filter="tar")
            entry = config["config"]["Entrypoint"]
            holds((root / entry[0].lstrip("/")).exists(), f"{entry} is not in the image")
            if started and name == machine:
                demo("chroot", root, *entry, folder=root)


def binary(path: pathlib.Path) -> str:
    """Small, static, stripped; run where that can be. Gives what was not tried."""
    size = path.stat().st_size
    holds(size < LARGEST, f"{path.name} has {size} bytes")
    holds("statically linked" in (kind := run("file", path)) or "static-pie" in kind, kind)
    holds("not stripped" not in kind and (path.with_suffix(path.suffix + ".debug")).exists(), f"{kind} no symbols beside it")
    before: list[object] = []
    if platform.machine() not in path.name:
        emulator = shutil.which(f"qemu-{path.name.split('-')[2]}-static")
        if not emulator:
            return f"{path.name} was not run: there is no qemu-user-static"
        before = [emulator]
    with tempfile.TemporaryDirectory() as scratch:
        demo(*before, path.resolve(), folder=pathlib.Path(scratch))
    return ""


def unit(root: pathlib.Path) -> str:
    """The service's file, by systemd's own word. Gives what was not tried."""
    if not shutil.which("systemd-analyze"):
        return "the unit was not looked at: there is no systemd-analyze"
    with tempfile.TemporaryDirectory() as scratch:
        text = (ROOT / "packaging/slowside-live@.service").read_text()
        path = pathlib.Path(scratch) / "slowside-live@.service"
        path.write_text(text.replace("/usr/bin/slowside", str(root)))
        said = run("systemd-analyze", "verify", "--man=no", f"{scratch}/slowside-live@lo.service")
        ours = [line for line in said.splitlines() if "slowside-live" in line]
        holds(not ours, "\n".join(ours))
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="what scripts/packages filled")
    parser.add_argument("--ubuntu", metavar="SUITE", help="also in this release of Ubuntu, such as noble")
    parser.add_argument("--image", type=pathlib.Path, help="look at the form of this image, and at nothing else")
    given = parser.parse_args()
    left_out: list[str] = []

    def step(what: str, check: object, *arguments: object) -> bool:
        try:
            left_out.append(check(*arguments) or "")
        except Wrong as wrong:
            print(f"WRONG {what}: {wrong}")
            return False
        print(f"ok    {what}", flush=True)
        return True

    if given.image:
        return 0 if step(str(given.image), image, given.image, False) else 1
    if not given.folder or os.geteuid() != 0:
        parser.error("needs the folder of packages, and root, who may change root (sudo)")
    folder = given.folder.resolve()

    def one(pattern: str) -> pathlib.Path:
        return next(folder.glob(pattern), folder / pattern)

    roots = [("Debian 12", "bookworm", DEBIAN, [], [])]
    if given.ubuntu:
        # Its keys are not Debian's to have; nothing of this root is kept or shipped.
        roots.append((f"Ubuntu {given.ubuntu}", given.ubuntu, UBUNTU, ["--no-check-gpg"], ["gutsy"]))
    fine = step("checksums", lambda: run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=folder) and "")
    for path in sorted(folder.glob("slowside-*-musl")):
        fine &= step(path.name, binary, path)
    for name, suite, mirror, more, script in roots:
        root = made_root(suite, mirror, more, script)
        fine &= step(f"{name}: .deb", deb, one("*_amd64.deb"), root)
        fine &= step(f"{name}: .rpm", rpm, one("*.x86_64.rpm"), root)
    for package in folder.glob("*.deb"):
        fine &= step(package.name, lambda: holds("./usr/bin/slowside" in run("dpkg-deb", "-c", package), "no binary"))
    for package in folder.glob("*.rpm"):
        fine &= step(package.name, lambda: holds("/usr/bin/slowside" in run("rpm", "-qlp", package), "no binary"))
    fine &= step("OCI image", image, one("*-oci.tar"), True)
    fine &= step("systemd unit", unit, one(f"slowside-*-{platform.machine()}-*-musl"))
    for what in filter(None, left_out):
        print(f"LEFT OUT: {what}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
