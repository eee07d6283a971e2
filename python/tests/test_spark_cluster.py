"""Spark as a cluster: a master and two workers in processes of their own, of which an executor dies at its work."""

import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.request

import pyarrow as pa
import pytest
import slowside

# Where everything must hold, nothing is left out.
if not os.environ.get("CI"):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17", allow_module_level=True)

import pyspark  # noqa: E402
from slowside import spark as ring  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
NFS = ROOT / "tests/lab/server-cap/client.pcap.zst"
PGSQL = ROOT / "tests/databases/pgsql/extended.pcap"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


class Cluster:
    """A stand-alone cluster on this host. Each worker has one core, and so one executor with one task at a time."""

    def __init__(self, folder):
        self.work = folder / "work"
        self.log = open(folder / "log", "wb")
        self.processes = []
        port, page = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self.page = f"http://127.0.0.1:{page}/json/"
        self.start(MASTER, "--host", "127.0.0.1", "--port", port, "--webui-port", page)
        self.until(lambda: self.state()["status"] == "ALIVE")
        for _ in range(2):
            self.start(
                WORKER, "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", free_port(),
                "--work-dir", str(self.work), self.url,
            )  # fmt: skip
        self.until(lambda: self.state()["aliveworkers"] == 2)

    def start(self, *words):
        spark_class = pathlib.Path(pyspark.__file__).parent / "bin/spark-class"
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        self.processes.append(
            subprocess.Popen(
                [str(spark_class), *words], stdout=self.log, stderr=self.log, env=environment, start_new_session=True
            )
        )

    def state(self):
        with urllib.request.urlopen(self.page, timeout=5) as answer:
            return json.load(answer)

    def until(self, what):
        for _ in range(600):
            assert all(p.poll() is None for p in self.processes), pathlib.Path(self.log.name).read_text()
            try:
                if what():
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise AssertionError(pathlib.Path(self.log.name).read_text())

    def executors(self):
        """Processes that work for this cluster, and no other."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in words and self.work in (process / "cwd").resolve().parents:
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def started(self):
        """How many executors there have been."""
        return len([folder for folder in self.work.glob("app-*/*") if folder.name.isdigit()])

    def end(self):
        for process in reversed(self.processes):
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            process.wait(60)
        self.log.close()


def parent_of(process):
    return int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def has_open(folder):
    """Processes that have a file below it open."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if any(str(fd.readlink()).startswith(f"{folder}/") for fd in (process / "fd").iterdir()):
                yield int(process.name)
        except OSError:
            pass


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.end()


@pytest.fixture(scope="module")
def session(cluster, started):
    settings = {
        "spark.executor.memory": "640m",
        # Both are there before the first task, so that both work.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }
    return started(cluster.url, **settings)


def many(path, first_host, copies):
    """The packets of a capture again and again, each time later and of another client."""
    raw = subprocess.run(["zstd", "-dc", str(NFS)], check=True, capture_output=True).stdout
    head, at, packets = raw[:24], 24, []
    while at < len(raw):
        seconds, part, length, size = struct.unpack_from("<IIII", raw, at)
        packets.append((seconds, part, size, raw[at + 16 : at + 16 + length]))
        at += 16 + length
    client, step = packets[0][3][26:30], packets[-1][0] - packets[0][0] + 2
    with open(path, "wb") as out:
        out.write(head)
        for copy in range(copies):
            other = bytes([10, 1, first_host + copy // 250, 1 + copy % 250])
            for seconds, part, size, data in packets:
                ends = data[26:34].replace(client, other)
                record = struct.pack("<IIII", seconds + copy * step, part, len(data), size)
                out.write(record + data[:26] + ends + data[34:])


def expected(points, **options):
    alone = [ring._plain(pa.table(slowside.calls(point, **options)), str(point)) for point in points]
    return pa.concat_tables(alone)


def rows(table):
    return sorted(repr(row) for row in table.to_pylist())


def test_rows_of_a_cluster_are_those_of_one_process(session, cluster):
    points = [NFS, PGSQL]
    found = ring.calls(session, [str(point) for point in points]).toArrow()
    alone = expected(points)
    assert found.column_names == alone.column_names
    assert found.num_rows == alone.num_rows > 0
    assert rows(found) == rows(alone)
    # In processes of the two workers.
    assert len(cluster.executors()) == 2


def test_rows_of_a_ring_that_is_split_among_workers_are_those_of_one_process(session, ring_of_ten):
    found = ring.calls(session, [str(ring_of_ten)], split=True).toArrow()
    alone = expected([ring_of_ten])
    assert found.num_rows == alone.num_rows > 0
    assert rows(found) == rows(alone)
    [judged] = ring.diagnose(session, [str(ring_of_ten)], split=True)
    assert judged.json == slowside.diagnose(ring_of_ten).json


def test_an_executor_that_is_killed_at_its_work_takes_no_row_along(session, cluster, tmp_path):
    points = [tmp_path / "one.pcap", tmp_path / "two.pcap"]
    for n, point in enumerate(points):
        many(point, 10 * n, 150)
    options = {"where": "response_time > 34ms"}
    alone = expected(points, **options)
    frame = ring.calls(session, [str(point) for point in points], **options)
    context = session.sparkContext
    found = []

    def work():
        context.setJobGroup("killed", "an executor is killed")
        found.append(frame.toArrow())

    working = pyspark.InheritableThread(target=work)
    before = cluster.started()
    working.start()
    killed = None
    while killed is None:
        assert working.is_alive(), "it ended before one could be killed"
        executors = cluster.executors()
        for process in has_open(tmp_path):
            try:
                # A task's Python is a child of the executor's, and that of the executor.
                grandparent = parent_of(parent_of(process))
            except OSError:
                continue
            if grandparent in executors:
                killed = grandparent
                os.kill(killed, signal.SIGKILL)
                break
    working.join()
    assert killed not in cluster.executors()
    # The task was lost, and another executor was started to do it again.
    tracker = context.statusTracker()
    (job,) = tracker.getJobIdsForGroup("killed")
    stages = [tracker.getStageInfo(stage) for stage in tracker.getJobInfo(job).stageIds]
    assert sum(stage.numFailedTasks for stage in stages) == 1
    assert cluster.started() == before + 1
    assert found[0].num_rows == alone.num_rows > 0
    assert rows(found[0]) == rows(alone)
