"""Topologies and options as Mininet's users write them."""

import json
import os
import subprocess

import pytest

import pausenet
from pausenet import mininet

CUSTOM = """
from mininet.topo import Topo

class MyTopo( Topo ):
    def build( self, k=1 ):
        left, right = self.addSwitch( 's3' ), self.addSwitch( 's4', dpid='4' )
        self.addLink( self.addHost( 'h1', ip='10.0.0.9/24' ), left, bw=10, delay='10ms', loss=1 )
        self.addLink( left, right, bw=100 )
        for i in range( k ):
            self.addLink( right, self.addHost( 'h%d' % ( i + 2 ) ) )

topos = { 'mytopo': ( lambda *a, **b: MyTopo( *a, **b ) ) }
"""


def summary(topo, tmp_path):
    """Return the program's counts of hosts, switches and links."""
    file = tmp_path / "t.yaml"
    file.write_text(topo.text())
    shown = json.loads(pausenet.call("show", str(file), "-o", "json"))
    return [sum(n["kind"] == kind for n in shown["nodes"]) for kind in ("host", "switch")] + [len(shown["links"])]


@pytest.mark.parametrize("words, counts", [  # mn --topo WORDS has these
    ("minimal", [2, 1, 2]), ("single,3", [3, 1, 3]), ("linear,4", [4, 4, 7]), ("linear,k=3,n=2", [6, 3, 8]), ("tree,2,2", [4, 3, 6]),
    ("tree,depth=1,fanout=5", [5, 1, 5]), ("torus,3,3", [9, 9, 27]), ("torus,x=3,y=4", [12, 12, 36]),
])
def test_built_in_topologies(words, counts, tmp_path):
    assert summary(mininet.make(words, mininet._TOPOS), tmp_path) == counts


def test_custom_file(tmp_path):
    file = tmp_path / "custom.py"
    file.write_text(CUSTOM)
    topo = mininet.make("mytopo,k=3", mininet.custom(str(file)))
    assert summary(topo, tmp_path) == [4, 2, 5]
    assert topo.hosts() == ["h1", "h2", "h3", "h4"] and topo.links()[1] == ("s3", "s4")
    made = json.loads(topo.text(rate="1Gbps"))
    assert made["rate"] == "1Gbps" and made["links"][0] == {"from": "h1", "to": "s3", "rate": "10Mbps", "delay": "10ms"}
    assert [n.split(" has")[0] for n in topo.notes] == ["h1: ip", "h1-s3: loss"]


@pytest.mark.parametrize("words, says", [
    (["--topo", "ring,3"], "--topo ring: expected one of minimal, single, linear, tree, torus"),
    (["--topo", "torus,2,3"], "--topo torus,2,3: a torus needs at least 3 by 3 switches"),
    (["--topo", "torus,3"], "--topo torus,3: wrong parameters"),
    (["--topo", "linear,a"], "--topo linear,a: wrong parameters"),
    (["--controller", "remote,ip=127.0.0.1"], "do not use OpenFlow"),
    (["--custom", "nowhere.py"], "nowhere.py: No such file"),
    (["--custom", "needs.py"], "needs.py: No module named 'mininet.link'"),
])
def test_mistakes(words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "needs.py").write_text("from mininet.link import TCLink")
    assert mininet.main(words) == 2
    assert says in capsys.readouterr().err


def test_command(monkeypatch, capsys):
    """The command is pausenet up with a topology and the test's lines; its code is passed on."""
    ran = []

    def run(command, input, text):
        ran.append((command[1:-1], json.loads(open(command[-1]).read()), input))
        return subprocess.CompletedProcess(command, 7)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(mininet.signal, "signal", lambda *_: None)
    assert mininet.main(["--topo", "linear,2", "--link", "tc,bw=10,delay=10ms,loss=1", "--test", "pingall", "--slowdown", "9",
                         "--switch", "user", "--mac"]) == 7
    (command, made, lines), = ran
    assert command == ["up", "--plane", "wasm", "--slowdown", "9", "--"] and lines == "pingall\n"
    assert made["name"] == "linear" and made["rate"] == "10Mbps" and made["delay"] == "10ms" and len(made["links"]) == 3
    assert capsys.readouterr().err == "pausenet: warning: loss has no effect: use link A B loss=1% in the shell\n"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="live fabrics here need root")
def test_up():
    with pausenet.up(mininet.TreeTopo(2, 2)) as net:
        assert len(net.switches) == 3 and net.pingPair() == 0
