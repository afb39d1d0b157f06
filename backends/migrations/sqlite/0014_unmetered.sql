-- Calls whose tokens their endpoint did not tell: with one of them, the sums of tokens are lower bounds. Of what older rows do not count
-- nobody knows any more; their transcripts tell.

ALTER TABLE cells ADD COLUMN unmetered_calls INTEGER NOT NULL DEFAULT 0 CHECK (unmetered_calls >= 0);
ALTER TABLE attempts ADD COLUMN unmetered_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE judge_attempts ADD COLUMN unmetered_calls INTEGER NOT NULL DEFAULT 0;

-- A lost attempt with a call in flight whose price is unknown has cost what nobody knows, and not nothing.
UPDATE cells SET unknown_calls = unknown_calls + (
    SELECT count(*) FROM attempts
    WHERE attempts.sweep = cells.sweep AND attempts.cell = cells.cell AND attempts.state = 'lost' AND attempts.at_most IS NULL);
