"""Folders of cases: what every driver writes and reads."""

import argparse
import json
import pathlib
import random


def read_lines(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [json.loads(line) for line in file.read().split("\n") if line]


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.writelines(json.dumps(line, ensure_ascii=True) + "\n" for line in lines)


def write_case(folder, benchmark, kind, outputs, inputs, params):
    folder.mkdir(parents=True, exist_ok=True)
    case = {"benchmark": benchmark, "case": folder.name, "kind": kind, "outputs": outputs, "inputs": inputs, "params": params}
    write_document(folder / "case.json", case)


def read_document(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def write_document(path, document):
    text = json.dumps(document, ensure_ascii=True, indent=1)
    pathlib.Path(path).write_text(text + "\n", encoding="utf-8")


def main(generate, expect):
    """`generate OUT --seed S --count N [--data DIR]` writes cases; `expect CASE... --official DIR [--data DIR]` what the released code says."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("generate", help="write cases below OUT")
    made.add_argument("out", type=pathlib.Path)
    made.add_argument("--seed", type=int, required=True)
    made.add_argument("--count", type=int, required=True, help="items in all")
    run = commands.add_parser("expect", help="write expected.json into each CASE, from the released code")
    run.add_argument("cases", type=pathlib.Path, nargs="+")
    run.add_argument("--official", type=pathlib.Path, required=True, help="checkout of the released code")
    for command in (made, run):
        command.add_argument("--data", type=pathlib.Path, required=True, help="the benchmark's data set")
    given = parser.parse_args()
    if given.command == "generate":
        generate(given.out, random.Random(given.seed), given.count, given.data)
    else:
        for case in given.cases:
            expect(case.resolve(), given.official.resolve(), given.data.resolve())
