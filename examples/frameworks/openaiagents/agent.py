"""A smart home's agent in the OpenAI Agents SDK, which asks in OpenAI's format of responses."""

import sys
from pathlib import Path

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


def main():
    session = team.Session.read()

    @function_tool
    def request(url: str) -> str:
        """Sends a GET request to the URL and returns the body of the answer."""
        return session.send("GET", url)

    agent = Agent(name="home", instructions=team.lone_prompt(session), tools=[request], model=session.model)
    provider = OpenAIProvider(base_url=session.base_url("home"), api_key=session.api_key, use_responses=True)
    # Traces would be sent to the provider, past the session.
    config = RunConfig(model_provider=provider, tracing_disabled=True)
    team.report(Runner.run_sync(agent, session.query, run_config=config).final_output, None)


if __name__ == "__main__":
    main()
