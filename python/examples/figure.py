"""Draw the queue of the exercise "figure" (pausenet lab start figure) as queue.png: python3 figure.py figure/figure.yaml."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import pausenet

scenario = sys.argv[1]
under = dict(zip(("hpcc", "dcqcn"), pausenet.run_many(({"cc": cc} for cc in ("hpcc", "dcqcn")), scenario=scenario)))
for cc, results in under.items():
    queue = results.panels
    queue = queue[(queue.panel == 0) & (queue.series == 0)]
    if cc == "hpcc":
        plt.plot(queue.time_ns / 1e3, queue.value / 1e3, label="HPCC")
    burst = results.flows[results.flows.tag == "burst"]
    print(f"{cc}: longest queue {queue.value.max() / 1e3:.4g} KB sampled, slowest flow of the burst {burst.fct_ns.max() / 1e3:.4g} us")
plt.xlabel("time, us")
plt.ylabel("queue to the receiver, KB")
plt.legend()
plt.savefig("queue.png", dpi=100)
