"""Sweeps."""

import csv
import pathlib
import warnings

import pytest

import pausenet


def test_sweep(tmp_path):
    out = tmp_path / "sweep"
    table = pausenet.sweep("incast", {"switch.pfc.xoff": ["100KB", "150KB"], "flows.0.size": "200KB"}, cc=["none", "dcqcn"], seeds=[1, 2], out=out)
    assert table.attrs["path"] == str(out)
    assert len(table) == 8 and set(table["state"]) == {"complete"} and set(table["verdict"]) <= {"PASS", "WARN"}
    assert table["switch.pfc.xoff"].tolist() == ["100KB"] * 4 + ["150KB"] * 4
    assert table["switch.pfc.xoff_bytes"].tolist() == [100000] * 4 + [150000] * 4
    with open(out / "sweep.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    for column in ("fct_mean_ns", "pauses", "seed"):
        assert table[column].tolist() == [float(r[column]) for r in rows]
    assert table["fingerprint"].tolist() == [r["fingerprint"] for r in rows]
    runs = pausenet.load(out)
    assert sorted(r.fingerprint for r in runs) == sorted(table["fingerprint"])
    again = pausenet.load_sweep(out)
    assert again.equals(table)


def test_plain_numbers_are_numbers():
    table = pausenet.sweep("incast", {"switch.pfc.alpha": [0.5, 1]}, cc="none", parquet=True)
    assert (pathlib.Path(table.attrs["path"]) / "sweep.parquet").read_bytes()[:4] == b"PAR1"
    assert table["switch.pfc.alpha"].tolist() == [0.5, 1]


def test_failed_points():
    """A point whose verdict is FAIL is a row, and a warning."""
    with pytest.warns(pausenet.Warning, match="1 of 1 points failed"):
        table = pausenet.sweep("deadlock", cc="none")
    assert table["verdict"].tolist() == ["FAIL"]
    with pytest.raises(pausenet.Error, match="1 of 1 points failed"):
        pausenet.sweep("deadlock", cc="none", check=True)


def test_mistakes(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(pausenet.Error, match="unknown key") as e:
            pausenet.sweep("incast", {"switch.pfc.xof": ["1KB", "2KB"]})
    assert e.value.exit_code == 2
    with pytest.raises(pausenet.Error, match="sweep.csv is not there"):
        pausenet.load_sweep(tmp_path)
