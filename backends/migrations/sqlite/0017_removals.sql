-- Ids of sweeps that were removed, or that are being removed while their row is still there. Such a sweep is not resumed, because its files go
-- first. Its id is never used again: workers remember of an id what they have spent for it and which jobs of it are void.
CREATE TABLE removals (
    id TEXT PRIMARY KEY
) STRICT;
