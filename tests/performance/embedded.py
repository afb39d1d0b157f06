"""Cases of one process: `regatta run` against a simulated endpoint in a process of its own."""

import json

from endpoint import Endpoint, latency
from measured import Failed, measure, percentile
from runs import ITEMS, PARCELS, PARCELS_ITEMS, WORFBENCH, Run, requests, seconds, single_call, sweep

# Turns of the conversations that are timed, and their sessions: all of these run at once, so that none waits for another's permit.
TURNS, CONVERSATIONS = 25, 400


def trials_for(sessions):
    return max(1, round(sessions / ITEMS))


def single(place, sessions, concurrency, milliseconds=0, **simulation):
    """Sessions of one call; what they took, the run and the endpoint's books."""
    trials = trials_for(sessions)
    if milliseconds:
        simulation["latency"] = latency(milliseconds)
    with Endpoint(place.regatta, {"worfbench": WORFBENCH}, **simulation) as endpoint:
        limits = {"concurrency": concurrency}
        if "requests_per_minute" in simulation:
            limits["requests_per_minute"] = simulation["requests_per_minute"]
        run = Run(place.regatta, place.folder(), single_call(endpoint.url, trials, **limits))
        counters, endpoint_cpu_s = endpoint.counters(), endpoint.cpu_s()
    return trials * ITEMS, run, counters, endpoint_cpu_s


def zero_latency(place):
    """Cost of a session beside that of the bare loop, which asks the same endpoint the same."""
    sessions, run, _, endpoint_cpu_s = single(place, place.scaled(35_000), 256)
    measured = run.measured
    folder = place.folder()
    asked = requests(place.regatta, place.folder())
    lines = "".join(json.dumps({"headers": one["headers"], "body": one["body"]}) + "\n" for one in asked)
    folder.mkdir(parents=True)
    (folder / "requests.jsonl").write_text(lines, encoding="utf-8")
    with Endpoint(place.regatta, {"worfbench": WORFBENCH}) as endpoint:
        command = [place.floor, endpoint.url, folder / "requests.jsonl", sessions, 256, folder]
        floor = measure(list(map(str, command)), folder)
    each, bare = 1e3 * measured.cpu_s / sessions, 1e3 * floor.cpu_s / sessions
    return {
        "sessions": sessions, "cpu_ms_a_session": each, "floor_cpu_ms_a_session": bare, "times_the_floor": each / bare,
        "sessions_a_second": sessions / measured.wall_s, "resident_mb": measured.resident_mb,
        "endpoint_cpu_ms_a_session": 1e3 * endpoint_cpu_s / sessions,
    }


def coded(place):
    """Cost of a session whose functions a program in Python answers, apart from what that program takes."""
    trials = max(1, round(place.scaled(10_000) / PARCELS_ITEMS))
    benchmark = {"data": str(PARCELS), "settings": ["rules=short"], "roles": {"user": "sim/oracle"}}
    with Endpoint(place.regatta, {"parcels": PARCELS}) as endpoint:
        spec = {**sweep({"parcels": benchmark}, endpoint.url, trials, concurrency=64), "models": ["sim/noisy-1"]}
        measured = Run(place.regatta, place.folder(), spec).measured
    sessions = trials * PARCELS_ITEMS
    return {
        "sessions": sessions, "cpu_ms_a_session": 1e3 * (measured.cpu_s - measured.children_cpu_s) / sessions,
        "program_cpu_ms_a_session": 1e3 * measured.children_cpu_s / sessions, "sessions_a_second": sessions / measured.wall_s,
        "resident_mb": measured.resident_mb,
    }


def final_reports(place):
    """Cost of what is written at the end: the same run once more, with and without its documents."""
    few = reports_of(place, place.scaled(3_500))
    many = reports_of(place, place.scaled(35_000))
    return {
        "sessions": many["sessions"], "cpu_ms_a_session": many["cpu_ms"], "resident_kb_a_session":
        1024 * (many["resident_mb"] - few["resident_mb"]) / (many["sessions"] - few["sessions"]),
    }


def reports_of(place, sessions):
    sessions, run, _, _ = single(place, sessions, 256)
    nothing = run.again()
    if not run.lose_reports():
        raise Failed("the run has no documents that could be made again")
    reports = run.again()
    return {
        "sessions": sessions, "cpu_ms": 1e3 * (reports.cpu_s - nothing.cpu_s) / sessions, "resident_mb": reports.resident_mb,
    }


def in_flight(place, sessions, concurrency, milliseconds):
    sessions, run, counters, _ = single(place, sessions, concurrency, milliseconds)
    return {
        "sessions": sessions, "wall_s": run.measured.wall_s, "most_in_flight": counters["most_in_flight"],
        "resident_mb": run.measured.resident_mb, "cpu_ms_a_session": 1e3 * run.measured.cpu_s / sessions,
        "best_wall_s": sessions / concurrency * milliseconds / 1e3,
    }


def thousand_in_flight(place):
    return in_flight(place, place.scaled(4_000), 1_000, 1_000)


def ten_thousand_in_flight(place):
    return in_flight(place, place.scaled(40_000), 10_000, 5_000)


def twenty_thousand_in_flight(place):
    return in_flight(place, place.scaled(40_000), 20_000, 5_000)


def time_in_regatta(place):
    """Time between an answer and the next request of the same conversation, at some 2,000 calls a second."""
    data = place.folder()
    data.mkdir(parents=True)
    turns = [{"user": "{{ question }}, the " + str(turn) + ". time"} for turn in range(1, TURNS + 1)]
    (data / "benchmark.yaml").write_text(json.dumps({
        "v": 1, "data": {"test": "test.jsonl"}, "prompt": {"turns": turns, "sampling": {"temperature": 0, "max_tokens": 64}},
        "scorers": {"right": {"exact": {"gold": "{{ answer }}"}}}, "metrics": {"accuracy": {"mean": "right", "unit": "percent"}},
        "simulate": {"reply": "{{ answer }}"},
    }), encoding="utf-8")
    conversations = place.scaled(CONVERSATIONS)
    items = [{"question": f"Say the word w{number}", "answer": f"w{number}"} for number in range(conversations)]
    (data / "test.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    with Endpoint(place.regatta, {"talks": data}, latency=latency(200)) as endpoint:
        spec = sweep({"talks": {"data": str(data)}}, endpoint.url, 1, concurrency=2 * conversations)
        run = Run(place.regatta, place.folder(), spec)
    gaps, ended, begun, last = [], {}, float("inf"), 0.0
    for call in run.calls():
        at, took = seconds(call["at"]), int(call["latency_us"]) / 1e6
        begun, last = min(begun, at), max(last, at + took)
        session = (call["cell"], call["item"])
        if session in ended:
            gaps.append(1e3 * (at - ended[session]))
        ended[session] = at + took
    return {
        "calls": len(gaps) + len(ended), "calls_a_second": (len(gaps) + len(ended)) / (last - begun),
        "p50_ms": percentile(gaps, 0.5), "p99_ms": percentile(gaps, 0.99),
    }


def rate_limited(place):
    """Share of the permitted rate that is used in any three minutes after the first, and refusals."""
    a_minute, minutes = 6_000, 5
    _, _, counters, _ = single(place, place.scaled(a_minute * minutes), 256, 50, requests_per_minute=a_minute)
    by_second = {second: requests for second, requests, _ in counters["arrivals"]}
    last = max(by_second)
    windows = [sum(by_second.get(first + offset, 0) for offset in range(180)) for first in range(60, last - 180)]
    if not windows:
        raise Failed(f"the run was over after {last} s; a share of three minutes needs more sessions")
    refused = sum(count for name, count in counters["faults"].items() if name in ("requests_per_minute", "tokens_per_minute", "concurrency"))
    return {"least_share_percent": 100 * min(windows) / (3 * a_minute), "refusals": refused}


def first_call(place):
    """Time from the start of the program to the first call of a data set of many scenarios."""
    data = place.data.get("orchestrationbench")
    with Endpoint(place.regatta, {"orchestrationbench": data or place.examples / "orchestrationbench"}) as endpoint:
        benchmark = {"data": str(data or place.examples / "orchestrationbench"), "judge": "sim/oracle"}
        spec = sweep({"orchestrationbench": benchmark}, endpoint.url, 1, concurrency=256)
        run = Run(place.regatta, place.folder(), spec)
    calls = [call for call in run.calls() if call["at"]]
    first = min(seconds(call["at"]) for call in calls)
    return {"first_call_s": first - run.measured.begun, "items": len({call["item"] for call in calls}), "published_data": bool(data)}
