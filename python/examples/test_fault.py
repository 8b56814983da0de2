"""A test of a program under a fault, by the fixture that the package brings: python3 -m pytest test_fault.py."""

import subprocess

import pytest


@pytest.mark.fabric("small", slowdown=500)
def test_ping_survives_2_ms_without_its_link(fabric):
    ping = fabric["h0"].popen("ping", "-n", "-c", "40", "-i", "0.1", "h5", stdout=subprocess.PIPE, text=True)
    ends = fabric.fault("link", "h0", "leaf0", "loss=100%", "2ms")  # 1 s of wall-clock time
    fabric.await_virtual(ends)
    printed, _ = ping.communicate()
    received = int(printed.split(" received")[0].rpartition(" ")[2])
    assert 0 < received < 40, printed  # some were lost, and it went on
