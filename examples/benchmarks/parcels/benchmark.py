"""A counter for parcels: a customer (a model in the role `user`), an agent with tools, and rules. All texts are our own.

The world is made anew from the transcript for each call: that is what makes a benchmark with tools pure.
"""

import copy
import json
import random

from regatta_benchmark import Benchmark, Item, ToolCall, ask, done, lines, tool

RULES = {
    "short": "You serve at a counter for parcels. Look a parcel up before you act. Addresses change only while a parcel is waiting. "
    "Postage is refunded once, from 5 days of delay.",
    "long": "You serve at a counter for parcels. Before anything else, look the parcel up. An address may be changed only while the "
    "parcel's status is `waiting`; otherwise say its status. Postage is refunded if the parcel is at least 5 days late and was not "
    "refunded before; otherwise name the rule. When you have acted, tell the customer the address or the amount.",
}
TOOLS = [
    tool("look_up", "All that is known of a parcel.", parcel="string"),
    tool("change_address", "Sends a waiting parcel elsewhere.", parcel="string", address="string"),
    tool("refund", "Pays the postage back.", parcel="string"),
]
OVER = "###OVER###"
CUSTOMER = (
    "You are a customer at a counter for parcels. What you want, one sentence at a time: {says} Write only what you say. When you have "
    "said all of it and have been answered, write " + OVER + "."
)
REPLIES_MAX = 20


class World:
    def __init__(self, parcels):
        self.parcels = copy.deepcopy(parcels)

    def call(self, name, arguments):
        """The result of a tool, as text."""
        number = (arguments or {}).get("parcel")
        parcel = self.parcels.get(number) if isinstance(number, str) else None
        if parcel is None:
            return "error: there is no such parcel"
        if name == "look_up":
            return json.dumps(parcel)
        if name == "change_address":
            if parcel["status"] != "waiting" or not isinstance(arguments.get("address"), str):
                return "error: the parcel is not waiting any more, or no address was given"
            parcel["address"] = arguments["address"]
            return "changed"
        if name == "refund":
            if parcel["days_late"] < 5 or parcel["refunded"]:
                return "error: not late enough, or refunded already"
            parcel["refunded"] = True
            return "refunded " + parcel["postage"]
        return "error: there is no such tool"


class Parcels(Benchmark):
    def load(self, data):
        with open("parcels.json", encoding="utf-8") as file:
            self.parcels = json.load(file)
        tasks = lines(data["test"])
        return [
            Item(id=of["id"], task=of["topic"], group=of["parcel"], says=of["says"], gold=of["gold"], must_say=of["must_say"])
            for of in tasks
        ]

    def replay(self, item, transcript):
        """The world after all calls of tools, and the conversation as the agent and as the customer see it."""
        world, agent = World(self.parcels), []
        customer = [{"role": "system", "content": CUSTOMER.format(says=" ".join(item.says))}]
        for reply in transcript:
            if reply.role == "user":
                agent.append({"role": "user", "content": reply.text})
                customer.append({"role": "assistant", "content": reply.text})
                continue
            agent.append(reply.as_message())
            for call in reply.tool_calls:
                result = world.call(call.name, call.parsed())
                agent.append({"role": "tool", "content": result, "tool_call_id": call.id})
            if not reply.tool_calls:
                customer.append({"role": "user", "content": reply.text})
        return world, agent, customer

    def next(self, item, setting, transcript):
        _, agent, customer = self.replay(item, transcript)
        last = transcript[-1] if transcript else None
        is_over = last and last.role == "user" and OVER in last.text
        if is_over or sum(reply.role == "agent" for reply in transcript) >= REPLIES_MAX:
            return done()
        if last is None or (last.role == "agent" and not last.tool_calls):
            if len(customer) == 1:
                customer.append({"role": "user", "content": "Hello, what can I do for you?"})
            return ask(customer, role="user", temperature=0, max_tokens=200)
        return ask([{"role": "system", "content": RULES[setting["rules"]]}, *agent], tools=TOOLS, temperature=0, max_tokens=500)

    def score(self, item, setting, transcript, verdicts):
        world, _, _ = self.replay(item, transcript)
        expected = World(self.parcels)
        for name, arguments in item.gold:
            expected.call(name, arguments)
        said = " ".join(reply.text for reply in transcript if reply.role == "agent")
        missing = [words for words in item.must_say if words not in said]
        changed = [name for name in expected.parcels if world.parcels[name] != expected.parcels[name]]
        replies = sum(reply.role == "agent" for reply in transcript)
        return {"solved": not missing and not changed, "replies": replies}, {"not_said": missing, "otherwise": changed}

    def tabulate(self, trials):
        solved = [[one["values"]["solved"] for one in trial] for trial in trials]
        every = [all(of_item) for of_item in zip(*solved)]
        return {"solved_in_every_trial": sum(every) / len(every) if every else None}

    def simulate(self, item, setting, role, noise, seed, messages):
        if role == "user":
            said = sum(message["role"] == "assistant" for message in messages)
            return item.says[said] if said < len(item.says) else OVER
        acted = sum(len(message.get("tool_calls", ())) for message in messages)
        if acted == 0 and random.Random(seed).random() < noise:
            return "I cannot help you with that."
        if acted < len(item.gold):
            name, arguments = item.gold[acted]
            return [ToolCall(f"call_{acted + 1}", name, json.dumps(arguments))]
        return "Here is what I can tell you: " + ", ".join(item.must_say) + "."


Parcels().serve()
