"""What an application and a server measured, as the files that people have: rows, averages and lists of a monitoring
script, traces of an Oracle database, DTrace's histograms. All from operations as `nfsload` and `Ganesha.log` give them.
"""

import gzip
import math

from kit.apps import nfsload

BLOCK = 8192
# Some Oracles count from a moment that nobody knows.
TIM_START_US = 5_204_113_000
_TRACE_HEAD = """Trace file /u01/app/oracle/diag/rdbms/orcl/orcl/trace/{name}
Oracle Database 11g Enterprise Edition Release 11.2.0.3.0 - 64bit Production
Unix process pid: {pid}, image: oracle@dbhost (TNS V1-V3)

*** SESSION ID:({sid}.{pid}) 2026-01-07 10:00:00.000
=====================
PARSING IN CURSOR #3 len=52 dep=0 uid=84 oct=3 lid=84 tim={tim} hv=3170394433 ad='8bf15a28' sqlid='5p2ca4qxx7v61'
select /*+ use_nl(t i) */ sum(t.v) from t, i where 1=1
END OF STMT
"""


def rows(case, name, operations, *, offsets=True, shift_s=0, client=None):
    """CSV with a row for each operation; `shift_s`: of another hour; `client`: a column that names a host."""
    head = "start_ns,end_ns,op,size" + (",offset" if offsets else "") + (",client" if client else "")
    shift = int(shift_s * 1e9)
    lines = [f"{r['t_enq_ns'] + shift},{r['t_done_ns'] + shift},{r['op']},{r['len']}" + (f",{r['offset']}" if offsets else "")
             + (f",{client}" if client else "") for r in nfsload.done(operations)]
    _write(case, name, [head, *lines])


def averages(case, name, operations, every_s=0.2):
    """CSV as a monitoring script prints it, a row for each interval: when it began, operations that ended in it, their mean."""
    intervals = {}
    for r in nfsload.done(operations):
        intervals.setdefault(int(r["t_done_ns"] / 1e9 / every_s), []).append((r["t_done_ns"] - r["t_enq_ns"]) / 1e6)
    _write(case, name, ["time,count,latency_ms", *(f"{i * every_s:.1f},{len(ms)},{sum(ms) / len(ms):.3f}" for i, ms in sorted(intervals.items()))])


def latencies(case, name, operations):
    """A list of latencies and nothing else."""
    _write(case, name, ["latency_ms", *(f"{(r['t_done_ns'] - r['t_enq_ns']) / 1e6:.3f}" for r in nfsload.done(operations))])


def oracle_traces(case, operations, sessions=6):
    """Extended SQL traces of some of the sessions that read these blocks one after the other; returns their names."""
    mine, free = [], []
    for r in sorted(nfsload.done(operations), key=lambda r: r["t_enq_ns"]):
        session = next((s for s in free if s[-1]["t_done_ns"] <= r["t_enq_ns"]), None)
        if session is None:
            session = []
            mine.append(session)
        else:
            free.remove(session)
        session.append(r)
        free.append(session)
    begun, names = min(r["t_enq_ns"] for r in operations), []
    tim = lambda ns: TIM_START_US + (ns - begun) // 1000
    for i, session in enumerate(sorted(mine, key=len, reverse=True)[:sessions]):
        name = f"orcl_ora_{4711 + i}.trc"
        waits = [f"WAIT #3: nam='db file sequential read' ela= {(r['t_done_ns'] - r['t_enq_ns']) // 1000} file#=4 block#={r['offset'] // BLOCK} "
                 f"blocks=1 obj#=83951 tim={tim(r['t_done_ns'])}" for r in session if r["op"] == "READ"]
        head = _TRACE_HEAD.format(name=name, pid=4711 + i, sid=40 + i, tim=tim(session[0]["t_enq_ns"]))
        _write(case, name, [head + waits[0], *waits[1:]])
        names.append(name)
    return names


def dtrace(case, name, served):
    """What nfsv3rwtime.d prints of the server's own operations: `quantize` of microseconds by operation."""
    out = ["NFSv3 read/write distributions (us):", ""]
    for op in ("WRITE", "READ"):
        took = [max(1, (r[4] - r[3]) // 1000) for r in served if r[0] == op]
        if not took:
            continue
        counts = {}
        for us in took:
            bucket = 1 << int(math.log2(us))
            counts[bucket] = counts.get(bucket, 0) + 1
        out += [f"  {op.lower():48s}", f"{'value':>16s}  ------------- Distribution ------------- count    "]
        bucket = min(counts) // 2
        while bucket <= 2 * max(counts):
            share = counts.get(bucket, 0) / len(took)
            out.append(f"{bucket:16d} |{'@' * round(40 * share):40s} {counts.get(bucket, 0):<8d} ")
            bucket = bucket * 2 or 1
        out.append("")
    _write(case, name, out)


def _write(case, name, lines):
    with (gzip.open if name.endswith(".gz") else open)(f"{case.folder}/{name}", "wt") as file:
        file.write("\n".join(lines) + "\n")
