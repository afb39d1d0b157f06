"""A desk at a library: an agent with the tools of an MCP server, of which each session has one of its own. All texts are our own."""

import json
import random
import sys

from regatta_benchmark import Benchmark, Item, McpServer, ToolCall, Worlds, ask, done, lines

DESK = "You serve at the desk of a library. Look a book up before you lend it or take it back. Say what you did in one sentence."
CALLS_MAX = 12


def steps(item):
    """Calls that do what the item asks; the number of the book is known once it was looked up."""
    act = ("lend", {"reader": item.reader}) if item.reader else ("give_back", {})
    return [("find", {"title": item.title}), act]


class Desk(Benchmark):
    def load(self, data):
        self.worlds = Worlds(lambda item: McpServer([sys.executable, "server.py", str(item.seed)]))
        return [Item(**of) for of in lines(data["test"])]

    def next(self, item, setting, transcript):
        if transcript and not transcript[-1].tool_calls or len(transcript) >= CALLS_MAX:
            return done()
        seen = self.worlds.after(item, transcript)
        asked = [{"role": "system", "content": DESK}, {"role": "user", "content": item.asks}]
        return ask([*asked, *seen.messages], tools=seen.tools, temperature=0, max_tokens=300)

    def score(self, item, setting, transcript, verdicts):
        with self.worlds.apart(item, transcript) as world:
            state = json.loads(world.read("library://books"))
        with self.worlds.apart(item, []) as world:
            (book,) = json.loads(world.call("find", {"title": item.title}))
            (act, arguments) = steps(item)[1]
            world.call(act, {"book": book, **arguments})
            expected = json.loads(world.read("library://books"))
        return {"right": state == expected}, {"otherwise": sorted(one for one in expected if state[one] != expected[one])}

    def simulate(self, item, setting, role, noise, seed, messages):
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if not results and random.Random(seed).random() < noise or len(results) == 2:
            return "That is all that I can do for you."
        name, arguments = steps(item)[len(results)]
        if results:
            (book,) = json.loads(results[0])
            arguments = {"book": book, **arguments}
        return [ToolCall(f"call_{len(results) + 1}", name, json.dumps(arguments))]


Desk().serve()
