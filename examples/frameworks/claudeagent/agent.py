"""A smart home's agent in the Claude Agent SDK: Claude Code without its own tools, asking in Anthropic's format."""

import asyncio
import sys
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


async def main():
    session = team.Session.read()

    @tool("request", "Sends a GET request to the URL and returns the body of the answer.", {"url": str})
    async def request(arguments):
        return {"content": [{"type": "text", "text": session.send("GET", arguments["url"])}]}

    options = ClaudeAgentOptions(
        model=session.model,
        system_prompt=team.lone_prompt(session),
        tools=[],
        mcp_servers={"home": create_sdk_mcp_server("home", tools=[request])},
        allowed_tools=["mcp__home__request"],
        setting_sources=[],
        # Messages about itself would go past the session, and fields of beta versions only to endpoints of Anthropic's format.
        env={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"},
    )
    async for message in query(prompt=session.query, options=options):
        if isinstance(message, ResultMessage):
            team.report(message.result, None)


if __name__ == "__main__":
    asyncio.run(main())
