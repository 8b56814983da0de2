"""Draw the report's plots by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from pausenet import _command
from pausenet._command import Error

if TYPE_CHECKING:
    import matplotlib.figure

    from pausenet._results import Results

#: Units by quantity: base unit, and whether a value stands until the next.
_UNITS: Dict[str, Tuple[str, bool]] = {
    "queue": ("B", True), "ingress": ("B", True), "pause": ("frames/s", False), "goodput": ("bps", False), "rate": ("bps", False),
    "ce": ("marks/s", False), "ue": ("marks/s", False), "state": ("", True), "collective": ("", True),
}

#: Colours that the report has too, apart also for the colour-blind (Okabe and Ito), and strokes for print.
_STROKES = (("#0a6aa6", "-"), ("#c44e00", "--"), ("#1a7f4b", ":"), ("#8a5aa8", "-."), ("#7a6a00", (0, (5, 1))), ("#555555", (0, (1, 1))))


def draw(results: "Results", panels: Union[None, str, int, Sequence[Union[str, int]]], seed: Optional[int],
         figure: Dict[str, Any]) -> "matplotlib.figure.Figure":
    """See Results.plot."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as e:
        raise ImportError("plot() needs matplotlib: apt-get install python3-matplotlib (Debian, Ubuntu), or pip install matplotlib. "
                          "The report, report.html below .path, has the same plots") from e
    runs = [r for r in results.runs if r.seed == (results.seeds[0] if seed is None else seed)]
    if not runs:
        raise Error(f"no run of seed {seed}: there are {', '.join(map(str, results.seeds))}", _command.USAGE)
    if len({r.scenario for r in runs}) > 1:
        raise Error("runs of several scenarios have other plots: load or run one at a time", _command.USAGE)
    shown = runs[0].manifest["configuration"].get("report", [])
    if not shown:
        raise Error(f"the scenario {runs[0].scenario} has an empty report, so no plots: its key report says what to draw", _command.USAGE)
    chosen = _chosen(shown, panels)
    options = {"figsize": (5.4 * len(runs) + 0.6, 2.5 * len(chosen) + 0.6), "layout": "constrained", **figure}
    f = plt.figure(**options)
    axes = f.subplots(len(chosen), len(runs), sharex=True, sharey="row", squeeze=False)
    for column, r in enumerate(runs):
        configuration = r.manifest["configuration"]
        points = r.panels
        for row, k in enumerate(chosen):
            a, panel = axes[row][column], shown[k]
            own = _same(configuration["report"], panel["title"], k)
            if own is not None:
                _panel(a, configuration["report"][own], points[points["panel"] == own], configuration.get("spans", []))
            a.set_title(r.controller if row == 0 else "", loc="right", fontsize="medium", fontweight="bold")
            if column == 0:
                a.set_title(panel["title"], loc="left", fontsize="medium", fontweight="bold")
            if own is not None and (column == 0 or configuration.get("report_default")):  # such a run has chosen its own lines
                a.legend(loc="upper left", fontsize="small", framealpha=0.8)
            if row == len(chosen) - 1:
                a.set_xlabel("virtual time (ms)")
    for row, k in enumerate(chosen):
        _scale(axes[row], shown[k])
    if "inline" in plt.get_backend().lower():
        plt.close(f)  # a notebook would show it twice: as the open figure, and as what the line came to
    return f


def _same(report: Sequence[Dict[str, Any]], title: str, k: int) -> Optional[int]:
    """Return the number of a run's panel with a title: k if that one has it, None if the run has no such panel."""
    titles = [p["title"] for p in report]
    if k < len(titles) and titles[k] == title:
        return k
    return titles.index(title) if title in titles else None


def _chosen(shown: Sequence[Dict[str, Any]], panels: Union[None, str, int, Sequence[Union[str, int]]]) -> List[int]:
    if panels is None:
        return list(range(len(shown)))
    titles = [p["title"] for p in shown]
    chosen = []
    for p in [panels] if isinstance(panels, (str, int)) else panels:
        if p in titles:
            chosen.append(titles.index(p))
        elif isinstance(p, int) and 0 <= p < len(titles):
            chosen.append(p)
        else:
            raise Error(f"no panel {p!r}: there are {', '.join(titles)}", _command.USAGE)
    return chosen


def _panel(axes: Any, panel: Dict[str, Any], points: Any, spans: Sequence[Dict[str, Any]]) -> None:
    for s in spans:
        axes.axvspan(s["from_ns"] / 1e6, s["to_ns"] / 1e6, color="#e8ecf0", zorder=0)
        axes.annotate(s["label"], ((s["from_ns"] + s["to_ns"]) / 2e6, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom",
                      fontsize="small", color="#555555")
    levels = set()
    for k, series in enumerate(panel["series"]):
        colour, stroke = _STROKES[k % len(_STROKES)]
        own = points[points["series"] == k]
        _, step = _UNITS.get(series["quantity"], ("", False))
        axes.plot(own["time_ns"] / 1e6, own["value"], color=colour, linestyle=stroke, linewidth=1.1, label=series["label"],
                  drawstyle="steps-post" if step else "default")
        if series.get("reference"):
            levels.add((series["reference"], series.get("reference_label", "")))
    for level, label in sorted(levels):
        axes.axhline(level, color="#666666", linestyle=(0, (3, 2)), linewidth=0.8)
        axes.annotate(label, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize="small", color="#555555")
    axes.margins(x=0)
    axes.grid(axis="y", color="#e3e6e8", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _scale(row: Any, panel: Dict[str, Any]) -> None:
    """Set the axis of a row: from 0, in a unit with few digits."""
    from matplotlib.ticker import FuncFormatter

    base = _UNITS.get(panel["series"][-1]["quantity"], ("", False))[0] if panel["series"] else ""
    if panel.get("log"):
        row[0].set_yscale("log")
    else:
        row[0].set_ylim(bottom=0)
    top = row[0].get_ylim()[1]
    power, prefix = max(((p, x) for p, x in ((1.0, ""), (1e3, "K"), (1e6, "M"), (1e9, "G")) if p <= top), default=(1.0, ""))
    row[0].yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v / power:g}"))
    row[0].set_ylabel(prefix + base if base in ("B", "bps") else f"{'1000 ' if power == 1e3 else ''}{base}")
    if base not in ("B", "bps") and power != 1e3:
        row[0].yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
