"""Grading."""

import pathlib

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


def test_grade_of_nothing(exercise, tmp_path):
    with pytest.raises(pausenet.Error, match="has no submissions"):
        (tmp_path / "empty").mkdir()
        pausenet.grade(tmp_path / "empty", exercise[0])
