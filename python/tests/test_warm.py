"""Processes that are kept for the next run, and runs at the same time."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import pausenet
from pausenet import _warm


def only():
    """Return the one idle process."""
    assert len(_warm._idle) == 1
    return _warm._idle[0].process


@pytest.fixture(autouse=True)
def none():
    """Begin without processes."""
    _warm._end()


def test_kept(tmp_path, monkeypatch):
    one = pausenet.run("incast", cc="dcqcn")
    first = only().pid
    with pytest.raises(pausenet.Error, match="unknown congestion control") as e:
        pausenet.run("incast", cc="nope")
    assert e.value.exit_code == 2
    two = pausenet.run("incast", cc="dcqcn")
    assert only().pid == first and one["dcqcn"].fingerprint == two["dcqcn"].fingerprint
    # As in a process of its own: the directory and the environment are those of now.
    monkeypatch.chdir(tmp_path)
    pausenet.run("incast", cc="dcqcn", out="here")
    assert (tmp_path / "here/incast/dcqcn/flows.csv").exists() and only().pid == first
    monkeypatch.setenv("PAUSENET_CC", "none")
    assert pausenet.run("incast").runs[0].controller == "none"
    assert only().pid != first


def test_threads():
    results = pausenet.run_many(({"scenario": "incast", "seeds": s} for s in range(1, 9)), jobs=2, cc="dcqcn")
    assert [r.runs[0].seed for r in results] == list(range(1, 9))
    assert results[2].runs[0].fingerprint == pausenet.run("incast", cc="dcqcn", seeds=3).runs[0].fingerprint
    assert len(_warm._idle) <= 2


def test_many_mistakes():
    runs = [{"scenario": "incast"}, {"scenario": "incost"}, {"scenario": ["incast", "deadlock"], "cc": "none"}]
    with pytest.raises(pausenet.Error, match='did you mean "incast"'):
        pausenet.run_many(runs[:2])
    with pytest.warns(pausenet.Warning, match="deadlock"):
        good, bad, both = pausenet.run_many(runs, errors="return")
    assert good.verdict == "PASS" and bad.exit_code == 2 and len(both.runs) == 2
    with pytest.raises(ValueError, match="errors='ignore'"):
        pausenet.run_many([], errors="ignore")


def test_killed():
    pausenet.run("incast")
    only().send_signal(signal.SIGKILL)
    only().wait()
    assert pausenet.run("incast").verdict == "PASS"
    running = only()
    threading.Timer(0.3, running.send_signal, [signal.SIGKILL]).start()
    with pytest.raises(pausenet.Error, match="ended by signal 9"):
        pausenet.run("dcon-websearch", cc="dcqcn")
    assert pausenet.run("incast").verdict == "PASS"


def test_interrupted(tmp_path):
    """Ctrl-C keeps what was measured, and the next run has a process again."""
    code = ("import pausenet\n"
            "pausenet.run('incast')\n"
            "try: pausenet.run('dcon-websearch', cc='dcqcn', out='kept')\n"
            "except KeyboardInterrupt: print('interrupted')\n"
            "print(pausenet.run('incast').verdict)\n")
    # A shell's background job ignores SIGINT, and its children with it.
    python = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    manifest = tmp_path / "kept/dcon-websearch/dcqcn/manifest.json"
    while not manifest.exists():
        assert python.poll() is None
        time.sleep(0.05)
    python.send_signal(signal.SIGINT)
    assert python.communicate()[0] == "interrupted\nPASS\n"
    assert '"partial": true' in (manifest.parent / "summary.json").read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked():
    """A forked Python has processes of its own."""
    pausenet.run("incast")
    parents = only().pid
    child = os.fork()
    if child == 0:
        os._exit(0 if pausenet.run("incast").verdict == "PASS" and only().pid != parents else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert pausenet.run("incast").verdict == "PASS" and only().pid == parents


def test_interrupt_takes_the_output():
    """A process that has much to say when it is interrupted is not killed for it."""
    code = ("import os, signal, sys, time\n"
            "signal.signal(signal.SIGINT, lambda *_: (sys.stdout.write('x' * (1 << 20)), sys.exit(3)))\n"
            "os.write(1, b'ready\\n')  # not by print, which a signal handler that writes must not interrupt\n"
            "time.sleep(60)\n")
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    _warm.interrupt(process)
    assert process.returncode == 3
