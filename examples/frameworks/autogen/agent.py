"""A smart home's team in AutoGen: a group chat of seven, where a model selects who speaks next."""

import json
import sys
from pathlib import Path

import autogen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402

MESSAGES_MAX = 12
TERMINATE = "TERMINATE"

MANAGER = """\
You lead the team of a smart home and speak to its user. First intent works, then Time_assistant if there is a date or \
a time, Location if there is a place, url_assistant, Request; and then you: tell the user in a sentence or two what \
came of it, or what the server wants to know. Write TERMINATE on a line after it, since the task is done then."""


def build(session):
    """The user's side of the chat, and its manager."""

    def model(member):
        # No cache: each call is the model's own answer. No price: Regatta does the books.
        config = {
            "model": session.model,
            "base_url": session.base_url(member),
            "api_key": session.api_key,
            "price": [0, 0],
        }
        return {"config_list": [config], "temperature": 0, "cache_seed": None}

    def speaker(name, member, prompt):
        return autogen.AssistantAgent(name=name, system_message=prompt, llm_config=model(member))

    user = autogen.UserProxyAgent(
        name="user_proxy",
        human_input_mode="NEVER",
        code_execution_config=False,
        default_auto_reply="if finish task, TERMINATE. If not, solve again.",
        is_termination_msg=lambda message: TERMINATE in (message.get("content") or ""),
    )
    time = speaker("Time_assistant", "time", team.time_prompt())
    request = speaker("Request", "request", team.request_prompt())
    members = [
        user,
        speaker("Product_manager", "manager", MANAGER),
        speaker("intent", "intent", team.intent_prompt()),
        time,
        speaker("Location", "location", team.location_prompt()),
        speaker("url_assistant", "url", team.url_prompt(session)),
        request,
    ]

    def get_time() -> str:
        return session.today

    def url_request(url: str) -> str:
        return "server response " + session.send("GET", url)

    tools = [
        (get_time, time, "Today's date, as in 2025-05-28."),
        (url_request, request, "Sends a GET request to the URL and returns the body of the answer."),
    ]
    for tool, caller, description in tools:
        autogen.register_function(tool, caller=caller, executor=user, name=tool.__name__, description=description)
    chat = autogen.GroupChat(agents=members, messages=[], max_round=MESSAGES_MAX)
    return user, autogen.GroupChatManager(groupchat=chat, llm_config=model("selector"))


def last_of(messages, name):
    """What `name` said last in words."""
    said = [message["content"] for message in messages if message.get("name") == name and message.get("content")]
    return said[-1] if said else None


def main():
    session = team.Session.read()
    user, manager = build(session)
    messages = manager.groupchat.messages
    try:
        user.initiate_chat(manager, message=json.dumps({"iid": session.iid, "query": session.query}))
    finally:
        # Whatever ended the chat, what was said until then counts.
        reply = last_of(messages, "Product_manager")
        final = None if reply is None else reply.replace(TERMINATE, "").strip()
        team.report(final, last_of(messages, "intent"))


if __name__ == "__main__":
    main()
