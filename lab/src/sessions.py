"""Sessions of a client, each a process of its own, into one log of every operation.

The log: session, its local port, operation, start and end by this process's clock, rows or bytes.
"""

import ctypes
import json
import os
import sys
import time

PR_SET_TIMERSLACK = 29
COLUMNS = "session,port,op,t_issue_ns,t_done_ns,rows"


class Session:
    """What a program's session is made of: `told` how, it has `begin`, work (a method that `told` names, with the
    options that it has beside `own`), `finish`, and a `port`."""

    own = ("name", "work", "after_s")

    def __init__(self, told):
        self.told, self.rows, self.port = told, [], 0

    def timed(self, op, what):
        """Does it, and logs how long it took; `what` returns rows or bytes, if a number."""
        start = time.time_ns()
        done = what()
        count = done if isinstance(done, int) else 0
        self.rows.append((self.told["name"], self.port, op, start, time.time_ns(), count))
        return done


def _run(session, out):
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    time.sleep(session.told.get("after_s", 0))
    session.begin()
    getattr(session, session.told["work"])(**{k: v for k, v in session.told.items() if k not in session.own})
    with open(out, "w") as file:
        file.writelines(",".join(map(str, r)) + "\n" for r in session.rows)
    session.finish()


def main(made):
    """Runs what the JSON of the first argument says: {"out" (CSV to write), "sessions": [...], …}; `made` makes a session of
    how it is told and of all."""
    told = json.loads(sys.argv[1])
    parts = [f"{told['out']}.{i}" for i in range(len(told["sessions"]))]
    children = []
    for one, part in zip(told["sessions"], parts):
        if not (pid := os.fork()):
            status = 1
            try:
                _run(made(one, told), part)
                status = 0
            except Exception as error:
                print(f"{one['name']}: {error!r}", file=sys.stderr, flush=True)
            finally:
                os._exit(status)
        children.append(pid)
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in children)
    with open(told["out"], "w") as file:
        file.write(COLUMNS + "\n")
        for part in parts:
            if os.path.exists(part):
                file.write(open(part).read())
    sys.exit(int(failed > 0))
