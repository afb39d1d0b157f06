"""Figures as people read them, and the table of docs/performance.md."""

import datetime
import os
import pathlib
import platform
import subprocess

from runs import ROOT

PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- figures: written by scripts/bench --page -->", "<!-- end of figures -->"


def circumstances(scale):
    """What a figure depends on beside the code."""
    revision = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, encoding="utf-8", check=False)
    row = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "revision": revision.stdout.strip(),
        "machine": f"{os.cpu_count()} cores, {processor()}", "load": round(os.getloadavg()[0], 1),
    }
    return row if scale == 1 else {**row, "scale": scale}


def processor():
    names = (line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    return next(names, platform.machine())


def number(value):
    if isinstance(value, int) or abs(value) >= 1_000:
        return f"{round(value):,}"
    return f"{value:.3g}"


def figures(case, row):
    shown = [f"{number(row[name])} {unit}" for name, unit in case.shown if name in row]
    return ", ".join(shown) or f"{len(row.get('points', []))} points"


def verdict(met):
    return {None: "no target for it", True: "met", False: "missed"}[met]


def table(results):
    from cases import CASES

    lines = ["| case | target | measured | | date, revision, machine, its load |", "|---|---|---|---|---|"]
    for name, case in CASES.items():
        row = results.get(name)
        if row is None or "points" in row and not case.shown:
            continue
        told = f"{row['date']}, {row['revision']}, {row['machine']}, {row['load']}"
        lines.append(f"| {case.title} (`{name}`) | {case.target or 'none'} | {figures(case, row)} | {verdict(case.is_met(row))} | {told} |")
    for name, case in CASES.items():
        if name in results and not case.shown:
            lines += ["", f"{case.title[0].upper()}{case.title[1:]} (`{name}`):", "", *curve(results[name]["points"])]
    return "\n".join(lines)


def curve(points):
    names = list(points[0])
    head = ["| " + " | ".join(name.replace("_", " ") for name in names) + " |", "|" + "---:|" * len(names)]
    return head + ["| " + " | ".join(number(point[name]) for name in names) + " |" for point in points]


def write(results):
    scaled = [name for name, row in results.items() if "scale" in row]
    if scaled:
        raise SystemExit(f"{', '.join(scaled)}: measured with --scale, which belongs in no table; measure it whole")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}", encoding="utf-8")
