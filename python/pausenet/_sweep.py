"""Sweeps: runs over values of parameters."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Optional

from pausenet import _command, _tables
from pausenet._command import Error, PathLike
from pausenet._results import Names, Seeds, _seeds

if TYPE_CHECKING:
    import pandas


def sweep(
    what: PathLike,
    set: Optional[Mapping[str, Any]] = None,
    *,
    cc: Optional[Names] = None,
    seeds: Optional[Seeds] = None,
    metrics: Optional[Names] = None,
    plane: Optional[str] = None,
    out: Optional[PathLike] = None,
    quick: bool = False,
    force: bool = False,
    jobs: Optional[int] = None,
    processors: Optional[int] = None,
    figures: Optional[Names] = None,
    parquet: bool = False,
    check: bool = False,
    progress: bool = False,
) -> "pandas.DataFrame":
    """Run a scenario over values of its parameters, seeds and controllers, and return sweep.csv, a row for each point.

    what is a scenario or a sweep, a built-in's name or a file. set has the parameters and their values:
    ``{"switch.pfc.xoff": ["256KB", "320KB"]}``, or a text as ``"10us..30us:5us"``; with one value it is a setting of every point.

    Each parameter has a column of texts, named by its path. If its values have units, a second column has the numbers
    (``switch.pfc.xoff_bytes``). Metrics are in base units. ``table.attrs["path"]`` is the folder: ``pausenet.load`` reads the
    points' runs there. With out, a stopped sweep continues where it was. Without it the folder is temporary, and removed when
    Python ends.

    parquet writes the table as sweep.parquet too.

    The column ``state`` shows points that did not run, and a pausenet.Warning reports them. With check, they and verdicts FAIL raise Error.
    """
    _tables.need_pandas()  # before all the work
    path = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="pausenet-"))
    if out is None:
        atexit.register(shutil.rmtree, path, ignore_errors=True)
    if isinstance(seeds, int):
        seeds = str(seeds)
    words = ["sweep", *_command.arguments({
        "parquet": parquet, "out": str(path), "cc": cc, "metrics": metrics, "plane": plane, "quick": quick, "force": force, "jobs": jobs,
        "processors": processors, "figures": figures, **_seeds(seeds),
    }), *(f"--set={p}={_values(v)}" for p, v in (set or {}).items()), "--", str(what)]
    done = _command.execute(words, show=progress)
    if done.code != 0 and (done.code != _command.FAILED or check or not (path / "sweep.csv").exists()):
        done.fail()
    for text in done.warnings:
        warnings.warn(text, _command.Warning, stacklevel=2)
    if done.code != 0:
        warnings.warn(done.message or "points failed: see the columns state and verdict", _command.Warning, stacklevel=2)
    return load_sweep(path)


def load_sweep(path: PathLike) -> "pandas.DataFrame":
    """Return sweep.csv of a sweep's folder, as ``sweep`` does."""
    file = Path(path) / "sweep.csv"
    if not file.exists():
        raise Error(f"{file} is not there: pausenet.sweep(..., out=...) writes it", _command.USAGE)
    names = _tables.header(file)
    parameters = names[1:names.index("controller")]
    # A parameter whose values have units also has a column of numbers, named by the parameter and the unit.
    texts = {p for p in parameters if not any(p.startswith(q + "_") for q in parameters)}
    table = _tables.read(file, _tables.TEXTS | texts)
    for p in texts:
        plain = _tables.need_pandas().to_numeric(table[p], errors="coerce")
        if len(plain) > 0 and plain.notna().all():
            table[p] = plain
    table.attrs["path"] = str(path)
    return table


def _values(value: Any) -> str:
    if isinstance(value, (list, tuple, range)):
        return ",".join(_command.setting(v) for v in value)
    return _command.setting(value)
