#!/usr/bin/env python3
"""Writes confseq.json: capital of fixed-fraction bets, and bounds of other sequences, as the package confseq 0.0.11 computes them.

    pip download confseq==0.0.11 --no-deps && tar xzf confseq-0.0.11.tar.gz
    pip install "numpy<2" scipy matplotlib multiprocess
    PYTHONPATH=confseq-0.0.11/src ./confseq_values.py > confseq.json

Only its Python modules are needed (`betting`, `predmix`), so its C++ part need not be built.
"""

import json

import numpy as np
from confseq.betting import betting_cs, diversified_betting_mart
from confseq.predmix import predmix_empbern_twosided_cs

FRACTIONS = [0.05, 0.1, 0.2, 0.35, 0.6, 0.9]
# Bets of confseq have equal stakes: a fraction with a larger one is several bets.
STAKES = [1, 3, 5, 5, 3, 1]


def bets(population):
    def bet(fraction):
        def of(x, m):
            if population is None:
                mean = np.repeat(m, len(x))
            else:
                before = np.append(0, np.cumsum(x)[:-1])
                mean = (population * m - before) / (population - np.arange(len(x)))
            with np.errstate(divide="ignore"):
                return fraction / mean

        return of

    return [bet(fraction) for fraction, stake in zip(FRACTIONS, STAKES) for _ in range(stake)]


def case(name, x, population):
    capital = []
    for m in np.round(np.arange(0.05, 1.0, 0.05), 2):
        found = diversified_betting_mart(x, m, bets(population), N=population, theta=1, trunc_scale=1)[-1]
        capital.append([float(m), None if np.isinf(found) else float(np.log(found))])
    return {"name": name, "population": population, "x": [float(value) for value in x], "log_capital": capital}


def widths(name, x, level):
    hedged = betting_cs(x, breaks=4000, alpha=level)
    bernstein = predmix_empbern_twosided_cs(x, alpha=level)
    at = [n for n in (50, 100, 200, 400, 800) if n <= len(x)]
    width = lambda cs: [float(cs[1][n - 1] - cs[0][n - 1]) for n in at]
    return {"name": name, "level": level, "x": [float(v) for v in x], "n": at, "plug_in": width(hedged), "bernstein": width(bernstein)}


def main():
    rng = np.random.default_rng(20260101)
    binary = (rng.random(120) < 0.7).astype(float)
    beta = np.round(rng.beta(2, 5, 90), 6)
    whole = np.round(rng.beta(4, 2, 80), 6)
    cases = [
        case("binary", binary, None),
        case("beta", beta, None),
        case("binary of 150", binary, 150),
        case("beta of 100", beta, 100),
        case("nearly all", whole[:78], 80),
    ]
    difference = lambda delta, differing: rng.choice(
        [0.0, 0.5, 1.0], 800, p=[(differing - delta) / 2, 1 - differing, (differing + delta) / 2]
    )
    compared = [
        widths("binary 0.7", (rng.random(800) < 0.7).astype(float), 0.05),
        widths("binary 0.95", (rng.random(800) < 0.95).astype(float), 0.05),
        widths("beta(2, 5)", np.round(rng.beta(2, 5, 800), 6), 0.05),
        widths("difference 5 pp, 30 % differ", difference(0.05, 0.3), 0.05),
        widths("difference 0, 10 % differ", difference(0.0, 0.1), 0.05),
    ]
    print(json.dumps({"fractions": FRACTIONS, "stakes": STAKES, "cases": cases, "widths": compared}))


if __name__ == "__main__":
    main()
