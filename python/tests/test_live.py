"""Live fabrics: real namespaces and programs. They need root and Linux."""

import os
import re
import signal
import subprocess
import sys
import time
import warnings

import pytest

import pausenet

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="a live fabric needs root")

# A machine that is busy is late: that is no fault of what is tested.
SLOWDOWN = 2000


def await_true(what):
    """Poll for a condition; the limit only prevents hanging."""
    deadline = time.monotonic() + 180
    while not what():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def net():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a busy machine is late
        with pausenet.up("small", slowdown=SLOWDOWN) as fabric:
            yield fabric
    assert fabric.verdict in ("PASS", "WARN", "FAIL")
    late = re.compile("late|could not keep up|that programs sent")
    assert not [m for m in fabric.verdict.messages if not late.search(m)], "an invariant broke"


def test_nodes(net):
    assert [h.name for h in net.hosts] == [f"h{i}" for i in range(8)] and len(net.switches) == 4 and len(net) == 12
    assert net["h1"].IP() == "10.0.0.2" and net.get("h1") is net["h1"] and net.get("h1", "h2") == [net["h1"], net["h2"]]
    assert "h1" in net and "h9" not in net and set(net) >= {"leaf0", "spine1"}
    assert len(net.links) == 12 and net.slowdown >= 1
    with pytest.raises(KeyError, match="no node 'h9': there are leaf0"):
        net["h9"]


def test_cmd(net):
    h1 = net["h1"]
    assert "1 received" in h1.cmd("ping -c1 -W 100 h5") and h1.exit_code == 0
    assert h1.cmd("echo out; echo err >&2; exit 3") == "out\nerr\n" and h1.exit_code == 3
    assert h1.cmd("echo", "$HOME", "*") == "$HOME *\n"
    assert h1.cmd("hostname").strip() == "h1"
    assert h1.cmd("kill -9 $$") == "" and h1.exit_code == 128 + 9
    assert "no-such-program" in h1.cmd("no-such-program") and h1.exit_code == 127
    with pytest.raises(pausenet.Error, match="no-such-program"):
        h1.cmd("no-such-program", "argument")
    with pytest.raises(TypeError, match="no command"):
        h1.cmd()


def test_background(net):
    """A command in the background does not block cmd, and continues."""
    h5 = net["h5"]
    assert h5.cmd("sleep 1000 & echo started") == "started\n"
    assert h5.cmd("pkill -x sleep") == "" and h5.exit_code == 0
    for command in ("sleep 1001", "sleep 1001; sleep 1002", "trap '' TERM; sleep 1001; sleep 1002"):
        with pytest.raises(subprocess.TimeoutExpired):
            h5.cmd(command, timeout=0.5)
        await_true(lambda: h5.cmd("pgrep -x sleep") == "")


def test_popen(net):
    server = net["h2"].popen("cat; echo over", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    out, _ = server.communicate("to a node\n")
    assert out == "to a node\nover\n" and server.returncode == 0
    server = net["h2"].popen("exec sleep 1003")
    await_true(lambda: "sleep 1003" in net["h2"].cmd("ps -e -o args"))
    server.terminate()
    assert server.wait() == 128 + signal.SIGTERM
    await_true(lambda: "sleep 1003" not in net["h2"].cmd("ps -e -o args"))


def test_pings(net):
    assert net.pingAll() == 0 and net.pingPair() == 0 and net.ping(["h0", "h3", "h7"]) == 0


def test_flows(net):
    flows = net.incast(3, "h0", "64KB")
    assert {f.dst for f in flows} == {"h0"} and len({f.src for f in flows}) == 3 and {f.size_bytes for f in flows} == {64000}
    # 192 KB at 10 Gbps take 153.6 us without headers.
    assert max(f.fct_ns for f in flows) > 153_600
    flow = net.flow("h1", "h6", 10_000, cc="none")
    assert (flow.src, flow.dst, flow.size_bytes) == ("h1", "h6", 10_000) and flow.fct_ns > 8_000
    kinds = [e["kind"] for e in net.events()]
    assert kinds.count("flow_end") >= 4
    with pytest.raises(pausenet.Error, match='no node "h99"'):
        net.incast(3, "h99", "64KB")


def test_changes(net):
    net.link("leaf0", "spine0", "down")
    down = [x for x in net.links if not x["up"]]
    assert len(down) == 1 and {down[0]["a"].split("-")[0], down[0]["b"].split("-")[0]} == {"leaf0", "spine0"}
    net.configLinkStatus("leaf0", "spine0", "up")
    assert all(x["up"] for x in net.links)
    net.switch("spine1", "stop")
    assert sum(not x["up"] for x in net.links) == 2
    net.switch("spine1", "start")
    assert all(x["up"] for x in net.links)
    net.set("switch.pfc.xoff", "150KB")
    net.set({"leaf0.pfc.xoff": "160KB"})
    said = net.shell("dump")
    assert "XOFF 150KB" in said and "XOFF 160KB" in said
    with pytest.raises(pausenet.Error, match="xof") as e:
        net.set("switch.pfc.xof", "150KB")
    assert not str(e.value).startswith("1 of")


def test_fault_while_ping_runs(net):
    """Pings are lost while a link is down, and answered after the fault has ended by itself."""
    h0 = net["h0"]
    probe = "ping -c1 -W 100 h1"
    assert "1 received" in h0.cmd(probe)
    pings = h0.popen("exec ping -n -O -i 0.01 h1", stdout=subprocess.PIPE, text=True)
    lines = iter(pings.stdout.readline, "")
    assert any("bytes from" in line for line in lines)
    ends = net.fault("link", "h0", "down", "500us")
    assert any("no answer yet" in line for line in lines)
    net.await_virtual(ends)
    assert any("bytes from" in line for line in lines)
    pings.terminate()
    pings.wait()
    pings.stdout.close()
    assert all(x["up"] for x in net.links)
    with pytest.raises(pausenet.Error, match="a repair does not end by itself"):
        net.fault("link", "h0", "up", "50ms")
    assert net.fault("link", "h0", "down") is None and net.fault("link", "h0", "up") is None


def test_nodes_may_not_inject(net):
    """Programs on nodes need --allow-faults."""
    assert "--allow-faults" in net["h0"].cmd(f"{pausenet._command.binary()} fault link h0 down")
    assert all(x["up"] for x in net.links)


def test_iperf(net):
    assert 1e8 < net.iperf("h0", "h7", seconds=2)


def test_mistakes():
    with pytest.raises(pausenet.Error, match="nowhere") as e:
        pausenet.up("nowhere")
    assert e.value.exit_code == 2
    with pytest.raises(pausenet.Error, match="unknown congestion control"):
        pausenet.up("small", cc="nope")


def test_end(net):
    """A fabric that ends by itself has a verdict, and counts as ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = pausenet.up("star", slowdown=SLOWDOWN, name="python-own")
        with pytest.raises(pausenet.Error, match="a fabric named python-own is up"):
            pausenet.up("star", name="python-own")
        assert own.stop() == own.verdict and own.stop() is own.verdict
    assert "ended" in repr(own)
    with pytest.raises(pausenet.Error, match="has ended"):
        own["h1"].cmd("true")


def test_killed_elsewhere():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = pausenet.up("star", slowdown=SLOWDOWN)
        os.kill(own.inspect()["pid"], signal.SIGKILL)
        assert own.stop() == "FAIL"
    assert "signal 9" in own.verdict.messages[0]


def test_goes_with_python():
    """kill -9 of Python leaves no fabric behind."""
    code = ("import os, pausenet\n"
            f"net = pausenet.up('star', slowdown={SLOWDOWN}, name='python-killed')\n"
            "print('up', flush=True)\n"
            "input()\n")
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n"
    names = lambda: pausenet.call("inspect", "-o", "json")  # noqa: E731
    assert "python-killed" in names()
    child.kill()
    child.wait()
    await_true(lambda: "python-killed" not in names())
