"""A smart home's agent in DSPy, whose ReAct writes tools and answers into the text."""

import sys
from pathlib import Path

import dspy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


def main():
    session = team.Session.read()

    def request(url: str) -> str:
        """Sends a GET request to the URL and returns the body of the answer."""
        return session.send("GET", url)

    # Regatta has a cache of its own, which knows sessions and trials apart.
    model = dspy.LM(f"openai/{session.model}", api_base=session.base_url("home"), api_key=session.api_key, cache=False)
    task = dspy.Signature("query -> answer", team.lone_prompt(session))
    with dspy.context(lm=model):
        team.report(dspy.ReAct(task, tools=[request], max_iters=6)(query=session.query).answer, None)


if __name__ == "__main__":
    main()
