-- When a question was claimed, and when a worker last told that it waits for the answer: one of which nobody has told for long is lost.
-- A claim begins when its transaction does, so that what its claimer reckons from before is never later.
ALTER TABLE asked ADD COLUMN asked_at TIMESTAMPTZ NOT NULL DEFAULT now();
ALTER TABLE asked ADD COLUMN told_at TIMESTAMPTZ;
-- The broker may or may not have the job of it.
ALTER TABLE asked ADD COLUMN is_doubtful BOOLEAN NOT NULL DEFAULT false;
-- When a worker last told of its questions that also names those it holds for long: equal to told_at, unless the last report was another one's.
ALTER TABLE held ADD COLUMN named_at TIMESTAMPTZ;
