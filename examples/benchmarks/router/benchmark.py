"""Help with a router: an agent who sees the line, a customer who stands before the router, and one world with tools for both. All texts are our own.

What a tool of one does, the other one notices: a line that was opened again is used only by a router that is restarted afterwards.
"""

import json
import random

from regatta_benchmark import Benchmark, Item, ToolCall, ToolError, ask, conversation, done, lines, tool

HELP = (
    "You help customers of a network. Look the line up first. Open it again if it is locked, and only then; its router must be restarted "
    "afterwards. The customer sees the router and can do what you ask for. When it is online, say goodbye."
)
OVER = "###OVER###"
CUSTOMER = (
    "You are at home beside your router, whose line is {number}. What you say first: {says} Do what you are asked to do with your tools, and "
    "say what came of it. When the other side says goodbye, write " + OVER + "."
)
REPLIES_MAX = 30


class Home:
    tools = {
        "agent": [tool("look_up", "All that is known of a line.", line="string"), tool("open_line", "Opens a locked line.", port="integer")],
        "user": [tool("look", "What the router shows."), tool("plug_in", "Pushes the cable in."), tool("restart", "Restarts the router.")],
    }

    def __init__(self, item, seed):
        # Nobody knows the port of a line who has not looked it up.
        self.number, self.port = item.number, random.Random(seed).randrange(1, 1000)
        self.state = {name: name not in item.faults for name in ("line", "cable", "router")}
        self.opened = 0

    def call(self, name, arguments):
        return getattr(self, name)(**arguments) if sorted(arguments) == self.parameters(name) else refuse("it has other arguments")

    def parameters(self, name):
        (schema,) = [one["parameters"] for tools in self.tools.values() for one in tools if one["name"] == name]
        return sorted(schema["properties"])

    def look_up(self, line):
        if line != self.number:
            refuse("there is no such line")
        return json.dumps({"port": self.port, "state": "open" if self.state["line"] else "locked"})

    def open_line(self, port):
        if port != self.port:
            refuse("another customer's port")
        self.opened += 1
        self.state.update(line=True, router=False)
        return "open"

    def look(self):
        return "online" if all(self.state.values()) else "a red light" if self.state["cable"] else "no light"

    def plug_in(self):
        self.state["cable"] = True
        return self.look()

    def restart(self):
        self.state["router"] = True
        return self.look()

    def snapshot(self):
        return {**self.state, "opened": self.opened}


def refuse(why):
    raise ToolError(why)


class Router(Benchmark):
    def load(self, data):
        return [Item(**of) for of in lines(data["test"])]

    def world(self, item, setting, seed):
        return Home(item, seed)

    def next(self, item, setting, transcript):
        last = transcript[-1] if transcript else None
        if len(transcript) >= REPLIES_MAX or last and last.role == "user" and OVER in last.text:
            return done()
        if last is None or (last.role == "user") == bool(last.tool_calls):
            told = {"role": "system", "content": CUSTOMER.format(number=item.number, says=item.says)}
            hello = {"role": "user", "content": "Hello, how can I help?"}
            return ask([told, hello, *conversation(transcript, "user")], role="user", temperature=0, max_tokens=200)
        return ask([{"role": "system", "content": HELP}, *conversation(transcript)], temperature=0, max_tokens=400)

    def score(self, item, setting, transcript, verdicts, world):
        expected = {"line": True, "cable": True, "router": True, "opened": int("line" in item.faults)}
        return {"solved": world.snapshot == expected}, {"left": world.snapshot}

    def simulate(self, item, setting, role, noise, seed, messages):
        last = messages[-1]
        if role == "user":
            if last["role"] == "tool":
                return f"The router shows: {last['content']}."
            words = [word for word in ("plug_in", "restart") if word in last["content"]]
            asked = item.says + f" My line is {item.number}." if len(messages) == 2 else OVER
            return [ToolCall(f"user_{len(messages)}", words[0], "{}")] if words else asked
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if not results:
            return "Goodbye." if random.Random(seed).random() < noise else [ToolCall("agent_1", "look_up", json.dumps({"line": item.number}))]
        if len(results) == 1 and "line" in item.faults:
            return [ToolCall("agent_2", "open_line", json.dumps({"port": json.loads(results[0])["port"]}))]
        asks = [f"Please do this: {word}." for word, faults in (("plug_in", {"cable"}), ("restart", {"line", "router"})) if faults & {*item.faults}]
        said = sum(message["role"] == "assistant" and not message.get("tool_calls") for message in messages)
        return [*asks, "It is online. Goodbye."][said]


Router().serve()
