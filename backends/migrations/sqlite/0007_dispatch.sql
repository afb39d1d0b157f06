-- How often a sweep was resumed. Jobs of an earlier generation are void.
ALTER TABLE sweeps ADD COLUMN generation INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0);
