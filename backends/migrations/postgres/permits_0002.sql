-- The last durable state of a pool: what a crash leaves of it. Only some leases write it (see the program), in the transaction of their lease.
-- A program of the version before writes none; what it granted in the last minute before a crash is forgotten.
ALTER TABLE permit_pools
    ADD COLUMN state    TEXT, -- as in permit_pool_states; none before the first
    ADD COLUMN timeline TEXT; -- of the server that wrote it: another one may lack what was written last
COMMENT ON TABLE permit_pools IS 'A pool that stands here and not in permit_pool_states was lost in a crash.';
