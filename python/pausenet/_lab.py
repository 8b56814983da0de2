"""Checking and grading of a course's exercises."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from pausenet import _command, _tables
from pausenet._command import PathLike

if TYPE_CHECKING:
    import pandas


def check(
    folder: PathLike = ".",
    *,
    exercise: Optional[PathLike] = None,
    student: Optional[str] = None,
    teacher: Optional[PathLike] = None,
    hidden: Optional[PathLike] = None,
    jobs: Optional[int] = None,
) -> "pandas.DataFrame":
    """Check a submission, as ``pausenet lab check`` does, and return a row for each check: title, points, of, required, measured, hint.

    ``table.attrs`` has the rest of the grade: points, of, and the mistakes in files as problems. The runs are in folder/results.
    """
    pd = _tables.need_pandas()
    done = _command.execute(["lab", "check", *_command.arguments({
        "exercise": exercise, "student": student, "teacher": teacher, "hidden": hidden, "jobs": jobs, "output": "json",
    }), "--", str(folder)])
    if done.code not in (0, _command.FAILED) or not done.out:
        done.fail()
    of = json.loads(done.out)
    for text in of.get("problems", {}).values():
        warnings.warn(text, _command.Warning, stacklevel=2)
    table = pd.DataFrame(of.pop("checks")).reindex(columns=["title", "points", "of", "required", "measured", "hint"]).fillna({"hint": ""})
    table.attrs.update(of)
    return table


def grade(
    submissions: PathLike,
    exercise: PathLike,
    *,
    teacher: Optional[PathLike] = None,
    hidden: Optional[PathLike] = None,
    due: Optional[str] = None,
    late: Optional[str] = None,
    out: Optional[PathLike] = None,
    jobs: Optional[int] = None,
    timeout: Optional[str] = None,
) -> "pandas.DataFrame":
    """Grade a class, as ``pausenet lab grade`` does, and return gradebook.csv, a row for each student.

    submissions is a folder or a zip archive: a folder or an archive for each student, or an export of Moodle, Canvas or Gradescope.
    exercise is a name or a folder. ``table.attrs["path"]`` is the folder with the feedback for students. Without out it is temporary, and
    removed when Python ends.
    """
    _tables.need_pandas()  # before all the work
    path = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="pausenet-"))
    if out is None:
        atexit.register(shutil.rmtree, path, ignore_errors=True)
    done = _command.execute(["lab", "grade", *_command.arguments({
        "exercise": str(exercise), "teacher": teacher, "hidden": hidden, "due": due, "late": late, "out": str(path), "jobs": jobs,
        "timeout": timeout,
    }), "--", str(submissions)])
    if done.code != 0:
        done.fail()
    for text in done.warnings:
        warnings.warn(text, _command.Warning, stacklevel=2)
    table = _tables.read(path / "gradebook.csv", texts=("student", "problem"))
    table.attrs["path"] = str(path)
    return table
