"""Read the CSV files of results as pandas DataFrames."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, Collection, List

from pausenet._command import PathLike

if TYPE_CHECKING:
    import pandas

#: Columns of texts. All others are numbers, and what is empty there is NaN.
TEXTS = frozenset({
    "tag", "src", "dst", "node", "port", "peer", "event", "detail",
    "stage", "what", "way", "behind", "signal", "signal_port", "kind", "queue",
    "point", "algorithm", "straggler", "controller", "state", "verdict", "fingerprint", "same_as",
})


def need_pandas() -> Any:
    """Return the module pandas. If it is missing, the Error says how to install it."""
    try:
        import pandas
    except ImportError as e:
        raise ImportError("tables need pandas: apt-get install python3-pandas (Debian, Ubuntu), or pip install pandas. "
                          "Without it there are .summaries, and the CSV files below .path") from e
    return pandas


def read(path: PathLike, texts: Collection[str] = TEXTS) -> "pandas.DataFrame":
    """Read a CSV file of results. Only the given columns are texts: a value such as 12 or NA there stays a text."""
    pd = need_pandas()
    names = header(path)
    return pd.read_csv(path, dtype={n: str for n in names if n in texts},
                       na_values={n: [""] for n in names if n not in texts}, keep_default_na=False)


def header(path: PathLike) -> List[str]:
    """Return the names of a CSV file's columns."""
    with open(path, encoding="utf-8", newline="") as f:
        return next(csv.reader(f), [])
