"""A smart home's agent in Google's Agent Development Kit, which asks models other than Gemini through LiteLLM."""

import asyncio
import sys
from pathlib import Path

from google.adk.agents import Agent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


async def main():
    session = team.Session.read()

    def request(url: str) -> str:
        """Sends a GET request to the URL and returns the body of the answer."""
        return session.send("GET", url)

    model = LiteLlm(f"openai/{session.model}", api_base=session.base_url("home"), api_key=session.api_key)
    # A function, because braces of a text would be filled in.
    agent = Agent(name="home", model=model, instruction=lambda _: team.lone_prompt(session), tools=[request])
    runner = InMemoryRunner(agent=agent, app_name="home")
    place = await runner.session_service.create_session(app_name="home", user_id="user")
    said = types.Content(role="user", parts=[types.Part(text=session.query)])
    async for event in runner.run_async(user_id="user", session_id=place.id, new_message=said):
        if event.is_final_response():
            team.report(event.content.parts[0].text, None)


if __name__ == "__main__":
    asyncio.run(main())
