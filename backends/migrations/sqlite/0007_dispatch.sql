-- How often a sweep was resumed. Jobs of an earlier generation are void.
ALTER TABLE sweeps ADD COLUMN generation INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0);

-- Number of the last question, whether what was reported before it is recorded, that a scorer has answered.
ALTER TABLE sweeps ADD COLUMN echo INTEGER NOT NULL DEFAULT 0 CHECK (echo >= 0);
