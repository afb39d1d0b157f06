"""The same items at the same endpoint, asked and scored by another harness.

Its program is below `peers/`, and runs in an environment of its own below `target/peers`, which pip fills once, or in the Python that
`REGATTA_PEER_PYTHON` names.
"""

import json
import os
import pathlib
import subprocess
import sys

from endpoint import Endpoint
from measured import measure
from runs import ROOT, WORFBENCH, requests

PACKAGES = {"inspect_ai": ["inspect-ai==0.3.285", "openai"]}


def python_with(name):
    named = os.environ.get("REGATTA_PEER_PYTHON")
    if named:
        return named
    folder = ROOT / "target/peers" / name
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
        (folder / "complete").touch()
    return str(python)


def peer(name):
    """CPU of a session of `name`: so many trials of the items, with as many calls in flight as Regatta has."""

    def case(place):
        python = python_with(name)
        asked = requests(place.regatta, place.folder())
        trials = max(1, round(place.scaled(3_500) / len(asked)))
        folder = place.folder()
        folder.mkdir(parents=True)
        (folder / "requests.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked), encoding="utf-8")
        program = pathlib.Path(__file__).parent / "peers" / f"{name}_peer.py"
        with Endpoint(place.regatta, {"worfbench": WORFBENCH}) as endpoint:
            run = lambda trials: measure([python, str(program), endpoint.url, str(folder / "requests.jsonl"), str(trials), str(folder / f"logs-{trials}")], folder)
            # What it takes to start is no part of a session.
            few, many = run(1), run(1 + trials)
        sessions = trials * len(asked)
        return {"sessions": sessions, "cpu_ms_a_session": 1e3 * (many.cpu_s - few.cpu_s) / sessions, "start_cpu_s": few.cpu_s, "resident_mb": many.resident_mb}

    return case
