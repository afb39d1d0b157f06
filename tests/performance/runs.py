"""Sweeps of one process: their specs, their directories, and what can be read from these."""

import csv
import datetime
import json
import pathlib
import shutil
import sys
import urllib.parse

from endpoint import Endpoint
from measured import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORFBENCH = ROOT / "examples/data/worfbench"
# Items of that miniature, each of which is a session a trial.
ITEMS = 35
SETTING = "two-shot"
PARCELS = ROOT / "examples/benchmarks/parcels"
PARCELS_ITEMS = 8


def single_call(url, trials, **limits):
    """Sessions of one call, scored by two evaluators with a judge whose verdicts are soon known."""
    benchmark = {"data": str(WORFBENCH), "settings": [SETTING], "judge": "sim/lexical"}
    return sweep({"worfbench": benchmark}, url, trials, **limits)


def sweep(benchmarks, url, trials, **limits):
    endpoint = {"kind": "openai", "base_url": url, "api_key_env": "none", "identify_sessions": True, "limits": limits}
    return {"name": "performance", "trials": trials, "benchmarks": benchmarks, "endpoints": {"sim": endpoint}, "models": ["sim/oracle"]}


class Run:
    """One `regatta run`, and the directory that it has written."""

    def __init__(self, regatta, folder, spec):
        self.regatta, self.folder = regatta, pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.spec, self.directory = self.folder / "spec.yaml", self.folder / "run"
        self.spec.write_text(json.dumps(spec), encoding="utf-8")
        self.measured = self.again()

    def again(self):
        """The same command once more: what is there is not done again."""
        command = [self.regatta, "run", self.spec, "--output", self.directory, "--cache-dir", self.folder / "cache"]
        return measure(list(map(str, command)), self.folder)

    def lose_reports(self):
        """Takes the documents of the sweep's end away, so that the same command makes them again."""
        lost = 0
        for path in list(self.directory.glob("store/blobs/sweeps/*/*")):
            if path.is_file():
                path.unlink()
                lost += 1
        return lost

    def calls(self):
        """Rows of the table of calls, each a dictionary of texts."""
        tables = self.folder / "tables"
        measure([str(self.regatta), "export", str(self.directory), "--output", str(tables), "--format", "csv"], self.folder)
        csv.field_size_limit(sys.maxsize)
        with open(tables / "calls.csv", encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
        shutil.rmtree(tables)


def seconds(text):
    """Seconds since 1970 of a time in a table."""
    head, _, fraction = text.removesuffix("Z").partition(".")
    whole = datetime.datetime.fromisoformat(head).replace(tzinfo=datetime.timezone.utc).timestamp()
    return whole + (float(f"0.{fraction}") if fraction else 0.0)


def requests(regatta, folder):
    """Requests of the agent's calls of one trial, as a client sends them: `item`, `headers`, `body`, and the right `answer`."""
    with Endpoint(regatta, {"worfbench": WORFBENCH}) as endpoint:
        run = Run(regatta, folder, single_call(endpoint.url, 1, concurrency=64))
    found = []
    for call in run.calls():
        if call["role"] != "agent":
            continue
        request = json.loads(call["request_json"])
        body = {"model": "oracle", "messages": request["messages"]}
        body.update({name: value for name, value in request.get("sampling", {}).items() if name in ("temperature", "max_tokens")})
        headers = {
            "x-regatta-benchmark": "worfbench", "x-regatta-setting": SETTING,
            "x-regatta-item": urllib.parse.quote(call["item"], safe=""), "x-regatta-trial": "0", "x-regatta-seed": "1",
        }
        found.append({"item": call["item"], "headers": headers, "body": body, "answer": call["text"]})
    return found
