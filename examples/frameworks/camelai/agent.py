"""A smart home's team in CAMEL: a workforce whose planner takes what is said apart, and whose coordinator gives the pieces to workers."""

import ast
import json
import re
import sys
from pathlib import Path

from camel.agents import ChatAgent
from camel.messages import BaseMessage
from camel.models import OpenAICompatibleModel
from camel.societies.workforce import SingleAgentWorker, Workforce
from camel.tasks.task import Task, parse_response
from camel.toolkits import FunctionTool
from camel.types import UnifiedModelType
from camel.utils import BaseTokenCounter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402

MESSAGES_MAX = 10

MANAGER = """\
You lead the team of a smart home. The intent agent is first; then, if there is a date or a time, the time agent, and if \
there is a place, the location agent; then the agents of URL, request and response, and that is the end."""

# How workers are described to planner and coordinator.
WORKERS = {
    "manager": "Manager: knows the order in which the others work, and when the task is done",
    "intent": "Intent agent: predicts domain, intent and slots of what the user says",
    "time": "Time agent: works out dates and times, and has a tool for today's date",
    "location": "Location agent: works out places",
    "url": "URL agent: chooses the server and writes the URL of the request",
    "request": "Request agent: sends the request to the server and reports its answer",
    "response": "Response agent: turns the server's answer into a reply to the user",
}

# What stands around content in the package's requests, and around sections in ours.
THEIR_RULE, OUR_RULE = "=" * 30, "=" * 10


def section(title, content):
    return f"{title}\n{OUR_RULE}\n{content}\n{OUR_RULE}\n"


def decompose(task, _, workers):
    return (
        "Take this task apart into pieces that the workers below can do, one after the other.\n\n"
        f"{section('The task:', task)}\n{section('The workers, as <id>:<what it does>:<its tools>:', workers)}\n"
        "Give each piece between <task> and </task>, and all of them between <tasks> and </tasks>. Ask nothing."
    )


def assign(task, _, workers):
    return (
        "Choose the worker who can do this task best.\n\n"
        f"{section('The task:', task)}\n{section('The workers, as <id>:<what it does>:<its tools>:', workers)}\n"
        'Answer with nothing but JSON: {"assignee_id": "the id"}'
    )


def hire(task, _, workers):
    return (
        "Describe a new worker who can do this task, which none of those below could.\n\n"
        f"{section('The task:', task)}\n{section('The workers, as <id>:<what it does>:<its tools>:', workers)}\n"
        'Answer with nothing but JSON: {"role": "its role", "sys_msg": "what it is told", "description": "what it does"}'
    )


def solve(results, task, _):
    return (
        f"Work on one task.\n\n{section('What is done so far:', results)}\n{section('The task:', task)}\n"
        'Answer with nothing but JSON: {"content": "the result", "failed": false}, or true if you could not do it.'
    )


COMPOSE = (
    "Put the results together that the pieces of a task have come to, and answer the task.\n\n"
    f"{section('The task:', '{content}')}\n{section('What is done so far:', '{other_results}')}\nSay nothing beside the answer."
)

FORMS = {"TaskAssignResult": assign, "WorkerConf": hire, "TaskResult": solve}


class Characters(BaseTokenCounter):
    """Counts roughly: the package would fetch a tokenizer."""

    def count_tokens_from_messages(self, messages):
        return sum(len(str(message.get("content") or "")) for message in messages) // 4


class ToolCaller(UnifiedModelType):
    """A model that calls tools by itself: the package believes it of those whose names it knows."""

    _cache = {}
    support_native_tool_calling = True


class Model(OpenAICompatibleModel):
    """The model of one member."""

    def __init__(self, session, member):
        config = {"temperature": 0.2}
        url, key = session.base_url(member), session.api_key
        super().__init__(session.model, config, api_key=key, url=url, token_counter=Characters())
        self.model_type = ToolCaller(session.model)

    def run(self, messages):
        return super().run([in_todays_form(message, at) for at, message in enumerate(messages)])


def in_todays_form(message, at):
    """The package remembers calls of functions in the form that was there before calls of tools: one call, then its answer."""
    if call := message.get("function_call"):
        function = {"name": call["name"], "arguments": json.dumps(ast.literal_eval(call["arguments"]))}
        calls = [{"id": f"call_{at}", "type": "function", "function": function}]
        return {"role": "assistant", "content": "", "tool_calls": calls}
    if message["role"] == "function":
        (content,) = ast.literal_eval(message["content"])["result"]
        return {"role": "tool", "tool_call_id": f"call_{at - 1}", "content": content}
    return message


class Agent(ChatAgent):
    """An agent that is asked in our words, and for JSON in them: the package would put its words around the answers of tools, too."""

    def step(self, input_message, response_format=None):
        content = input_message.content
        sections = re.findall(f"^{THEIR_RULE}\n(.*?)\n{THEIR_RULE}$", content, re.DOTALL | re.MULTILINE)
        if sections:
            form = FORMS[response_format.__name__] if response_format else decompose
            content = form(*sections)
        return super().step(BaseMessage.make_user_message(role_name="User", content=content))


class Piece(Task):
    """A task whose results are told with what they are of."""

    def decompose(self, agent, prompt=None, task_parser=parse_response):
        def pieces(text, name):
            return [Piece(content=task.content, id=task.id) for task in task_parser(text, name)]

        return super().decompose(agent, prompt, pieces)

    def compose(self, agent, template=COMPOSE, result_parser=None):
        super().compose(agent, template, result_parser)

    def get_result(self, indent=""):
        pieces = [piece.get_result(indent + "  ") for piece in self.subtasks]
        return "\n".join([f"{indent}{told(self)}", *pieces])


def told(task):
    return f"id: {task.id}, content: {task.content}, result: {task.result}"


class Worker(SingleAgentWorker):
    """A worker that sees what is done, a line for each task, and remembers what it said last."""

    said = None

    def __init__(self, description, worker, at):
        super().__init__(description, worker)
        # Otherwise an address in memory: an agent that is started again would ask other things than before.
        self.node_id = str(140_000_000_000_000 + at)

    @staticmethod
    def _get_dep_tasks_info(dependencies):
        return "\n".join(told(task) for task in dependencies)

    async def _process_task(self, task, dependencies):
        state = await super()._process_task(task, dependencies)
        self.said = task.result or self.said
        return state


def build(session):
    """The workforce, and its intent worker."""

    def getdate() -> str:
        """Tells today's date."""
        return session.today

    def req(url: str) -> str:
        """Sends a GET request to a server and returns the body of its answer.

        Args:
            url (str): The whole URL, with its parameters.
        """
        return session.send("GET", url)

    prompts = {
        "manager": MANAGER,
        "intent": team.intent_prompt(),
        "time": team.time_prompt(),
        "location": team.location_prompt(),
        "url": team.url_prompt(session),
        "request": team.request_prompt(),
        "response": team.response_prompt(),
    }
    tools = {"time": [FunctionTool(getdate)], "request": [FunctionTool(req)]}

    def agent(member, prompt):
        model = Model(session, member)
        return Agent(prompt, model=model, message_window_size=MESSAGES_MAX, tools=tools.get(member))

    workers = {
        member: Worker(described, agent(member, prompts[member]), at)
        for at, (member, described) in enumerate(WORKERS.items())
    }
    coordinator, planner = Model(session, "coordinator"), Model(session, "planner")
    workforce = Workforce(
        "A smart home",
        children=list(workers.values()),
        coordinator_agent_kwargs={"model": coordinator},
        task_agent_kwargs={"model": planner},
        new_worker_agent_kwargs={"model": Model(session, "worker")},
    )
    # The package makes these two itself, of its own class.
    workforce.coordinator_agent = Agent(workforce.coordinator_agent.system_message, model=coordinator)
    workforce.task_agent = Agent(workforce.task_agent.system_message, model=planner)
    return workforce, workers["intent"]


def main():
    session = team.Session.read()
    workforce, intent = build(session)
    task = Piece(content=session.query, id="0")
    try:
        workforce.process_task(task)
    finally:
        # Whatever ended the run, what was said until then counts.
        print()
        team.report(task.result or None, intent.said)


if __name__ == "__main__":
    main()
