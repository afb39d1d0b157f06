"""A deployment with all its services and the endpoint on this machine.

`scripts/services python3 distributed.py REGATTA SESSIONS WORKERS FOLDER` prints a line of JSON; the services are those of its environment.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from endpoint import Endpoint
from measured import Failed, cpu_of, measure, resident_mb_of
from runs import ITEMS, ROOT, WORFBENCH, single_call

# Longest wait for a role to be ready.
READY_WITHIN_S = 60


def deployed(workers):
    def case(place):
        return in_services(place, place.scaled(35_000), workers)

    return case


def curve_of_workers(place):
    return {"points": [in_services(place, place.scaled(35_000), workers) for workers in (1, 2, 4, 8)]}


def in_services(place, sessions, workers):
    folder = place.folder()
    folder.mkdir(parents=True)
    own = [sys.executable, __file__, str(place.regatta), str(sessions), str(workers), str(folder)]
    output = measure([str(ROOT / "scripts/services"), *own], folder).output
    return json.loads(next(line for line in output.splitlines() if line.startswith("{")))


@contextlib.contextmanager
def role(regatta, name, env, *arguments):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "{}:{}".format(*free.getsockname())
    command = [regatta, name, "--listen", address, *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    try:
        wait_until_ready(process, name, address)
        yield process.pid, address
    finally:
        process.terminate()
        process.wait()


def wait_until_ready(process, name, address):
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise Failed(f"{name} ended with {process.returncode} before it was ready")
        with contextlib.suppress(OSError, urllib.error.URLError):
            if urllib.request.urlopen(f"http://{address}/readyz", timeout=5).status == 200:
                return
        time.sleep(0.1)
    raise Failed(f"{name} was not ready within {READY_WITHIN_S} s")


def main(regatta, sessions, workers, folder):
    folder, trials = pathlib.Path(folder), max(1, round(int(sessions) / ITEMS))
    policy = folder / "policy.yaml"
    policy.write_text("egress: { private: [127.0.0.0/8] }\n", encoding="utf-8")
    env = os.environ | {"REGATTA_TOKEN": "performance-of-a-deployment"}
    with contextlib.ExitStack() as stack:
        endpoint = stack.enter_context(Endpoint(regatta, {"worfbench": WORFBENCH}))
        coordinator, api = stack.enter_context(role(regatta, "coordinator", env))
        pids = {"coordinator": [coordinator]}
        pids["scorer"] = [stack.enter_context(role(regatta, "scorer", env))[0]]
        pids["worker"] = [stack.enter_context(role(regatta, "worker", env, "--policy", str(policy)))[0] for _ in range(int(workers))]
        spec = folder / "spec.yaml"
        spec.write_text(json.dumps(single_call(endpoint.url, trials, concurrency=256)), encoding="utf-8")
        before = {pid: cpu_of(pid) for of_role in pids.values() for pid in of_role}
        client = env | {"REGATTA_COORDINATOR": f"http://{api}"}
        watched = measure([regatta, "submit", str(spec), "--watch"], folder, env=client)
        count = trials * ITEMS
        cost = lambda of_role: 1e3 * sum(cpu_of(pid) - before[pid] for pid in of_role) / count
        row = {f"{name}_cpu_ms_a_session": cost(of_role) for name, of_role in pids.items()}
        print(json.dumps({
            "sessions": count, "workers": int(workers), "sessions_a_second": count / watched.wall_s,
            "cpu_ms_a_session": sum(row.values()), **row,
            "resident_mb": max(resident_mb_of(pid) for of_role in pids.values() for pid in of_role),
        }))


if __name__ == "__main__":
    main(*sys.argv[1:])
