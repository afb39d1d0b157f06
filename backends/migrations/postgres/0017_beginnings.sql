-- The states in which rows begin, as drawn in ARCHITECTURE.md. Sessions and attempts may begin in any: their first report may be their last.

CREATE FUNCTION refuse_beginning() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no such beginning in %: %', TG_TABLE_NAME, NEW.state USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER sweeps_beginning BEFORE INSERT ON sweeps FOR EACH ROW
WHEN (NEW.state <> 'running')
EXECUTE FUNCTION refuse_beginning();

CREATE TRIGGER shards_beginning BEFORE INSERT ON shards FOR EACH ROW
WHEN (NEW.state <> 'planned')
EXECUTE FUNCTION refuse_beginning();
