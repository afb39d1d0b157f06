"""A smart home's agent in smolagents, which answers by a tool of its own, `final_answer`."""

import sys
from pathlib import Path

from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


def main():
    session = team.Session.read()

    @tool
    def request(url: str) -> str:
        """Sends a GET request and returns the body of the answer.

        Args:
            url: The URL with its query.
        """
        return session.send("GET", url)

    model = OpenAIServerModel(session.model, api_base=session.base_url("home"), api_key=session.api_key)
    agent = ToolCallingAgent(
        [request], model, instructions=team.lone_prompt(session), max_steps=6, verbosity_level=LogLevel.OFF
    )
    team.report(str(agent.run(session.query)), None)


if __name__ == "__main__":
    main()
