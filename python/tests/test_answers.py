"""Answers are those of the command; what cannot be done is an exception, what is damaged a warning."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest
import slowside

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ["SLOWSIDE"]
NFS = str(ROOT / "tests/lab/server-cap/client.pcap.zst")
NFS_SERVER = str(ROOT / "tests/lab/server-cap/server.pcap.zst")
PGSQL = str(ROOT / "tests/databases/pgsql/extended.pcap")


def test_a_diagnosis_is_that_of_the_command():
    found = slowside.diagnose(NFS, NFS_SERVER)
    line = [COMMAND, "diagnose", NFS, NFS_SERVER, "--format", "json", "--quiet"]
    assert dict(found) == json.loads(subprocess.run(line, capture_output=True).stdout)
    assert found.side == "server"
    assert found.verdict["cause"] == "server-concurrency-cap"
    assert found.findings[0]["code"] == "server-concurrency-cap"
    assert found.budget["server_ns"] > 0
    sides = slowside.diagnose(client=NFS, server=[NFS_SERVER])
    assert sides.verdict == found.verdict
    shown = found._repr_html_()
    assert "server-concurrency-cap" in shown and "<table>" in shown
    assert "server" in repr(found)


def test_what_strangers_wrote_is_only_shown():
    verdict = {"sentence": "<script>", "side": "none", "cause": None, "confidence": 1}
    found = slowside.Diagnosis({"verdict": verdict, "budget": {"calls": 0}, "findings": []})
    assert "<script>" not in found._repr_html_()


def test_a_report_is_a_page(tmp_path):
    path = tmp_path / "report.html"
    page = slowside.report(PGSQL, output=path)
    assert page.startswith("<!DOCTYPE html>") and path.read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    "function,arguments,options,words",
    [
        (slowside.calls, ["no-such-file.pcap"], {}, "no-such-file.pcap"),
        (slowside.diagnose, ["no-such-file.pcap"], {}, "no-such-file.pcap"),
        (slowside.calls, [PGSQL], {"where": "colour = red"}, "colour"),
        (slowside.calls, [PGSQL], {"columns": ["wait"]}, "wait_ns"),
        (slowside.ops, [PGSQL], {"by": ["colour"]}, "keys"),
        (slowside.calls, [], {}, "required"),
        (slowside.calls, [__file__], {}, "test_answers.py"),
    ],
)
def test_what_cannot_be_done_is_an_exception(function, arguments, options, words):
    with pytest.raises(slowside.SlowsideError, match=words):
        function(*arguments, **options)


def test_what_is_damaged_is_a_warning(tmp_path):
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(pathlib.Path(PGSQL).read_bytes()[:-7])
    with pytest.warns(slowside.SlowsideWarning, match="damaged"):
        rows = slowside.calls(cut)
    assert len(rows) > 0


def test_a_file_that_looks_like_an_option_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("--quiet").write_bytes(pathlib.Path(PGSQL).read_bytes())
    assert len(slowside.calls("--quiet")) == len(slowside.calls(PGSQL))


def test_threads_of_python_go_on_meanwhile():
    done = threading.Event()
    counted = 0
    thread = threading.Thread(target=lambda: (slowside.calls(NFS, NFS_SERVER), done.set()))
    thread.start()
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_ctrl_c_interrupts(tmp_path):
    fifo = tmp_path / "never.pcap"
    os.mkfifo(fifo)
    # Nobody ever writes into it.
    code = "import slowside, sys; print('ready', flush=True); slowside.calls(sys.argv[1])"
    run = subprocess.Popen([sys.executable, "-c", code, str(fifo)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout.readline() == b"ready\n"
    while run.poll() is None:
        run.send_signal(signal.SIGINT)
        try:
            run.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
    assert b"KeyboardInterrupt" in run.stderr.read()
