"""Runs, their tables, verdicts and errors."""

import csv
import gc
import json
import pickle
import subprocess
import sys
import warnings

import pandas
import pytest

import pausenet

# Of dcon-burst at seed 1, as the README shows them.
FINGERPRINTS = {"dcqcn": "6c121dc1054b1cd5888f23a66cf7626e", "dcon": "a92ca755255f1d87585956780b56a67e"}


def rows_of(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def test_fingerprints(burst):
    assert {r.controller: r.fingerprint for r in burst} == FINGERPRINTS
    assert burst.verdict == "PASS" and burst.verdict.messages == []
    assert burst.controllers == ["dcqcn", "dcon"] and burst.seeds == [1]
    assert "636 PAUSE" in repr(burst) and "<td>636</td>" in burst._repr_html_()


@pytest.mark.parametrize("name", ["flows", "ports", "links", "pfc", "events", "rates", "panels"])
def test_tables_are_the_files(burst, name):
    """Every value of every table is that of the file, read by the module csv."""
    table = getattr(burst, name)
    assert getattr(burst, name) is table  # read once
    want = [dict(row, controller=r.controller) for r in burst for row in rows_of(r.path / (name + ".csv"))]
    assert len(table) == len(want)
    for column in want[0] if want else []:
        got, texts = table[column], [row[column] for row in want]
        if got.dtype == object or pandas.api.types.is_string_dtype(got):
            assert got.tolist() == texts, column
            continue
        for value, text in zip(got.tolist(), texts):
            assert (value != value and text == "") or value == float(text), (column, value, text)


def test_tables_that_some_runs_have(burst, tmp_path):
    """QPs, selective repeat and collectives have tables only in runs that use them; in others they raise an error with the reason."""
    (tmp_path / "steps.yaml").write_text(
        "topology: {star: {hosts: 4}}\nhost: {recovery: selective}\nworkloads:\n"
        "  - {tag: ring, qps: 2, collective: {kind: allreduce, algorithm: ring, size: 40KB}}\nduration: 1ms\ndrain: true\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = pausenet.run(tmp_path / "steps.yaml", cc="none", seeds=[1, 2])
    assert list(results.collectives.columns[:3]) == ["controller", "seed", "collective"]
    assert results.collectives["kind"].tolist() == ["allreduce"] * 2 and results.collectives["algorithm"].tolist() == ["ring"] * 2
    assert (results.collectives["completion_ns"] >= results.collectives["limit_ns"]).all()
    # 2 (n-1) steps of n ranks, in two QPs each, and two seeds.
    assert len(results.flows) == 2 * 6 * 4 and len(results.qps) == 2 * len(results.flows) and len(results.recovery) == len(results.flows)
    assert results.qps["size_bytes"].sum() == results.flows["size_bytes"].sum()
    assert results.recovery["duplicates"].sum() == 0
    for name, why in {"qps": "no flow has several QPs", "recovery": "not of selective repeat", "collectives": "has no collectives"}.items():
        with pytest.raises(pausenet.Error, match=why):
            getattr(burst, name)


def test_types(burst):
    flows = burst.flows
    assert flows["size_bytes"].dtype == "int64" and flows["slowdown"].dtype == "float64"
    assert list(flows.columns[:3]) == ["controller", "seed", "flow"]
    assert flows["fct_ns"].isna().sum() == 4  # f0 and f1 outlast both runs
    mean = flows[flows["controller"] == "dcqcn"]["fct_ns"].mean()
    assert mean == pytest.approx(burst["dcqcn"].summary["flows"]["fct_ns"]["mean"], abs=1)
    assert set(burst.panels["title"]) >= {"Throughput", "PAUSE frames"}


def test_summary(burst):
    table = burst.summary
    assert table["pfc.pauses"].tolist() == [636, 476]
    assert table["flows.fct_ns.mean"].tolist() == [r.summary["flows"]["fct_ns"]["mean"] for r in burst]
    with open(burst["dcon"].path / "summary.json") as f:
        assert burst["dcon"].summary == json.load(f)
    assert burst["dcon"].manifest["configuration"]["name"] == "dcon-burst"


def test_texts_stay_texts(tmp_path):
    """A tag that looks like a number, or like a missing value for pandas, stays a text."""
    (tmp_path / "named.yaml").write_text(
        "topology: star\nflows:\n  - {tag: '007', from: h0, to: h4, size: 1KB}\n  - {tag: NA, from: h1, to: h4, size: 1KB}\n"
        "duration: 1ms\ndrain: true\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flows = pausenet.run(tmp_path / "named.yaml", cc="none").flows
    assert flows["tag"].tolist() == ["007", "NA"]


def test_seeds_and_settings():
    results = pausenet.run("incast", cc="dcqcn", seeds=[3, 4], set={"switch.pfc.xoff": "120KB", "flows.0.size": 300000}, jobs=2)
    assert [(r.controller, r.seed) for r in results] == [("dcqcn", 3), ("dcqcn", 4)]
    assert results["dcqcn", 4].seed == 4 and len(results) == 2
    assert set(results.flows["size_bytes"]) == {300000} and set(results.flows["seed"]) == {3, 4}
    assert results["dcqcn", 3].manifest["configuration"]["switch"]["pfc"]["xoff_bytes"] == 120000
    with pytest.raises(KeyError, match="give a seed too"):
        results["dcqcn"]
    with pytest.raises(KeyError, match="there are dcqcn"):
        results["hpcc"]
    assert [r.seed for r in pausenet.run("incast", seeds="8..9")] == [8, 9]


def test_load(tmp_path):
    out = tmp_path / "results"
    made = pausenet.run("incast", cc=["none", "dcqcn"], seeds=[9, 10], out=out)
    assert made.path == out
    for folder in (out, out / "incast"):
        loaded = pausenet.load(folder)
        assert [(r.seed, r.controller) for r in loaded] == [(9, "dcqcn"), (9, "none"), (10, "dcqcn"), (10, "none")]
    one = pausenet.load(out / "incast" / "seed=9" / "none")
    assert len(one) == 1 and one["none"].fingerprint == made["none", 9].fingerprint
    assert one.flows["fct_ns"].tolist() == made["none", 9].table("flows")["fct_ns"].tolist()


def test_temporary_folder_goes():
    results = pausenet.run("incast")
    path = results.path
    assert path.is_dir()
    del results
    gc.collect()
    assert not path.exists()


def test_parquet(tmp_path):
    """Parquet files stand beside those of CSV; where pandas has an engine for them, they have the same values."""
    run = pausenet.run("incast", cc="dcqcn", parquet=True, why=True, out=tmp_path)["dcqcn"]
    for table in run.path.glob("*.csv"):
        with open(table.with_suffix(".parquet"), "rb") as f:
            data = f.read()
        assert data[:4] == data[-4:] == b"PAR1"
    try:
        flows = pandas.read_parquet(run.path / "flows.parquet")
    except ImportError:
        return  # Debian 12 has no pyarrow: experiments/results/parquet compares every value, by parquet-go
    assert flows.to_dict("list") == run.table("flows").to_dict("list")


def test_why():
    results = pausenet.run("incast", why=True)
    spent = results.why.groupby("flow")["time_ps"].sum()
    for flow, fct in zip(results.flows["flow"], results.flows["fct_ns"]):
        assert spent[flow] / 1000 == pytest.approx(fct, abs=1)
    assert list(results.causes.columns[:2]) == ["controller", "seed"]
    with pytest.raises(pausenet.Error, match="run with why=True"):
        pausenet.run("incast").why


@pytest.mark.parametrize("asked, said", [
    ({"cc": "nope"}, "unknown congestion control"),
    ({"set": {"switch.pfc.xof": "256KB"}}, 'did you mean "xoff"'),
    ({"plane": "moon"}, "unknown plane"),
    ({"seeds": "5..1"}, "--seeds"),
])
def test_mistakes(asked, said):
    with pytest.raises(pausenet.Error) as e:
        pausenet.run("incast", **asked)
    assert said in str(e.value) and e.value.exit_code == 2
    assert not str(e.value).startswith("pausenet:") and e.value.command[1] == "run"
    copy = pickle.loads(pickle.dumps(e.value))
    assert str(copy) == str(e.value) and copy.exit_code == 2


def test_other_mistakes(tmp_path):
    with pytest.raises(pausenet.Error, match="did you mean \"incast\""):
        pausenet.run("incost")
    with pytest.raises(pausenet.Error, match="is no folder"):
        pausenet.load(tmp_path / "nothing")
    with pytest.raises(pausenet.Error, match="no run's folder"):
        pausenet.load(tmp_path)
    with pytest.raises(TypeError, match="needs a scenario"):
        pausenet.run()
    pausenet.run("incast", out=tmp_path)
    with pytest.raises(pausenet.Error, match="would overwrite"):
        pausenet.run("incast", out=tmp_path, set={"flows.0.size": "1MB"})
    pausenet.run("incast", out=tmp_path, set={"flows.0.size": "1MB"}, force=True)


def test_warn():
    with pytest.warns(pausenet.Warning, match="verdict WARN: dcqcn seed 1: duration too short"):
        results = pausenet.run("incast", set={"duration": "0.1ms", "drain": False})
    assert results.verdict == "WARN" and "duration too short" in results.verdict.messages[0]
    assert results.flows["fct_ns"].isna().all()


def test_fail():
    """A verdict FAIL is a warning, and raises only with check."""
    with pytest.warns(pausenet.Warning, match="verdict FAIL: the numbers cannot be trusted"):
        results = pausenet.run("deadlock", cc="none")
    assert results.verdict == "FAIL" and results.verdict.messages
    assert "FAIL" in repr(results)
    with pytest.raises(pausenet.Error, match="FAIL") as e:
        pausenet.run("deadlock", cc="none", check=True)
    assert e.value.exit_code == 1


def test_documented(burst):
    """The tables in docs/python.md are pandas' output."""
    import pathlib

    page = (pathlib.Path(__file__).parents[2] / "docs" / "python.md").read_text()
    _, session = page.split('>>> results = pausenet.run("dcon-burst", cc=["dcqcn", "dcon"])\n')
    assert session.startswith(">>> results.flows.groupby(\"controller\").slowdown.mean().round(1)\n"
                              + str(burst.flows.groupby("controller").slowdown.mean().round(1)) + "\n```")


def test_call():
    assert "name: incast" in pausenet.call("show", "incast", "--source")
    with pytest.raises(pausenet.Error, match="unknown command"):
        pausenet.call("shwo")
    assert pausenet.call("validate", "/dev/stdin", stdin=pausenet.call("show", "incast", "--source"))


def test_tested_package():
    """Under make test-python the package is that of the wheel, with its program."""
    import os
    import pathlib

    wheel = os.environ.get("WHEEL_TESTED")
    if not wheel:
        pytest.skip("not of a wheel: make test-python")
    package = pathlib.Path(pausenet.__file__).parent
    assert str(package).startswith(wheel) and (package / "py.typed").exists()
    assert pausenet.binary() == str(package / "bin" / "pausenet")


def test_program():
    """python -m pausenet is the program."""
    done = subprocess.run([sys.executable, "-m", "pausenet", "run", "incast", "--cc", "nope"], capture_output=True, text=True)
    assert done.returncode == 2 and "unknown congestion control" in done.stderr


def test_import_needs_nothing():
    """pandas and matplotlib are imported as they are needed."""
    code = ("import sys; sys.modules['pandas'] = sys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = None\n"
            "import pausenet\n"
            "r = pausenet.run('incast')\n"
            "print(r, r.summaries[0]['pfc']['pauses'])\n"
            "for f in (lambda: r.flows, r.plot):\n"
            "    try: f()\n"
            "    except ImportError as e: print(e)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "tables need pandas: apt-get install python3-pandas" in done.stdout
    assert "plot() needs matplotlib: apt-get install python3-matplotlib" in done.stdout
