"""Reads values.yaml with its comments, for the generators beside this file."""

import re
from pathlib import Path

import yaml

CHART = Path(__file__).resolve().parents[1] / "regatta"


def documented():
    """Yields (path, comment) of every key that stands on a line of its own, in the order of the file."""
    path, comment = [], []
    for number, line in enumerate((CHART / "values.yaml").read_text().splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped[1:].removeprefix(" "))
            continue
        key = re.match(r"^( *)([A-Za-z0-9_-]+):", line)
        if key:
            depth = len(key[1]) // 2
            if depth > len(path):
                raise SystemExit(f"values.yaml:{number}: indented by more than two spaces")
            path = [*path[:depth], key[2]]
            yield tuple(path), comment
        elif stripped:
            raise SystemExit(f"values.yaml:{number}: neither a comment nor a key")
        comment = []


def defaults():
    return yaml.safe_load((CHART / "values.yaml").read_text())


def at(values, path):
    for key in path:
        values = values[key]
    return values
