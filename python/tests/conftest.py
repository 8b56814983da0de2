"""Fixtures that the tests share."""

import matplotlib
import pytest

matplotlib.use("Agg")

import pausenet  # noqa: E402


@pytest.fixture(scope="session")
def burst():
    """dcon-burst under two controllers."""
    return pausenet.run("dcon-burst", cc=["dcqcn", "dcon"])
