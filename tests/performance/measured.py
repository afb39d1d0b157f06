"""What a program took, as the system accounts for it: time, processor and most memory."""

import dataclasses
import os
import pathlib
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A program that did not do what was measured."""


@dataclasses.dataclass
class Measured:
    wall_s: float
    cpu_s: float
    # The part of it that children took, as programs of benchmarks.
    children_cpu_s: float
    resident_mb: float
    output: str
    # Seconds since 1970 at which the program was started.
    begun: float


def measure(command, folder, env=None):
    """Runs `command` to its end; processor time includes that of children that it has waited for."""
    log = pathlib.Path(folder) / "output.txt"
    begun, at = time.monotonic(), time.time()
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=env)
        # One that has ended and was not waited for still tells what its children took.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        children = cpu_of(process.pid, children=True)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(encoding="utf-8", errors="replace")
    if process.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{text[-2000:]}")
    return Measured(wall, usage.ru_utime + usage.ru_stime, children, usage.ru_maxrss / 1024, text, at)


def cpu_of(pid, children=False):
    """Seconds of processor that a process has taken so far, or that its children have for which it has waited."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    first = 13 if children else 11
    return (int(fields[first]) + int(fields[first + 1])) / TICKS


def resident_mb_of(pid):
    """Most memory that a process that runs has had so far."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        peak = next(line for line in file if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def percentile(values, share):
    """The value below which `share` of `values` are."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
