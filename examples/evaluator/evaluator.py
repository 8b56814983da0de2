"""Score a controller file on the benchmark of congestion control, for OpenEvolve and programs like it.

Such a program calls evaluate(path) for each candidate, or evaluate_stage1 first, and maximises combined_score. Without
one, run ``python evaluator.py mine.star``. It needs the package pausenet: docs/python.md.
"""

import json
import sys

import pausenet

#: Scenarios of the first stage, which takes a tenth of the time: one that fails there is not evaluated further.
FIRST = ["incast-2", "packet-5", "rate-1", "rivals-4", "collective-5", "victim-1"]


def score(path, scenarios=None):
    """Return the metrics of a controller file on the public scenarios, or on some of them."""
    words = ["bench", "cc", "--cc", str(path), "-o", "json"]
    if scenarios:
        words += ["--scenarios", ",".join(scenarios)]
    try:
        report = json.loads(pausenet.call(*words))
    except pausenet.Error as e:  # a mistake in the file: the text has its line and the remedy
        return {"combined_score": 0.0, "valid": 0.0, "error": str(e)}
    entry = report["halves"][0]["ranking"][0]
    runs = len(report["runs"])
    metrics = {
        "combined_score": 1 / entry["score"],  # at most 1, the lower bound that no controller can beat
        "score": entry["score"],
        "valid": 1 - entry["broken_runs"] / runs,
        "finished": 1 - entry["unfinished_runs"] / runs,
        "worst_score": entry["worst_score"],
        "worst_scenario": entry["worst_scenario"],
    }
    metrics.update({"score_" + family: value for family, value in entry["families"].items()})
    errors = sorted({run["error"] for run in report["runs"] if "error" in run})
    if errors:
        metrics["error"] = errors[0]
    return metrics


def evaluate(program_path):
    """Return the metrics on all 60 public scenarios."""
    return score(program_path)


def evaluate_stage1(program_path):
    """Return the metrics on a few scenarios, for a cascade of evaluations."""
    return score(program_path, FIRST)


def evaluate_stage2(program_path):
    """Return the metrics on all 60 public scenarios."""
    return score(program_path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(json.dumps({name: evaluate(name)}, indent=2))
