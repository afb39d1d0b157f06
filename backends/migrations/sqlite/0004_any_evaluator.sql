-- Which evaluators there are is for the benchmarks to say, so the ledger lists them no more. SQLite changes no constraint: the table is
-- made anew.

CREATE TABLE metrics_of_any_evaluator (
    sweep     INTEGER NOT NULL,
    cell      INTEGER NOT NULL,
    evaluator TEXT    NOT NULL CHECK (evaluator <> ''),
    metric    TEXT    NOT NULL,
    position  INTEGER NOT NULL, -- the order in which the benchmark lists its metrics
    value     REAL,
    low       REAL,
    high      REAL,
    n         INTEGER NOT NULL,
    PRIMARY KEY (sweep, cell, evaluator, metric),
    FOREIGN KEY (sweep, cell) REFERENCES cells (sweep, cell)
) STRICT, WITHOUT ROWID;

INSERT INTO metrics_of_any_evaluator (sweep, cell, evaluator, metric, position, value, low, high, n)
SELECT sweep, cell, evaluator, metric, position, value, low, high, n FROM metrics;

DROP TABLE metrics;
ALTER TABLE metrics_of_any_evaluator RENAME TO metrics;
