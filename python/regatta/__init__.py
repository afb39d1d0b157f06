"""Regatta from Python: run sweeps, read what they leave behind, write benchmarks.

    import regatta

    run = regatta.run("my-sweep.yaml", output="runs/mine")   # or regatta.load("runs/mine")
    run.leaderboard()                                        # a table in a notebook
    run.sessions.to_pandas()                                 # also .to_polars(), or a plain list of dicts
    for transcript in run.transcripts(): ...

`regatta.benchmark` is for benchmarks of your own in Python, `regatta.plot` draws what has numbers.
"""

from .frames import Frame
from .runs import Run, RunFailed, binary, load, run

__all__ = ["Frame", "Run", "RunFailed", "binary", "load", "run"]
