-- How often a sweep was resumed. Jobs of an earlier generation are void.
ALTER TABLE sweeps ADD COLUMN generation BIGINT NOT NULL DEFAULT 0 CHECK (generation >= 0);

-- Number of the last question, whether what was reported before it is recorded, that a scorer has answered.
ALTER TABLE sweeps ADD COLUMN echo BIGINT NOT NULL DEFAULT 0 CHECK (echo >= 0);

-- The one coordinator that dispatches: what it writes carries its term, and changes nothing under another one.
CREATE TABLE leadership (
    one    BOOLEAN     PRIMARY KEY DEFAULT TRUE CHECK (one),
    term   BIGINT      NOT NULL CHECK (term > 0),
    holder TEXT        NOT NULL,
    until  TIMESTAMPTZ NOT NULL
);

-- When a worker last told of a running attempt, by this server's clock; NULL for those of before.
ALTER TABLE attempts ADD COLUMN seen_at TIMESTAMPTZ;
