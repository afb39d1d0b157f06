-- Number of the sweep's resumes when a question was claimed: the jobs of those of before the last one are void, and they may be claimed again
-- once no worker waits for their answers. 0 where nobody knows: the version before this one writes none.
ALTER TABLE asked ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
-- From here on held.generation is, of a worker's questions, the number of resumes when the first of them were claimed.

-- Number of the sweep's resumes when a scorer last wrote what it leaves behind: a leader has it done that finds an older one, or null, at a sweep
-- which was cancelled.
ALTER TABLE sweeps ADD COLUMN tabulated BIGINT;
