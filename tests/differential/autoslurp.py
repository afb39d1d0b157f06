"""Auto-SLURP: the eight `eval.py` with their `stat.py`, run as they are over logs of any kind.

Two things are given to them: the day, and a judge that answers by a hash of what it is asked. Loop bounds that the authors left in two of
the copies (one item, thirty items) are those of the others.
"""

import base64
import contextlib
import datetime
import hashlib
import io
import os
import re
import sys
import tempfile
import types

import cases

TODAY = datetime.date(2025, 5, 28)
SEPARATOR = "-----*****------"
FOLDERS = {
    "official": "eval",
    "official-langgraph": "examples/langgraph",
    "official-agentlite": "examples/agentlite",
    "official-camelai": "examples/camelai",
    "official-langgraph-deepseek": "examples/langgraph_deepseek",
    "official-agentlite-deepseek": "examples/agentlite_deepseek",
    "official-camelai-deepseek": "examples/camelai_deepseek",
    "official-autogen-deepseek": "examples/autogen_deepseek",
}
DATASET = "data/test.csv"


# ---- the released code ----


class JudgeDown(Exception):
    pass


class Today(datetime.date):
    @classmethod
    def today(cls):
        return TODAY


class Message:
    """Prints itself as OpenAI's class of that name."""

    def __init__(self, content):
        self.content = content

    def __repr__(self):
        return (
            f"ChatCompletionMessage(content={self.content!r}, refusal=None, role='assistant', annotations=None, "
            "audio=None, function_call=None, tool_calls=None)"
        )


REPLIES = [
    "right", "Right.", "<Right>", "wrong", "<Wrong>", "not right", "It is correct.", "incorrect", "hm", "", None,
    "not completed\nright", "The task is n\not completed", "alright", "nothing is wrong", JudgeDown, JudgeDown,
]


class Judge:
    """What the released code takes for OpenAI's client."""

    def __init__(self, scenario, printed, kept):
        self.scenario, self.printed, self.kept = scenario, printed, kept
        self.chat = types.SimpleNamespace(completions=types.SimpleNamespace(create=self.create))

    def create(self, model, messages, **_):
        position = self.printed.getvalue().count("\n" + SEPARATOR) + self.printed.getvalue().startswith(SEPARATOR) - 1
        stage = "slot" if messages[0]["content"].startswith("please judge the following result") else "final"
        attempt = 1 + sum(line["item"] == position and line["stage"] == stage for line in self.kept)
        said = f"{self.scenario} {position} {stage} {attempt} {messages[1]['content']}"
        reply = REPLIES[int.from_bytes(hashlib.sha256(said.encode("utf-8", "replace")).digest()[:4], "big") % len(REPLIES)]
        raised = reply is JudgeDown
        self.kept.append({
            "scenario": self.scenario, "item": position, "stage": stage, "attempt": attempt,
            "error": "JudgeDown" if raised else None, "content": None if raised else reply,
        })
        if raised:
            raise JudgeDown
        return types.SimpleNamespace(choices=[types.SimpleNamespace(message=Message(reply))])


def run_eval(source, scenario, printed, kept):
    """The name of the exception that ends it, or None."""
    openai = types.ModuleType("openai")
    openai.OpenAI = lambda **_: Judge(scenario, printed, kept)
    modules = {"openai": openai, "requests": types.ModuleType("requests")}
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    datetime.date, date = Today, datetime.date
    arguments, sys.argv = sys.argv, ["eval.py", "0"]
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "eval.py", "exec"), {"__name__": "__main__"})
    except Exception as error:
        return type(error).__name__
    finally:
        datetime.date, sys.argv = date, arguments
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return None


def run_stat(source, log):
    """Right, wrong, and how often `error` is printed."""
    with open("eval.log", "w", encoding="utf-8") as file:
        file.write(log)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "stat.py", "exec"), {"__name__": "__main__"})
    lines = printed.getvalue().splitlines()
    accuracy, _, right, _, wrong = lines[-1].split()[-5:]
    return float(accuracy), int(right), int(wrong), lines.count("error")


def run_scenario(official, rows, lines, kept):
    folder = official / FOLDERS[lines[0]["evaluator"]]
    evaluate = re.sub(r"for i in range\(\d\d,", "for i in range(0,", (folder / "eval.py").read_text(encoding="utf-8"))
    evaluate = evaluate.replace("for i in range(0,20)", "for i in range(0,100)")
    count = (folder / "stat.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        for name in ("test", "train"):
            os.makedirs("~/data", exist_ok=True)
            with open(f"~/data/{name}.csv", "wb") as file:
                file.write(b"".join(rows[: 1 + lines[0]["rows_available"]]))
        os.makedirs("train_result")
        for line in lines:
            if line.get("missing"):
                continue
            log = base64.b64decode(line["log_base64"]) if "log_base64" in line else line["log"].encode()
            for path in (f"{line['position']}.log", f"train_result/{line['position']}.log"):
                with open(path, "wb") as file:
                    file.write(log)
        printed = io.StringIO()
        crash = run_eval(evaluate, lines[0]["scenario"], printed, kept)
        log = printed.getvalue()
        accuracy, right, wrong, errors = run_stat(count, log)
        sections = re.split(f"^{re.escape(SEPARATOR)}\n", log, flags=re.M)[1:]
        items = {}
        for line in lines:
            if line["position"] >= len(sections):
                items[line["item"]] = {"section_printed": False}
                continue
            section = sections[line["position"]]
            said = sum(part.startswith("ChatCompletionMessage") for part in section.split("\n"))
            # A separator behind it closes the item, and the nothing that follows counts as right.
            _, is_right, is_wrong, _ = run_stat(count, section + SEPARATOR + "\n")
            verdict = "wrong" if is_wrong else "right" if is_right == 2 else "error"
            asked = any(entry["item"] == line["position"] and entry["scenario"] == line["scenario"] for entry in kept)
            if said == 0 and not asked:
                verdict = "none_printed"
            items[line["item"]] = {"section_printed": True, "verdict": verdict, "verdict_lines": said}
    summary = {
        "evaluator": lines[0]["evaluator"], "crash": crash, "sections": len(sections),
        "crash_position": len(sections) - 1 if crash else None, "acc": accuracy, "right": right, "wrong": wrong,
        "error_lines": errors,
    }
    return summary, items


def expect(folder, official, data):
    rows = (data / DATASET).read_bytes().splitlines(keepends=True)
    scenarios, kept = {}, []
    for line in cases.read_lines(folder / "predictions.jsonl"):
        scenarios.setdefault(line["scenario"], []).append(line)
    expected = {"evaluator": "official", "today": str(TODAY), "aggregate": {}, "items": {}}
    for name, lines in scenarios.items():
        answers = []
        expected["aggregate"][name], items = run_scenario(official, rows, lines, answers)
        expected["items"].update(items)
        kept += answers
    cases.write_lines(folder / "judge.jsonl", kept)
    cases.write_document(folder / "expected.json", expected)


# ---- what it is run on ----

WORDS = ["calendar_set", "lists_query", "qa_factoid", "general_quirky", "weather_query", "news_query", "iot_hue_lightoff", "stock", "n"]
ANSWER = '{"code":"SUCCESS","data":{"query":{"intent":"lists_query","slots":{}},"response":"operated successfully"},"msg":"success"}'
PARTS = [
    "http://127.0.0.1:3002/calendar?intent=", "https://x/?a=general meeting&intent=", "intent:", "intent: ", " intent:", "\nintent:",
    "\n intent:", "\ndomain:lists,intent:", "\ndomain:lists, intent:", "\ndomain:lists,  intent:", "\ndomain:l_s,intent:",
    '"intent": "', '"intent":"', ",", "\\n", "\\", "\x1b[39m", "\n", "\r\n", "\r", "\n\n", " ", '"', "======", "======\n",
    "2025-05-28 10:00:00", "============2024-1٢-01 x", "Agent whole_manager receives the following TaskPackage:", "\u2028", "é",
    '"results"', '"data"', '"success"', '"amount"', '"latitude"', "general_quirky", ANSWER, ANSWER + "\n", '{"code":"SUCCESS","data"',
    '{"code": "SUCCESS","data":1}', "}", "user_proxy (to chat_manager):\n",
]


def log(random):
    return "".join(random.choice(PARTS) if random.random() < 0.75 else random.choice(WORDS) for _ in range(random.randrange(14)))


def generate(out, random, count, data):
    available = len((data / DATASET).read_bytes().splitlines()) - 1
    lines = []
    for number in range((count + 3) // 4):
        evaluator = random.choice(list(FOLDERS))
        rows = random.randrange(5) if random.random() < 0.3 else available
        for position in range(4):
            line = {
                "item": f"{number}|{position}", "scenario": str(number), "evaluator": evaluator, "position": position,
                "dataset": DATASET, "rows_available": rows, "log": log(random),
            }
            odd = random.random()
            if odd < 0.02:
                line["missing"] = True
            elif odd < 0.04:
                line["log_base64"] = base64.b64encode(line.pop("log").encode() + b"\xff").decode()
            lines.append(line)
    folder = out / "autoslurp"
    cases.write_case(
        folder, "autoslurp", "crash", {"expected.json": "official"}, ["judge.jsonl", "predictions.jsonl"], {"today": str(TODAY)}
    )
    cases.write_lines(folder / "predictions.jsonl", lines)


if __name__ == "__main__":
    cases.main(generate, expect)
