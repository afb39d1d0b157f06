"""All cases: what each measures, its target, and which figures are shown."""

import dataclasses
import typing

import distributed
import embedded
import growth
import peers
import scoring


@dataclasses.dataclass(frozen=True)
class Case:
    run: typing.Callable
    title: str
    target: str
    # Figures of its row in the table, with their units.
    shown: tuple
    # Whether the row keeps to the target; `None` where it has none, or no figure for it.
    is_met: typing.Callable = lambda row: None


def below(**most):
    """Every figure is known and at most so much."""
    return lambda row: all(row[name] <= limit for name, limit in most.items())


def scored(name):
    times = scoring.TIMES[name]
    return Case(
        scoring.scoring(name), f"a file of predictions: {name}", f"{times} times less processor than the released code, from 5,000 items",
        (("cpu_ms_an_item", "ms of CPU an item"), ("official_cpu_ms_an_item", "of the released code"), ("times_less", "times less")),
        lambda row: row["times_less"] >= times if "times_less" in row else None,
    )


def bytes_and_memory(row):
    is_flat = row["resident_mb"] <= 1.5 * row["first_resident_mb"] + 16
    return is_flat and row["bytes_beside_scores"] <= 150 and row["cpu_us_a_session"] <= 1.5 * row["first_cpu_us_a_session"]


CPU = ("cpu_ms_a_session", "ms of CPU a session")
RESIDENT = ("resident_mb", "MB resident")

CASES = {
    "zero-latency": Case(
        embedded.zero_latency, "one process, no latency, one call a session, two evaluators, reports included", "twice the bare loop",
        (CPU, ("floor_cpu_ms_a_session", "of the bare loop"), ("times_the_floor", "times"), ("sessions_a_second", "sessions/s"), RESIDENT),
        below(times_the_floor=2.0),
    ),
    "coded": Case(
        embedded.coded, "a benchmark in Python with a user and tools, 10,000 sessions", "1 ms a session beside the program",
        (CPU, ("program_cpu_ms_a_session", "of the program"), ("sessions_a_second", "sessions/s")), below(cpu_ms_a_session=1.0),
    ),
    "final-reports": Case(
        embedded.final_reports, "reports at the end", "0.01 ms a session, and no memory for each", (CPU, ("resident_kb_a_session", "KB resident a session")),
        below(cpu_ms_a_session=0.01, resident_kb_a_session=0.05),
    ),
    "in-flight-1000": Case(
        embedded.thousand_in_flight, "4,000 sessions, 1,000 in flight, 1 s", "4.3 s", (("wall_s", "s"), ("most_in_flight", "in flight at most"), RESIDENT),
        below(wall_s=4.3),
    ),
    "in-flight-10000": Case(
        embedded.ten_thousand_in_flight, "40,000 sessions, 10,000 in flight, 5 s", "22 s, 450 MB",
        (("wall_s", "s"), ("most_in_flight", "in flight at most"), RESIDENT), below(wall_s=22, resident_mb=450),
    ),
    "in-flight-20000": Case(
        embedded.twenty_thousand_in_flight, "40,000 sessions, 20,000 in flight, 5 s", "works, or says which limit of the system stops it",
        (("wall_s", "s"), ("most_in_flight", "in flight at most"), RESIDENT),
    ),
    "distributed": Case(
        distributed.deployed(2), "a deployment, its services and the endpoint on this machine, two workers", "2,500 sessions/s, 0.25 ms a session",
        (("sessions_a_second", "sessions/s"), CPU, ("scorer_cpu_ms_a_session", "of the scorer"), ("worker_cpu_ms_a_session", "of workers"), ("coordinator_cpu_ms_a_session", "of the coordinator")),
        lambda row: row["sessions_a_second"] >= 2_500 and row["cpu_ms_a_session"] <= 0.25,
    ),
    "time-in-regatta": Case(
        embedded.time_in_regatta, "between an answer and the next request of a session, at 2,000 calls/s", "1 ms (99th percentile)",
        (("p99_ms", "ms (99th percentile)"), ("p50_ms", "ms (median)"), ("calls_a_second", "calls/s")), below(p99_ms=1.0),
    ),
    "rate-limited": Case(
        embedded.rate_limited, "an endpoint of 6,000 requests a minute", "98 % of them in any three minutes, no refusal",
        (("least_share_percent", "% in the worst three minutes"), ("refusals", "refusals")),
        lambda row: row["least_share_percent"] >= 98 and row["refusals"] == 0,
    ),
    **{f"score-{name}": scored(name) for name in scoring.TIMES},
    "ledger": Case(
        growth.ledger, "ten million sessions planned, dispatched and recorded", "memory flat, cost linear, 150 bytes a session beside scores",
        (("cpu_us_a_session", "µs of CPU a session"), ("first_cpu_us_a_session", "of the first thousand"), RESIDENT, ("bytes_beside_scores", "bytes a session")),
        bytes_and_memory,
    ),
    "first-call": Case(
        embedded.first_call, "from the start to the first call, 441 scenarios", "0.3 s", (("first_call_s", "s"), ("items", "items")),
        lambda row: row["first_call_s"] <= 0.3 if row["published_data"] else None,
    ),
    "peer-inspect-ai": Case(peers.peer("inspect_ai"), "inspect-ai, the same items at the same endpoint", "", (CPU, ("start_cpu_s", "s of CPU to start"), RESIDENT)),
    "curve-sessions": Case(growth.curve_of_sessions, "more and more sessions", "linear", ()),
    "curve-in-flight": Case(growth.curve_in_flight, "more and more calls in flight", "linear", ()),
    "curve-workers": Case(distributed.curve_of_workers, "one, two, four, eight workers", "linear", ()),
}
# Those that take more than a few minutes, or what most machines lack: only by name, or by `all`.
SLOW = {"ledger", "distributed", "curve-sessions", "curve-in-flight", "curve-workers", "peer-inspect-ai", *(f"score-{name}" for name in scoring.TIMES)}
