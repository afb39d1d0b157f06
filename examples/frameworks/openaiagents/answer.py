"""One answer, or one turn of a conversation, by the OpenAI Agents SDK. Calls of the task's tools are the answer, and are executed by nobody."""

import json
import sys

from agents import Agent, FunctionTool, OpenAIProvider, RunConfig, Runner


def main():
    task = json.loads(sys.stdin.readline())
    calls = []

    def tool(function):
        async def note(context, arguments):
            calls.append({"name": function["name"], "arguments": arguments})
            return "noted"

        return FunctionTool(
            name=function["name"],
            description=function.get("description") or "",
            params_json_schema=function["parameters"],
            on_invoke_tool=note,
            strict_json_schema=False,
        )

    tools = [tool(each["function"]) for each in task.get("tools", [])]
    agent = Agent(name="agent", tools=tools, model=task["model"], tool_use_behavior="stop_on_first_tool")
    provider = OpenAIProvider(base_url=task["base_url"], api_key=task["api_key"], use_responses=True)
    # Traces would be sent to the provider, past the session.
    config = RunConfig(model_provider=provider, tracing_disabled=True)
    said = Runner.run_sync(agent, task["messages"], run_config=config).final_output
    print(json.dumps({"tool_calls": calls} if calls else {"answer": said}))


if __name__ == "__main__":
    main()
