#!/usr/bin/env python3
"""Writes the table of all values into the chart's README.md, from values.yaml and its comments.

    helm/tools/readme.py            writes it
    helm/tools/readme.py --check    fails when it is out of date
"""

import json
import sys

from values import CHART, at, defaults, documented

BEGIN, END = "<!-- values: written by helm/tools/readme.py -->", "<!-- end of values -->"


def table():
    rows, values, undocumented = ["| value | default | meaning |", "|---|---|---|"], defaults(), []
    everything = dict(documented())
    for path, comment in everything.items():
        below = [other for other in everything if other[: len(path)] == path and other != path]
        name = ".".join(path)
        if not comment:
            # Either what is below it is documented, or it belongs to the default of a value that is.
            if not any(everything[other] for other in below) and not any(everything[path[:n]] for n in range(1, len(path))):
                undocumented.append(name)
            continue
        prose = " ".join(line for line in comment if line and not line.startswith("    ")).replace("|", "\\|")
        has_parts = any(everything[other] for other in below)
        default = "" if has_parts else f"`{json.dumps(at(values, path), ensure_ascii=False)}`"
        rows.append(f"| `{name}` | {default} | {prose} |")
    if undocumented:
        raise SystemExit("values.yaml: values without a comment: " + ", ".join(undocumented))
    return "\n".join(rows)


def main():
    path = CHART / "README.md"
    text = path.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    written = f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
    if "--check" not in sys.argv:
        path.write_text(written)
    elif written != text:
        raise SystemExit("helm/regatta/README.md is out of date; run helm/tools/readme.py")


main()
