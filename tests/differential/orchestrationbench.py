"""OrchestrationBench: the released search for plans, and its evaluation of whole runs, without a judge and with one.

The judge answers by a hash of the item that it is asked about. The history of a run is made by the released code too, from the scenarios of the data set; in place of its models stand the predictions.
What it imports and does not need here (providers, terminals) are empty modules.
"""

import asyncio
import contextlib
import datetime
import io
import json
import random
import re
import signal
import sys
import types
import unittest.mock

import cases

COUNTERS = {
    "fc_successful_calls": "total_fc_successful_calls", "rejection_cases": "total_rejection_cases",
    "true_positive_reject": "total_true_positive_reject", "true_negative_reject": "total_true_negative_reject",
    "false_positive_reject": "total_false_positive_reject", "false_negative_reject": "total_false_negative_reject",
    "true_positive_fc": "total_true_positive_fc", "false_positive_fc": "total_false_positive_fc",
    "false_negative_fc": "total_false_negative_fc", "true_negative_fc": "total_true_negative_fc",
    "rejection_type_mismatch": "total_rejection_type_mismatch", "failed_generation": "total_failed_generation",
    "function_call_cases": "total_function_call_cases",
}


# ---- the released code ----


def released(official):
    for name in (
        "rich", "rich.console", "rich.panel", "openai", "openai.types", "openai.types.chat", "httpx", "src.utils.model_factory",
        "src.orchestration_engine",
    ):
        sys.modules[name] = unittest.mock.MagicMock()
    sys.path.insert(0, str(official))
    from loguru import logger

    # Its default level is INFO: what is logged for debugging is put together, and not written.
    logger.remove()
    from src.step_history_generator import EvaluationStep, SimpleHistoryGenerator
    from src.utils.evaluation import evaluate_arguments, evaluate_workflow_as_DAG

    evaluate_arguments.released = types.SimpleNamespace(
        history=evaluate_arguments.create_history, ask=evaluate_arguments.call_evaluation_llm
    )

    return types.SimpleNamespace(
        step=EvaluationStep, generator=SimpleHistoryGenerator, arguments=evaluate_arguments, plans=evaluate_workflow_as_DAG
    )


class Agents(dict):
    """Every agent with a card answers what was predicted."""

    def __init__(self, predictions, ids):
        super().__init__()
        self.predictions = predictions
        for agent in ids:
            self[agent] = types.SimpleNamespace(initialize=self.nothing, model=self, tools=[])

    async def nothing(self):
        pass


class Unanswered(Exception):
    pass


def history(code, steps, predictions, ids):
    """The history of one run, as the released code writes and reads it."""
    generator = code.generator.__new__(code.generator)
    generator.batch_size, generator.max_retries = 1, 0
    position = []

    async def generate_workflow(msgs, system_info):
        step = str(max(int(key) for key in position))
        if step not in predictions:
            raise Unanswered
        return {"role": "assistant", "content": predictions[step].get("output")}

    async def execute(step, label, *_):
        line = predictions.get(str(step.step_id))
        if line is None or step.agent not in ids:
            return None
        calls = [{"type": "function", "function": call} for call in line.get("tool_calls") or []]
        return {"step_id": str(step.step_id), "role": "assistant", "content": line.get("output"), "tool_calls": calls, "agent_id": step.agent}

    def build(label, step_id):
        position.append(step_id)
        return []

    generator.orchestration_agent = types.SimpleNamespace(generate_workflow=generate_workflow)
    generator.build_history_up_to_step = build
    generator.execute_agent_and_record = execute
    steps = [code.step(**{name: step[name] for name in ("workflow_id", "step_id", "agent", "agent_type", "data")}) for step in steps]
    # It waits before the next batch of calls, which here are none.
    with contextlib.redirect_stderr(io.StringIO()), unittest.mock.patch("asyncio.sleep", unittest.mock.AsyncMock()):
        made, *_ = asyncio.run(generator.build_history_from_steps(steps))
    return json.loads(json.dumps(made))


class TooLong(BaseException):
    """The distance of two plans takes exponential time; what takes longer than this is compared with nothing."""

    SECONDS = 2

    @staticmethod
    def ring(*_):
        raise TooLong


def plan_of_run(code, run):
    signal.signal(signal.SIGALRM, TooLong.ring)
    signal.alarm(TooLong.SECONDS)
    try:
        scores, failed = code.plans.evaluate_run(run, 0.8, 0.2)
    except TooLong:
        return {}
    except Exception as error:
        return {"dropped": True, "exception": type(error).__name__}
    finally:
        signal.alarm(0)
    scores = [score["overall_similarity"] for score in scores]
    return {"dropped": False, "scores": scores, "compared": len(scores), "failed": failed}


class Judge:
    """Answers, and keeps what it was asked about: the released code asks by position, so the steps are told from the histories it makes."""

    def __init__(self, arguments, name):
        self.name, self.said, self.asked, self.steps = name, {}, [], {}
        self.released, self.histories = arguments.released, []
        arguments.create_history, arguments.call_evaluation_llm = self.history, self.ask
        arguments._call_llm_with_semaphore = self.answer

    def history(self, run, step):
        made = self.released.history(run, step)
        self.histories.append(made)
        self.steps[id(made)] = step
        return made

    async def ask(self, *given, llm_history, **named):
        self.asked = [self.steps[id(made)] for made in llm_history]
        return await self.released.ask(*given, llm_history=llm_history, **named)

    async def answer(self, messages, *_):
        position = int(re.match(r"\[ID: EVAL_BATCH_(\d+)_", messages[-1]["content"]).group(1))
        item = f"{self.name}/{self.asked[position]}"
        keys = re.findall(r"^\*\*Argument: (.*):\*\*$", messages[-1]["content"], re.MULTILINE)
        kind, reply = judgement(random.Random(item), keys)
        if kind == "error":
            self.said[item] = {"item": item, "response": None, "error": True}
            raise ConnectionError("nobody answered")
        self.said[item] = {"item": item, "response": reply}
        return {"choices": [{"message": {"content": reply}}]}


def judgement(random, keys):
    """What a judge says of arguments: `reply` or `error`, and the text."""
    odd = random.random()
    if odd < 0.05:
        return "error", None
    if odd < 0.08:
        return "reply", None
    if odd < 0.16:
        return "reply", random.choice(["", "I cannot tell.", "{", "{}", "[]", "{'a': 1}", "{\"a\": {}}", "null", "} {", "<think>{\"a\": 1}</think>", "{}{}"])
    counts = {}
    for key in keys:
        if random.random() < 0.92:
            numbers = {name: random.choice([0, 0, 1, 1, 1, 2, 5]) for name in ("tp_count", "fp_count", "fn_count") if random.random() < 0.95}
            if random.random() < 0.1:
                numbers[random.choice([*numbers, "reason"])] = random.choice([-1, 0.5, True, False, 10**20])
            counts[key if random.random() < 0.96 else key.upper()] = numbers
    if random.random() < 0.1:
        counts["another"] = {"tp_count": 1, "fp_count": 1, "fn_count": 1}
    text = json.dumps(counts, ensure_ascii=random.random() < 0.5)
    frame = random.choice(["{}"] * 6 + ["```json\n{}\n```", "<think>{{}}</think>{}", "Here: {} done", "{}\n</think>", " {} "]).format(text)
    return "reply", frame if random.random() < 0.9 else frame.replace('"', "'")


def decisions_of_run(code, run, tools, is_judged):
    config = {
        "skip_llm_eval": not is_judged, "judge": {"generation_params": {}, "model": {}}, "prompts": {"arguments_evaluation": {"prompt": ""}},
    }
    try:
        found = asyncio.run(code.arguments.evaluate_sub_agent_history_f1({"history": {"run #1": run}}, config, tools))
    except Exception as error:
        return {"exception": type(error).__name__}
    scores = {
        "key_score": found["key_score"]["avg_f1"], "function_name_score": found["function_name_score"]["f1-score"],
        "value_score_not_count_rejection": found["value_score_not_count_rejection"]["avg_f1"],
    }
    return scores | {name: found[official] for name, official in COUNTERS.items()}


def tagged(value):
    if isinstance(value, dict):
        return {tagged(str(key)): tagged(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [tagged(entry) for entry in value]
    if isinstance(value, datetime.datetime):
        return {"__datetime__": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"__date__": value.isoformat()}
    if isinstance(value, bytes):
        return {"__bytes__": list(value)}
    if isinstance(value, set):
        return {"__set__": sorted(tagged(entry) for entry in value)}
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return float(value)
    if isinstance(value, str):
        # Rust texts have no lone surrogates; these stand for them.
        return "".join(chr(0x100000 + ord(c)) if 0xD800 <= ord(c) < 0xE000 else c for c in value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"__float__": str(value)}
    return value


def text_entry(code, text):
    try:
        found = code.plans.extract_workflow_from_content(text)
    except RecursionError:
        return {"result": "exception", "type": "RecursionError"}
    except Exception as error:
        return {"result": "exception", "type": type(error).__name__}
    if not found:
        return {"result": "none"}
    return {"result": "workflow", "keys": [str(key) for key in found], "value": tagged(found)}


def expect(folder, official, data):
    import yaml

    code = released(official)
    if (folder / "texts.jsonl").exists():
        items = {line["id"]: text_entry(code, line["text"]) for line in cases.read_lines(folder / "texts.jsonl")}
        cases.write_document(folder / "expected.json", {"evaluator": "official", "items": items})
        return
    tools, ids = {}, set()
    for path in sorted((data / "data/EN/multiagent_cards").glob("*.json")):
        card = cases.read_document(path)
        ids.add(card["agent_card"]["agent_id"])
        tools |= {tool["name"]: tool["parameters"] for tool in card["tools"]}
    runs = {}
    for line in cases.read_lines(folder / "predictions.jsonl"):
        run, step = line["item"].rsplit("/", 1)
        runs.setdefault(run, {})[step] = line
    is_judged = cases.read_document(folder / "case.json")["params"]["judge"] == "recorded"
    expected, said = {}, []
    for name, predictions in runs.items():
        judge = Judge(code.arguments, name)
        _, scenario, _ = name.split("/")
        steps = yaml.safe_load((data / f"data/EN/scenario_data/{scenario}.yaml").read_text(encoding="utf-8"))["steps"]
        run = history(code, steps, predictions, ids)
        with contextlib.redirect_stdout(io.StringIO()):
            expected[name] = {"plan": plan_of_run(code, run), "decision": decisions_of_run(code, run, tools, is_judged)}
        # Nobody asks about a run that crashes first; to have an answer must then make no difference.
        items = (line["item"] for line in predictions.values())
        said.extend(judge.said.get(item, {"item": item, "response": "{}"}) for item in items)
    if is_judged:
        cases.write_lines(folder / "judge.jsonl", said)
    cases.write_document(folder / "expected.json", {"evaluator": "official", "runs": expected})


# ---- what it is run on ----

SCALARS = [
    "1", "-0", "0", "1.0", "-0.0", "1e400", "NaN", "12345678901234567890123", "-9223372036854775809", "true", "null", '""', '"x"', '"\\ud800"',
    '"é"', '"\\u0000"', '"1"', '"True"', '"None"', "[]", "{}", "[[1, 2], [2, 1]]", '{"b": 1, "a": [true]}', '"2025-03-04"', '"pending"',
]
PLAIN = [
    "a", "~", "yes", "on", "012", "0x1F", "1:30", "2025-03-04", "2025-02-30", "2025-03-04 10:00:00", "'a", '"b', "|", ">", "| ", "|-", "&a b",
    "*a", "!!int 5", "!!set {a, b}", "!!binary aGk=", "[a, b", "{a: b}", "- a", "? a", "# c", "@a", "a: b", "a:", "1_000", ".inf", "é", "\ta",
    "<<: *a", "=", "...", "---", "%TAG", "a\\", '"a\\x41"', "completed", "pending",
]


def scalar(random):
    return random.choice(SCALARS)


def odd_json(random, depth=0):
    odd = random.random()
    if depth > 2 or odd < 0.4:
        return scalar(random)
    if odd < 0.7:
        return "[" + ", ".join(odd_json(random, depth + 1) for _ in range(random.randrange(3))) + "]"
    keys = ["a", "b", "name", "agent_id", "status", "steps", "depends_on", "workflow_2", "error", "AWAITING_USER_INPUT"]
    return "{" + ", ".join(f'"{random.choice(keys)}": {odd_json(random, depth + 1)}' for _ in range(random.randrange(4))) + "}"


def json_step(random):
    if random.random() < 0.08:
        return odd_json(random)
    fields = []
    for name, common in (("status", ['"pending"', '"completed"']), ("agent_id", ['"library_agent"', '"transit_agent"']), ("name", ['"diary_agent"'])):
        if random.random() < 0.8:
            fields.append(f'"{name}": {random.choice(common) if random.random() < 0.85 else odd_json(random)}')
    return "{" + ", ".join(fields) + "}"


def json_workflow(random):
    if random.random() < 0.08:
        return odd_json(random)
    fields = ['"status": "pending"'] if random.random() < 0.5 else []
    steps = "[" + ", ".join(json_step(random) for _ in range(random.randrange(3))) + "]"
    fields.append(f'"steps": {steps if random.random() < 0.92 else odd_json(random)}')
    if random.random() < 0.4:
        known = ['["workflow_1"]', '"workflow_1"', '["workflow_1", "workflow_2"]', '"ab"', "null", "[]"]
        depends = random.choice(known) if random.random() < 0.8 else odd_json(random)
        fields.append(f'"{random.choice(["depends_on", "depend_on"])}": {depends}')
    return "{" + ", ".join(fields) + "}"


def json_plan(random):
    keys = ["workflow_1", "workflow_2", "workflow_1-1", "interrupt_workflow_1-1", "notes", "workflow", "workflow_١", "1"]
    entries = [f'"{random.choice(keys)}": {json_workflow(random)}' for _ in range(random.choice([1, 1, 2, 2, 3]))]
    return "{" + ", ".join(entries) + ("," if random.random() < 0.08 else "") + "}"


def yaml_plan(random):
    lines = []
    for number in range(random.randrange(1, 3)):
        lines.append(random.choice([f"workflow_{number + 1}:", f"workflow_{number + 1}", f"workflow_{number + 1}: ", "1:", "? workflow_1", "notes: x"]))
        indent = random.choice(["  ", "  ", "  ", "", " ", "\t"])
        for _ in range(random.randrange(5)):
            value = random.choice(PLAIN + SCALARS)
            line = random.choice(["status: pending", "type: independent", "steps:", f"  - status: {value}", "    name: library_agent", "  - name: transit_agent",
                                  f"    refined_query: {value}", "    status: completed", f"depends_on: {value}", "depend_on: workflow_1", value, "a: |", "text"])
            lines.append(indent + line)
    return "\n".join(lines) + random.choice(["", "\n", "\n\n", " "])


def plan_text(random):
    text = json_plan(random) if random.random() < 0.5 else yaml_plan(random)
    text = random.choice([
        "{}", "{}", "{}", "```json\n{}\n```", "```yaml\n{}\n```", "```yaml\n{}```", "Here it is: {} Good?", "<think>workflow_1: x</think>{}", "[{}]",
        '{{"plan": {}}}', "```json{}```\n```json\n{{}}\n```", "{}\n</think>", "\n{}", "{}\n---\na: b",
    ]).format(text)
    if random.random() < 0.15 and text:
        at = random.randrange(len(text))
        text = text[:at] + random.choice(["", "{", "}", '"', "'", ":", "\n", " ", "\t", "\x07", "\u2028", "\x85", "é", "workflow_3"]) + text[at + random.randrange(2):]
    return text


def arguments(random, gold):
    odd = random.random()
    if odd < 0.25 and gold:
        return gold
    if odd < 0.35:
        return random.choice([None, "", "{", "null", "[]", '"a"', "{}", '{"a": 1,}', "nan", '{"error": 1}', "{'a': 1}", "1"])
    fields = dict(json.loads(gold)) if gold else {}
    written = [f"{json.dumps(key)}: {scalar(random) if random.random() < 0.4 else json.dumps(value)}" for key, value in fields.items() if random.random() < 0.9]
    for _ in range(random.randrange(2)):
        written.append(f'"{random.choice(["x", "error", "refinedQuery", "AWAITING_USER_INPUT", "TOOL_CONSTRAINT_VIOLATION", "date"])}": {odd_json(random)}')
    return "{" + ", ".join(written) + "}"


def tool_calls(random, label, names):
    made = []
    for _ in range(random.choice([0, 1, 1, 1, 1, 2])):
        gold = random.choice(label) if label else {"name": "x", "arguments": ""}
        call = {"name": gold["name"] if random.random() < 0.7 else random.choice([*names, "", "rejection", None, "None"])}
        if random.random() < 0.03:
            del call["name"]
        call["arguments"] = arguments(random, gold["arguments"])
        made.append(call)
    return made


def reworded(random, label):
    """The same calls with other texts, which only a judge can compare."""

    def other(value):
        if isinstance(value, str) and random.random() < 0.6:
            return random.choice([f"{value} please", value.upper(), f" {value}", value[::-1], "", f"{value}, {value}"])
        if isinstance(value, list):
            return [other(one) for one in value] + random.choice([[], [], ["more"]])
        if isinstance(value, dict):
            return {key: other(one) for key, one in value.items()}
        return value

    made = [{"name": call["name"], "arguments": json.dumps(other(json.loads(call["arguments"])), ensure_ascii=random.random() < 0.5)} for call in label]
    return random.sample(made, len(made)) if random.random() < 0.2 else made


def generate(out, random, count, data):
    import yaml

    texts = count // 3
    cases.write_case(out / "texts", "orchestrationbench", "unit_parse", {"expected.json": "official"}, ["texts.jsonl"], {})
    cases.write_lines(out / "texts/texts.jsonl", [{"id": str(number), "text": plan_text(random)} for number in range(texts)])

    cards = [cases.read_document(path) for path in sorted((data / "data/EN/multiagent_cards").glob("*.json"))]
    names = [tool["name"] for card in cards for tool in card["tools"]]
    ids = {card["agent_card"]["agent_id"] for card in cards}
    scenarios = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))["steps"] for path in sorted((data / "data/EN/scenario_data").glob("*.yaml"))
    }
    for name, judge in (("runs", "skip"), ("judged", "recorded")):
        generate_runs(out / name, random, (count - texts) // 2, judge, scenarios, ids, names)


def generate_runs(folder, random, count, judge, scenarios, ids, names):
    import yaml

    asked = sum(step["agent_type"] == "agent" or step["data"]["content"].startswith("workflow_") for steps in scenarios.values() for step in steps)
    runs = max(1, count // asked)
    lines = []
    for run in range(1, runs + 1):
        for scenario, steps in scenarios.items():
            for step in steps:
                content = step["data"]["content"]
                line = {"item": f"EN/{scenario}/{run}/{step['step_id']}"}
                is_gold = random.random() < 0.6
                if content.startswith("workflow_") and step["workflow_id"] != "system":
                    line["output"] = content if is_gold else plan_text(random) if random.random() < 0.95 else None
                elif step["agent"] in ids:
                    called = yaml.safe_load(content) if "tool" in content else {}
                    entries = called.get("tool_call") or [called] if isinstance(called, dict) and "tool" in content else []
                    label = [{"name": one.get("tool", "x"), "arguments": json.dumps(one.get("arguments", {}), ensure_ascii=False, default=str)} for one in entries]
                    line["output"] = "" if label and is_gold else content if is_gold else random.choice(["", "AWAITING_USER_INPUT", "hm TOOL_CONSTRAINT_VIOLATION", "awaiting"])
                    line["tool_calls"] = label if is_gold else tool_calls(random, label, names)
                    if judge != "skip" and label and random.random() < 0.7:
                        line["output"], line["tool_calls"] = "", reworded(random, label)
                else:
                    continue
                if random.random() < 0.95:
                    lines.append(line)
    inputs = ["predictions.jsonl"] if judge == "skip" else ["judge.jsonl", "predictions.jsonl"]
    params = {"num_runs": runs, "judge": judge, "language": "EN"}
    cases.write_case(folder, "orchestrationbench", "predictions", {"expected.json": "official"}, inputs, params)
    write_predictions(folder / "predictions.jsonl", lines, random)


def write_predictions(path, lines, random):
    """Some arguments that are JSON objects are written as objects, in the words they have as a text."""
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            text = json.dumps(line)
            for call in line.get("tool_calls") or []:
                given = call["arguments"]
                if isinstance(given, str) and random.random() < 0.4:
                    with contextlib.suppress(ValueError):
                        if isinstance(json.loads(given), dict):
                            text = text.replace(json.dumps(given), given.encode("ascii", "backslashreplace").decode() if given.isascii() else given, 1)
            file.write(text + "\n")


if __name__ == "__main__":
    cases.main(generate, expect)
