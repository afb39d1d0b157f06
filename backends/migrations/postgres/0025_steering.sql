-- A running sweep that somebody has paused: nothing more of it is dispatched until it goes on. The version before this one knows of no pause.
ALTER TABLE sweeps ADD COLUMN is_paused BOOLEAN NOT NULL DEFAULT FALSE;
-- Calls at once of each endpoint that somebody has lowered below those of the spec, as JSON; null where nobody has.
ALTER TABLE sweeps ADD COLUMN concurrency TEXT;
