#!/usr/bin/env python3
"""Makes an OCI image of static binaries, one for each architecture, as a tar file in OCI's image layout; no daemon, no root.

    scripts/oci_image.py -o slowside-oci.tar --version 0.1.0 --epoch 1700000000 amd64=./slowside arm64=./slowside-arm64

    skopeo copy oci-archive:slowside-oci.tar docker-daemon:slowside:0.1.0
    podman load -i slowside-oci.tar; podman run --rm -v "$PWD:/captures:ro" slowside /captures/client.pcap

What is in it: the binary, the licences of what it is made of where they are given, who `nobody` is (whom `live` becomes), and /tmp (where captures from standard input are kept
while they are read twice). The same input gives the same bytes: no time but --epoch, no order but by name.

Needs Python 3.9 and nothing else. Specification: https://github.com/opencontainers/image-spec (image-layout.md, config.md).
"""

import argparse
import gzip
import hashlib
import io
import json
import pathlib
import tarfile
import time

PASSWD = b"root:x:0:0:root:/:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
GROUP = b"root:x:0:\nnogroup:x:65534:\n"
OCI = "application/vnd.oci.image."


def archive(entries: list[tuple[str, int, bytes | None]], epoch: int) -> bytes:
    """A tar of (path, mode, content; None is a folder), all of root's and of one time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, mode, content in entries:
            member = tarfile.TarInfo(path)
            member.mode, member.mtime = mode, epoch
            if content is None:
                member.type = tarfile.DIRTYPE
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


class Layout:
    """Blobs by their digests."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def add(self, media: str, content: bytes) -> dict:
        """Keeps a blob and gives the descriptor by which others name it."""
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return {"mediaType": OCI + media, "digest": f"sha256:{digest}", "size": len(content)}

    def add_json(self, media: str, content: dict) -> dict:
        return self.add(media, canonical(content))

    def image(self, architecture: str, binary: bytes, licences: list[pathlib.Path], version: str, epoch: int) -> dict:
        """An image of one architecture: a layer, its configuration, and the manifest that names both."""
        layer = archive(
            [
                ("etc", 0o755, None),
                ("etc/group", 0o644, GROUP),
                ("etc/passwd", 0o644, PASSWD),
                ("tmp", 0o1777, None),
                ("usr", 0o755, None),
                ("usr/bin", 0o755, None),
                ("usr/bin/slowside", 0o755, binary),
                ("usr/share", 0o755, None),
                ("usr/share/licenses", 0o755, None),
                ("usr/share/licenses/slowside", 0o755, None),
                *((f"usr/share/licenses/slowside/{path.name}", 0o644, path.read_bytes()) for path in licences),
            ],
            epoch,
        )
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
        config = {
            "architecture": architecture,
            "os": "linux",
            "created": created,
            "config": {
                "Entrypoint": ["/usr/bin/slowside"],
                "Env": ["PATH=/usr/bin"],
                "Labels": labels(version),
                "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
            "history": [{"created": created, "created_by": "scripts/oci_image.py"}],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": OCI + "manifest.v1+json",
            "config": self.add_json("config.v1+json", config),
            "layers": [self.add("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0))],
            "annotations": labels(version),
        }
        platform = {"architecture": architecture, "os": "linux"}
        return {**self.add_json("manifest.v1+json", manifest), "platform": platform}

    def tar(self, index: dict, epoch: int) -> bytes:
        files = [("blobs", 0o755, None), ("blobs/sha256", 0o755, None)]
        files += [(f"blobs/sha256/{digest}", 0o644, blob) for digest, blob in sorted(self.blobs.items())]
        files += [("index.json", 0o644, canonical(index))]
        files += [("oci-layout", 0o644, canonical({"imageLayoutVersion": "1.0.0"}))]
        return archive(files, epoch)


def labels(version: str) -> dict:
    return {
        "org.opencontainers.image.title": "slowside",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    }


def canonical(content: dict) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--epoch", type=int, required=True, help="the time of all files, in seconds since 1970")
    parser.add_argument("--licences", type=pathlib.Path, help="a folder with the texts of those of what the binaries are made of")
    parser.add_argument("binaries", nargs="+", metavar="ARCHITECTURE=FILE")
    given = parser.parse_args()
    licences = sorted(given.licences.iterdir()) if given.licences else []
    layout = Layout()
    manifests = []
    for pair in sorted(given.binaries):
        architecture, _, path = pair.partition("=")
        binary = pathlib.Path(path).read_bytes()
        manifests.append(layout.image(architecture, binary, licences, given.version, given.epoch))
    index = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": manifests}
    # Several images are named by an index of their own, of which readers take that of their machine.
    top = manifests[0] if len(manifests) == 1 else layout.add_json("index.v1+json", index)
    name = {"org.opencontainers.image.ref.name": f"slowside:{given.version}"}
    index = {**index, "manifests": [{**top, "annotations": name}]}
    given.output.write_bytes(layout.tar(index, given.epoch))


if __name__ == "__main__":
    main()
