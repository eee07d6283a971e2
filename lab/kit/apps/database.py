"""What database servers and their clients have in common: a data directory to copy, a log of statements, and sessions of a
client of the lab's own."""

import json
import os
import shutil

from kit import truth
from kit.bench import sh
from kit.build import SOURCES
from kit.sandbox import SCRATCH

# Debian's own, for which its psycopg2 is installed.
PYTHON = "/usr/bin/python3"
# Of a statement's text in the log.
STATEMENT_CHARS = 60


def as_user(user):
    """The command line that runs what follows it as this user."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]


def fresh_data(bench, user, command):
    """A data directory of its own for a recording: a copy of what `command` (a function of where) makes once in a sandbox."""
    template, data = f"{SCRATCH}/{user}-template", f"{bench.scratch}/{user}"
    if not os.path.exists(template):
        making = f"{template}.new"
        shutil.rmtree(making, ignore_errors=True)
        os.makedirs(making)
        shutil.chown(making, user, user)
        sh([*as_user(user), *command(making)])
        os.rename(making, template)
    copy_of(user, data)
    return data


def copy_of(user, data):
    """The data directory that `fresh_data` made for this user once, copied there."""
    shutil.rmtree(data, ignore_errors=True)
    sh(["cp", "-a", f"{SCRATCH}/{user}-template", data])


def keep_log(bench, what, columns, rows, **measured):
    """The server's log of statements (the text comes last) into `server_ops.csv.gz`, and what it measured into the truth."""
    truth.write(f"{bench.folder}/server_ops.csv.gz", columns, ((*r[:-1], r[-1][:STATEMENT_CHARS]) for r in rows))
    bench.truth["server_app"] = {"what": what, **{name: truth.summary(values) for name, values in measured.items()}}


def sessions(bench, source, sessions, *, on=None, name="client", timeout=45, **told):
    """Runs sessions of a program of `src` on a host (the client) to their end; returns their operations: dicts of session, op,
    t_issue_ns, t_done_ns, rows and what else the program logs. The truth of `name` "client" is that of the case."""
    out = f"{bench.scratch}/{name}-ops.csv"
    sessions = [{"name": f"s{i}", **s} for i, s in enumerate(sessions)]
    told = {**told, "out": out, "seed": bench.case.seed, "sessions": sessions}
    said = bench.run(on or bench.client, PYTHON, f"{SOURCES}/{source}", json.dumps(told), timeout=timeout).stderr.strip()
    bench.save(f"{name}_ops.csv.gz", out)
    rows = [{k: v if k in ("session", "op") else int(v) for k, v in r.items()} for r in truth.rows(out)]
    bench.truth[name] = {"software": f"src/{source}", "says": said, **{k: v for k, v in told.items() if k != "out"}}
    measured = {op: _measured([r for r in rows if r["op"] == op]) for op in sorted({r["op"] for r in rows})}
    bench.truth["app" if name == "client" else f"app_{name}"] = measured
    return rows


def ms(row):
    return (row["t_done_ns"] - row["t_issue_ns"]) / 1e6


def _measured(rows):
    return {"ms": truth.summary([ms(r) for r in rows]), "rows": sum(r["rows"] for r in rows), "errors": sum(r.get("error", 0) > 0 for r in rows)}
