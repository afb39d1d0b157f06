"""Scoring a file of predictions beside the released code, on the same file in the same minutes (tests/differential)."""

import os

from measured import measure
from runs import ROOT

DRIVERS = ROOT / "tests/differential"
# Items of a file, and how many times less processor Regatta is to take.
TIMES = {"worfbench": 50, "appbench": 50, "orchestrationbench": 50, "flowbench": 15, "autoslurp": 15}


def scoring(name):
    def case(place):
        data = place.data.get(name) or place.examples / name
        folder = place.folder()
        folder.mkdir(parents=True)
        python = os.environ.get("REGATTA_PYTHON", "python3")
        items = place.scaled(5_000)
        driver = [python, str(DRIVERS / f"{name}.py")]
        measure([*driver, "generate", str(folder / "cases"), "--seed", "1", "--count", str(items), "--data", str(data)], folder)
        cases = sorted(path for path in (folder / "cases").iterdir() if path.is_dir())
        row = {"items": items, "files": len(cases), "published_data": name in place.data}
        ours = 0.0
        for case in cases:
            command = [place.regatta, "score", "--case", case, "--data", data, "--out", folder / "scored" / case.name]
            (folder / "scored" / case.name).mkdir(parents=True)
            ours += measure(list(map(str, command)), folder).cpu_s
        row["cpu_ms_an_item"] = 1e3 * ours / items
        official = os.environ.get(f"REGATTA_OFFICIAL_{name.upper()}")
        if official:
            command = [*driver, "expect", *map(str, cases), "--official", official, "--data", str(data)]
            theirs = measure(command, folder).cpu_s
            row |= {"official_cpu_ms_an_item": 1e3 * theirs / items, "times_less": theirs / ours}
        return row

    return case
