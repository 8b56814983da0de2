"""Runs and their results."""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from pausenet import _command, _tables
from pausenet._command import Error, PathLike

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

#: Verdicts, the worst last.
_GRADES = ("PASS", "WARN", "FAIL")

Names = Union[str, Sequence[str]]
Seeds = Union[int, str, Sequence[int]]
Settings = Mapping[str, Any]


class Verdict(str):
    """``"PASS"``, ``"WARN"`` or ``"FAIL"``, with its reasons.

    FAIL: an invariant was violated, or a flow can never end. No number of the run can be trusted.
    WARN: the numbers are right, but something that was requested did not happen.
    """

    #: The problems; empty for PASS.
    messages: List[str]
    #: Information about a run without problems.
    notes: List[str]

    def __new__(cls, status: str, messages: Sequence[str] = (), notes: Sequence[str] = ()) -> "Verdict":
        v = super().__new__(cls, status)
        v.messages, v.notes = list(messages), list(notes)
        return v

    def __getnewargs__(self) -> Tuple[str, List[str], List[str]]:  # type: ignore[override]
        return (str(self), self.messages, self.notes)


class Run:
    """One run: a scenario under a congestion control and a seed. Its files are read on first use."""

    def __init__(self, path: PathLike) -> None:
        #: The run's folder.
        self.path = Path(path)
        #: summary.json: the run in numbers. Times are virtual nanoseconds.
        self.summary: Dict[str, Any] = _json(self.path / "summary.json")
        self._manifest: Optional[Dict[str, Any]] = None
        self._tables: Dict[str, Any] = {}

    @property
    def scenario(self) -> str:
        """Return the scenario's name."""
        return str(self.summary["scenario"])

    @property
    def controller(self) -> str:
        """Return the name of the congestion control or variant."""
        return str(self.summary["controller"])

    @property
    def seed(self) -> int:
        """Return the seed."""
        return int(self.summary["seed"])

    @property
    def fingerprint(self) -> str:
        """Return the hash of every frame event: runs with equal fingerprints are equal."""
        return str(self.summary["fingerprint"])

    @property
    def verdict(self) -> Verdict:
        """Return whether the numbers can be trusted."""
        v = self.summary["verdict"]
        return Verdict(v["status"], v.get("messages") or (), v.get("notes") or ())

    @property
    def manifest(self) -> Dict[str, Any]:
        """manifest.json: the full resolved configuration."""
        if self._manifest is None:
            self._manifest = _json(self.path / "manifest.json")
        return self._manifest

    def table(self, name: str) -> "pandas.DataFrame":
        """Return one of its CSV files: ``table("flows")`` is flows.csv. It is read once."""
        if name not in self._tables:
            path = self.path / (name + ".csv")
            if not path.exists():
                raise Error(f"{path} is not there: {_MISSING.get(name, 'the run has no such file')}", _command.USAGE)
            self._tables[name] = _tables.read(path)
        return self._tables[name]

    @property
    def panels(self) -> "pandas.DataFrame":
        """Return panels.csv, the points of the report's plots, with their descriptions: columns ``panel``, ``series``, ``title``, ``label``, ``quantity``."""
        points = self.table("panels")
        if "title" in points:
            return points
        shown = self.manifest["configuration"].get("report", [])
        named = {(p, s): (panel["title"], series["label"], series["quantity"])
                 for p, panel in enumerate(shown) for s, series in enumerate(panel["series"])}
        keys = list(zip(points["panel"], points["series"]))
        for column, name in enumerate(("title", "label", "quantity")):
            points.insert(2 + column, name, [named[k][column] for k in keys])
        return points

    def __repr__(self) -> str:
        return f"<pausenet.Run {self.scenario} {self.controller} seed {self.seed}: {self.verdict}>"


#: Why a file may not be there.
_MISSING = {
    "why": "run with why=True",
    "causes": "run with why=True",
    "panels": "the scenario has an empty report",
    "qps": "no flow has several QPs (qps)",
    "recovery": "the run is not of selective repeat (host.recovery: selective)",
    "collectives": "the scenario has no collectives",
    "flows": "the run did not end",
    "links": "the run did not end",
}


class Results:
    """Runs of one command, or of a folder.

    ``results["dcon"]`` is a controller's Run, ``results["dcon", 2]`` its Run with seed 2 if there are several; ``for run in results`` visits all.
    A table holds the rows of all runs, one run after the other, with the columns ``controller`` and ``seed`` in front (and ``scenario`` if there are several).
    Tables are read on first use, and kept.
    """

    def __init__(self, path: PathLike, folders: Sequence[PathLike], folder: Optional["tempfile.TemporaryDirectory[str]"] = None) -> None:
        #: The folder of the results.
        self.path = Path(path)
        #: The runs, in order: scenario, seed, controller as they were given.
        self.runs: List[Run] = [Run(f) for f in folders]
        #: The warnings of the command.
        self.warnings: List[str] = []
        self._folder = folder  # a temporary one, which goes with these
        self._joined: Dict[str, Any] = {}

    # One run of several

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, key: Union[str, Tuple[str, int]]) -> Run:
        controller, seed = key if isinstance(key, tuple) else (key, None)
        found = [r for r in self.runs if r.controller == controller and (seed is None or r.seed == seed)]
        if not found:
            have = ", ".join(dict.fromkeys(f"{r.controller} (seed {r.seed})" for r in self.runs))
            raise KeyError(f"no run of {key!r}: there are {have}")
        if len(found) > 1:
            raise KeyError(f"{len(found)} runs of {key!r}: give a seed too, results[{controller!r}, {found[0].seed}], or take of .runs")
        return found[0]

    @property
    def controllers(self) -> List[str]:
        """Return the congestion controls, each once."""
        return list(dict.fromkeys(r.controller for r in self.runs))

    @property
    def seeds(self) -> List[int]:
        """Return the seeds, each once."""
        return list(dict.fromkeys(r.seed for r in self.runs))

    # What they came to

    @property
    def verdict(self) -> Verdict:
        """Return the worst of the runs' verdicts, with all messages, each with its run."""
        worst, messages, notes = 0, [], []
        for r in self.runs:
            v = r.verdict
            worst = max(worst, _GRADES.index(v))
            name = f"{r.controller} seed {r.seed}"
            messages += [f"{name}: {m}" for m in v.messages]
            notes += [f"{name}: {m}" for m in v.notes]
        return Verdict(_GRADES[worst], messages, notes)

    @property
    def summaries(self) -> List[Dict[str, Any]]:
        """Return the contents of the runs' summary.json."""
        return [r.summary for r in self.runs]

    @property
    def summary(self) -> "pandas.DataFrame":
        """Return a row for each run, with every single number of summary.json. Lists are left out.

        Columns have names such as ``flows.fct_ns.mean`` and ``pfc.pauses``.
        """
        pd = _tables.need_pandas()
        return pd.DataFrame([_flat(s) for s in self.summaries])

    def table(self, name: str) -> "pandas.DataFrame":
        """Return a CSV file of all runs: ``table("flows")``. Runs without it are left out. Raises Error if none has it."""
        return self._join(name, lambda r: r.table(name), name + ".csv")

    def _join(self, name: str, of: Callable[[Run], Any], file: str) -> "pandas.DataFrame":
        if name not in self._joined:
            pd = _tables.need_pandas()
            having = [r for r in self.runs if (r.path / file).exists()] or self.runs[:1]
            several = len({r.scenario for r in self.runs}) > 1
            parts = []
            for r in having:
                part = of(r).copy(deep=False)
                at = list(part.columns).index("seed") if "seed" in part else 0
                part.insert(at, "seed", r.seed)
                part.insert(at, "controller", r.controller)
                if several:
                    part.insert(at, "scenario", r.scenario)
                parts.append(part)
            self._joined[name] = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
        return self._joined[name]

    @property
    def flows(self) -> "pandas.DataFrame":
        """flows.csv: a row for each flow, with its FCT and slowdown, which are NaN for an unfinished flow."""
        return self.table("flows")

    @property
    def ports(self) -> "pandas.DataFrame":
        """ports.csv: queues, ingress and paused, over time."""
        return self.table("ports")

    @property
    def links(self) -> "pandas.DataFrame":
        """links.csv: each link in each direction."""
        return self.table("links")

    @property
    def pfc(self) -> "pandas.DataFrame":
        """pfc.csv: each PAUSE and RESUME, at its sender."""
        return self.table("pfc")

    @property
    def events(self) -> "pandas.DataFrame":
        """events.csv: faults, PFC storms and deadlocks."""
        return self.table("events")

    @property
    def rates(self) -> "pandas.DataFrame":
        """rates.csv: flows' rates, goodput and RTT over time."""
        return self.table("rates")

    @property
    def qps(self) -> "pandas.DataFrame":
        """qps.csv: a row for each QP of flows with several (``qps``)."""
        return self.table("qps")

    @property
    def recovery(self) -> "pandas.DataFrame":
        """recovery.csv, with ``host.recovery: selective``: packets of selective repeat for each flow."""
        return self.table("recovery")

    @property
    def collectives(self) -> "pandas.DataFrame":
        """collectives.csv: a row for each collective of a workload ``collective``, ``job``, ``goal``, ``chakra`` or ``messages``, beside its limit."""
        return self.table("collectives")

    @property
    def panels(self) -> "pandas.DataFrame":
        """panels.csv: the points of the report's plots, with their titles and labels."""
        return self._join("panels", lambda r: r.panels, "panels.csv")

    @property
    def why(self) -> "pandas.DataFrame":
        """why.csv, with ``run(..., why=True)``: the causes of each flow's completion time."""
        return self.table("why")

    @property
    def causes(self) -> "pandas.DataFrame":
        """causes.csv, with ``run(..., why=True)``: the causes that rows of why.csv refer to."""
        return self.table("causes")

    def plot(self, panels: Union[None, str, int, Sequence[Union[str, int]]] = None, seed: Optional[int] = None,
             **figure: Any) -> "matplotlib.figure.Figure":
        """Draw the scenario's plots, as the report does: a row for each panel, a column for each congestion control, equal axes in a row.

        panels are titles or numbers from 0 (default: all); seed is one of several (default: the first). figure goes to
        matplotlib's ``plt.figure``. Needs matplotlib.
        """
        from pausenet import _plot

        return _plot.draw(self, panels, seed, figure)

    def __repr__(self) -> str:
        lines = [f"<pausenet.Results of {len(self.runs)} runs: {self.verdict}>"]
        for r in self.runs:
            lines.append("  " + _line(r))
        lines += [f"  {m}" for m in self.verdict.messages]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html

        rows = "".join("<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in _row(r).values()) + "</tr>" for r in self.runs)
        head = "".join(f"<th>{html.escape(k)}</th>" for k in (_row(self.runs[0]) if self.runs else {}))
        said = "".join(f"<br>{html.escape(m)}" for m in self.verdict.messages)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{self.verdict}{said}"


def _row(r: Run) -> Dict[str, Any]:
    s = r.summary
    flows = s["flows"]
    ended = flows["completed"] > 0
    return {
        "scenario": r.scenario, "controller": r.controller, "seed": r.seed, "verdict": str(r.verdict),
        "flows": f"{flows['completed']}/{flows['count']}",
        "FCT mean (us)": f"{flows['fct_ns']['mean'] / 1e3:.1f}" if ended else "-",
        "slowdown p99": f"{flows['slowdown']['p99']:.2f}" if ended else "-",
        "PAUSE": s["pfc"]["pauses"], "fingerprint": r.fingerprint,
    }


def _line(r: Run) -> str:
    row = _row(r)
    return (f"{row['scenario']} {row['controller']} seed {row['seed']}: {row['verdict']}, {row['flows']} flows, FCT mean {row['FCT mean (us)']} us, "
            f"slowdown p99 {row['slowdown p99']}, {row['PAUSE']} PAUSE, {row['fingerprint']}")


def _flat(of: Mapping[str, Any], before: str = "") -> Dict[str, Any]:
    flat: Dict[str, Any] = {}
    for key, value in of.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{key}."))
        elif not isinstance(value, list):
            flat[before + key] = value
    return flat


def _json(path: Path) -> Dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Error(f"{path} is not there: the run did not end, or the folder was removed", _command.USAGE) from None
    except ValueError as e:
        raise Error(f"{path}: {e}: the file is damaged", _command.USAGE) from None
    if not isinstance(value, dict):
        raise Error(f"{path}: the file is damaged", _command.USAGE)
    return value


def run(
    *scenarios: PathLike,
    cc: Optional[Names] = None,
    set: Optional[Settings] = None,
    seeds: Optional[Seeds] = None,
    plane: Optional[str] = None,
    out: Optional[PathLike] = None,
    quick: bool = False,
    force: bool = False,
    jobs: Optional[int] = None,
    processors: Optional[int] = None,
    record: bool = False,
    why: bool = False,
    perfetto: bool = False,
    pcap: Optional[Names] = None,
    figures: Optional[Names] = None,
    parquet: bool = False,
    check: bool = False,
    progress: bool = False,
) -> Results:
    """Run scenarios, given by names of built-ins or by files, and return their Results.

    cc holds one or several congestion controls, or files such as ``"./mine.star"`` (default: the scenario's). set changes
    places of the scenario: ``{"switch.pfc.xoff": "256KB"}``. seeds is a number, several, or a text as ``"1..5"``.

    out is the folder for the results. Without it they are in a temporary one, in memory where there is room, which goes with the
    Results. Results of other settings are not overwritten there without force.

    parquet writes the tables as Parquet files too, for other programs; the Results are those of the CSV files.

    plane is "wasm" (the default) or "kernel", which needs root; results are equal. The other parameters are the flags of
    ``pausenet run``.

    A verdict FAIL, or WARN, is a pausenet.Warning (module warnings), and in ``.verdict``; with check FAIL raises Error. progress shows how far the
    runs are, where standard error is a terminal. Error is also a mistake in what is asked for, with the program's message.
    """
    if not scenarios:
        raise TypeError("run() needs a scenario: pausenet.run(\"incast\"); pausenet.call(\"list\") has the built-ins")
    if out is not None and not os.fspath(out):
        raise ValueError("out is empty: name a folder, or leave it out")
    folder = None if out is not None else tempfile.TemporaryDirectory(prefix="pausenet-", dir=_memory())
    path = Path(folder.name if folder is not None else out or "")
    words = ["run", *_command.arguments({
        "output": "json", "parquet": parquet, "out": str(path), "cc": cc, "plane": plane, "quick": quick, "force": force, "jobs": jobs,
        "processors": processors, "record": record, "why": why, "perfetto": perfetto, "pcap": pcap, "figures": figures,
        **_seeds(seeds),
    }), *_sets(set), "--", *(str(os.fspath(s)) for s in scenarios)]
    done = _command.execute(words, show=progress)
    try:
        made = json.loads(done.out) if done.out.strip() else []
    except ValueError:
        made = []
    failed = [r for r in made if r["verdict"]["status"] == "FAIL"]
    if done.code != 0 and not (done.code == _command.FAILED and failed):
        done.fail()
    results = Results(path, [r["folder"] for r in made], folder)
    _say(results, done, check)
    return results


def run_many(runs: Iterable[Mapping[str, Any]], jobs: Optional[int] = None, errors: str = "raise", **shared: Any) -> List[Union[Results, Error]]:
    """Run scenarios at the same time, and return the Results of each in their order.

    Each of runs has the parameters of one ``run``, with ``scenario``, one or several, for those that have no name there:
    ``{"scenario": "incast", "set": {"switch.pfc.xoff": "256KB"}}``. shared are parameters of all.

    jobs is how many run at a time (default: as many as there are processors). Each has one processor unless processors is given.

    An Error of a run is raised when all have ended; with errors="return" it stands in the place of its Results.
    """
    if errors not in ("raise", "return"):
        raise ValueError(f'errors={errors!r}: expected "raise" or "return"')

    def one(parameters: Mapping[str, Any]) -> Union[Results, Error]:
        given: Dict[str, Any] = {"processors": 1, **shared, **parameters}
        scenarios: Any = given.pop("scenario", ())
        names: Sequence[PathLike] = [scenarios] if isinstance(scenarios, (str, os.PathLike)) else scenarios
        try:
            return run(*names, **given)
        except Error as e:
            return e

    with ThreadPoolExecutor(jobs or _processors()) as pool:
        results = list(pool.map(one, runs))
    for r in results:
        if isinstance(r, Error) and errors == "raise":
            raise r
    return results


def _processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _memory() -> Optional[str]:
    """Return a folder in memory for temporary results, as a disk takes longer to write them than a short run does; None if there is
    none, or little room.
    """
    folder = "/dev/shm"
    try:
        room = os.statvfs(folder)
    except (AttributeError, OSError):
        return None
    return folder if os.access(folder, os.W_OK) and room.f_bavail * room.f_frsize >= 1 << 30 and "TMPDIR" not in os.environ else None


def _say(results: Results, done: _command.Output, check: bool) -> None:
    """Issue the command's warnings, and the messages of the verdict."""
    results.warnings = done.warnings
    verdict = results.verdict
    if verdict == "FAIL" and check:
        raise Error("the verdict of a run is FAIL, its numbers cannot be trusted: " + "; ".join(verdict.messages), _command.FAILED, done.command)
    for text in results.warnings:
        warnings.warn(text, _command.Warning, stacklevel=3)
    if verdict != "PASS":
        reason = "; ".join(verdict.messages[:5])
        trust = ": the numbers cannot be trusted" if verdict == "FAIL" else ""
        warnings.warn(f"verdict {verdict}{trust}: {reason}", _command.Warning, stacklevel=3)


def _seeds(seeds: Optional[Seeds]) -> Dict[str, Any]:
    if seeds is None:
        return {}
    if isinstance(seeds, int):
        return {"seed": seeds}
    values = [seeds] if isinstance(seeds, str) else [str(int(s)) for s in seeds]
    if not values:
        raise ValueError("seeds is empty: give one or several, or leave it out")
    return {"seeds": ",".join(values)}


def _sets(settings: Optional[Settings]) -> List[str]:
    return [f"--set={path}={_command.setting(value)}" for path, value in (settings or {}).items()]


#: A seed's folder in a scenario's.
_SEED = re.compile(r"seed=\d+")


def load(path: PathLike) -> Results:
    """Return the Results below a folder of a run, a scenario, several scenarios or a sweep. Unfinished runs are left out, with a warning."""
    root = Path(path)
    if not root.is_dir():
        raise Error(f"{root} is no folder: name that of a run, of a scenario or of results", _command.USAGE)
    found = sorted({m.parent for depth in range(4) for m in root.glob("*/" * depth + "manifest.json")}, key=_order)
    ended = [f for f in found if (f / "summary.json").exists()]
    if not ended:
        raise Error(f"{root} has no run's folder in it: pausenet.run(..., out=...) writes them, as results/<scenario>/<cc>", _command.USAGE)
    for f in found:
        if f not in ended:
            warnings.warn(f"{f}: the run has not ended", _command.Warning, stacklevel=2)
    results = Results(root, ended)
    if results.verdict == "FAIL":
        warnings.warn("verdict FAIL: the numbers cannot be trusted: " + "; ".join(results.verdict.messages[:5]), _command.Warning, stacklevel=2)
    return results


def _order(folder: Path) -> Tuple[Any, ...]:
    """Return a sort key: folders by name, seeds by number."""
    return tuple((int(p[len("seed="):]), "") if _SEED.fullmatch(p) else (-1, p) for p in folder.parts)
