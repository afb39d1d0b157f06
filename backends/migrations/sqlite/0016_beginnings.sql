-- The states in which rows begin, as drawn in ARCHITECTURE.md. Sessions and attempts may begin in any: their first report may be their last.

CREATE TRIGGER sweeps_beginning BEFORE INSERT ON sweeps
WHEN NEW.state <> 'running'
BEGIN
    SELECT RAISE(ABORT, 'no such beginning of a sweep');
END;

CREATE TRIGGER shards_beginning BEFORE INSERT ON shards
WHEN NEW.state <> 'planned'
BEGIN
    SELECT RAISE(ABORT, 'no such beginning of a shard');
END;
