-- When a question was claimed, and when a worker last told that it waits for the answer: one of which nobody has told for long is lost.
ALTER TABLE asked ADD COLUMN asked_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp();
ALTER TABLE asked ADD COLUMN told_at TIMESTAMPTZ;
