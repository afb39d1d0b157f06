"""AppBench: `evaluation.py` and `analysis.py` with the parsers of `utils.py`, run as they are over plans of any kind, without the selection of
apps that may go before.

What they count and do not print is read from their variables when they end.
"""

import contextlib
import importlib
import io
import sys
import types

import cases

SPLITS = ["ss", "sm", "ms", "mm"]
# What they import for other things than scoring plans.
MODULES = [
    "apps", "apps.mobile", "models", "models.chatgpt_resp_cralwer", "nltk", "nltk.translate", "nltk.translate.bleu_score", "requests", "rouge",
    "tqdm",
]
NAMES = {
    "apps.mobile": ["Mobile"],
    "models.chatgpt_resp_cralwer": ["ChatgptRespCrawler"],
    "nltk.translate.bleu_score": ["sentence_bleu", "SmoothingFunction"],
    "rouge": ["Rouge"],
    "tqdm": ["tqdm"],
}
OF_EVALUATION = [
    "app_em_count", "app_hit_count", "total_pred_apps", "total_ground_apps", "api_em_count", "api_hit_count", "total_pred_apis",
    "total_ground_apis", "api_argu_em", "api_argu_hit_count", "total_pred_api_argu", "total_ground_api_argu", "depend_argu_em",
    "depend_argu_hit", "total_depend_argus", "non_total_depend_argus", "pred_api_depending", "total_depend_k_missing", "total_k_missing",
    "total_depend_value_missing", "total_value_missing", "total_pred_depend_args", "total_match",
]
OF_ANALYSIS = [
    "succ_count", "depend_argument_correct_count", "key_missing", "depend_key_missing", "key_value_mismatch", "depend_key_value_mismatch",
    "total_argument_count", "date_related_value_error", "location_related_value_error", "key_missing_error", "key_value_mismatch_error",
    "depend_key_missing_error", "depend_key_value_mismatch_error",
]
OF_LISTS = {"app_ems": "app_em", "app_f1s": "app_f1", "api_ems": "api_em", "api_f1s": "api_f1"}


# ---- the released code ----


def load(official):
    stubs = {name: types.ModuleType(name) for name in MODULES}
    for module, names in NAMES.items():
        for name in names:
            setattr(stubs[module], name, None)
    sys.modules.update(stubs)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(official / "code" / "appbench"))
    return tuple(importlib.import_module(name) for name in ("utils", "evaluation", "analysis"))


def run(function, results, wanted):
    """What `function` gives, or the name of the exception that it raises, and those of its variables that are wanted."""
    variables = {}

    def look(frame, event, _):
        if event == "return" and frame.f_code is function.__code__:
            variables.update({name: frame.f_locals[name] for name in wanted if name in frame.f_locals})

    sys.setprofile(look)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return function(results), variables
    except Exception as error:
        return {"error": type(error).__name__}, variables
    finally:
        sys.setprofile(None)


class Released:
    def __init__(self, official):
        self.utils, evaluation, analysis = load(official)
        # Its constructor reads the key of a model that no plan needs.
        self.evaluation = object.__new__(evaluation.Evaluation)
        self.analysis = analysis.get_metabench_analysis

    def evaluate(self, results):
        return run(self.evaluation.get_appbench_analysis, results, OF_EVALUATION)

    def analyse(self, results):
        return run(self.analysis, results, [*OF_ANALYSIS, *OF_LISTS])


def sample(released, gold, output):
    apps, apis = released.utils.discompose_app_api(output)
    return {"input": gold["input"], "output": gold["output"], "prediction": {"decided_app": apps, "decided_api": apis}}


def counted(variables):
    """The counters of an analysis, and of one item the members of its lists."""
    counters = {name: variables[name] for name in OF_ANALYSIS}
    lists = {short: variables[name][0] for name, short in OF_LISTS.items() if len(variables[name]) == 1}
    return counters, lists


def expect(folder, official, data):
    released, golds = Released(official), dict(records(data))
    items, groups = {}, {}
    for line in cases.read_lines(folder / "predictions.jsonl"):
        one = sample(released, golds[line["item"]], line["output"])
        groups.setdefault(line["group"], []).append(one)
        printed, evaluated = released.evaluate([one])
        analysed, variables = released.analyse([one])
        counters, lists = counted(variables)
        items[line["id"]] = {
            "apps": one["prediction"]["decided_app"],
            "apis": one["prediction"]["decided_api"],
            "eval": evaluated,
            "eval_alone_error": printed.get("error"),
            "ana": {**lists, **counters},
            "ana_alone_error": analysed.get("error"),
        }
    aggregate = {}
    for group, results in groups.items():
        printed, evaluated = released.evaluate(results)
        analysed, variables = released.analyse(results)
        aggregate[group] = {
            "n": len(results),
            "evaluation": printed,
            "evaluation_counters": evaluated,
            "analysis": analysed,
            "analysis_counters": counted(variables)[0],
        }
    cases.write_document(folder / "expected.json", {"evaluator": "official", "aggregate": aggregate, "items": items})


# ---- cases ----


def records(data):
    for split in SPLITS:
        path = data / "test" / f"test_{split}.json"
        if path.exists():
            for number, record in enumerate(cases.read_document(path)):
                yield f"{split}-{number:03}", record


VALUES = [
    "''", "'la'", "'NYC'", "'San Francisco, CA'", "date", "4.5", "'a=b'", "\"x\"", "'it\\'s'", "[a, b]", "", "'2019-03-05'", "None", "' x '", "'é'",
    "'Ciudad de Mexico'", "x_y", "'(1)'", "=", "'''",
]
NAMES_OF_CALLS = ["{name}", "{name}", "{name}", "{upper}", "App_{name}", "a_{name}_b", "_{name}", "App.{name}", "{name} ", "x{name}", "é{name}"]
LINES = ["{app}: [{call}]"] * 12 + [
    "{app}:[{call}]", "{app} : [{call}]", "- {app}: [{call}]", "{app}: {call}", "{app}: [{call}", "[{call}]", "{call}", "{app}: [[{call}]]", "{app}:\n[{call}]",
    "Plan: {app}: [{call}] done", "**{app}**: [{call}]", "{app}: [{call}], [{call}]", "{app}: [{call}]\r", " {app}: [{call}]", "{app}:  [{call}]",
    "é{app}: [{call}]", ": [{call}]",
]
CALLS = ["{returned} = {name}({arguments})"] * 10 + [
    "{name}({arguments})", "{returned}={name}({arguments})", "{returned} = {name} ({arguments})", "{returned} = {name}({arguments}", "= {name}({arguments})",
    "{returned} == {name}({arguments})", "{returned} = {name}()", "{returned} = self.{name}({arguments})", "{returned} = {name}({arguments}) # ok",
    "{returned} = {name}(({arguments}))",
]
ODD = ["", "\n", "none", "Sorry, I cannot: [do] that", "a: []", "a: [b]", "= x_y(", "x = a.b(c)", "app: [r = f()]", "A: [r = f(=)]", "A: [r = f(#k='v', w)]"]


def arguments_of(call):
    """The arguments of a gold call, whose values hold no comma that splits them."""
    inside = call.split("(", 1)[1].rsplit(")", 1)[0]
    return [part.split("=", 1) for part in inside.split(", ") if "=" in part]


def call_text(random, call, others):
    returned, rest = call.split(" = ", 1)
    name = rest.split("(", 1)[0]
    arguments = arguments_of(rest)
    for _ in range(random.choice([0, 0, 0, 1, 1, 2])):
        at = random.randrange(len(arguments) + 1)
        change = random.choice(["drop", "value", "key", "add", "bare", "plain", "upper"])
        if change == "add" or not arguments:
            arguments.insert(at, random.choice(others) if others else ["#k", "'v'"])
            continue
        key, value = arguments[min(at, len(arguments) - 1)]
        changed = {
            "drop": None, "value": [key, random.choice(VALUES)], "key": [random.choice(["#date", "#city", "#K", "", "#"]), value],
            "bare": [random.choice(["alone", "'alone'"])], "plain": [key.lstrip("#"), value], "upper": [key.upper(), value.upper()],
        }[change]
        arguments[min(at, len(arguments) - 1) : min(at, len(arguments) - 1) + 1] = [changed] if changed else []
        if any(len(argument) == 1 for argument in arguments):
            break
    joined = random.choice([", "] * 8 + [",", " ,", ",  ", "; "]).join("=".join(argument) for argument in arguments)
    name = random.choice(NAMES_OF_CALLS).format(name=name, upper=name.upper())
    return random.choice(CALLS).format(returned=random.choice([returned] * 5 + ["r", "a, b", "_"]), name=name, arguments=joined)


def plan(random, gold, everything):
    if random.random() < 0.05:
        return random.choice(ODD)
    pairs = list(zip(gold["output"]["used_app"], gold["output"]["api_results"]))
    for _ in range(random.choice([0, 0, 1, 1, 2, 4])):
        at = random.randrange(len(pairs) + 1)
        change = random.choice(["drop", "repeat", "swap", "other"])
        if change == "other" or not pairs:
            pairs.insert(at, random.choice(everything))
        elif change == "drop":
            del pairs[min(at, len(pairs) - 1)]
        elif change == "repeat":
            pairs.insert(at, random.choice(pairs))
        else:
            random.shuffle(pairs)
    others = [argument for _, call in everything for argument in arguments_of(call)]
    apps = lambda app: random.choice([app] * 8 + [app.lower(), app + " ", "app1", "My" + app])
    usual, call_usual = random.choice(LINES), random.random() < 0.5
    lines = []
    for app, call in pairs:
        text = call if call_usual else call_text(random, call, others)
        lines.append((usual if random.random() < 0.9 else random.choice(LINES)).format(app=apps(app), call=text))
    if random.random() < 0.1:
        lines.insert(random.randrange(len(lines) + 1), random.choice(["First: I look [here].", "", "Answer:", "```", "2 = a_b(c)", "x = a.b(c)"]))
    return "\n".join(lines)


def generate(out, random, count, data):
    known = list(records(data))
    everything = [pair for _, gold in known for pair in zip(gold["output"]["used_app"], gold["output"]["api_results"])]
    lines = []
    for number in range(count):
        item, gold = random.choice(known)
        # Small groups, so that some have nothing that their code could divide by.
        group = f"g{random.randrange(max(1, count // 3))}"
        lines.append({"id": f"p{number}", "item": item, "group": group, "output": plan(random, gold, everything)})
    folder = out / "plans"
    cases.write_case(folder, "appbench", "predictions", {"expected.json": "official"}, ["predictions.jsonl"], {})
    cases.write_lines(folder / "predictions.jsonl", lines)


if __name__ == "__main__":
    cases.main(generate, expect)
