"""Plots show the values of the files."""

import matplotlib.pyplot as plt
import pytest

import pausenet


def test_plot(burst, tmp_path):
    figure = burst.plot()
    report = burst["dcqcn"].manifest["configuration"]["report"]
    assert len(figure.axes) == 2 * len(report)
    for k, panel in enumerate(report):
        for n, run in enumerate(burst):
            axes = figure.axes[2 * k + n]
            lines = {line.get_label(): line for line in axes.get_lines()}
            for s, series in enumerate(panel["series"]):
                own = run.panels.query(f"panel == {k} and series == {s}")
                assert lines[series["label"]].get_ydata().tolist() == own["value"].tolist()
                assert lines[series["label"]].get_xdata().tolist() == pytest.approx((own["time_ns"] / 1e6).tolist())
            assert axes.get_ylim() == figure.axes[2 * k].get_ylim()
    assert figure.axes[0].get_title(loc="left") == report[0]["title"]
    assert [a.get_title(loc="right") for a in figure.axes[:2]] == ["dcqcn", "dcon"]
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)


def test_chosen(burst):
    figure = burst.plot(["Throughput", 0], figsize=(4, 3))
    assert [figure.axes[i].get_title(loc="left") for i in (0, 2)] == ["Throughput", "Egress queue"]
    assert figure.axes[0].get_ylabel() == "Gbps" and figure.axes[2].get_ylabel() == "MB"
    assert figure.get_size_inches().tolist() == [4, 3]
    plt.close(figure)
    with pytest.raises(pausenet.Error, match="no panel 'Througput': there are"):
        burst.plot("Througput")
    with pytest.raises(pausenet.Error, match="no run of seed 7"):
        burst.plot(seed=7)


def test_default_panels(tmp_path):
    """Runs of a scenario without a report choose their own lines."""
    path = tmp_path / "mine.yaml"
    path.write_text("topology: star\ncontrollers: [dcqcn, none]\nflows: [{tag: incast, from: h0..h3, to: h4, size: 1MB}]\nduration: 1ms\ndrain: true\n")
    results = pausenet.run(str(path), out=str(tmp_path / "results"))
    figure = results.plot()
    titles = [p["title"] for p in results["dcqcn"].manifest["configuration"]["report"]]
    assert titles == ["Goodput by tag", "Longest queues", "Ingress against XOFF", "PAUSE frames"]
    for k, title in enumerate(titles):
        for n, run in enumerate(results):
            own = next(p for p in run.manifest["configuration"]["report"] if p["title"] == title)
            drawn = [text.get_text() for text in figure.axes[2 * k + n].get_legend().get_texts()]
            assert drawn == [s["label"] for s in own["series"]]
    plt.close(figure)
