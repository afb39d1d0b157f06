"""Codex as the agent of a smart home, asking in OpenAI's format of responses. The program may be named: agent.py PROGRAM."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


def main():
    session = team.Session.read()
    program = sys.argv[1] if len(sys.argv) > 1 else "codex"
    provider = f'{{name="regatta", base_url="{session.base_url("home")}", env_key="OPENAI_API_KEY", wire_api="responses"}}'
    place = os.environ["HOME"]
    command = [program, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    # A name that it does not know: of models that it knows it wants answers in a form that is not recorded (its tool `apply_patch`).
    command += ["--model", f"evaluated-{session.model}"]
    command += ["-c", "model_provider=regatta", "-c", f"model_providers.regatta={provider}"]
    # A search that its provider runs, and agents of its own whose calls have a namespace, are refused.
    command += ["-c", "web_search=disabled", "--disable", "multi_agent", "-c", "analytics.enabled=false"]
    command += ["--output-last-message", f"{place}/last", team.shell_prompt(session)]
    ended = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    last = Path(place, "last")
    team.report(last.read_text() if last.exists() else None, None)
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
