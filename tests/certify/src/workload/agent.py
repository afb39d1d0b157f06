"""An external agent of the certificate's workload: it asks three members of a team, each with what the one before has said.

Equal sessions ask equally, so that an agent that is started again gets what it was answered before.
"""

import json
import sys
import urllib.request

MEMBERS = ("intent", "url", "response")


def ask(session, member, messages):
    """What the model of `member` says to `messages`."""
    base_url = f"{session['base_url'].removesuffix('/v1')}/members/{member}/v1"
    headers = {"content-type": "application/json", "authorization": f"Bearer {session['api_key']}"}
    body = json.dumps({"model": session["model"], "messages": messages}).encode()
    request = urllib.request.Request(f"{base_url}/chat/completions", body, headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"] or ""


def main():
    session = json.loads(sys.stdin.readline())
    messages = [{"role": "user", "content": session["query"]}]
    said = {}
    for member in MEMBERS:
        said[member] = ask(session, member, messages)
        messages.append({"role": "user", "content": f"{member} says: {said[member]}"})
    print(json.dumps({"intent_output": said["intent"], "final": said["response"]}), flush=True)


if __name__ == "__main__":
    main()
