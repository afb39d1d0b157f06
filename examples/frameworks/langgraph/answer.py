"""One answer, or one turn of a conversation, by a graph of one node. Calls of the task's tools are the answer, and are executed by nobody."""

import json
import sys

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph


def main():
    task = json.loads(sys.stdin.readline())
    model = ChatOpenAI(model=task["model"], base_url=task["base_url"], api_key=task["api_key"])
    if task.get("tools"):
        model = model.bind_tools(task["tools"])
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    said = graph.compile().invoke({"messages": task["messages"]})["messages"][-1]
    calls = [{"name": call["name"], "arguments": call["args"]} for call in said.tool_calls]
    print(json.dumps({"tool_calls": calls} if calls else {"answer": said.content}))


if __name__ == "__main__":
    main()
