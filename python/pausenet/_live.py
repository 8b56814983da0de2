"""Live fabrics, with an interface like Mininet's."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import warnings
import weakref
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Union

from pausenet import _command
from pausenet._command import Error, PathLike
from pausenet._results import Settings, Verdict, _sets

_numbers = itertools.count(1)

#: Limit in seconds for a fabric to come up, and to end, on a busy machine.
_LIMIT = 180.0

_PINGED = re.compile(r"\((\d+)/(\d+) received\)")
_TCP = re.compile(r"([0-9.]+) Gbps of virtual time")
_FAILED_LINE = re.compile(r"^\d+ of \d+ lines failed(: line \d+|, the first is line \d+): ")


class Flow(NamedTuple):
    """A finished RDMA flow."""

    src: str
    dst: str
    size_bytes: int
    #: Flow completion time in virtual nanoseconds.
    fct_ns: int


class Node:
    """A host or a switch of a live fabric. Its programs run in its network namespace."""

    def __init__(self, net: "Net", described: Mapping[str, Any]) -> None:
        self._net = net
        self.name: str = described["name"]
        #: "host" or "switch".
        self.kind: str = described["kind"]
        #: A host's IPv4 address; "" of a switch.
        self.address: str = described.get("address", "")
        #: The exit code of the last cmd.
        self.exit_code: Optional[int] = None

    def IP(self) -> str:  # noqa: N802
        """Return the address, as Mininet's nodes do."""
        return self.address

    def popen(self, *command: str, **options: Any) -> "subprocess.Popen[Any]":
        """Start a program on this node; options are those of subprocess.Popen. A single text is a command for sh; several are the program and its arguments.

        ``terminate()`` ends the program. ``kill()`` would leave it running until the fabric ends.
        """
        self._net._check_up()
        return subprocess.Popen([_command.binary(), "exec", "--fabric", self._net.name, self.name, "--", *_words(command)], **options)

    def cmd(self, *command: str, timeout: Optional[float] = None) -> str:
        """Run a command on this node and return its output, including errors, whatever its exit code (``.exit_code``).

        One text goes to sh, as in ``h1.cmd("ping -c1 h5")``, where hosts have their names; with ``&`` at its end it goes on in the background. Several
        are a program and its arguments. timeout is in seconds of wall-clock time; after that it is ended, and subprocess.TimeoutExpired raised.
        """
        # A file, not a pipe: a program in the background would keep that open.
        with tempfile.TemporaryFile() as printed:
            process = self.popen(*command, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                self.exit_code = process.wait(timeout)
            except BaseException:
                _kill_group(process)
                raise
            printed.seek(0)
            text = printed.read().decode("utf-8", "replace")
        last = text.rstrip("\n").rpartition("\n")[2]
        if last.startswith("pausenet: ") and self.exit_code != 0:
            if not last.endswith(f": exit code {self.exit_code}") and ": signal: " not in last:
                raise Error(last[len("pausenet: "):], self.exit_code, ["exec", self.name, *command])
            text = text[:text.rindex(last)]  # what the program itself printed
        return text

    def __repr__(self) -> str:
        return f"<pausenet.Node {self.name} {self.address}>" if self.address else f"<pausenet.Node {self.name}>"


class Net:
    """A live fabric that is up. It ends with ``stop()``, at the end of its ``with`` block, or with Python, even if Python is killed."""

    def __init__(self, process: "subprocess.Popen[bytes]", name: str, folder: "tempfile.TemporaryDirectory[str]", check: bool) -> None:
        self._process, self._folder, self._check = process, folder, check
        #: The fabric's name, for other terminals: ``sudo pausenet shell NAME``.
        self.name = name
        #: The verdict, as soon as the fabric has ended.
        self.verdict: Optional[Verdict] = None
        self._end = weakref.finalize(self, _end, process, os.getpid())
        self._nodes = {n["name"]: Node(self, n) for n in self.inspect()["nodes"]}

    # Nodes and links

    def __getitem__(self, name: str) -> Node:
        try:
            return self._nodes[name]
        except KeyError:
            raise KeyError(f"no node {name!r}: there are {', '.join(self._nodes)}") from None

    def get(self, *names: str) -> Union[Node, List[Node]]:
        """Return a node by its name, or several, as Mininet does."""
        nodes = [self[n] for n in names]
        return nodes[0] if len(nodes) == 1 else nodes

    def __contains__(self, name: object) -> bool:
        return name in self._nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def hosts(self) -> List[Node]:
        """Return the hosts."""
        return [n for n in self._nodes.values() if n.kind == "host"]

    @property
    def switches(self) -> List[Node]:
        """Return the switches."""
        return [n for n in self._nodes.values() if n.kind == "switch"]

    @property
    def links(self) -> List[Dict[str, Any]]:
        """Return the links, with their rates, delays and states."""
        return list(self.inspect()["links"])

    def inspect(self) -> Dict[str, Any]:
        """Return the output of ``pausenet inspect -o json``."""
        return dict(json.loads(_command.call("inspect", self.name, "-o", "json")))

    @property
    def slowdown(self) -> float:
        """Return the wall-clock seconds per second of virtual time. The number may rise on a busy machine."""
        return float(self.inspect()["clock"]["slowdown"])

    # Doing

    def shell(self, line: str) -> str:
        """Run a line in the fabric's shell (``help`` prints the verbs) and return its output. Raises Error if it fails."""
        self._check_up()
        if "\n" in line.strip():
            raise ValueError("several lines: give them one at a time")
        done = _command.execute(["shell", self.name], line.strip() + "\n")
        if done.code != 0:
            raise Error(_FAILED_LINE.sub("", done.message), done.code, done.command)
        echo, _, printed = done.out.partition("\n")
        return printed if echo.startswith("pausenet> ") else done.out

    def flow(self, src: str, dst: str, size: Union[int, str], cc: Optional[str] = None) -> Flow:
        """Send size, as ``"64KB"`` or in bytes, by RDMA from a host to another, and wait for its end. cc is its congestion control."""
        return self._flows(f"flow {src} {dst} {_size(size)}" + (f" cc={cc}" if cc else ""), 1)[0]

    def incast(self, n: int, to: str, size: Union[int, str], cc: Optional[str] = None) -> List[Flow]:
        """Make n hosts send size to one by RDMA at once, and wait for their ends. Returns the flows in the order of their ends."""
        return self._flows(f"incast {n} {to} {_size(size)}" + (f" cc={cc}" if cc else ""), n)

    def _flows(self, line: str, n: int) -> List[Flow]:
        """Run a line and return the flows that it starts, read from the fabric's events."""
        with open(self._events, "rb") as events:
            events.seek(0, os.SEEK_END)
            self.shell(line)
            began: List[int] = []
            ended: List[Flow] = []
            deadline = time.monotonic() + _LIMIT
            rest = b""
            while len(ended) < n and time.monotonic() < deadline:
                *lines, rest = (rest + events.read()).split(b"\n")
                for e in map(json.loads, lines):
                    if e["kind"] == "flow_start" and len(began) < n:
                        began.append(e["flow"])
                    elif e["kind"] == "flow_end" and e["flow"] in began:
                        ended.append(Flow(e["node"], e["peer"], e["size_bytes"], e["fct_ns"]))
                if len(ended) < n:
                    self._check_up()
                    time.sleep(0.02)
            if len(ended) < n:
                raise Error(f"{line}: {n - len(ended)} of {n} flows have not ended", _command.FAILED)
            return ended

    def set(self, place: Union[str, Mapping[str, Any]], value: Any = None) -> None:
        """Change switches' settings: ``set("leaf0.pfc.xoff", "320KB")``, ``set({"switch.pfc.xoff": "320KB"})`` for all switches."""
        for p, v in place.items() if isinstance(place, Mapping) else [(place, value)]:
            self.shell(f"set {p}={_command.setting(v)}")

    def link(self, a: str, b: str, what: str) -> None:
        """Take the links between two nodes ``"down"`` or ``"up"``, or set ``"loss=0.01"`` and so on: see ``shell("help link")``."""
        self.fault("link", a, b, *what.split())

    def switch(self, name: str, what: str) -> None:
        """Take all links of a switch down (``"stop"``), as if it had no power, or up again (``"start"``)."""
        self.fault("switch", name, *what.split())

    def fault(self, *words: str) -> Optional[int]:
        """Inject a fault, by the words of ``pausenet fault``: ``fault("link", "h0", "leaf0", "down", "50ms")``, ``fault("host", "h3", "pfc-storm", "on")``.

        With a time as the last word the fault ends by itself. Returns the virtual time of that end, in nanoseconds; None without a time.
        """
        self._check_up()
        said = json.loads(_command.call("fault", "--fabric", self.name, "-o", "json", "--", *words))
        return int(said["ends_ns"]) or None

    def await_virtual(self, ns: int) -> None:
        """Wait until the fabric's virtual time has reached ns nanoseconds since bring-up, such as the end of a fault."""
        while True:
            clock = self.inspect()["clock"]
            left = ns - clock["virtual_ns"]
            if left < 0:
                return
            time.sleep(min(1.0, left * 1e-9 * clock["slowdown"] + 1e-3))

    def configLinkStatus(self, a: str, b: str, status: str) -> None:  # noqa: N802
        """Call link, under Mininet's name."""
        self.link(a, b, status)

    def ping(self, hosts: Sequence[str]) -> float:
        """Ping between these hosts, and return the percentage of lost pings."""
        return _lost(self.shell("ping " + " ".join(hosts)))

    def pingAll(self) -> float:  # noqa: N802
        """Ping between all hosts, and return the percentage of lost pings."""
        return _lost(self.shell("pingall"))

    def pingPair(self) -> float:  # noqa: N802
        """Ping between the first two hosts, and return the percentage of lost pings."""
        return _lost(self.shell("pingpair"))

    def iperf(self, src: Optional[str] = None, dst: Optional[str] = None, seconds: int = 5) -> float:
        """Measure TCP between two hosts, the first and the last unless named, by iperf3. Returns bits per second of virtual time."""
        if (src is None) != (dst is None):
            raise ValueError("name two hosts, or none")
        said = self.shell(" ".join(["iperf", *([src, dst] if src and dst else []), str(seconds)]))
        rate = _TCP.search(said)
        if rate is None:
            raise Error(f"iperf says nothing of a rate: {said.strip()}", _command.FAILED)
        return float(rate.group(1)) * 1e9

    def cli(self) -> None:
        """Open the fabric's shell in this terminal; its command exit returns."""
        self._check_up()
        subprocess.call([_command.binary(), "shell", self.name])

    def events(self) -> List[Dict[str, Any]]:
        """Return the events so far: PAUSE, flows, faults and so on, each as a dictionary."""
        with open(self._events, "rb") as f:
            return [json.loads(line) for line in f.read().split(b"\n")[:-1]]

    @property
    def _events(self) -> Path:
        return Path(self._folder.name) / "events"

    # The end

    def _check_up(self) -> None:
        if self._process.poll() is not None:
            raise Error(f"the fabric {self.name} has ended", _command.FAILED)

    def stop(self) -> Verdict:
        """End the fabric and return its verdict. A verdict other than PASS is a pausenet.Warning; with ``up(check=True)`` FAIL raises Error."""
        if self.verdict is not None:
            return self.verdict
        self._end()
        told = [e for e in self.events() if e["kind"] == "verdict"]
        printed = _text(Path(self._folder.name) / "errors").strip()
        if told:
            v = told[-1]["verdict"]
            self.verdict = Verdict(v["status"], v["reasons"] or ())
        else:
            self.verdict = Verdict("FAIL", [printed or f"the fabric was ended without a verdict: {_ended(self._process.returncode)}"])
        self._folder.cleanup()
        if self.verdict == "FAIL" and self._check:
            raise Error("the fabric's verdict is FAIL, its numbers cannot be trusted: " + "; ".join(self.verdict.messages), _command.FAILED)
        if self.verdict != "PASS":
            warnings.warn(f"fabric {self.name}: verdict {self.verdict}: " + "; ".join(self.verdict.messages[:5]), _command.Warning, stacklevel=2)
        return self.verdict

    def __enter__(self) -> "Net":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self._check = False  # report the first error
        self.stop()

    def __repr__(self) -> str:
        state = f"ended, {self.verdict}" if self.verdict is not None else f"{len(self.hosts)} hosts, {len(self.switches)} switches"
        return f"<pausenet.Net {self.name}: {state}>"


class Topology(Protocol):
    """A topology made in Python, such as pausenet.mininet.Topo."""

    def text(self) -> str:
        """Return the text of a topology file."""


def up(
    what: Union[PathLike, Topology, None] = None,
    *,
    name: Optional[str] = None,
    slowdown: Optional[float] = None,
    cc: Optional[str] = None,
    set: Optional[Settings] = None,
    seed: Optional[int] = None,
    privileged: bool = False,
    nat: bool = False,
    allow_faults: bool = False,
    check: bool = False,
) -> Net:
    """Bring a live fabric up. Its clock follows the wall clock, slowed down, and its hosts run any program. Needs root and Linux.

    what is a topology or a scenario, a built-in's name or a file (default: a small leaf-spine), or a ``pausenet.mininet.Topo``. The other
    parameters are the flags of ``pausenet up``.

    >>> with pausenet.up("leafspine") as net:
    ...     print(net["h1"].cmd("ping -c1 h5"))
    ...     net.incast(7, "h0", "64KB")
    """
    called = name if name is not None else f"python-{os.getpid()}-{next(_numbers)}"
    folder = tempfile.TemporaryDirectory(prefix="pausenet-")
    errors = Path(folder.name) / "errors"
    if what is not None and not isinstance(what, (str, os.PathLike)):
        text, what = what.text(), Path(folder.name) / "topology.yaml"
        what.write_text(text, encoding="utf-8")
    words = ["up", *_command.arguments({
        "name": called, "slowdown": slowdown, "cc": cc, "seed": seed, "privileged": privileged, "nat": nat, "allow_faults": allow_faults, "events": Path(folder.name) / "events",
    }), *_sets(set), *(["--", str(what)] if what is not None else [])]
    command = [_command.binary(), *words]
    # The fabric lasts as long as somebody can write to its standard input: it ends with this process, however that ends. Ctrl-C is not for it.
    with open(errors, "wb") as err:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=err, start_new_session=True)
    try:
        _await(process, called)
        if process.poll() is not None:
            _command.Output(command, process.returncode, "", _text(errors)).fail()
        net = Net(process, called, folder, check)
    except BaseException:
        _end(process, os.getpid())
        raise
    for text in _command.Output(command, 0, "", _text(errors)).warnings:
        warnings.warn(text, _command.Warning, stacklevel=2)
    return net


def _await(process: "subprocess.Popen[bytes]", name: str) -> None:
    """Wait until a process's fabric answers, or the process has ended."""
    deadline = time.monotonic() + _LIMIT
    while process.poll() is None:
        asked = _command.execute(["inspect", name, "-o", "json"])
        if asked.code == 0 and json.loads(asked.out)["pid"] == process.pid:
            return
        if time.monotonic() > deadline:
            raise Error(f"the fabric {name} did not come up within {_LIMIT:.0f} s", _command.ENVIRONMENT)
        time.sleep(0.1)


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    """End a fabric's process in order. Does nothing in a forked process."""
    if os.getpid() != owner:
        return
    assert process.stdin is not None
    try:
        process.stdin.close()
    except OSError:
        pass
    for ask in (None, signal.SIGTERM, signal.SIGKILL):
        if ask is not None:
            process.send_signal(ask)
        try:
            process.wait(_LIMIT)
            return
        except subprocess.TimeoutExpired:
            continue


def _kill_group(process: "subprocess.Popen[Any]") -> None:
    """End a program and all processes that it started, except those in their own sessions."""
    for ask in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, ask)
            process.wait(2)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _words(command: Sequence[str]) -> List[str]:
    if not command:
        raise TypeError("no command: net[\"h1\"].cmd(\"ping -c1 h5\")")
    return ["sh", "-c", command[0]] if len(command) == 1 else [str(c) for c in command]


def _size(size: Union[int, str]) -> str:
    return f"{size}B" if isinstance(size, int) else size


def _lost(said: str) -> float:
    found = _PINGED.search(said)
    if found is None:
        raise Error(f"nothing is said of pings: {said.strip()}", _command.FAILED)
    received, sent = map(int, found.groups())
    return 100.0 * (sent - received) / max(sent, 1)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _ended(code: Optional[int]) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
