"""FlowBench: the released turn metrics over folders of any kind, and the released session metrics over conversations of any kind.

The modules that it imports for its models are empty; a judge answers by a hash of what it is asked, or of the session that it is asked about.
"""

import ast
import collections
import contextlib
import hashlib
import io
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import types
import typing
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


def stub(name, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    return module


class Lines:
    """`jsonlines.open` of a file that is well-formed."""

    def __init__(self, path):
        self.lines = cases.read_lines(path)

    def __enter__(self):
        return iter(self.lines)

    def __exit__(self, *_):
        return False


def released_sessions(official):
    """The modules that score sessions. What they import by a star is there by the same names, and no more: some are undefined there too."""
    names = {name: getattr(typing, name) for name in ("List", "Dict", "Tuple", "Set")}
    names |= {"json": json, "os": os, "re": re, "sys": sys, "random": random, "Counter": collections.Counter}
    stub("utils")
    stub("utils.llm", GPT=lambda **_: None, **names)
    stub("utils.utils", LineProcessor=None, **names)
    stub("jsonlines", open=Lines)
    sys.modules.setdefault("xlsxwriter", types.ModuleType("xlsxwriter"))

    def load(name, path):
        module = stub(name)
        exec(compile((official / path).read_text(encoding="utf-8"), path, "exec"), vars(module))
        return module

    load("utils.eval_utils", "utils/eval_utils.py")
    return load("session_simulate", "session_level/session_simulate.py"), load("session_metric_display", "session_level/session_metric_display.py")


class SessionJudge:
    def __init__(self, item):
        self.random, self.said = random.Random(item), []

    def infer_single_turn(self, _):
        self.said.append(verdict(self.random))
        return self.said[-1]


def gold_calls(session):
    return [f"Action: {call['action']}\nAction Input: {json.dumps(call['action_input'], ensure_ascii=False)}" for call in session["tool_invocations"]]


def expect_sessions(folder, official, data):
    simulate, display = released_sessions(official)
    for agent in ("FunctionAgent", "AssistantAgent", "UserAgent"):
        setattr(simulate, agent, lambda *_, **__: None)
    sessions, items, judged, by_file = sessions_of(data), {}, [], {}
    for line in cases.read_lines(folder / "predictions.jsonl"):
        session, item = sessions[line["item"].split("#")[0]], line["item"]
        generation, judge = simulate.DialogGeneration(), SessionJudge(item)
        generation.generate_dialog = lambda *_, **__: line["messages"]
        generation.llm_judge = judge
        hints = {"first_turn_hint": "", "every_turn_hint": ""}
        record = {
            "apis": [], "function_agent": {"functions_with_response": [], "function_prompt": ""}, "datetime": session["datetime"],
            "assistant_agent": {"assistant_prompt": PROMPT}, "assistant_prompt": PROMPT, "user_agent": hints, "user_target": "",
            "gt_actions_string": "\n\n".join(gold_calls(session)),
        }
        with contextlib.redirect_stdout(io.StringIO()):
            generation.session_simulate(record, lambda _: None)
            generation.session_eval(record, lambda _: None)
        names = ("success_gpt", "progress_gpt", "all_api_num_gt", "all_api_num_pre", "right_api_num", "gen_actions_string")
        turns = sum(message["role"] == "assistant" for message in line["messages"])
        items[item] = {name: record[name] for name in names} | {"agent_turns": turns}
        by_file.setdefault(line["file"], []).append(items[item])
        judged.append({"kind": "completion", "scenarios": [], "item": item, "responses": judge.said})
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as place:
        for file, lines in by_file.items():
            cases.write_lines(pathlib.Path(place) / file, lines)
        with contextlib.redirect_stdout(printed), unittest.mock.patch("os.listdir", lambda _: list(by_file)):
            display.compute_session_metrics(place)
    found = [ast.literal_eval(line) for line in printed.getvalue().splitlines() if line.startswith("{")]
    found = {metrics.pop("scenarios"): metrics for metrics in found}
    cases.write_lines(folder / "judge.jsonl", judged)
    cases.write_document(
        folder / "expected.json", {"evaluator": "official", "aggregate": found.pop("All"), "by_file": found, "items": items}
    )


def expect(folder, official, data):
    if cases.read_document(folder / "case.json")["kind"] == "session":
        return expect_sessions(folder, official, data)
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


def sessions_of(data):
    files = (data / f"synthetic/sessions_{scope}.jsonl" for scope in ("single", "cross"))
    return {session["session_id"]: session for file in files for session in cases.read_lines(file)}


def verdict(random):
    """What a judge says of the user's goals."""
    first = random.choice(["Result: yes", "Result: no"] * 6 + ["Result: Yes", "Result:yes", " Result: no", "yes", "", "Result: yes."])
    numbers = [
        f"{random.choice(['Total number of goals:'] * 8 + ['Total goals:'])}{random.choice([' '] * 8 + ['', chr(9), chr(0xA0), chr(10)])}"
        f"{random.choice(['1', '2', '3', '4'] * 3 + ['0', '07', chr(0x663), 'two', '-1', '1.5'])}",
        f"{random.choice(['Number of accomplished goals:'] * 8 + ['Accomplished goals:'])} {random.choice(['0', '1', '2', '3', '9', 'none'])}",
    ]
    random.shuffle(numbers)
    return random.choice(["\n"] * 12 + ["\r\n", " "]).join([first, *numbers, random.choice(["", "Reason: Total number of goals: 5"])])


def value(random, gold):
    """What becomes of an argument."""
    text = gold if isinstance(gold, str) else json.dumps(gold)
    return random.choice([
        gold, gold, gold, text.upper(), f" {text} ", f"the {text}!", text[: len(text) // 2], "", [], None, 1, True, {"n": gold}, text.replace(" ", "-"),
        f"{text}}}", text + "\u2019", "elsewhere",
    ])


def call(random, session):
    """A call as a model might write it: one of the gold, or nearly."""
    gold = random.choice(session["tool_invocations"] or [{"action": "other", "action_input": {"k": "v"}}])
    name = gold["action"]
    name = random.choice([name] * 8 + [name.upper(), f"functions.{name}", f"{name} ", f"{name}.", f"{name}2", "other", "", f"functions.functions.{name}"])
    given = dict(gold["action_input"])
    if random.random() < 0.6:
        for key in list(given):
            if random.random() < 0.4:
                given[key] = value(random, given[key])
            elif random.random() < 0.1:
                del given[key]
            elif random.random() < 0.1:
                given[key.upper()] = given.pop(key)
        if random.random() < 0.15:
            given["more"] = value(random, "more")
    written = json.dumps(given, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.15:
        written = random.choice([written[:-1], written.replace('"', "'"), f"{{{written}}}", f"[{written}]", f"```{written}```", "{}", "", "null", f"\n{written}", f"{written}\n\n{written}", written.replace(", ", ",\n\n")])
    label = random.choice(["Action Input: "] * 12 + ["Action Input:", "action input: ", "Action Input:  "])
    return f"Action: {name}{random.choice([chr(10)] * 12 + [' ' + chr(10), chr(13) + chr(10), ' '])}{label}{written}"


def content(random, session):
    kind = random.random()
    if kind < 0.05:
        return None
    if kind < 0.2:
        return random.choice(["", "hello", "Thought: t.\nResponse: hello", "Action: ", "Action: x", "Action Input: {}", "a\n\nb", "Result: yes", "é"])
    calls = random.choice(["\n", "\n", "\n\n", ", "]).join(call(random, session) for _ in range(random.choice([1, 1, 1, 1, 2, 3])))
    return random.choice(["", "Thought: t.\n", "Thought: t.\n\n"]) + calls + random.choice([""] * 6 + ["\n", "\nResponse: r", "\n\nmore", " more"])


def conversation(random, session):
    messages = []
    for _ in range(random.choice([0, 1, 2, 3, 3, 4, 5])):
        role = random.choice(["user", "assistant", "assistant", "assistant", "function"])
        message = {"role": role, "content": content(random, session) if role == "assistant" or random.random() < 0.2 else "said"}
        messages.append(message | ({"name": "f"} if role == "function" else {}))
    return messages


def generate_sessions(folder, random, count, data):
    sessions, lines = list(sessions_of(data).values()), []
    for session in sessions:
        for number in range((count + len(sessions) - 1) // len(sessions)):
            lines.append({"item": f"{session['session_id']}#{number}", "file": session["file"], "messages": conversation(random, session)})
    # The released code adds up file by file.
    lines.sort(key=lambda line: line["file"])
    cases.write_case(folder, "flowbench", "session", {"expected.json": "official"}, ["judge.jsonl", "predictions.jsonl"], {})
    cases.write_lines(folder / "predictions.jsonl", lines)


def generate(out, random, count, data):
    generate_sessions(out / "sessions", random, count, data)
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
