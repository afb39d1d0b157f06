"""Tables as plain lists of dicts, which become data frames where pandas or polars are installed."""

import html


class Frame(list):
    """A list of dicts with the same keys, in order."""

    def __init__(self, rows, columns=None):
        super().__init__(rows)
        self.columns = list(columns) if columns is not None else list(self[0]) if self else []

    def column(self, name):
        """The values of one column."""
        return [row.get(name) for row in self]

    def where(self, **values):
        """The rows that have these values."""
        rows = [row for row in self if all(row.get(name) == value for name, value in values.items())]
        return Frame(rows, self.columns)

    def to_pandas(self):
        """A pandas.DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(list(self), columns=self.columns)

    def to_polars(self):
        """A polars.DataFrame; needs polars."""
        import polars

        # What is nested and differs from row to row is no column of a data frame: it becomes JSON.
        return polars.DataFrame(
            {name: [_plain(value) for value in self.column(name)] for name in self.columns}, strict=False
        )

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(row.get(name)))}</td>" for name in self.columns) + "</tr>"
            for row in self[:ROWS_SHOWN]
        )
        more = f"<caption>{len(self)} rows, the first {ROWS_SHOWN} are shown</caption>" if len(self) > ROWS_SHOWN else ""
        return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


ROWS_SHOWN = 200


def _plain(value):
    if isinstance(value, (dict, list)):
        import json

        return json.dumps(value)
    return value


def _shown(value):
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
