"""Runs: starting them, and reading the directory that each leaves behind."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from .frames import Frame


class RunFailed(Exception):
    """Regatta refused a spec, or was stopped: its exit code, and what it said."""

    def __init__(self, code, said):
        super().__init__(f"regatta ended with exit code {code}: {said.strip()}")
        self.code, self.said = code, said


# Ends of a run that leave numbers: complete, a budget that is used up, sessions that are missing.
COMPLETE, STOPPED_BY_BUDGET, INCOMPLETE = 0, 3, 4


def binary():
    """The command `regatta`: $REGATTA_BINARY, the one that was installed with this package, or the first in PATH."""
    given = os.environ.get("REGATTA_BINARY")
    beside = Path(sysconfig.get_path("scripts")) / ("regatta.exe" if sys.platform == "win32" else "regatta")
    found = given or (str(beside) if beside.is_file() else shutil.which("regatta"))
    if not found:
        raise FileNotFoundError("there is no command regatta: pip install regatta-eval, or set REGATTA_BINARY")
    return found


def run(spec, output=None, *arguments, check=True):
    """Runs `spec`: the path of a YAML file, its text, or a dict. `arguments` go to `regatta run` as they are.

    A text or a dict is written beside the run as `OUTPUT.yaml`. Raises RunFailed when there is nothing to read; with `check`, also when
    sessions are missing.
    """
    if output is None:
        name = spec.get("name") if isinstance(spec, dict) else Path(spec).stem if "\n" not in str(spec) else None
        output = Path("runs") / (name or "run")
    path = spec
    if isinstance(spec, dict) or "\n" in str(spec):
        path = Path(f"{output}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        # YAML has JSON in it.
        path.write_text(json.dumps(spec, indent=2) if isinstance(spec, dict) else spec, encoding="utf-8")
    command = [binary(), "run", str(path), "--output", str(output), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    accepted = (COMPLETE,) if check else (COMPLETE, STOPPED_BY_BUDGET, INCOMPLETE)
    if ended.returncode not in accepted:
        raise RunFailed(ended.returncode, ended.stderr or ended.stdout)
    return load(output)


def load(path):
    """The run in the directory `path`: of `regatta run`, or of `regatta export`."""
    return Run(path)


class Run:
    """A run that has ended, read from its files: their numbers, unchanged."""

    def __init__(self, path):
        self.path = Path(path)
        if not (self.path / "summary.json").is_file():
            raise FileNotFoundError(f"{self.path} has no summary.json: it is no directory of a run that has ended")
        self.summary = self._json("summary.json")
        self._cells = {}

    def _json(self, name):
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    def _lines(self, name):
        with open(self.path / name, encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)

    @property
    def sessions(self):
        """A row for each session of results.jsonl; its scores are columns named EVALUATOR.VALUE."""
        rows, scores = [], {}
        for line in self._lines("results.jsonl"):
            values = line.pop("scores") or {}
            for evaluator, of_evaluator in values.items():
                for name, value in (of_evaluator or {}).items():
                    scores[f"{evaluator}.{name}"] = None
                    line[f"{evaluator}.{name}"] = value
            rows.append(line)
        plain = [name for name in (rows[0] if rows else ()) if name not in scores]
        columns = plain + sorted(scores)
        return Frame([{name: row.get(name) for name in columns} for row in rows], columns)

    @property
    def attempts(self):
        """A row for each attempt of attempts.jsonl, tokens as columns named usage.KIND."""
        return _flat(self._lines("attempts.jsonl"), "usage")

    @property
    def metrics(self):
        """A row for each number of metrics.json: value, interval, coverage, of a setting and model, a trial, a task or a part."""
        return _flat(self._json("metrics.json")["metrics"], "reruns")

    @property
    def calls(self):
        """A row for each model call in the transcripts."""
        columns = ["cell", "item", "attempt", "position", "role", "model", "text", "finish", "tool_calls", "latency_us", "tries", "from_cache"]
        rows, kinds = [], {}
        for transcript in self.transcripts():
            calls = (event["call"] for event in transcript["transcript"]["events"] if "call" in event)
            for position, call in enumerate(calls):
                usage = {f"usage.{kind}": tokens for kind, tokens in call["usage"].items()}
                kinds.update(dict.fromkeys(usage))
                rows.append({
                    "cell": transcript["cell"], "item": transcript["item"], "attempt": call["attempt"], "position": position,
                    "role": call["role"], "model": call["model"], "text": call["reply"].get("text"), "finish": call["reply"].get("finish"),
                    "tool_calls": len(call["reply"].get("tool_calls", ())), "latency_us": call["latency_us"],
                    "tries": len(call.get("tries", ())), "from_cache": call.get("from_cache", False),
                    "cost_nanodollars": call.get("cost"), **usage,
                })
        columns += ["cost_nanodollars", *kinds]
        return Frame([{name: row.get(name) for name in columns} for row in rows], columns)

    @property
    def verdicts(self):
        """A row for each verdict of a judge that the run keeps, by digests of judge and question; only embedded runs have them with them."""
        columns = ["answerer", "question", "verdict"]
        ledger = self.path / "store" / "ledger.sqlite"
        if not ledger.is_file():
            return Frame([], columns)
        import sqlite3

        # Without the mode a reader could write the log of a run that goes on.
        connection = sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro", uri=True)
        try:
            found = connection.execute("SELECT answerer, question, verdict FROM verdicts ORDER BY answerer, question").fetchall()
        finally:
            connection.close()
        return Frame([dict(zip(columns, (one.hex(), other.hex(), json.loads(text)))) for one, other, text in found], columns)

    def transcripts(self):
        """All transcripts, one dict at a time: cell, item, attempt, and the events of the session."""
        command = [binary(), "show", str(self.path), "--jsonl"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8") as reader:
            ended = False
            try:
                for line in reader.stdout:
                    yield json.loads(line)
                ended = True
            finally:
                if not ended:
                    reader.kill()
            said = reader.stderr.read()
        if reader.returncode:
            raise RunFailed(reader.returncode, said)

    def leaderboard(self):
        """A row for each benchmark, setting and model, with the headline metrics of summary.json."""
        rows, names = [], {}
        for row in self.summary["rows"]:
            found = {"benchmark": row["benchmark"], "setting": row["setting"], "model": row["model"]}
            for metric in row["metrics"]:
                if not metric.get("headline", True):
                    continue
                name = f"{metric['evaluator']}.{metric['metric']}"
                names.update({name: None, f"{name} low": None, f"{name} high": None})
                found.update({name: metric.get("value"), f"{name} low": metric.get("low"), f"{name} high": metric.get("high")})
            rows.append({**found, "coverage": row.get("coverage")})
        columns = ["benchmark", "setting", "model", *names, "coverage"]
        return Frame([{name: row.get(name) for name in columns} for row in rows], columns)

    def _repr_html_(self):
        import html

        sessions = self.summary["sessions"]
        title = f"{self.summary['sweep']}: {self.summary['state']}, {sessions['measured']} of {sessions['total']} sessions measured"
        return f"<p>{html.escape(title)}</p>{self.leaderboard()._repr_html_()}"

    def __repr__(self):
        return f"Run({str(self.path)!r}, {self.summary['state']})"


def _flat(lines, nested):
    """Rows whose field `nested` is an object, as columns of their own."""
    rows, columns = [], {}
    for line in lines:
        row = {}
        for name, value in line.items():
            if name == nested:
                row.update({f"{nested}.{key}": part for key, part in (value or {}).items()})
            else:
                row[name] = value
        columns.update(dict.fromkeys(row))
        rows.append(row)
    return Frame([{name: row.get(name) for name in columns} for row in rows], columns)
