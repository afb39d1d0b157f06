"""A smart home's team in LangGraph: a supervisor over one list of messages, and six workers with loops of their own."""

import ast
import sys
import warnings
from pathlib import Path
from typing import Literal

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402

# The function moved to a package that is not needed otherwise.
warnings.filterwarnings("ignore", message="create_react_agent has been moved")

STEPS_MAX = 100

SUPERVISOR = """\
You lead the team of a smart home: intent, time, location, url, request and genresponse. Choose who works next. intent \
begins. If it finds a date or a time, time is next; if it finds a place, location. Then url writes a URL and request \
sends it, and both once more where an answer is only the first step, as the position of a place is for its weather. \
genresponse comes last, also when a server wants to know more. Then choose FINISH."""


class Router(TypedDict):
    """Who works next; FINISH when the user has a reply."""

    next: Literal["FINISH", "intent", "time", "location", "url", "request", "genresponse"]


def build(session):
    """The graph of the team."""

    def model(member):
        return ChatOpenAI(
            model=session.model, base_url=session.base_url(member), api_key=session.api_key, temperature=0
        )

    def time_tool() -> str:
        """Today's date, as in 2025-05-28."""
        return session.today

    def request_tool(url: str) -> str:
        """Sends a GET request to the URL and returns the body of the answer."""
        return session.send("GET", url)

    router = model("manager").with_structured_output(Router, method="function_calling")

    def supervise(state):
        answer = router.invoke([SystemMessage(SUPERVISOR), *state["messages"]])
        print(answer, flush=True)
        return Command(goto=END if answer["next"] == "FINISH" else answer["next"])

    def worker(name, member, prompt, tools=()):
        loop = create_react_agent(model(member), list(tools), prompt=prompt)

        def work(state):
            last = loop.invoke({"messages": state["messages"]})["messages"][-1]
            return Command(update={"messages": [HumanMessage(last.content, name=name)]}, goto="supervisor")

        graph.add_node(name, work)

    graph = StateGraph(MessagesState)
    graph.add_node("supervisor", supervise)
    graph.add_edge(START, "supervisor")
    worker("intent", "intent", team.intent_prompt())
    worker("time", "time", team.time_prompt(), [time_tool])
    worker("location", "location", team.location_prompt())
    worker("url", "url", team.url_prompt(session))
    worker("request", "request", team.request_prompt(), [request_tool])
    worker("genresponse", "response", team.response_prompt())
    return graph.compile()


def spoken(text):
    """What the user is told: the text inside {'response':'...'}, or all of it."""
    try:
        return str(ast.literal_eval(text.strip())["response"])
    except (ValueError, SyntaxError, TypeError, KeyError):
        return text


def main():
    session = team.Session.read()
    said = {}
    try:
        beginning = {"messages": [HumanMessage(session.query)]}
        for step in build(session).stream(beginning, {"recursion_limit": STEPS_MAX}, stream_mode="updates"):
            print(step, flush=True)
            print("---", flush=True)
            for name, update in step.items():
                if update:
                    said[name] = update["messages"][-1].content
    finally:
        # Whatever ended the run, what was said until then counts.
        reply = said.get("genresponse")
        team.report(None if reply is None else spoken(reply), said.get("intent"))


if __name__ == "__main__":
    main()
