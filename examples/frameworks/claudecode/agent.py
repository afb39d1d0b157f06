"""Claude Code as the agent of a smart home. The program may be named: agent.py PROGRAM."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import team  # noqa: E402


def main():
    session = team.Session.read()
    program = sys.argv[1] if len(sys.argv) > 1 else "claude"
    command = [program, "--print", "--model", session.model, "--dangerously-skip-permissions"]
    settings = {
        "ANTHROPIC_BASE_URL": session.base_url("home").removesuffix("/v1"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # Fields that only Anthropic's own endpoints know. Without this line models of other formats are refused to it.
        "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
        # It may be root here, as in a container.
        "IS_SANDBOX": "1",
    }
    place = os.environ["HOME"]
    ended = subprocess.run(
        [*command, team.shell_prompt(session)],
        cwd=place, env=os.environ | settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )
    team.report(ended.stdout.strip(), None)
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
