-- The last durable state of a pool: what a crash leaves of it. Only some leases write it (see the program), in their own transactions.
ALTER TABLE permit_pools
    ADD COLUMN state    TEXT,       -- as in permit_pool_states; none before the first
    ADD COLUMN timeline TEXT,       -- of the server that wrote it: another one may lack what was written last
    ADD COLUMN saved_at TIMESTAMPTZ;
ALTER TABLE permit_pools SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000
);

-- A program of the version before grants without making anything durable. It does not count its leases either, by which it is known: then no
-- durable state is left, and a crash is one of which nothing is known.
ALTER TABLE permit_pool_states ADD COLUMN lease BIGINT NOT NULL DEFAULT 0;
CREATE OR REPLACE FUNCTION forget_durable_pool() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE permit_pools SET state = NULL WHERE pool = NEW.pool AND state IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER permit_pool_states_uncounted AFTER UPDATE ON permit_pool_states
    FOR EACH ROW WHEN (NEW.lease = OLD.lease) EXECUTE FUNCTION forget_durable_pool();
