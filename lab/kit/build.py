"""The lab's C programs into binaries, built again when a source is newer."""

import os
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = HERE + "/src"
BINARIES = HERE + "/.build"

_COMMANDS = {
    "wire": "gcc -O2 -w -o {out} {src}/wire.c",
    "slow.so": "gcc -O2 -w -shared -fPIC -o {out} {src}/slow.c -ldl -lm",
    "cc.so": "gcc -O2 -w -shared -fPIC -o {out} {src}/cc.c -ldl",
    "nfsload": "gcc -O2 -w -D_GNU_SOURCE -o {out} {src}/nfsload.c -lnfs -lm",
}


def binary(name):
    """The path of a built program or library."""
    out, source = f"{BINARIES}/{name}", f"{SOURCES}/{name.split('.')[0]}.c"
    os.makedirs(BINARIES, exist_ok=True)
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
        # Beside it and renamed: another lab may be using or building it.
        beside = f"{out}.{os.getpid()}"
        subprocess.run(_COMMANDS[name].format(out=beside, src=SOURCES), shell=True, check=True)
        os.rename(beside, out)
    return out
