"""Run experiments on lossless data-center fabrics, and read their results as pandas DataFrames.

>>> import pausenet
>>> results = pausenet.run("dcon-burst", cc=["dcqcn", "dcon"])
>>> results.verdict
'PASS'
>>> results.flows.groupby("controller").slowdown.mean()
>>> results.plot()

``run`` runs scenarios, ``run_many`` many at the same time, ``load`` reads the runs in a folder, ``sweep`` runs all values of
parameters, ``up`` brings up a live fabric, ``check`` checks an exercise, ``grade`` grades a class, and ``call`` runs any other command of the program.
"""

from pausenet._command import Error, Warning, binary, call
from pausenet._lab import check, grade
from pausenet._live import Flow, Net, Node, up
from pausenet._results import Results, Run, Verdict, load, run, run_many
from pausenet._sweep import load_sweep, sweep

__all__ = ["Error", "Flow", "Net", "Node", "Results", "Run", "Verdict", "Warning", "binary", "call", "check", "grade", "load", "load_sweep", "run", "run_many", "sweep", "up"]
