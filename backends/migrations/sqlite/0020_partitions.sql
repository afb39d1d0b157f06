-- The last question whether everything that was reported is recorded, and the partitions of reports (bits, from the lowest on) about which it has
-- been answered: `echo` is its number once each has. The version before this one asks about all reports at once.
ALTER TABLE sweeps ADD COLUMN echo_asked INTEGER NOT NULL DEFAULT 0 CHECK (echo_asked >= 0);
ALTER TABLE sweeps ADD COLUMN echo_answered INTEGER NOT NULL DEFAULT 0 CHECK (echo_answered >= 0);
