-- The transitions that are drawn in ARCHITECTURE.md, and no others; `states` and `stage` have them in Rust, and a test holds the three to each
-- other. Written with OR, because for IN SQLite fills a table of its own at each row.

CREATE TRIGGER sweeps_transition BEFORE UPDATE OF state ON sweeps
WHEN NOT (OLD.state = NEW.state
    OR (OLD.state = 'running' AND (NEW.state = 'tabulating' OR NEW.state = 'cancelled'))
    OR (OLD.state = 'tabulating' AND (NEW.state = 'complete' OR NEW.state = 'stopped_by_budget' OR NEW.state = 'incomplete'))
    OR ((OLD.state = 'complete' OR OLD.state = 'stopped_by_budget' OR OLD.state = 'cancelled' OR OLD.state = 'incomplete')
        AND NEW.state = 'running'))
BEGIN
    SELECT RAISE(ABORT, 'no such transition of a sweep');
END;

CREATE TRIGGER shards_transition BEFORE UPDATE OF state ON shards
WHEN NOT (OLD.state = NEW.state
    OR (OLD.state = 'planned' AND NEW.state = 'dispatching')
    OR (OLD.state = 'dispatching' AND (NEW.state = 'dispatched' OR NEW.state = 'planned'))
    OR (OLD.state = 'dispatched' AND NEW.state = 'planned'))
BEGIN
    SELECT RAISE(ABORT, 'no such transition of a shard');
END;

CREATE TRIGGER sessions_transition BEFORE UPDATE OF state ON sessions
WHEN NOT (OLD.state = NEW.state
    OR (OLD.state = 'awaiting' AND NEW.state = 'settled')
    OR (OLD.state = 'settled' AND NEW.state = 'awaiting' AND OLD.outcome = 'not_measured'))
BEGIN
    SELECT RAISE(ABORT, 'no such transition of a session');
END;

CREATE TRIGGER attempts_transition BEFORE UPDATE OF state ON attempts
WHEN NOT (OLD.state = NEW.state
    OR (OLD.state = 'open' AND (NEW.state = 'recorded' OR NEW.state = 'waste' OR NEW.state = 'handed_over' OR NEW.state = 'lost'))
    OR (OLD.state = 'recorded' AND (NEW.state = 'waste' OR NEW.state = 'handed_over'))
    OR (OLD.state = 'handed_over' AND (NEW.state = 'recorded' OR NEW.state = 'waste'))
    OR (OLD.state = 'lost' AND (NEW.state = 'recorded' OR NEW.state = 'waste' OR NEW.state = 'handed_over')))
BEGIN
    SELECT RAISE(ABORT, 'no such transition of an attempt');
END;
