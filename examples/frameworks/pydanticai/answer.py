"""One answer, or one turn of a conversation, by Pydantic AI. Calls of the task's tools are the answer, and are executed by nobody."""

import json
import sys

from pydantic_ai import Agent, DeferredToolRequests, ExternalToolset, ToolDefinition
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def message(said):
    if said["role"] == "assistant":
        return ModelResponse(parts=[TextPart(said["content"])])
    part = SystemPromptPart if said["role"] == "system" else UserPromptPart
    return ModelRequest(parts=[part(said["content"])])


def definition(function):
    schema = function["parameters"]
    return ToolDefinition(function["name"], schema, function.get("description"), strict=False)


def main():
    task = json.loads(sys.stdin.readline())
    provider = OpenAIProvider(base_url=task["base_url"], api_key=task["api_key"])
    tools = ExternalToolset([definition(tool["function"]) for tool in task.get("tools", [])])
    agent = Agent(OpenAIChatModel(task["model"], provider=provider), output_type=[str, DeferredToolRequests], toolsets=[tools])
    output = agent.run_sync(message_history=[message(said) for said in task["messages"]]).output
    if isinstance(output, DeferredToolRequests):
        calls = [{"name": call.tool_name, "arguments": call.args_as_json_str()} for call in output.calls]
        print(json.dumps({"tool_calls": calls}))
    else:
        print(json.dumps({"answer": output}))


if __name__ == "__main__":
    main()
