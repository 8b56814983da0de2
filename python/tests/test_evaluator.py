"""The evaluator of examples/evaluator, which scores a controller file."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def evaluator():
    spec = importlib.util.spec_from_file_location("evaluator", EXAMPLES / "evaluator/evaluator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stage(evaluator, monkeypatch):
    monkeypatch.setattr(evaluator, "FIRST", ["rate-1", "collective-5"])
    metrics = evaluator.evaluate_stage1(EXAMPLES / "controllers/swift.star")
    assert metrics["valid"] == metrics["finished"] == 1 and "error" not in metrics
    assert metrics["combined_score"] == 1 / metrics["score"] and 0.3 < metrics["combined_score"] < 1
    assert metrics["score_rate"] > 1 and metrics["worst_score"] >= metrics["score"]
    cheat = EXAMPLES.parent / "experiments/ccbench/testdata/cheats/11-crash.star"
    crashed = evaluator.evaluate_stage1(cheat)
    assert crashed["valid"] == 0 and crashed["combined_score"] < 0.05 and "enough" in crashed["error"]


def test_mistake(evaluator, tmp_path):
    wrong = tmp_path / "wrong.star"
    wrong.write_text("def init(flow)\n")
    metrics = evaluator.evaluate(wrong)
    assert metrics["combined_score"] == 0 and "wrong.star:1" in metrics["error"]
