-- What each scorer has settled: everything that it had been given by then. It is known since `began_at`.
CREATE TABLE scorers (
    id         TEXT        PRIMARY KEY,
    began_at   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    settled_at TIMESTAMPTZ NOT NULL
);
