#!/usr/bin/env python3
"""Measures the cases of docs/performance.md: `scripts/bench [CASE...]`.

Each case prints a line as it ends; `--json FILE` has all figures, with the machine, the date and the revision, and `--page` writes the table of
docs/performance.md. A case that cannot run here says why, and the others go on; the exit code is 1 then, or if a target is missed with `--strict`.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

import page
from cases import CASES, SLOW
from measured import Failed
from runs import ROOT


class Place:
    """What cases share: the programs, the data, and folders of their own."""

    def __init__(self, given):
        self.regatta, self.floor = given.regatta.resolve(), given.floor.resolve()
        self.data = dict(given.data)
        self.examples = ROOT / "examples/data"
        self.scale = given.scale
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="regatta-bench-", dir=given.folder))
        self.folders = 0

    def folder(self):
        """A folder that nobody else has; it is not there yet."""
        self.folders += 1
        return self.root / str(self.folders)

    def scaled(self, count):
        return max(1, round(count * self.scale))


def named_folder(text):
    name, _, folder = text.partition("=")
    if not folder:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=DIR")
    return name, pathlib.Path(folder).resolve()


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all that need no hours when left out; `all` is every one of: " + ", ".join(CASES))
    parser.add_argument("--regatta", type=pathlib.Path, default=ROOT / "target/release/regatta")
    parser.add_argument("--floor", type=pathlib.Path, default=ROOT / "target/release/examples/floor")
    parser.add_argument("--data", type=named_folder, action="append", default=[], metavar="NAME=DIR", help="published data in place of a miniature")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sessions of each case; figures of another than 1 belong in no table")
    parser.add_argument("--folder", type=pathlib.Path, help="for what is written meanwhile; a disk, not memory")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="figures are written there, beside those of other cases that it has")
    parser.add_argument("--page", action="store_true", help="write the table of docs/performance.md from the figures")
    parser.add_argument("--strict", action="store_true", help="a target that is missed is a failure")
    given = parser.parse_args()
    if given.cases == ["all"]:
        given.cases = list(CASES)
    given.cases = given.cases or [name for name in CASES if name not in SLOW]
    unknown = [name for name in given.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    return given


def main():
    given = arguments()
    place, failed = Place(given), False
    results = json.loads(given.json.read_text(encoding="utf-8")) if given.json and given.json.exists() else {}
    try:
        for name in given.cases:
            case = CASES[name]
            try:
                row = case.run(place)
            except (Failed, OSError) as error:
                print(f"{name}: not measured: {error}", flush=True)
                failed = True
                continue
            finally:
                shutil.rmtree(place.root, ignore_errors=True)
                place.root.mkdir()
            results[name] = {**page.circumstances(given.scale), **row}
            met = case.is_met(row)
            failed |= given.strict and met is False
            print(f"{name}: {page.figures(case, row)} ({page.verdict(met)}; {case.target})", flush=True)
            if given.json:
                given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    finally:
        shutil.rmtree(place.root, ignore_errors=True)
    if given.page:
        page.write(results)
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(main())
