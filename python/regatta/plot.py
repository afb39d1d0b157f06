"""Pictures of runs; needs matplotlib."""


def leaderboard(run, metric=None, axes=None):
    """Bars with intervals of a headline metric (the first one if none is named), for each benchmark, setting and model."""
    import matplotlib.pyplot

    board = run.leaderboard()
    names = [name for name in board.columns if f"{name} low" in board.columns]
    if not names:
        raise ValueError("the run has no headline metric")
    metric = metric or names[0]
    if metric not in names:
        raise ValueError(f"there is no metric {metric!r}; there are: {', '.join(names)}")
    rows = [row for row in board if row[metric] is not None]
    axes = axes or matplotlib.pyplot.subplots(figsize=(7, 0.5 * len(rows) + 1))[1]
    labels = [f"{row['model']}\n{row['benchmark']} {row['setting']}" for row in rows]
    values = [row[metric] for row in rows]
    low = [value - (row[f"{metric} low"] if row[f"{metric} low"] is not None else value) for value, row in zip(values, rows)]
    high = [(row[f"{metric} high"] if row[f"{metric} high"] is not None else value) - value for value, row in zip(values, rows)]
    axes.barh(labels, values, xerr=[low, high], capsize=3)
    axes.invert_yaxis()
    axes.set_xlabel(metric)
    axes.figure.tight_layout()
    return axes
