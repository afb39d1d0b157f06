"""A smart home's agent in Pydantic AI."""

import sys
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


def main():
    session = team.Session.read()
    provider = OpenAIProvider(base_url=session.base_url("home"), api_key=session.api_key)
    agent = Agent(OpenAIChatModel(session.model, provider=provider), instructions=team.lone_prompt(session))

    @agent.tool_plain
    def request(url: str) -> str:
        """Sends a GET request to the URL and returns the body of the answer."""
        return session.send("GET", url)

    team.report(agent.run_sync(session.query).output, None)


if __name__ == "__main__":
    main()
