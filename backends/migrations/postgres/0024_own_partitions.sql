-- Sweeps of many sessions have partitions of their own of the tables that have a row for each attempt or session, which are dropped whole: their
-- numbers begin at 2^40. All others share a partition of each table, which is the table of before.
ALTER TABLE attempts RENAME TO attempts_shared;
ALTER INDEX attempts_pkey RENAME TO attempts_shared_pkey;
ALTER INDEX attempts_open RENAME TO attempts_shared_open;
DROP TRIGGER attempts_transition ON attempts_shared;
CREATE TABLE attempts (LIKE attempts_shared INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (sweep);
ALTER TABLE attempts ADD PRIMARY KEY (sweep, cell, item, id);
CREATE INDEX attempts_open ON attempts (sweep) WHERE state = 'open';
ALTER TABLE attempts ATTACH PARTITION attempts_shared FOR VALUES FROM (MINVALUE) TO (1099511627776);
CREATE TRIGGER attempts_transition BEFORE UPDATE OF state ON attempts FOR EACH ROW
WHEN (NOT (OLD.state = NEW.state
    OR (OLD.state = 'open' AND (NEW.state = 'recorded' OR NEW.state = 'waste' OR NEW.state = 'handed_over' OR NEW.state = 'lost'))
    OR (OLD.state = 'recorded' AND (NEW.state = 'waste' OR NEW.state = 'handed_over'))
    OR (OLD.state = 'handed_over' AND (NEW.state = 'recorded' OR NEW.state = 'waste'))
    OR (OLD.state = 'lost' AND (NEW.state = 'recorded' OR NEW.state = 'waste' OR NEW.state = 'handed_over' OR NEW.state = 'open'))))
EXECUTE FUNCTION refuse_transition();

ALTER TABLE sessions RENAME TO sessions_shared;
ALTER INDEX sessions_pkey RENAME TO sessions_shared_pkey;
ALTER INDEX sessions_unmeasured RENAME TO sessions_shared_unmeasured;
ALTER INDEX sessions_flagged RENAME TO sessions_shared_flagged;
DROP TRIGGER sessions_transition ON sessions_shared;
CREATE TABLE sessions (LIKE sessions_shared INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (sweep);
ALTER TABLE sessions ADD PRIMARY KEY (sweep, cell, item);
CREATE INDEX sessions_unmeasured ON sessions (sweep, cell, outcome, cause, item) WHERE outcome <> 'measured';
CREATE INDEX sessions_flagged ON sessions (sweep, cell, flags, item) WHERE flags <> '';
ALTER TABLE sessions ATTACH PARTITION sessions_shared FOR VALUES FROM (MINVALUE) TO (1099511627776);
CREATE TRIGGER sessions_transition BEFORE UPDATE OF state ON sessions FOR EACH ROW
WHEN (NOT (OLD.state = NEW.state
    OR (OLD.state = 'awaiting' AND NEW.state = 'settled')
    OR (OLD.state = 'settled' AND NEW.state = 'awaiting' AND OLD.outcome = 'not_measured')))
EXECUTE FUNCTION refuse_transition();

ALTER TABLE counted_calls RENAME TO counted_calls_shared;
ALTER INDEX counted_calls_pkey RENAME TO counted_calls_shared_pkey;
CREATE TABLE counted_calls (LIKE counted_calls_shared INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (sweep);
ALTER TABLE counted_calls ADD PRIMARY KEY (sweep, cell, item, attempt);
ALTER TABLE counted_calls ATTACH PARTITION counted_calls_shared FOR VALUES FROM (MINVALUE) TO (1099511627776);

-- Rights are those of the tables of before, so that roles go on meanwhile; nobody needs any to a partition.
DO $$
DECLARE
    held RECORD;
BEGIN
    FOR held IN
        SELECT c.relname AS shared, left(c.relname, -length('_shared')) AS parent, a.grantee::regrole AS role, string_agg(a.privilege_type, ', ') AS rights
        FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.oid IN ('attempts_shared'::regclass, 'sessions_shared'::regclass, 'counted_calls_shared'::regclass)
            AND a.grantee NOT IN (0, c.relowner)
        GROUP BY c.relname, a.grantee
    LOOP
        EXECUTE format('GRANT %s ON %I TO %s', held.rights, held.parent, held.role);
        EXECUTE format('REVOKE ALL ON %I FROM %s', held.shared, held.role);
    END LOOP;
END $$;

CREATE SEQUENCE large_sweep_numbers MINVALUE 1099511627776;

-- Makes the partitions of a sweep and returns its number, or drops them. Coordinators may do this and change no other table. What a login has defined
-- is not called with the owner's rights: names are looked up among the system's alone, and those of the schema are written with it.
DO $$
BEGIN
    EXECUTE format($make$
        CREATE FUNCTION open_own_partitions() RETURNS BIGINT LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
        DECLARE
            home TEXT := %1$L;
            number BIGINT := nextval(format('%%I.large_sweep_numbers', home)::regclass);
            parent TEXT;
            own TEXT;
        BEGIN
            FOREACH parent IN ARRAY ARRAY['attempts', 'sessions', 'counted_calls'] LOOP
                own := parent || '_' || number;
                EXECUTE format('CREATE TABLE %%I.%%I (LIKE %%I.%%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', home, own, home, parent);
                EXECUTE format('ALTER TABLE %%I.%%I ATTACH PARTITION %%I.%%I FOR VALUES FROM (%%s) TO (%%s)', home, parent, home, own, number, number + 1);
            END LOOP;
            RETURN number;
        END $body$
    $make$, current_schema());
    -- It waits for whoever reads the tables, and others wait for it meanwhile: for two seconds at most.
    EXECUTE format($make$
        CREATE FUNCTION drop_own_partitions(number BIGINT) RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $body$
        DECLARE
            parent TEXT;
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM %1$I.sweeps s JOIN %1$I.removals r ON r.id = s.id WHERE s.number = drop_own_partitions.number) THEN
                RAISE EXCEPTION 'sweep %% is not being removed', number;
            END IF;
            FOREACH parent IN ARRAY ARRAY['attempts', 'sessions', 'counted_calls'] LOOP
                EXECUTE format('DROP TABLE IF EXISTS %%I.%%I', %1$L, parent || '_' || number);
            END LOOP;
        END $body$
    $make$, current_schema());
END $$;
REVOKE EXECUTE ON FUNCTION open_own_partitions(), drop_own_partitions(BIGINT) FROM PUBLIC;
