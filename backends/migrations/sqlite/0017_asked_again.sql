-- Number of the sweep's resumes when a question was claimed: the jobs of those of before the last one are void, and they may be claimed again
-- once no worker waits for their answers. 0 where nobody knows: the version before this one writes none.
ALTER TABLE asked ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
