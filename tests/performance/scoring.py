"""Scoring a file of predictions beside the released code, on the same file in the same minutes (tests/differential)."""

import json
import os

from measured import Failed, measure
from runs import ROOT

DRIVERS = ROOT / "tests/differential"
# Times less processor that Regatta is to take.
TIMES = {"worfbench": 50, "appbench": 50, "orchestrationbench": 50, "flowbench": 15, "autoslurp": 15}


def scoring(name):
    variable = f"REGATTA_OFFICIAL_{name.upper()}"

    def case(place):
        data = place.data.get(name) or place.examples / name
        folder = place.folder()
        folder.mkdir(parents=True)
        items = place.scaled(5_000)
        driver = [os.environ.get("REGATTA_PYTHON", "python3"), str(DRIVERS / f"{name}.py")]
        measure([*driver, "generate", str(folder / "cases"), "--seed", "1", "--count", str(items), "--data", str(data)], folder)
        cases = sorted(path for path in (folder / "cases").iterdir() if path.is_dir())
        row = {"items": items, "files": len(cases), "published_data": name in place.data}
        official = os.environ.get(variable)
        if official:
            # First: it writes what its judge says, which Regatta reads.
            command = [*driver, "expect", *map(str, cases), "--official", official, "--data", str(data)]
            row["official_cpu_ms_an_item"] = 1e3 * measure(command, folder).cpu_s / items
        missing = [path for case in cases for path in inputs(case) if not path.exists()]
        if missing:
            raise Failed(f"{missing[0].name} comes of the released code: set {variable} to its checkout (tests/differential/README.md)")
        row["cpu_ms_an_item"] = 1e3 * sum(ours(place, case, data, folder) for case in cases) / items
        if official:
            row["times_less"] = row["official_cpu_ms_an_item"] / row["cpu_ms_an_item"]
        return row

    return case


def inputs(case):
    described = json.loads((case / "case.json").read_text(encoding="utf-8"))
    return [case / name for name in described["inputs"]]


def ours(place, case, data, folder):
    scored = folder / "scored" / case.name
    scored.mkdir(parents=True)
    command = [place.regatta, "score", "--case", case, "--data", data, "--out", scored]
    return measure(list(map(str, command)), folder).cpu_s
