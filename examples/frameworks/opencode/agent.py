"""OpenCode as the agent of a smart home. The program may be named: agent.py PROGRAM."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


def main():
    session = team.Session.read()
    program = sys.argv[1] if len(sys.argv) > 1 else "opencode"
    options = {"baseURL": session.base_url("home"), "apiKey": session.api_key}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {session.model: {}}}
    named = f"regatta/{session.model}"
    settings = {"provider": {"regatta": provider}, "model": named, "small_model": named}
    settings |= {"share": "disabled", "autoupdate": False}
    place = os.environ["HOME"]
    Path(place, "opencode.json").write_text(json.dumps(settings))
    # It goes by PWD, which `cwd` does not change. The first of its calls asks for a title, and is paid as any.
    ended = subprocess.run(
        [program, "run", team.shell_prompt(session)],
        cwd=place, env=os.environ | {"PWD": place}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )
    team.report(ended.stdout.strip(), None)
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
