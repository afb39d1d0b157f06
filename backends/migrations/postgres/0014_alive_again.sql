-- A cancel gives attempts up for lost that may go on; when their sweep is resumed, the worker's next report shows that they live.

DROP TRIGGER attempts_transition ON attempts;

CREATE TRIGGER attempts_transition BEFORE UPDATE OF state ON attempts FOR EACH ROW
WHEN (NOT (OLD.state = NEW.state
    OR (OLD.state = 'open' AND (NEW.state = 'recorded' OR NEW.state = 'waste' OR NEW.state = 'handed_over' OR NEW.state = 'lost'))
    OR (OLD.state = 'recorded' AND (NEW.state = 'waste' OR NEW.state = 'handed_over'))
    OR (OLD.state = 'handed_over' AND (NEW.state = 'recorded' OR NEW.state = 'waste'))
    OR (OLD.state = 'lost' AND (NEW.state = 'recorded' OR NEW.state = 'waste' OR NEW.state = 'handed_over' OR NEW.state = 'open'))))
EXECUTE FUNCTION refuse_transition();
