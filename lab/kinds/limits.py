"""Calls of databases that do not end as they were meant to: the server breaks them off at a limit of time, or for a deadlock,
or they hang when the capture ends."""

from kinds import mysql
from kinds.pgsql import NEVER, recorded
from kinds.pgsql_rows import LONG, STOCK
from kinds.places_missing import cut
from kit import expect
from kit.kinds import kind

# Who waits for what another holds is not slow itself, and no path is.
NOT_THEIRS = [*NEVER, "server-slow", "server-concurrency-cap", "server-stall", "network-delay"]


def of_locks():
    """The server says for what it broke calls off, and not whose that was."""
    first = ["(?i)the server broke calls off, and says that they waited for what other sessions held"]
    told = dict(side=["undetermined"], find=["lock-wait", "broken-off"], first=first)
    # Where no error is seen, or the one that says it is missing, the server answers late, and nothing tells why.
    hidden = {kind: [*told["side"], "server"] for kind in ("snaplen 68", "cut out", "capture loss")}
    return expect.Expectation(**told, forbid=NOT_THEIRS, without=hidden, runs=expect.from_each_end(**told, forbid=NOT_THEIRS))


@kind("pgsql-lock-limit", "clients give up a row (lock_timeout) that another client locked before it thinks", field_case="K57",
      mild=dict(limit_ms=100, hold_ms=350), harsh=dict(limit_ms=400, hold_ms=1500), healthy=dict(limit_ms=400, hold_ms=350, same=False),
      draw=lambda d: dict(limit_ms=d.log_uniform(50, 800), hold_ms=d.log_uniform(300, 2500), waiters=d.randint(1, 5), delay_ms=d.log_uniform(0.1, 1)))
def lock_limit(case, limit_ms, hold_ms, waiters=3, delay_ms=0.2, same=True):
    holds = ["begin", "update stock set n = n + 1 where id = 1", f"think {hold_ms}", "commit", "think 20"]
    wants = f"update stock set n = n + 1 where id = {1 if same else '{r} % 90 + 2'}"
    waits = dict(work="script", secs=4.3, n=150, after_s=0.05, dsn=f"options='-c lock_timeout={limit_ms:.0f}'",
                 steps=[f"fails {wants}" if same else wants, "think 15"])
    recorded(case, [dict(work="script", steps=holds, secs=4.5), *[waits] * waiters], wire=[f"both delay_us={delay_ms * 1000:.0f}"],
             server=dict(setup=STOCK), bench=dict(noise_limits=LONG))
    if not same:
        return expect.healthy()
    return of_locks()


@kind("pgsql-deadlock", "transactions lock two rows in opposite orders, until the server breaks one of them off", field_case="K58",
      mild=dict(limit_ms=200), harsh=dict(limit_ms=1000), healthy=dict(limit_ms=1000, opposite=False),
      draw=lambda d: dict(limit_ms=d.log_uniform(100, 1500), delay_ms=d.log_uniform(0.1, 1), pairs=d.randint(1, 3)))
def deadlock(case, limit_ms, delay_ms=0.2, pairs=1, opposite=True):
    def locks(first, then):
        update = "update stock set n = n + 1 where id = {}"
        return ["begin", update.format(first), "think 20", f"fails {update.format(then)}", "commit", "think 30"]

    sessions = []
    for pair in range(pairs):
        a, b = 2 * pair + 1, 2 * pair + 2
        sessions += [locks(a, b), locks(b, a) if opposite else locks(b + 50, a + 50)]
    recorded(case, [dict(work="script", steps=steps, secs=4.5, n=80) for steps in sessions], wire=[f"both delay_us={delay_ms * 1000:.0f}"],
             server=dict(setup=STOCK, settings={"deadlock_timeout": f"{limit_ms:.0f}ms"}), bench=dict(noise_limits=LONG))
    if not opposite:
        return expect.healthy()
    return of_locks()


@kind("pgsql-statement-limit", "statements that the server works on for longer than it may (statement_timeout)",
      mild=dict(limit_ms=100), harsh=dict(limit_ms=1000), healthy=dict(limit_ms=1000, work_ms=0),
      draw=lambda d: dict(limit_ms=d.log_uniform(50, 1500), delay_ms=d.log_uniform(0.1, 2), sessions=d.randint(1, 4)))
def statement_limit(case, limit_ms, work_ms=5000, delay_ms=0.2, sessions=2):
    wants = f"select pg_sleep({work_ms / 1e3}), {{i}}"
    steps = ["select {r}", "think 10", f"fails {wants.replace('{i}', '1')}" if work_ms else wants, "think 10"]
    told = dict(work="script", steps=steps, secs=4.3, n=100, dsn=f"options='-c statement_timeout={limit_ms:.0f}'")
    recorded(case, [told] * sessions, wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=dict(noise_limits=LONG))
    if not work_ms:
        return expect.healthy()
    return expect.Expectation(side=["server"], cause=["server-slow"], find=["broken-off"], first=["The server broke [0-9]+ calls off"], forbid=[*NEVER, "network-delay", "lock-wait"])


@kind("pgsql-pile-up", "statements hang for what a client holds that asks nothing, until the capture ends and beyond", field_case="K59",
      mild=dict(waiters=2), harsh=dict(waiters=8), healthy=dict(waiters=3, holds=False),
      draw=lambda d: dict(waiters=d.randint(1, 8), hold_ms=d.log_uniform(1500, 3500), delay_ms=d.log_uniform(0.1, 1)))
def pile_up(case, waiters, hold_ms=3500, delay_ms=0.2, holds=True):
    change = "update stock set n = n + 1 where id = 1"
    quick = ["select {r}", "think 20"]
    holder = ["think 500", "begin", change, f"think {hold_ms if holds else 0}", "commit", "think 20"]
    session = dict(work="script", n=1, secs=60)
    told = [dict(session, steps=holder), *[dict(session, steps=[*quick * 30, change, *quick * 2])] * waiters, dict(session, steps=quick * 150)]
    recorded(case, told, wire=[f"both delay_us={delay_ms * 1000:.0f}"], server=dict(setup=STOCK), bench=dict(noise_limits=LONG))
    if not holds:
        return expect.healthy()
    window = (0, (500 + 0.8 * hold_ms) / (520 + max(hold_ms, 150 * 22)))
    cut(case, client=window, server=window)
    told = dict(side=["client", "undetermined"], find=["lock-wait"])
    # What was changed, and by whom, short snap lengths hide, and who did not see the transaction begin.
    hidden = {kind: [*told["side"], "server", "network"] for kind in ("snaplen 68", "window", "cut out", "capture loss")}
    first = ["other sessions had the same table meanwhile, in transactions for which nothing was asked any more"]
    return expect.Expectation(**told, first=first, forbid=NEVER, skip=["one_way"], without=hidden, runs=expect.from_each_end(**told, first=first, forbid=NEVER))


@kind("pgsql-alter-waits", "a table is altered while a client that has read it thinks: all that want it then wait behind that", field_case="K60",
      mild=dict(hold_ms=300), harsh=dict(hold_ms=1500, readers=8), healthy=dict(hold_ms=300, alters=False),
      draw=lambda d: dict(hold_ms=d.log_uniform(200, 2500), readers=d.randint(1, 8), delay_ms=d.log_uniform(0.1, 1)))
def alter_waits(case, hold_ms, readers=4, delay_ms=0.2, alters=True):
    read = "select n from stock where id = {r} % 100 + 1"
    holder = ["begin", read, f"think {hold_ms}", "commit", f"think {hold_ms / 3}"]
    alter = ["think 60", "alter table stock alter n set default {i}"] if alters else ["think 60", read]
    session = dict(work="script", secs=4.3)
    recorded(case, [dict(session, steps=holder), dict(session, steps=alter, after_s=0.05), *[dict(session, steps=[read, "think 12"])] * readers],
             wire=[f"both delay_us={delay_ms * 1000:.0f}"], server=dict(setup=STOCK), bench=dict(noise_limits=LONG))
    if not alters:
        return expect.healthy()
    told = dict(side=["client", "undetermined"], find=["lock-wait"])
    # What is read and altered short snap lengths hide.
    hidden = {kind: [*told["side"], "server"] for kind in ("snaplen 68", "window", "cut out", "capture loss")}
    forbid = [*NEVER, "network-delay"]
    return expect.Expectation(**told, forbid=forbid, without=hidden, runs=expect.from_each_end(**told, forbid=forbid))


@kind("mysql-lock-limit", "clients give up a row (innodb_lock_wait_timeout) that another client locked before it thinks",
      mild=dict(waiters=1, hold_ms=1600), harsh=dict(waiters=4, hold_ms=3500), healthy=dict(waiters=4, hold_ms=1600, same=False),
      draw=lambda d: dict(waiters=d.randint(1, 5), hold_ms=d.log_uniform(1400, 3800), rtt_ms=d.log_uniform(0.2, 4)))
def mysql_lock_limit(case, waiters, hold_ms, rtt_ms=0.4, same=True):
    holds = dict(steps=["begin", "update t set n = n + 1 where id = 7", f"think {hold_ms}", "commit", "think 20"], n=9, secs=5)
    wants = ["set innodb_lock_wait_timeout = 1", f"update t set n = n + 1 where id = {7 if same else '{r} % 900 + 1000'}", "think 15"]
    mysql.recorded(case, [holds, *[dict(steps=wants, n=100, secs=4.5, after_s=0.05)] * waiters], wire=mysql.delays(rtt_ms), bench=dict(noise_limits=LONG))
    if not same:
        return expect.healthy()
    return of_locks()
