-- The transitions that are drawn in ARCHITECTURE.md, and no others; `states` and `stage` have them in Rust, and a test holds the three to each
-- other.

CREATE FUNCTION refuse_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no such transition in %: from % to %', TG_TABLE_NAME, OLD.state, NEW.state USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER sweeps_transition BEFORE UPDATE OF state ON sweeps FOR EACH ROW
WHEN (NOT (OLD.state = NEW.state
    OR (OLD.state = 'running' AND (NEW.state = 'tabulating' OR NEW.state = 'cancelled'))
    OR (OLD.state = 'tabulating' AND (NEW.state = 'complete' OR NEW.state = 'stopped_by_budget' OR NEW.state = 'incomplete'))
    OR ((OLD.state = 'complete' OR OLD.state = 'stopped_by_budget' OR OLD.state = 'cancelled' OR OLD.state = 'incomplete')
        AND NEW.state = 'running')))
EXECUTE FUNCTION refuse_transition();

CREATE TRIGGER shards_transition BEFORE UPDATE OF state ON shards FOR EACH ROW
WHEN (NOT (OLD.state = NEW.state
    OR (OLD.state = 'planned' AND NEW.state = 'dispatching')
    OR (OLD.state = 'dispatching' AND (NEW.state = 'dispatched' OR NEW.state = 'planned'))
    OR (OLD.state = 'dispatched' AND NEW.state = 'planned')))
EXECUTE FUNCTION refuse_transition();

CREATE TRIGGER sessions_transition BEFORE UPDATE OF state ON sessions FOR EACH ROW
WHEN (NOT (OLD.state = NEW.state
    OR (OLD.state = 'awaiting' AND NEW.state = 'settled')
    OR (OLD.state = 'settled' AND NEW.state = 'awaiting' AND OLD.outcome = 'not_measured')))
EXECUTE FUNCTION refuse_transition();

CREATE TRIGGER attempts_transition BEFORE UPDATE OF state ON attempts FOR EACH ROW
WHEN (NOT (OLD.state = NEW.state
    OR (OLD.state = 'open' AND (NEW.state = 'recorded' OR NEW.state = 'waste' OR NEW.state = 'handed_over' OR NEW.state = 'lost'))
    OR (OLD.state = 'recorded' AND (NEW.state = 'waste' OR NEW.state = 'handed_over'))
    OR (OLD.state = 'handed_over' AND (NEW.state = 'recorded' OR NEW.state = 'waste'))
    OR (OLD.state = 'lost' AND (NEW.state = 'recorded' OR NEW.state = 'waste' OR NEW.state = 'handed_over'))))
EXECUTE FUNCTION refuse_transition();
