"""Benchmarks in Python, for Regatta: a class with `load`, `next` and `score` becomes the program of a `benchmark.yaml`.

One file without dependencies, for Python 3.8 and later: copy it beside your benchmark (`python -m regatta.benchmark FOLDER`), because a
benchmark brings along everything that it needs.

    from regatta_benchmark import Benchmark, Item, ask, done

    class Sums(Benchmark):
        def load(self, data):
            return [Item(id=str(n), n=n) for n in range(10)]

        def next(self, item, setting, transcript):
            return done() if transcript else ask(f"What is {item.n} + {item.n}?")

        def score(self, item, setting, transcript, verdicts):
            return {"right": float(transcript[-1].text.strip() == str(2 * item.n))}

    Sums().serve()

A benchmark is pure: the same call gives the same answer, in every process and at any time. Regatta repeats some calls in another process and
stops when the answers differ. What is printed goes to standard error; Regatta shows its end when something fails.
"""

import json
import os
import sys
import traceback

VERSION = 1


class Item:
    """An item: its id, and whatever else `next` and `score` need, as attributes that stay in this process."""

    def __init__(self, id, task=None, group=None, parts=(), worst=None, **fields):
        self.id, self.task, self.group, self.parts, self.worst = id, task, group, list(parts), worst
        self.__dict__.update(fields)

    def _wire(self):
        named = {"task": self.task, "group": self.group, "parts": self.parts or None, "worst": self.worst}
        return {"id": self.id, **{name: value for name, value in named.items() if value is not None}}


class ToolCall:
    """A call of a tool; `arguments` are as the model wrote them."""

    def __init__(self, id, name, arguments):
        self.id, self.name, self.arguments = id, name, arguments

    def parsed(self):
        """The arguments as a dict; None where the model wrote no JSON object."""
        try:
            value = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def wire(self):
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


class Reply:
    """A reply of the session: `role` ("agent", "user", "environment"), `text` (maybe ""), `tool_calls`."""

    def __init__(self, role, text, tool_calls):
        self.role, self.text = role, text or ""
        self.tool_calls = [ToolCall(**call) for call in tool_calls]

    def as_message(self):
        """The reply as a message of the assistant, for the next request."""
        return {"role": "assistant", "content": self.text, "tool_calls": [call.wire() for call in self.tool_calls]}


def ask(messages, role="agent", tools=(), stop=(), temperature=None, top_p=None, max_tokens=None):
    """Asks `role`: `messages` are a text, or dicts with role, content, tool_calls and tool_call_id."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}
    sampling = {name: value for name, value in sampling.items() if value is not None}
    return {"ask": {"role": role, "messages": messages, "tools": list(tools), "stop": list(stop), "sampling": sampling}}


def tool(name, description, **parameters):
    """A function that the model may call; each parameter is its JSON Schema, or the name of its type."""
    schemas = {key: {"type": value} if isinstance(value, str) else value for key, value in parameters.items()}
    schema = {"type": "object", "properties": schemas, "required": list(schemas), "additionalProperties": False}
    return {"name": name, "description": description, "parameters": schema}


def done():
    """The session is over."""
    return {"done": True}


def unfit(why):
    """What has happened is no session of this benchmark."""
    return {"unfit": why}


def questions(*prompts):
    """Instead of values: what judges are asked before the session can be scored. `verdicts` has their replies by prompt then."""
    return {"questions": list(prompts)}


def lines(path):
    """The objects of a JSONL file."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


class Benchmark:
    """Write `load`, `next` and `score`; `tabulate` and `simulate` if you like."""

    settings = ()

    def load(self, data):
        """The items. `data` has the paths of benchmark.yaml's `data`, by split; `self.settings` the names of all settings."""
        raise NotImplementedError

    def next(self, item, setting, transcript):
        """`ask(…)`, `done()` or `unfit(…)`. `setting` has its values by axis, `transcript` the replies so far."""
        raise NotImplementedError

    def score(self, item, setting, transcript, verdicts):
        """A dict with every value that benchmark.yaml declares, or `(values, detail)`, or `questions(…)`."""
        raise NotImplementedError

    # tabulate(self, trials): anything that JSON can say, from lists of {"item", "values"}.
    # simulate(self, item, setting, role, noise, seed, messages): a text, or a list of ToolCall; wrong in the share `noise` of sessions.

    def serve(self, stdin=None, stdout=None):
        """Answers Regatta's calls until there are no more."""
        if stdout is None:
            # Whatever else writes to standard output, from whatever library, must not stand among the answers.
            stdout = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
            os.dup2(2, 1)
            sys.stdout = sys.stderr
        for line in stdin or sys.stdin:
            message = json.loads(line)
            try:
                if message["v"] != VERSION:
                    raise ValueError(f"this helper speaks version {VERSION} of the protocol, Regatta {message['v']}")
                said = '"answer":' + json.dumps(self._answer(message), separators=(",", ":"), allow_nan=False)
            except Exception as error:  # A benchmark that fails in one call goes on with the next.
                traceback.print_exc()
                said = '"error":' + json.dumps(_said(error))
            stdout.write(f'{{"v":{VERSION},"id":{message["id"]},{said}}}\n')
            stdout.flush()

    def _answer(self, message):
        call = message["call"]
        if call == "load":
            self.settings = [setting["name"] for setting in message["settings"]]
            items = [item if isinstance(item, Item) else Item(**item) for item in self.load(message["data"])]
            self._items = {item.id: item for item in items}
            functions = [name for name in ("tabulate", "simulate") if hasattr(self, name)]
            return {"items": [item._wire() for item in items], "functions": functions}
        if call == "tabulate":
            return {"aggregate": self.tabulate(message["trials"])}
        item, setting = self._items[message["item"]], message["setting"]["values"]
        if call == "simulate":
            persona = message["persona"]
            noise = 0.0 if persona == "oracle" else persona["noisy"]
            said = self.simulate(item, setting, message["role"], noise, message["seed"], message["messages"])
            return {"text": said} if isinstance(said, str) else {"tool_calls": [call.wire() for call in said]}
        transcript = [Reply(**reply) for reply in message["transcript"]]
        if call == "next":
            return self.next(item, setting, transcript)
        verdicts = {verdict["prompt"]: verdict["replies"] for verdict in message["verdicts"]}
        scored = self.score(item, setting, transcript, verdicts)
        if isinstance(scored, dict) and "questions" in scored:
            return scored
        values, detail = scored if isinstance(scored, tuple) else (scored, None)
        return {"values": {name: float(value) for name, value in values.items()}, "detail": detail}


def _said(error):
    """An exception in a line, with the place in the benchmark where it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) == 2 else sys.exit("usage: python -m regatta.benchmark FOLDER")
    target = os.path.join(folder, "regatta_benchmark.py")
    with open(__file__, encoding="utf-8") as source, open(target, "w", encoding="utf-8") as copy:
        copy.write(source.read())
    print(f"wrote {target}; add it to `files` of benchmark.yaml")
