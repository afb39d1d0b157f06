-- A running sweep that somebody has paused: nothing more of it is dispatched until it goes on. The version before this one knows of no pause.
ALTER TABLE sweeps ADD COLUMN is_paused INTEGER NOT NULL DEFAULT 0 CHECK (is_paused IN (0, 1));
-- Calls at once of each endpoint that somebody has lowered below those of the spec, as JSON; null where nobody has.
ALTER TABLE sweeps ADD COLUMN concurrency TEXT;
