"""FlowBench: the released turn metrics over folders of any kind.

The modules that it imports for its models are empty; a judge answers by a hash of what it is asked.
"""

import contextlib
import hashlib
import io
import json
import os
import sys
import types
import unittest.mock

import cases

COUNTS = {
    "call_right": "final_call_right_num", "call_all_gt": "final_call_all_num", "call_all_pred": "final_call_all_num_pred",
    "params_right": "final_params_right_num", "params_all_gt": "final_params_all_num", "params_all_pred": "final_params_all_num_pred",
}
REPLIES = ["yes", "No.", "Yes, no doubt", "unknown", "hm", "YES"]


# ---- the released code ----


class Judge:
    def __init__(self, kept):
        self.kept, self.about = kept, None

    def infer_single_turn(self, prompt):
        digest = hashlib.sha256(json.dumps(self.about).encode()).digest()
        reply = REPLIES[int.from_bytes(digest[:4], "big") % len(REPLIES)]
        self.kept.setdefault(self.about, []).append(reply)
        return reply


def released(official):
    """The module of turn metrics, whose broken imports are replaced."""
    utils = types.ModuleType("utils")
    llm, helpers, requests = (types.ModuleType(f"utils.{name}") for name in ("llm", "utils", "request_openai"))
    llm.GPT = lambda **_: None
    requests.request_openai_tongyi = requests.request_openai_lab = None
    sys.modules.update({"utils": utils, "utils.llm": llm, "utils.utils": helpers, "utils.request_openai": requests})
    sys.modules.setdefault("xlsxwriter", types.ModuleType("xlsxwriter"))
    module = types.ModuleType("turn_metric_display")
    source = (official / "turn_level/turn_metric_display.py").read_text(encoding="utf-8")
    exec(compile(source, "turn_metric_display.py", "exec"), vars(module))
    return module


def metrics(module, folder, kept):
    judge = Judge(kept)
    module.llm_eval = judge
    construct = module.released_prompt

    def about(key, gold, predicted, prompt, action):
        made = construct(key, gold, predicted, prompt, action)
        judge.about = (action, key, gold, predicted)
        return made

    module.contruct_eval_prompt = about
    found = {}

    def leave(frame, event, _):
        # The sums are printed as ratios alone, so they are taken from the function as it returns.
        if event == "return" and frame.f_code.co_name == "compute_turn_metrics":
            found.update(frame.f_locals)

    files = sorted(os.listdir(folder))
    sys.setprofile(leave)
    try:
        with contextlib.redirect_stdout(io.StringIO()), unittest.mock.patch("os.listdir", lambda _: files):
            module.compute_turn_metrics(str(folder))
    except Exception as error:
        return {"error": type(error).__name__, "aggregate": None}
    finally:
        sys.setprofile(None)
    names = ("turn_call_pre", "turn_call_rec", "turn_params_pre", "turn_params_rec")
    aggregate = {name: found[f"final_{name}"] for name in names} | {name: found[local] for name, local in COUNTS.items()}
    by_file = {file: {name: found[name][file] for name in names} for file in found["turn_call_pre"]}
    return {"error": None, "aggregate": aggregate, "by_file": by_file}


def expect(folder, official, data):
    module = released(official)
    module.released_prompt = module.contruct_eval_prompt
    kept, items = {}, {}
    for line in cases.read_lines(folder / "predictions.jsonl"):
        items[line["item"]] = metrics(module, folder / line["dir"], kept)
    lines = []
    for (api, parameter, gold, predicted), replies in kept.items():
        # A question that came up again was answered alike.
        said = replies[:10] if not any(word in replies[0].lower() for word in ("yes", "no")) else replies[:1]
        lines.append({
            "kind": "fuzzy", "scenarios": [], "api": api, "parameter": parameter, "input_a": gold, "input_b": predicted, "responses": said,
        })
    cases.write_lines(folder / "judge.jsonl", lines)
    cases.write_document(folder / "expected.json", {"evaluator": "official", "aggregate": None, "items": items})


# ---- what it is run on ----

PROMPT = (
    "Assistant.\n\nYour capabilities are based on the following workflows and API information:\n\nAPI: alpha\nAPI Desciption: first\n\n"
    "API: beta\nAPI Desciption: second\n\n\nPlease note that the current time is:2035-01-02 10:00:00 Tuesday"
)
ODD = [
    "null", '""', '"x"', "1", "1.5", "-0", "true", "[]", "{}", '["Action"]', '["api call error"]', '{"api call error": 1}', '"1"', '"Action"', "NaN",
    "[1]", '[{"content": 1}]', '[{"role": "system"}]', '{"Action": "alpha"}', '"api call error"', "[[]]", '"[1]"', '"5"', '"null"', '"{}"',
]
INPUTS = [
    '{"k": "left"}', '{"k": "right"}', '{"k": 1}', '{"k": 1.0, "m": true}', "{}", '{"k": ["a"], "m": {"n": 1}}', '{"K": "LEFT"}', '{"k": ""}',
    '{"k": "le"}', "{", '{"k": "a}"}', '{"k": "{"}', '{"k": NaN}', '{"k": null, "é": "-"}', '{"k": {}}',
]
NAMES = ["alpha", "beta", "gamma", "alp", "functions.alpha", "alpha ", ""]
RAW = ["01", "1.", "-", "99999999999999999999", "30000000000000000000", "-9223372036854775809", '"\x01"', '"\\ud800"', '"\\udc00"', "nul", "Infinity"]


def output(random):
    if random.random() < 0.2:
        return random.choice(["Thought: t.\nResponse: hello", "", "api call error", "1", "Action: alpha", "Action: \n", "Action Input: {{}"])
    return f"Thought: t.\nAction: {random.choice(NAMES)}\n{random.choice(['Action Input: ', 'Action Input: ', 'Action Input:', ''])}{random.choice(INPUTS)}"


def thought(random):
    if random.random() < 0.3:
        return '{"current_node": "AA001"}'
    fields = []
    if random.random() < 0.97:
        fields.append(f'"Action": {json.dumps(random.choice(["alpha", "beta", ""])) if random.random() < 0.85 else random.choice(ODD)}')
    if random.random() < 0.97:
        fields.append(f'"Action Input": {json.dumps(random.choice(INPUTS)) if random.random() < 0.85 else random.choice(ODD)}')
    return "{" + ", ".join(fields) + "}"


def messages(random):
    content = PROMPT if random.random() < 0.9 else random.choice(["", "API: alpha\n\n", PROMPT.split("Please")[0]])
    written = json.dumps(content) if random.random() < 0.95 else random.choice(ODD)
    return f'[{{"role": "system", "content": {written}}}]'


def record(random, is_odd):
    fields = {
        "id": json.dumps(f"s{random.randrange(3)}_agent_turn-1"), "messages": messages(random), "gt_thought": thought(random),
        "gt_response": '"r"', "gt_content": '"c"', "predict": json.dumps(output(random)),
    }
    if random.random() < 0.05:
        fields["response"] = json.dumps(output(random))
    if is_odd:
        for _ in range(random.choice([1, 1, 2])):
            name = random.choice([*fields, "response"])
            if random.random() < 0.25:
                fields.pop(name, None)
            else:
                fields[name] = random.choice(ODD) if random.random() < 0.85 else random.choice(RAW)
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + random.choice([""] * 20 + [","]) + "}"


def file_text(random, is_odd):
    lines = [record(random, is_odd and random.random() < 0.6) for _ in range(random.choice([1, 1, 2, 2, 3]))]
    if is_odd and random.random() < 0.2:
        lines.insert(random.randrange(len(lines) + 1), random.choice(["5", "null", "[]", '""', '"ab"', '["ab"]', "{}", '[["predict", "x"]]', "", "  ", "\x1c", "{", "x"]))
    return random.choice(["\n"] * 8 + ["\r\n", ","] if is_odd else ["\n"]).join(lines) + random.choice(["", "\n"])


def generate(out, random, count, data):
    folder, lines = out / "turns", []
    for number in range((count + 2) // 3):
        place = folder / f"input/{number}"
        place.mkdir(parents=True)
        for name in random.choice([["a"], ["a"], ["a", "b"], ["a", "b", "c"]]):
            with open(place / f"{name}.jsonl", "w", encoding="utf-8", newline="") as file:
                file.write(file_text(random, random.random() < 0.5))
        lines.append({"item": str(number), "dir": f"input/{number}", "filter_name": None})
    cases.write_case(
        folder, "flowbench", "turn-branches", {"expected.json": "official"}, ["input", "judge.jsonl", "predictions.jsonl"], {}
    )
    cases.write_lines(folder / "predictions.jsonl", lines)


if __name__ == "__main__":
    cases.main(generate, expect)
