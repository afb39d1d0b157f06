"""A simulated endpoint in a process of its own."""

import json
import subprocess
import urllib.request

from measured import Failed, cpu_of


class Endpoint:
    """`regatta simulate llm`, until it is left."""

    def __init__(self, regatta, data, **simulation):
        command = [str(regatta), "simulate", "llm", "--listen", "127.0.0.1:0"]
        for name, folder in data.items():
            command += ["--data", f"{name}={folder}"]
        if simulation:
            command += ["--simulation", json.dumps(simulation)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
        )
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Failed(f"{' '.join(command)} ended with {self.process.wait()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def counters(self):
        with urllib.request.urlopen(self.url.replace("/v1", "/simulator/counters"), timeout=60) as answer:
            return json.load(answer)

    def cpu_s(self):
        return cpu_of(self.process.pid)


def latency(milliseconds):
    """Every answer takes as long."""
    return {"median_ms": milliseconds, "spread": 1}
