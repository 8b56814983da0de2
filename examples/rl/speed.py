"""Measure the steps of active agents per second of processor time, of Python and the program together."""

import time
from pathlib import Path

import numpy as np

from pausenet.env import VectorEnv

STEPS = 96_000  # of agents, at most


def used(process):
    """Return the processor time of this process and another one, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100 + time.process_time()


def speed(count, flows, rate, interval, seed):
    """Return the speed of environments with some flows to one host, which all have the fair share."""
    envs = VectorEnv("incast", count, interval=interval, processors=1, action="rate", set={
        "topology": f"{{rate: {rate}, delay: 1us, star: {{hosts: {flows + 1}}}}}", "report": "[]",
        "flows.0.from": f"h0..h{flows - 1}", "flows.0.to": f"h{flows}"})
    envs.reset(seed=seed)
    action = np.full(envs.action_space.shape, 2 / flows - 1, np.float32)
    done, start = 0, used(envs._program.process)
    for _ in range(STEPS // (count * flows)):
        info = envs.step(action)[-1]
        done += (info["active"] if interval else info["events"] != 0).sum()
    took = used(envs._program.process) - start
    envs.close()
    return done / took


for case in ((16, 4, "40Gbps", "10us"), (64, 4, "40Gbps", "10us"), (16, 4, "40Gbps", "5us"), (16, 8, "40Gbps", "10us"),
             (16, 16, "100Gbps", "5us"), (16, 4, "40Gbps", None)):
    print(*case, *(f"{speed(*case, seed):.0f}" for seed in range(1, 6)))
