"""Bring up live fabrics by Mininet's command line and topologies.

``python3 -m pausenet.mininet --topo linear,4 --test pingall`` stands for ``mn --topo linear,4 --test pingall``.
A file of ``--custom`` needs no change: ``from mininet.topo import Topo`` finds the class here.
Any other option is one of ``pausenet up``, such as ``--slowdown 200``.

In a program of your own, ``pausenet.up(topo)`` brings an object of ``Topo`` up.
"""

from __future__ import annotations

import argparse
import json
import runpy
import signal
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from pausenet import _command
from pausenet._command import Error

#: Options of links and nodes that have no counterpart, with the remedy.
_IGNORED = {
    "loss": "use link A B loss=1% in the shell",
    "jitter": "delays are exact",
    "max_queue_size": "switches share a buffer: switch.buffer of a scenario",
    "use_htb": "rates are exact",
    "ip": "hosts are 10.0.0.1, 10.0.0.2 and so on, in the order of addHost",
    "mac": "addresses are pausenet's",
    "cpu": "use h1 taskset COMMAND or h1 nice COMMAND",
}


class Topo:
    """A topology, built by the methods of Mininet's class of this name. Subclasses define build."""

    def __init__(self, *args: Any, **params: Any) -> None:
        self._kinds: Dict[str, str] = {}
        self._links: List[Dict[str, Any]] = []
        #: Notes on options without effect, for the user.
        self.notes: List[str] = []
        self.build(*args, **params)

    def build(self, *args: Any, **params: Any) -> None:
        """Add nodes and links."""

    def addHost(self, name: str, **options: Any) -> str:  # noqa: N802
        """Add a host and return its name."""
        self._note(name, options)
        self._kinds[name] = "host"
        return name

    def addSwitch(self, name: str, **options: Any) -> str:  # noqa: N802
        """Add a switch and return its name. Options, which concern OpenFlow, have no effect."""
        self._kinds[name] = "switch"
        return name

    def addLink(self, node1: str, node2: str, port1: Any = None, port2: Any = None, **options: Any) -> int:  # noqa: N802
        """Add a link and return its number. Ports are numbered in the order of links.

        ``bw`` is in Mbit/s, ``delay`` a text such as ``"10ms"``.
        """
        link: Dict[str, Any] = {"from": node1, "to": node2}
        if options.get("bw") is not None:
            link["rate"] = f"{options['bw']}Mbps"
        if options.get("delay") is not None:
            link["delay"] = str(options["delay"])
        self._note(f"{node1}-{node2}", options)
        self._links.append(link)
        return len(self._links) - 1

    def hosts(self) -> List[str]:
        """Return the names of the hosts."""
        return [n for n, kind in self._kinds.items() if kind == "host"]

    def switches(self) -> List[str]:
        """Return the names of the switches."""
        return [n for n, kind in self._kinds.items() if kind == "switch"]

    def links(self) -> List[Tuple[str, str]]:
        """Return the links, by the names of their ends."""
        return [(link["from"], link["to"]) for link in self._links]

    def _note(self, what: str, options: Dict[str, Any]) -> None:
        self.notes += [f"{what}: {o} has no effect: {_IGNORED[o]}" for o in options if o in _IGNORED]

    def text(self, name: str = "mininet", **all_links: Any) -> str:
        """Return the text of a topology file (JSON, which is YAML). all_links are rate and delay of links without their own."""
        return json.dumps({
            "name": name, **all_links,
            "nodes": [{"name": n, "kind": kind} for n, kind in self._kinds.items()],
            "links": self._links,
        })


class SingleSwitchTopo(Topo):
    """k hosts at one switch."""

    def build(self, k: int = 2) -> None:
        """Add them."""
        self.addSwitch("s1")
        for i in range(1, k + 1):
            self.addLink(self.addHost(f"h{i}"), "s1")


class LinearTopo(Topo):
    """k switches in a row, each with n hosts."""

    def build(self, k: int = 2, n: int = 1) -> None:
        """Add them."""
        for i in range(1, k + 1):
            switch = self.addSwitch(f"s{i}")
            for j in range(1, n + 1):
                self.addLink(self.addHost(f"h{i}" if n == 1 else f"h{j}s{i}"), switch)
            if i > 1:
                self.addLink(f"s{i - 1}", switch)


class TreeTopo(Topo):
    """A tree of switches of this depth and fanout, with hosts as its leaves."""

    def build(self, depth: int = 1, fanout: int = 2) -> None:
        """Add them."""
        self._grow(depth, fanout)

    def _grow(self, depth: int, fanout: int) -> str:
        if depth == 0:
            return self.addHost(f"h{len(self.hosts()) + 1}")
        switch = self.addSwitch(f"s{len(self.switches()) + 1}")
        for _ in range(fanout):
            self.addLink(switch, self._grow(depth - 1, fanout))
        return switch


class TorusTopo(Topo):
    """x by y switches, each linked to the next in its row and in its column, also from the last to the first, with a host each."""

    def build(self, x: int, y: int) -> None:
        """Add them."""
        if min(x, y) < 3:
            raise Error(f"--topo torus,{x},{y}: a torus needs at least 3 by 3 switches", _command.USAGE)
        places = [(i, j) for i in range(x) for j in range(y)]
        names = {at: f"{at[0] + 1}x{at[1] + 1}" for at in places}
        for name in names.values():
            self.addLink(self.addHost("h" + name), self.addSwitch("s" + name))
        for i, j in places:
            for after in (i, (j + 1) % y), ((i + 1) % x, j):
                self.addLink("s" + names[i, j], "s" + names[after])


_TOPOS: Dict[str, Callable[..., Topo]] = {
    "minimal": SingleSwitchTopo, "single": SingleSwitchTopo, "linear": LinearTopo, "tree": TreeTopo, "torus": TorusTopo,
}

#: Lines of the shell for each test.
_TESTS = {
    "none": "", "build": "", "pingall": "pingall\n", "pingpair": "pingpair\n", "iperf": "iperf\n", "iperfudp": "iperfudp 10Mbps\n",
    "all": "pingall\niperf\n",
}

#: What Mininet has and a fabric has not, with the reason.
_REFUSED = {
    "controller": "switches here do not use OpenFlow; for routes by a program on switches, use --routing kernel (docs/routing.md)",
    "xterms": "type xterm at the prompt (needs tmux or a display)",
    "cluster": "a fabric is on one machine",
}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _parameters(words: str) -> Tuple[str, List[Any], Dict[str, Any]]:
    """Return the parts of NAME,VALUE,KEY=VALUE."""
    name, *rest = words.split(",")
    return name, [_value(w) for w in rest if "=" not in w], {k: _value(v) for k, v in (w.split("=", 1) for w in rest if "=" in w)}


def custom(files: str) -> Dict[str, Callable[..., Topo]]:
    """Return the dictionary topos of files of Python, separated by commas. Their imports of mininet.topo are served from here."""
    here = types.ModuleType("mininet.topo")
    here.__dict__.update(Topo=Topo, SingleSwitchTopo=SingleSwitchTopo, LinearTopo=LinearTopo, TreeTopo=TreeTopo, TorusTopo=TorusTopo)
    package = types.ModuleType("mininet")
    package.__dict__.update(__path__=[], topo=here, topolib=here)
    sys.modules.update({"mininet": package, "mininet.topo": here, "mininet.topolib": here})
    topos: Dict[str, Callable[..., Topo]] = {}
    for name in files.split(","):
        try:
            topos.update(runpy.run_path(name).get("topos", {}))
        except OSError as e:
            raise Error(f"{name}: {e.strerror}", _command.USAGE) from e
        except ModuleNotFoundError as e:
            raise Error(f"{name}: {e}: of Mininet, mininet.topo and mininet.topolib are here", _command.USAGE) from e
    return topos


def make(words: str, topos: Dict[str, Callable[..., Topo]]) -> Topo:
    """Return the topology of ``--topo``: linear,4 or mytopo,k=2."""
    name, args, params = _parameters(words)
    if name not in topos:
        raise Error(f"--topo {name}: expected one of {', '.join(topos)}", _command.USAGE)
    try:
        return topos[name](*args, **params)
    except TypeError as e:
        raise Error(f"--topo {words}: wrong parameters: {e}", _command.USAGE) from e


def _options(link: Optional[str]) -> Tuple[Dict[str, Any], List[str]]:
    """Return the keys of a topology for ``--link tc,bw=10,delay=10ms``, and notes."""
    if link is None:
        return {}, []
    probe = Topo()
    probe.addLink("all", "links", **_parameters(link)[2])
    return {k: v for k, v in probe._links[0].items() if k not in ("from", "to")}, [n.partition(": ")[2] for n in probe.notes]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m pausenet.mininet", allow_abbrev=False,
                                     description="Bring up a live fabric by the options of Mininet's mn.",
                                     epilog="Other options are those of pausenet up.")
    parser.add_argument("--topo", default="minimal", metavar="NAME[,PARAMETER...]",
                        help="minimal, single,K, linear,K[,N], tree,DEPTH,FANOUT, torus,X,Y, or one of --custom")
    parser.add_argument("--custom", metavar="FILE,...", help="files of Python that define topos")
    parser.add_argument("--test", "-t", choices=sorted(_TESTS), help="run a test in place of the shell")
    parser.add_argument("--link", metavar="tc,bw=MBPS,delay=TIME", help="rate and delay of all links")
    parser.add_argument("--switch", help="user: switches in this process (--plane wasm); any other: the kernel plane")
    parser.add_argument("--clean", "-c", action="store_true", help="remove what killed fabrics left")
    parser.add_argument("--mac", "--arp", "--innamespace", "--pin", action="store_true", help="no effect: always so, or not needed")
    parser.add_argument("--verbosity", "-v", metavar="LEVEL", help="no effect")
    for name, why in _REFUSED.items():
        parser.add_argument("--" + name, *(["-x"] if name == "xterms" else []), nargs="?", const=True, help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args(arguments)
    try:
        for name, why in _REFUSED.items():
            if getattr(options, name) is not None:
                raise Error(f"--{name}: {why}", _command.USAGE)
        if options.clean:
            return subprocess.call([_command.binary(), "clean"])
        topo = make(options.topo, {**_TOPOS, **(custom(options.custom) if options.custom else {})})
        links, notes = _options(options.link)
        for note in dict.fromkeys(topo.notes + notes):
            print(f"pausenet: warning: {note}", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="pausenet-") as folder:
            file = Path(folder) / (options.topo.split(",")[0] + ".yaml")
            file.write_text(topo.text(file.stem, **links), encoding="utf-8")
            plane = ["--plane", "wasm"] if options.switch == "user" else []
            command = [_command.binary(), "up", *plane, *rest, "--", str(file)]
            signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the shell, or ends the test's fabric in order
            return subprocess.run(command, input=_TESTS.get(options.test), text=True).returncode
    except Error as e:
        print(f"pausenet: {e}", file=sys.stderr)
        return e.exit_code


if __name__ == "__main__":
    sys.exit(main())
