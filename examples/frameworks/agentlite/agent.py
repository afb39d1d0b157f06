"""A smart home's team in AgentLite: a manager that thinks and acts, and four agents that are actions of it."""

import json
import os
import sys
import urllib.parse
from pathlib import Path

from agentlite.actions import BaseAction
from agentlite.agents import BaseAgent, ManagerAgent
from agentlite.commons import TaskPackage
from agentlite.llm import agent_llms
from agentlite.llm.LLMConfig import LLMConfig
from agentlite.logging.terminal_logger import AgentLogger
from openai import OpenAI

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402

# To all other addresses the query is posted.
FETCHED = ("mediastack", "meteo", "marketstack")

MANAGER = """\
You lead the team of a smart home. IntentAgent begins, with the task as it came. If it finds a date or a time, \
TimeAgent is next; if it finds a place, LocationAgent. Then give ExecAgent domain, intent and slots as they are now, \
currencies as codes of three letters. Finish with its answer, also when a server wants to know more."""


class Model(agent_llms.BaseLLM):
    """The model of one member, of any name: the package's own classes take names that they know."""

    def __init__(self, session, member):
        super().__init__(LLMConfig({"llm_name": session.model, "temperature": 0}))
        self.client = OpenAI(base_url=session.base_url(member), api_key=session.api_key)

    def run(self, prompt):
        answer = self.client.chat.completions.create(
            model=self.llm_name,
            messages=[{"role": "user", "content": prompt}],
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            stop=self.stop,
        )
        return answer.choices[0].message.content or ""


class Today(BaseAction):
    """Tells the date."""

    def __init__(self, session):
        super().__init__("CurDate_Act", "Today's date, as in 2025-05-28.", {"query": "what it is needed for"})
        self.session = session

    def __call__(self, query):
        return self.session.today


class Note(BaseAction):
    """Gives back what it gets."""

    def __init__(self):
        super().__init__("Time_Act", "Keeps a date or a time that was worked out.", {"query": "the date or the time"})

    def __call__(self, query):
        return query


class Request(BaseAction):
    """Sends a request."""

    def __init__(self, session):
        parameters = {
            "url": "the address",
            "query": 'for a server of the home a JSON text, as {"intent": "alarm_set", "time": "07:30"}; else empty',
        }
        super().__init__("request", "Sends a request and gives back the answer.", parameters)
        self.session = session

    def __call__(self, url, query):
        if any(word in url for word in FETCHED):
            return self.session.send("GET", url)
        return self.session.send("POST", url, query if isinstance(query, str) else urllib.parse.urlencode(query))


def exec_prompt(session):
    """What the agent is told that chooses the server and sends the request."""
    return (
        "Send the request that does what the task says, and finish with the answer. A server of the home gets its address "
        "as url, and intent and slots, called as it calls them, as query. Any other service gets all in the url.\n\n"
        f"The servers of the home:\n{team.servers(session)}\n\nOther services, where KEY is written as it is:\n"
        f"{team.SERVICES}"
    )


def build(session):
    """The manager, and the intent agent."""
    # The package would also write a file.
    logger = AgentLogger(log_file_name=os.devnull)

    def agent(name, member, prompt, actions=()):
        model = Model(session, member)
        return BaseAgent(name=name, role=prompt, llm=model, actions=list(actions), logger=logger)

    members = [
        agent("IntentAgent", "intent", team.intent_prompt()),
        agent("TimeAgent", "time", team.time_prompt(), [Note(), Today(session)]),
        agent("LocationAgent", "location", team.location_prompt()),
        agent("ExecAgent", "request", exec_prompt(session), [Request(session)]),
    ]
    model = Model(session, "manager")
    return ManagerAgent(llm=model, name="whole_manager", role=MANAGER, TeamAgents=members, logger=logger), members[0]


def main():
    session = team.Session.read()
    manager, intent = build(session)
    final = None
    try:
        final = manager(TaskPackage(instruction=json.dumps({"iid": session.iid, "query": session.query})))
    finally:
        # Whatever ended the run, what was said until then counts.
        answers = [task.answer for task in intent.task_pool if task.answer]
        team.report(final, answers[-1] if answers else None)


if __name__ == "__main__":
    main()
