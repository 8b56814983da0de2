"""Exercises: their notebooks, checks and grades."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import pausenet

CONTROLLER = "def init(flow):\n    flow.rate = path.line_rate\n"


@pytest.fixture
def exercise(tmp_path):
    """An exercise with one check, and submissions of two students."""
    folder = tmp_path / "mine"
    for name, text in {
        "exercise.yaml": "title: Mine\ngoal: None\nhand_in: {controllers: [[control.star]]}\nruns: {mine: {scenario: pair.yaml, cc: control.star}}\n"
                         "checks: [{title: Quick, points: 3, run: mine, metric: slowdown_max, most: 3}]\n",
        "text.md": "# Mine\n",
        "start/control.star": CONTROLLER,
        "scenarios/pair.yaml": "topology: {delay: 1us, star: {hosts: 3}}\nflows: [{from: h0..h1, to: h2, size: 100KB}]\nduration: 1ms\ndrain: true\n"
                               "expect_unused: [pfc, controller]\n",
        "../class/007/control.star": CONTROLLER,
        "../class/anna/control.star": "def init(flow)\n",
    }.items():
        (folder / name).resolve().parent.mkdir(parents=True, exist_ok=True)
        (folder / name).resolve().write_text(text)
    return folder, tmp_path / "class"


def test_grade(exercise, tmp_path):
    folder, submissions = exercise
    table = pausenet.grade(submissions, folder, out=tmp_path / "grades")
    assert table["student"].tolist() == ["007", "anna"]
    assert table["points"].tolist() == [3, 0] and table["Quick"].tolist() == [3, 0]
    assert table["problem"][0] == "" and "control.star:1:15" in table["problem"][1]
    assert (pathlib.Path(table.attrs["path"]) / "students" / "007" / "feedback.html").is_file()


def test_check(exercise):
    folder, submissions = exercise
    table = pausenet.check(submissions / "007", exercise=folder)
    assert table["points"].tolist() == [3] and table["hint"].tolist() == [""] and table.attrs["of"] == 3
    with pytest.warns(pausenet.Warning, match="control.star:1:15"):
        table = pausenet.check(submissions / "anna", exercise=folder)
    assert table["points"].tolist() == [0] and "control.star" in table.attrs["problems"]
    with pytest.raises(pausenet.Error, match="no folder"):
        pausenet.check(submissions / "bert", exercise=folder)


HERE = pathlib.Path(__file__).parent
AIMD = HERE.parent.parent / "experiments" / "lab" / "teacher" / "aimd" / "trials" / "quick.star"


@pytest.mark.parametrize("name, files, plots", [
    ("pfc", {"answers.yaml": "alone: 500us\nvictim: 2ms\nhops: 3\nchip: 200MB\n"}, 4),
    ("aimd", {"control.star": AIMD.read_text()}, 2),
    ("figure", {"answers.yaml": "delay: 4us\nsize: 200KB\npeak: 500KB\n"}, 1),
])
def test_notebook(name, files, plots, tmp_path):
    """The notebook of an exercise runs as a whole: it locks the predictions, checks the files beside it, and plots the runs."""
    if not os.environ.get("CI"):
        pytest.importorskip("nbconvert", reason="apt-get install python3-nbconvert python3-ipykernel")
    folder, made = tmp_path / name, tmp_path / "made.ipynb"
    pausenet.call("lab", "start", name, folder, "--student", "anna", "--notebook")
    for file, text in files.items():
        (folder / file).write_text(text)
    subprocess.run([sys.executable, HERE / "notebook.py", folder / f"{name}.ipynb", made, folder], check=True, timeout=900)
    outputs = [o for c in json.loads(made.read_text())["cells"] for o in c.get("outputs", [])]
    assert f"{pausenet.check(folder).attrs['points']:g} of 10 points" in "".join("".join(o.get("text", "")) for o in outputs)
    assert sum("image/png" in o.get("data", {}) for o in outputs) == plots
    assert (folder / "predictions.yaml").exists() == ("answers.yaml" in files)


def test_grade_of_nothing(exercise, tmp_path):
    with pytest.raises(pausenet.Error, match="has no submissions"):
        (tmp_path / "empty").mkdir()
        pausenet.grade(tmp_path / "empty", exercise[0])
