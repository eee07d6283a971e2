"""Field cases on PostgreSQL: fetch sizes and what the client makes of rows, hidden sessions and literals, throughput
from round trips, a server that pauses within its responses."""

from kit import expect, noise, pcap
from kit.apps import postgresql
from kit.apps.postgresql import PostgreSQL
from kit.kinds import kind

from kinds.pgsql import BUSY, NEVER, judged, recorded
from kinds.pgsql_rows import BULK, ROW, of_fetches

BOTH = ("client", "server")


def part(case, name, port):
    """The packets of one connection, of both captures, as files of their own: `NAME-client.pcap`, `NAME-server.pcap`."""
    for side in BOTH:
        header, scale, packets = pcap.read(f"{case.folder}/{side}.pcap")
        pcap.write(f"{case.folder}/{name}-{side}.pcap", header, scale, pcap.of_port(packets, port))
    return [f"{name}-{side}.pcap" for side in BOTH]


def about(value, share, more=0):
    return [value * (1 - share) - more, value * (1 + share) + more]


def fetch_sizes(case, sizes, rows, size, delay_ms, **digest):
    """One statement once with each fetch size, one after another; returns {fetch: (operations, log, files)}."""
    done = {}
    # Whole packets: how many rows came stands at their end.
    with case.bench(noise_limits=BUSY, snap=65535) as b:
        database = PostgreSQL(b)
        b.wire(f"both delay_us={delay_ms * 1000:.0f}")
        with b.capture():
            for fetch in sizes:
                work = dict(work="fetches", sql=ROW.format(size=size, rows=rows), fetch=fetch, **digest)
                done[fetch] = postgresql.load(b, [work], name=f"fetch-{fetch}")
        served = database.log()
    told = {}
    for fetch, ops in done.items():
        first, last = ops[0]["t_issue_ns"] / 1e9, ops[-1]["t_done_ns"] / 1e9
        log = [r for r in served if first <= r[0] <= last]
        told[fetch] = ops, log, part(case, f"fetch-{fetch}", ops[0]["port"])
    return told


def elapsed_ns(ops, path_ms):
    """From the first call's request to the last one's response: without TCP's handshake, which is no call."""
    return ops[-1]["t_done_ns"] - ops[0]["t_issue_ns"] - path_ms * 1e6


def profile_of(fetch, rows, size, path_ms, ops, log, files):
    """What `sql` must say of the statement that was fetched."""
    trips = sum(r["op"] == "fetch" for r in ops)
    server_ns = sum(r[2] for r in log) * 1e6
    think_ns = sum(b["t_issue_ns"] - a["t_done_ns"] for a, b in zip(ops, ops[1:]))
    path = "statements[0]."
    checks = {
        path + "round_trips": {"between": [trips, trips + 3]},
        path + "rows": {"between": [rows, rows]},
        path + "rows_asked": {"between": [fetch, fetch]},
        path + "rows_per_fetch": {"between": about(rows / trips, 0.02)},
        # A row is its length, two columns with their lengths, a number of some digits and the text.
        path + "response_bytes": {"between": [rows * (size + 16), rows * (size + 22) + 80 * (trips + 3)]},
        # The server also works while rows are under way already; the client takes them apart before it says that it has them.
        path + "server_ns": {"between": [0.7 * server_ns if fetch <= 100 else 0, server_ns + 0.3e6 * (trips + 5)]},
        path + "think_ns": {"between": [0.9 * think_ns, 1.1 * think_ns + 0.3e6 * trips + 1e3 * rows]},
    }
    if trips >= 50:
        checks[path + "network_ns"] = {"between": about(trips * path_ms * 1e6, 0.15, 0.15e6 * trips)}
    return expect.run(f"profile of {fetch}", "sql", files, json=checks)


@kind("pgsql-fetch-sizes", "one statement, fetched by 10, 50, 100, 500, 1000 and 5000 rows", field_case="E16",
      mild=dict(delay_ms=1), harsh=dict(delay_ms=3), healthy=dict(delay_ms=0.1, sizes=[100, 500]),
      draw=lambda d: dict(delay_ms=d.log_uniform(0.7, 5), rows=d.choice([3000, 5000]), size=d.choice([20, 60, 100])))
def sizes(case, delay_ms, rows=5000, size=60, sizes=(10, 50, 100, 500, 1000, 5000)):
    path_ms = 2 * delay_ms
    done = fetch_sizes(case, sizes, rows, size, delay_ms)
    ops, log, _ = zip(*done.values())
    whole = of_fetches([r for o in ops for r in o], [r for one in log for r in one], path_ms, min(sizes), size + 20)
    # Sessions of six kinds: whose time is most depends on which of them a piece of the evidence holds.
    if whole.side != ["none"]:
        whole.side, whole.cause, whole.find, whole.alone = ["client", "network", "mixed"], None, [], []
        whole.without = {"window": [*whole.side, "server"], "cut out": [*whole.side, "server"]}
    runs = [profile_of(fetch, rows, size, path_ms, *told) for fetch, told in done.items()]
    if 10 in done:
        small, _, files = done[10]
        trips = sum(r["op"] == "fetch" for r in small)
        for target in (500, 1000):
            ns = elapsed_ns(done[target][0], path_ms)
            runs.append(expect.run(f"with {target} a fetch", "whatif", ["--fetch-size", str(target), *files], json={
                "then_ns": {"between": about(ns, 0.25, 1e6)},
                "then_min_ns": {"between": [0, ns + 1e6]},
                "then_max_ns": {"between": [ns - 1e6, 100 * ns]},
                "measured_ns": {"between": about(elapsed_ns(small, path_ms), 0.03)},
                "statements[0].then.round_trips": {"between": [rows / target, rows / target + 4]}}))
        # Of all trips those remain that slow start's first window would need.
        spared = trips * path_ms / 1e3 * (1 - 10 * (size + 20) / 14_600)
        runs.append(expect.run("ten rows a fetch", "diagnose", files, side=["client"], cause=["small-fetch", "chatty"],
                               find=[["small-fetch", "chatty"]], first=[r"^The CLIENT .*(chatty|small-fetch)"],
                               forbid=["server-slow", "network-loss"],
                               json={"findings[0].cost_ns": {"between": [0.8 * spared * 1e9, trips * path_ms * 1.1e6]}}))
    whole.runs = runs
    return whole


@kind("pgsql-digest-grows", "a client that takes the longer for a row the more of them it fetched at once", field_case="E17",
      mild=dict(delay_ms=1.2), harsh=dict(delay_ms=1.6, square_ns=80), healthy=dict(delay_ms=0.1, square_ns=0, row_us=0, sizes=[100, 500]),
      draw=lambda d: dict(delay_ms=d.log_uniform(1.2, 2), square_ns=d.log_uniform(30, 100), row_us=d.log_uniform(1, 10)))
def digest_grows(case, delay_ms, square_ns=40, row_us=5, rows=12_000, sizes=(10, 100, 300, 1000)):
    path_ms, size = 2 * delay_ms, 20
    done = fetch_sizes(case, sizes, rows, size, delay_ms, think_row_us=row_us, think_square_ns=square_ns)
    ops, log, _ = zip(*done.values())
    whole = of_fetches([r for o in ops for r in o], [r for one in log for r in one], path_ms, min(sizes), size + 20)
    if whole.side != ["none"]:
        whole.side, whole.cause, whole.find, whole.alone = ["client", "network", "mixed", "none"], None, [], []
        whole.without = {"window": [*whole.side, "server"], "cut out": [*whole.side, "server"]}
    runs = [profile_of(fetch, rows, size, path_ms, *told) for fetch, told in done.items()]
    if 1000 in done:
        # Twelve pauses, longer than the calls.
        think_ns = sum(b["t_issue_ns"] - a["t_done_ns"] for a, b in zip(done[1000][0], done[1000][0][1:]))
        runs.append(expect.run("the largest", "diagnose", done[1000][2], find=["large-fetch-client-think"],
                               forbid=["chatty", "small-fetch", "network-loss"],
                               facts={"large-fetch-client-think": {"think_ns": about(think_ns, 0.1, 20e6)}}))
        runs.append(expect.run("the smallest", "diagnose", done[10][2], find=[["small-fetch", "chatty"]],
                               forbid=["large-fetch-client-think", "server-slow"]))
    whole.runs = runs
    return whole


# What nobody but who asks for it may read; none of them occurs in anything else that is written.
SECRETS = ["Adenauer-4711", "49291234567812340", "Wanne-Eickel", "geheim-9f2", "Zwiebelfisch"]
SHOP = """create table orders (id int, customer text, card text, note text);
insert into orders select g, 'Adenauer-4711', '49291234567812340', 'Wanne-Eickel' from generate_series(1, 500) g;
create table session_statistics (sid int, name text, value int);
insert into session_statistics select g, 'geheim-9f2', g from generate_series(1, 50) g"""
# All that writes, and what of it takes a capture of one end.
WRITERS = [["diagnose"], ["diagnose", "--format", "json"], ["diagnose", "--format", "markdown"], ["calls", "--format", "csv"],
           ["calls", "--format", "jsonl"], ["ops"], ["ops", "--format", "json"], ["conns"], ["sql", "--format", "json"],
           ["sql", "--format", "csv"], ["report", "-o", "-"], ["startup"], ["info"], ["stat"], ["whatif", "--rtt", "5ms"]]
SINGLE = ("calls", "ops", "conns", "startup", "info", "stat")


@kind("pgsql-hidden-session", "a second session beside the one that everybody looks at, and values in statements", field_case="E18 E19",
      mild=dict(query_ms=20), harsh=dict(query_ms=60), healthy=dict(query_ms=0),
      draw=lambda d: dict(query_ms=d.log_uniform(3, 100), delay_ms=d.log_uniform(0.1, 0.5)))
def hidden_session(case, query_ms, delay_ms=0.2):
    app = ["select id, card from orders where customer = 'Adenauer-4711' and card = E'49291234567812340' and id = {i}",
           "update orders set note = $note$Wanne-Eickel$note$ where id = {i} and customer <> 'Zwiebelfisch'",
           "fails select 'Zwiebelfisch'::int", "think 15"]
    pause = f", pg_sleep({query_ms / 1e3})" if query_ms else ""
    hidden = [f"select value{pause} from session_statistics where sid = {{i}} + 1 and name = 'geheim-9f2'", "think 40"]
    rows, served = recorded(case, [dict(work="script", steps=app, n=120), dict(work="script", steps=hidden, n=45, after_s=0.4)],
                            wire=[f"both delay_us={delay_ms * 1000:.0f}"], server=dict(setup=SHOP))
    whole = judged(rows, served, 2 * delay_ms, rest="server", turns=False)
    asked = sum(r["op"] == "select" and r["session"] == "s1" for r in rows)
    pair = ["client.pcap", "server.pcap"]
    statements = ["from session_statistics where sid = ", "from orders where customer = ", "update orders set note = "]
    runs = [
        expect.run("both sessions", "sql", pair, says=statements, never=SECRETS),
        expect.run("by connection", "sql", [*pair, "--by", "connection", "--all"], says=sorted({str(r["port"]) for r in rows}), never=SECRETS),
        expect.run("its statement alone", "sql", ["server.pcap", "--where", "sql ~ '*session_statistics*'"],
                   json={"statements[0].executions": {"between": [asked, asked]}}),
        *on_whom(whole, pair, rows),
        expect.run("with literals", "sql", ["client.pcap", "--show-literals"], says=SECRETS),
    ]
    for command, *more in WRITERS:
        files = pair[:1] if command in SINGLE else pair
        runs.append(expect.run(" ".join([command, *more]), command, [*files, *more], never=SECRETS))
    whole.runs = runs
    return whole


def on_whom(expected, pair, rows):
    """Whose statement it is that costs: of the session that nobody looks at."""
    if expected.side != ["server"]:
        return []
    port = next(str(r["port"]) for r in rows if r["session"] == "s1")
    hidden = expect.on(["server-slow", "server-stall", "server-concurrency-cap"], statement="session_statistics", connection=rf":{port}\b", share=[0.7, 1])
    return [expect.run("on whom", "diagnose", pair, where=[hidden], never=SECRETS)]


@kind("pgsql-throughput", "transactions a second at three round trip times, each told from the others", field_case="H27",
      mild=dict(rtts_ms=[0.1, 0.5, 2]), harsh=dict(rtts_ms=[0.2, 3, 10]), healthy=dict(rtts_ms=[0.1, 0.15, 0.2], service_ms=0),
      draw=lambda d: dict(rtts_ms=[d.log_uniform(0.1, 0.3), d.log_uniform(0.5, 2), d.log_uniform(3, 12)], service_ms=d.randint(1, 3)))
def throughput(case, rtts_ms, service_ms=1, transactions=250):
    done = []
    with case.bench(noise_limits=BUSY) as b:
        database = PostgreSQL(b)
        with b.capture():
            for rtt in rtts_ms:
                b.wire(f"both delay_us={rtt * 500:.0f}")
                # A wait of which the server knows, in place of work that would take the processor from the wire.
                turn = f"select pg_sleep({service_ms / 1e3}), {{i}}" if service_ms else "select {i}"
                work = dict(work="script", steps=[turn], n=transactions)
                done.append(postgresql.load(b, [work], name=f"rtt-{rtt}"))
        served = database.log()
    whole = judged([r for rows in done for r in rows], served, sum(rtts_ms) / len(rtts_ms), rest="server")
    whole.skip = ["one_way"]
    # A piece of the time may have one of the three only.
    whole.without = {kind: ["network", "client", "mixed", "server", "none"] for kind in ("window", "cut out")}
    span = lambda rows: rows[-1]["t_done_ns"] - rows[1]["t_issue_ns"]
    per_second = [transactions / span(rows) * 1e9 for rows in done]
    # The round trip as transactions have it: their time less the server's.
    trip_ms = [sum(postgresql.ms(r) - mean(served, rows) for r in postgresql.calls(rows)) / transactions for rows in done]
    for i, (one, rows) in enumerate(zip(rtts_ms, done)):
        files = part(case, f"rtt-{one}", rows[0]["port"])
        j = (2, 0, 0)[i]
        # What was recorded there; a capture of the one knows its own service only, and the other's differs a little.
        known = [span(done[j]) + transactions * (mean(served, done[k]) - mean(served, done[j])) * 1e6 for k in (i, j)]
        # A tenth of a millisecond of each is the hosts' own, on no side of the model.
        low, high = 0.9 * min(known) - 1e5 * transactions, 1.1 * max(known) + 1e5 * transactions
        predicted = {"then_ns": {"between": [low, high]}, "model_error_ppm": {"between": [-30_000, 30_000]}}
        whole.runs.append(expect.run(f"from {one} to {rtts_ms[j]} ms", "whatif", ["--rtt", f"{trip_ms[j]:.3f}ms", *files], json=predicted))
    pairs = ",".join(f"{per_second[i]:.0f}@{trip_ms[i]:.3f}ms" for i in (0, 1))
    whole.runs.append(expect.run("from throughputs alone", "whatif", ["--from", pairs, "--rtt", f"{trip_ms[2]:.3f}ms"],
                                 json={"predicted_per_second": {"between": about(per_second[2], 0.12)}}))
    return whole


def mean(served, rows):
    """Of statements' times in ms by the log, while these operations went on."""
    first, last = rows[0]["t_issue_ns"] / 1e9, rows[-1]["t_done_ns"] / 1e9
    took = [r[2] for r in served if first <= r[0] <= last]
    return sum(took) / len(took)


def drawn_pause(dice, pause_s):
    pauses = max(2, min(20, round(5 / pause_s)))
    return dict(pause_s=pause_s, pauses=pauses, delay_ms=dice.log_uniform(0.2, 40), rows=dice.choice([500, 1000, 3000]))


@kind("pgsql-pause", "a server that pauses within its responses, everything acknowledged, room in the window", field_case="C10 C11",
      mild=dict(pause_s=0.3, pauses=12), harsh=dict(pause_s=5, pauses=2), healthy=dict(pause_s=0, pauses=150, rows=80, delay_ms=0.1),
      draw=lambda d: drawn_pause(d, d.log_uniform(0.1, 3)))
def pause(case, pause_s, pauses, delay_ms=1.0, rows=1000):
    """Half of the rows fill and flush the server's buffer of 8 kB many times; then it sleeps; then the other half follows."""
    sleep = f"case when g = {rows // 2} then pg_sleep({pause_s}) end" if pause_s else "null"
    select = f"select g, {sleep}, repeat('x', 100) from generate_series(1, {rows}) g"
    # Pauses are a hundred times as long as what a busy machine adds.
    bench = dict(noise_limits=noise.Limits(p99_ms=8, worst_ms=60)) if pause_s else None
    ops, served = recorded(case, [dict(work="script", steps=[select, "think 20"], n=pauses)],
                           wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=bench)
    if not pause_s:
        return judged(ops, served, 2 * delay_ms, rest="server", skip=BULK)
    lost = pause_s * pauses
    # What is left is the path, crossed by the question and by each half of the answer.
    whole_s = sum(op["t_done_ns"] - op["t_issue_ns"] for op in ops) / 1e9
    sides = expect.sides_of({"server": lost, "network": max(0, whole_s - lost)})
    wrong = ["network-loss", "network-bandwidth", "receive-window-limited", "client-concurrency-cap", "chatty", "small-fetch"]
    if sides != ["server"]:
        return expect.Expectation(side=sides, skip=BULK, forbid=sorted({*NEVER, *wrong}), without={"window": sides, "cut out": sides})
    wrong.append("network-delay")
    says = dict(side=["server"], cause=["sender-application-limited", "server-slow", "server-stall"], first=[r"^The SERVER "], forbid=wrong,
                json={"findings[0].side": {"in": ["server"]}, "findings[0].cost_ns": {"between": [0.95e9 * lost, 1.05e9 * lost + 5e6 * pauses]}})
    for side in BOTH:
        headless(f"{case.folder}/{side}.pcap", f"{case.folder}/late-{side}.pcap")
    pairs = [("both ends", ["client.pcap", "server.pcap"]), ("client", ["client.pcap"]), ("server", ["server.pcap"]),
             ("both, no handshake", ["late-client.pcap", "late-server.pcap"]), ("client, no handshake", ["late-client.pcap"]),
             ("server, no handshake", ["late-server.pcap"])]
    whole = expect.Expectation(side=["server"], cause=says["cause"], skip=BULK, forbid=sorted({*NEVER, *wrong}))
    if pauses < 6:
        # The middle third may hold no pause in full.
        whole.without = {"window": ["server", "none", "undetermined"], "cut out": ["server", "none", "undetermined"]}
    whole.runs = [expect.run(name, "diagnose", files, **says) for name, files in pairs]
    return whole


def headless(source, target):
    """Without TCP's handshake and the logon: from the first statement on."""
    header, scale, packets = pcap.read(source)
    payload = lambda data: data[34 + (data[46] >> 4) * 4 :]
    first = next(i for i, (_, _, data) in enumerate(packets) if payload(data)[:1] == b"Q")
    pcap.write(target, header, scale, packets[first:])
