"""Provide the pytest fixture ``fabric``: a live fabric for tests of programs.

Installed with the package, it needs no import. A marker chooses the fabric of a test, a class or a module::

    @pytest.mark.fabric("leafspine", slowdown=1000)
    def test_reconnects(fabric):
        fabric.fault("link", "h0", "leaf0", "down", "50ms")

Tests with equal markers share one fabric. It ends with the session, and the session fails if its verdict is FAIL.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator

import pytest

from pausenet import _command
from pausenet._live import Net, up

_MARKER = "fabric(what, **options): bring this live fabric up for the fixture fabric; arguments are those of pausenet.up"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(scope="session")
def _fabrics() -> Iterator[Dict[str, Net]]:
    """Yield the session's fabrics by their markers, and end them after the last test."""
    made: Dict[str, Net] = {}
    yield made
    failed = []
    for net in made.values():
        if net.stop() == "FAIL":
            assert net.verdict is not None
            failed.append(f"fabric {net.name}: " + "; ".join(net.verdict.messages))
    if failed:
        pytest.fail("\n".join(failed), pytrace=False)


@pytest.fixture
def fabric(request: pytest.FixtureRequest, _fabrics: Dict[str, Net]) -> Iterator[Net]:
    """Yield the fabric of the test's marker, or a small leaf-spine. Faults that last are the test's own to undo."""
    marker = request.node.get_closest_marker("fabric")
    arguments: Any = marker.args if marker else ()
    options: Dict[str, Any] = dict(marker.kwargs) if marker else {}
    key = repr((arguments, sorted(options.items())))
    net = _fabrics.get(key)
    if net is None or net._process.poll() is not None:
        try:
            options.setdefault("name", f"pytest-{os.getpid()}-{len(_fabrics)}")
            net = _fabrics[key] = up(*arguments, **options)
        except _command.Error as e:
            pytest.fail(f"the fabric did not come up: {e}", pytrace=False)
    yield net
