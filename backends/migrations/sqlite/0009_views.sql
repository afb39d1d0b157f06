-- What people look for among sessions is rare: those without a measurement, and those with flags.

CREATE INDEX sessions_unmeasured ON sessions (sweep, cell, outcome, cause, item) WHERE outcome <> 'measured';
CREATE INDEX sessions_flagged ON sessions (sweep, cell, flags, item) WHERE flags <> '';
