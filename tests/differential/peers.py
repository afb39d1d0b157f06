#!/usr/bin/env python3
"""Scores outputs by the scorers of other harnesses, and writes outputs and verdicts as JSON.

    python peers.py EXAMPLES [--seed 1] [--count 300] >benchmarks/declared/src/peers/verdicts.json

EXAMPLES is examples/benchmarks. lm-eval's filters and its exact_match score answers to word problems, BFCL's matcher of syntax trees scores
calls of the miniature `functions`. Both packages are installed without what they depend on (pip install --no-deps lm-eval==0.4.13
bfcl-eval==2026.3.23; pip install numpy): of them only these scorers run, and what they import beside is a stand-in.
"""

import argparse
import copy
import json
import random
import sys
import types

# The task of benchmarks/declared/src/import/lm_eval_task/tests.rs, in the form of the harness's own one for word problems.
FILTERS = {
    "strict-match": {"regex_pattern": r"#### (\-?[0-9\.\,]+)"},
    "flexible-extract": {"group_select": -1, "regex_pattern": r"(-?[$0-9.,]{2,})|(-?[0-9]+)"},
}
IGNORED = [",", r"\$", r"(?s).*#### ", r"\.$"]


def stand_in(name, **content):
    """A module that has only what is asked of it."""
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(content)


def number(draw):
    value = draw.choice([draw.randint(0, 20), draw.randint(100, 9999), -draw.randint(1, 99)])
    return draw.choice([f"{value:,}", str(value)])


def reply(draw, right):
    said = draw.choice([right, right.replace(",", ""), number(draw)])
    return draw.choice([
        "So it is\n#### {}", "#### {}", "The answer is {}.", "It costs ${}.", "{} of {}", "First 12, then {}", "I cannot say.", "",
        "{}.00", "#### {}.", "####{}", "1. 2. {}", "{}\n#### none", "between 3 and {} – no, {}!", "#### {}\nThat is 7.",
    ]).replace("{}", said)


def word_problems(draw, count):
    from lm_eval.api.metrics import exact_match_hf_evaluate
    from lm_eval.filters.extraction import RegexFilter

    cases = []
    for _ in range(count):
        gold = number(draw)
        answer, output = f"Some steps.\n#### {gold}", reply(draw, gold)
        verdicts = {}
        for name, options in FILTERS.items():
            found = RegexFilter(**options).apply([[output]], [{}])[0][0]
            scored = exact_match_hf_evaluate([found], [answer], regexes_to_ignore=IGNORED, ignore_case=True)
            verdicts[f"exact_match-{name}"] = float(scored["exact_match"])
        cases.append({"answer": answer, "output": output, "verdicts": verdicts})
    return cases


def right_calls(draw, gold):
    calls = []
    for call in gold:
        ((name, arguments),) = call.items()
        made = {}
        for argument, allowed in arguments.items():
            value = draw.choice(allowed)
            if value != "":
                made[argument] = value
        calls.append({name: made})
    return calls


def disturbed(draw, calls):
    calls = copy.deepcopy(calls)
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        kind = draw.randrange(9)
        at = draw.randrange(len(calls)) if calls else None
        if kind == 0:
            draw.shuffle(calls)
        elif at is None:
            continue
        elif kind == 1:
            del calls[at]
        elif kind == 2:
            calls.append(copy.deepcopy(calls[at]))
        else:
            ((name, made),) = calls[at].items()
            argument = draw.choice(sorted(made)) if made else None
            if kind == 3:
                calls[at] = {draw.choice(["get_weather", "convert", "book", name.upper()]): made}
            elif kind == 4:
                made["more"] = 1
            elif argument is None:
                continue
            elif kind == 5:
                del made[argument]
            elif kind == 6 and isinstance(made[argument], str):
                made[argument] = draw.choice([made[argument].upper(), f" {made[argument]},", made[argument].replace(":", "-"), "other"])
            elif kind == 7:
                made[argument] = draw.choice(["other", "3", 3, True, None, [made[argument]]])
            else:
                made[argument] = str(made[argument])
    return calls


def functions(draw, count, examples):
    # Whole tables of models and their clients, of which only one property is asked for.
    models = {"model": types.SimpleNamespace(underscore_to_dot=False)}
    stand_in("bfcl_eval.constants.model_config", MODEL_CONFIG_MAPPING=models)
    # Parsers of Java and JavaScript, which no call here is in.
    for language in ("java", "js"):
        stand_in(
            f"bfcl_eval.eval_checker.ast_eval.type_convertor.{language}_type_converter", **{f"{language}_type_converter": None}
        )
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    lines = [json.loads(line) for line in open(f"{examples}/functions/test.jsonl")]
    lines = [line for line in lines if line["calls"]]
    names = {"object": "dict", "number": "float"}
    cases = []
    for _ in range(count):
        line = draw.choice(lines)
        described = copy.deepcopy(line["functions"])
        for function in described:
            function["parameters"]["type"] = "dict"
            for value in function["parameters"]["properties"].values():
                value["type"] = names.get(value["type"], value["type"])
        made = disturbed(draw, right_calls(draw, line["calls"]))
        category = "parallel" if len(line["calls"]) > 1 else "multiple"
        verdict = ast_checker(described, copy.deepcopy(made), copy.deepcopy(line["calls"]), Language.PYTHON, category, "model")
        cases.append({"item": line["id"], "output": made, "right": verdict["valid"]})
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    found = {
        "word_problems": word_problems(draw, arguments.count),
        "functions": functions(draw, arguments.count, arguments.examples),
    }
    lists = (f'"{name}": [\n' + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]" for name, cases in found.items())
    print("{" + ",\n".join(lists) + "}")


main()
