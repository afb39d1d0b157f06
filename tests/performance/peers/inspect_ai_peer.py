"""`inspect_ai_peer.py URL REQUESTS TRIALS LOGS`: inspect-ai asks every request of the file REQUESTS so often, and scores the answers twice."""

import json
import sys

from inspect_ai import Task, eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
from inspect_ai.scorer import exact, includes
from inspect_ai.solver import solver

MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
# Calls in flight, as many as in Regatta's case.
CONNECTIONS = 256


@solver
def named():
    """Asks as the sample's headers say, by which the simulated endpoint knows the item."""

    async def solve(state, generate):
        return await generate(state, extra_headers=state.metadata["headers"])

    return solve


def sample(request):
    messages = [MESSAGES[message["role"]](content=message["content"]) for message in request["body"]["messages"]]
    return Sample(id=request["item"], input=messages, target=request["answer"], metadata={"headers": request["headers"]})


def main(url, requests, trials, logs):
    with open(requests, encoding="utf-8") as file:
        asked = [json.loads(line) for line in file]
    body = asked[0]["body"]
    config = GenerateConfig(temperature=body.get("temperature"), max_tokens=body.get("max_tokens"), max_connections=CONNECTIONS)
    model = get_model("openai/oracle", base_url=url, api_key="none", config=config, responses_api=False)
    task = Task(dataset=MemoryDataset([sample(request) for request in asked]), solver=named(), scorer=[exact(), includes()], epochs=int(trials))
    [log] = evaluate(task, model=model, log_dir=logs, display="none", max_samples=CONNECTIONS)
    if log.status != "success":
        raise SystemExit(f"inspect-ai ended with {log.status}: {log.error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
