-- Tokens written to a provider's cache, money that may have been spent, and what calls were like.

ALTER TABLE cells ADD COLUMN cache_write INTEGER NOT NULL DEFAULT 0 CHECK (cache_write >= 0);
ALTER TABLE cells ADD COLUMN cache_write_1h INTEGER NOT NULL DEFAULT 0 CHECK (cache_write_1h >= 0);
-- What all attempts may have cost beyond what is known: their own `maybe_spent`, and `at_most` of those that were lost.
ALTER TABLE cells ADD COLUMN maybe_spent INTEGER NOT NULL DEFAULT 0 CHECK (maybe_spent >= 0);

ALTER TABLE attempts ADD COLUMN cache_write INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN cache_write_1h INTEGER NOT NULL DEFAULT 0;
-- What failed tries may have cost without the provider telling.
ALTER TABLE attempts ADD COLUMN maybe_spent INTEGER NOT NULL DEFAULT 0 CHECK (maybe_spent >= 0);

ALTER TABLE judge_attempts ADD COLUMN cache_write INTEGER NOT NULL DEFAULT 0;
ALTER TABLE judge_attempts ADD COLUMN cache_write_1h INTEGER NOT NULL DEFAULT 0;

UPDATE cells SET maybe_spent = (
    SELECT ifnull(sum(at_most), 0) FROM attempts
    WHERE attempts.sweep = cells.sweep AND attempts.cell = cells.cell AND attempts.state = 'lost');

-- What the calls of a cell's sessions were like, as JSON. Beside the counters, which are read and written far more often.
CREATE TABLE cell_calls (
    sweep INTEGER NOT NULL,
    cell  INTEGER NOT NULL,
    sums  TEXT    NOT NULL,
    PRIMARY KEY (sweep, cell),
    FOREIGN KEY (sweep, cell) REFERENCES cells (sweep, cell)
) STRICT; -- with a rowid: in an index such long rows would spill over to pages of their own

-- Attempts whose calls are in `cell_calls` and which others go on from: the calls come back in the transcripts of these, and must not
-- be counted again.
CREATE TABLE counted_calls (
    sweep   INTEGER NOT NULL,
    cell    INTEGER NOT NULL,
    item    INTEGER NOT NULL,
    attempt INTEGER NOT NULL, -- its number, the only name that a transcript has for it
    PRIMARY KEY (sweep, cell, item, attempt)
) STRICT, WITHOUT ROWID;
