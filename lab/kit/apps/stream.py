"""Programs of the lab's own that ship redo to a standby (`src/stream_redo.py`) or pause where they should not
(`src/stream_pauses.py`)."""

import json
import os
import subprocess
import sys

from kit import truth
from kit.build import SOURCES

# The roles of each: who connects last.
ROLES = {"redo": ("standby", "primary"), "pauses": ("server", "client")}


def run(bench, program, **told):
    """Runs both ends to their end; returns {role: what it says of itself, with its log's rows under "rows"}, which is
    the case's truth too. `told`: see the sources."""
    told = {"dir": bench.scratch, "server": bench.server.address, "port": 1521, **told}
    text, source = json.dumps(told), f"{SOURCES}/stream_{program}.py"
    listens, connects = ROLES[program]
    server = bench.start(bench.server.command("timeout", 60, *bench.preload, sys.executable, source, listens, text),
                         stdout=subprocess.PIPE, text=True)
    if server.stdout.readline().strip() != "READY":
        raise RuntimeError(f"the {listens} did not start")
    bench.run(bench.client, sys.executable, source, connects, text)
    if server.wait(10):
        raise RuntimeError(f"the {listens}: exit {server.returncode}")
    app = {"workload": {k: v for k, v in told.items() if k != "dir"}}
    for role, end in ((connects, "client"), (listens, "server")):
        with open(f"{bench.scratch}/{role}.json") as file:
            app[role] = json.load(file)
        bench.save(f"{end}_ops.csv.gz", f"{bench.scratch}/{role}.csv")
        os.unlink(f"{bench.scratch}/{role}.json")
    bench.truth["app"] = app
    rows = {role: truth.rows(f"{bench.scratch}/{role}.csv") for role in ROLES[program]}
    return {role: {**app[role], "rows": [{k: int(v) for k, v in r.items()} for r in rows[role]]} for role in rows}
