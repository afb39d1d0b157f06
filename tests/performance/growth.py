"""Cases that grow: a ledger to ten million sessions, and curves of whole runs."""

import json

import embedded
from measured import measure


def ledger(place):
    """Cost, memory and bytes of a session in the ledger, at each power of ten (`growth` of `backends`)."""
    folder = place.folder()
    folder.mkdir(parents=True)
    command = ["cargo", "bench", "--quiet", "-p", "regatta-backends", "--bench", "growth", "--", str(place.scaled(10_000_000))]
    output = measure(command, folder).output
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    points = [line for line in lines if "recorded" in line]
    first, last = points[0], points[-1]
    return {
        "sessions": last["recorded"], "cpu_us_a_session": last["cpu_us_a_session"], "first_cpu_us_a_session": first["cpu_us_a_session"],
        "resident_mb": last["resident_mb"], "first_resident_mb": first["resident_mb"],
        "bytes_beside_scores": last["bytes_a_session"] - last["scores_bytes"], "points": points,
    }


def curve_of_sessions(place):
    """A session's cost in runs of more and more sessions."""
    return {"points": [of_run(place, sessions, 256, 0) for sessions in (1_000, 10_000, 100_000) if sessions <= place.scaled(100_000)]}


def curve_in_flight(place):
    """Runs of twenty rounds of calls of a quarter of a second, with more and more calls at once."""
    return {"points": [of_run(place, 20 * calls, calls, 250) for calls in (100, 1_000, 5_000, 10_000, 20_000) if calls <= place.scaled(20_000)]}


def of_run(place, sessions, concurrency, milliseconds):
    sessions, run, counters, _ = embedded.single(place, sessions, concurrency, milliseconds)
    return {
        "sessions": sessions, "concurrency": concurrency, "most_in_flight": counters["most_in_flight"], "wall_s": run.measured.wall_s,
        "cpu_ms_a_session": 1e3 * run.measured.cpu_s / sessions, "resident_mb": run.measured.resident_mb,
    }
