-- Since when a sweep has not moved, by this server's clock, so that whoever leads next does not begin to wait anew: `life` is what its leader
-- saw of it then, in the leader's words.
ALTER TABLE sweeps ADD COLUMN life TEXT;
ALTER TABLE sweeps ADD COLUMN quiet_since TIMESTAMPTZ;
