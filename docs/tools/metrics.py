#!/usr/bin/env python3
"""Writes the table of docs/metrics.md from the code: every metric with its type, unit, labels and meaning.

    docs/tools/metrics.py            writes it
    docs/tools/metrics.py --check    fails when it is out of date, or when a label has no bound
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "metrics.md"
BEGIN, END = "<!-- metrics: written by docs/tools/metrics.py -->", "<!-- end of metrics -->"

SOURCES = {
    "coordinator/src/metrics.rs": "coordinator",
    "worker/src/metrics.rs": "worker",
    "llm/src/metrics.rs": "worker",
    "scorer/src/metrics.rs": "scorer",
    "memory/src/metrics.rs": "coordinator, worker, scorer",
    "traces/src/metrics.rs": "coordinator, worker, scorer",
}

# How many values a label can have. A label that is not here fails the check: unbounded labels fill a Prometheus.
BOUNDS = {
    "queue": "queues of running sweeps: one a sweep and endpoint",
    "sweep": "running sweeps",
    "bound": "`low`, `expected`, `high`",
    "endpoint": "endpoints of the specs that run, by name",
    "code": "16 HTTP statuses, `other`, `none`",
    "class": "`ok` and the error classes of one table",
    "model": "models of running sweeps with a budget of their own; empty for the whole sweep",
    "schedule": "schedules, at most 500",
    "result": "those that the meaning lists",
    "reason": "those that the meaning lists",
    "outcome": None,
    "kind": None,
    "state": None,
}
# Labels whose values the code lists beside the metric.
LISTED = {name for name, bound in BOUNDS.items() if bound is None}

CALL = re.compile(r'(family|counter|gauge|histogram|IntGauge::new|IntCounter::new|Counter::new|HistogramOpts::new|Opts::new)\(\s*"(regatta_[a-z_]+)"')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def unit(name):
    stem = name.removesuffix("_total")
    for ending, words in {
        "_seconds": "seconds", "_nanodollars": "nano-dollars (10⁻⁹ $)", "_dollars": "dollars", "_tokens": "tokens",
        "_sessions": "sessions", "_reports": "reports", "_bytes": "bytes", "_factor": "share, 0 to 1", "_leads": "0 or 1", "_open": "count",
    }.items():
        if stem.endswith(ending):
            return words
    return "count"


def kind(constructor, name):
    if name.endswith("_total"):
        return "counter"
    if constructor in ("histogram", "HistogramOpts::new"):
        return "histogram"
    return "gauge"


def metrics(path, role):
    text = (ROOT / path).read_text()
    calls = list(CALL.finditer(text))
    for call, after in zip(calls, [*calls[1:], None]):
        body = text[call.end() : after.start() if after else len(text)]
        constructor, name = call[1], call[2]
        strings = STRING.findall(body)
        meaning = strings[0]
        listed = []
        if constructor == "family":
            labels = [strings[1]]
            listed = STRING.findall(re.search(r"&\[([^\]]*)\]", body)[1])
        elif constructor == "histogram":
            labels = ["endpoint"]
        elif constructor == "Opts::new" or constructor in ("counter", "gauge"):
            found = re.search(r"&\[([^\]]*)\]", body)
            labels = STRING.findall(found[1]) if found else []
        else:
            labels = []
        yield name, kind(constructor, name), role, labels, listed or values(text, name), meaning


def values(text, name):
    """Values that a loop starts a labelled metric with, or an array in the struct of one endpoint."""
    variable = re.search(r"let (\w+) = IntCounterVec::new\(\s*Opts::new\(\s*\"" + name, text)
    if variable:
        loop = re.search(r"for \w+ in \[([^\]]*)\] \{\s*" + variable[1] + r"\.with_label_values", text)
        return STRING.findall(loop[1])
    if name == "regatta_llm_tokens_total":
        return STRING.findall(re.search(r'tokens: \[("[^\]]*)\]', text)[1])
    return []


def table():
    rows = ["| metric | type | unit | labels, and how many values they have | of | meaning |", "|---|---|---|---|---|---|"]
    seen = set()
    for path, role in SOURCES.items():
        named = set(re.findall(r'"(regatta_[a-z_]+)"', (ROOT / path).read_text()))
        for name, type_, role, labels, listed, meaning in metrics(path, role):
            seen.add(name)
            named.discard(name)
            bounds = []
            for label in labels:
                if label not in BOUNDS:
                    raise SystemExit(f"{path}: the label {label} of {name} has no bound in docs/tools/metrics.py")
                if label in LISTED and not listed:
                    raise SystemExit(f"{path}: {name} does not start its series, so the values of {label} are not known")
                bounds.append(f"`{label}`: " + (", ".join(f"`{value}`" for value in listed) if label in LISTED else BOUNDS[label]))
            rows.append(f"| `{name}` | {type_} | {unit(name)} | {'; '.join(bounds)} | {role} | {meaning} |")
        if named:
            raise SystemExit(f"{path}: not understood: {', '.join(sorted(named))}")
    elsewhere = {
        name
        for path in ROOT.glob("*/src/**/*.rs")
        if "tests" not in path.parts
        for name in re.findall(r'"(regatta_[a-z_]+_total|regatta_(?:coordinator|worker|llm|scorer)_[a-z_]+)"', path.read_text())
    }
    if elsewhere - seen:
        raise SystemExit("metrics in files that docs/tools/metrics.py does not read: " + ", ".join(sorted(elsewhere - seen)))
    return "\n".join(rows)


def main():
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    written = f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}"
    if "--check" not in sys.argv:
        PAGE.write_text(written)
    elif written != text:
        raise SystemExit("docs/metrics.md is out of date; run docs/tools/metrics.py")


main()
