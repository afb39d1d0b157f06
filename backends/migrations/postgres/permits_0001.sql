-- Permits: what a fleet may ask of its endpoints, and spend. The state of a pool or an account is JSON that only this program reads; it is
-- locked, computed and written back in one transaction.

-- Which pools exist. `permit_pool_states` is emptied when the server crashes or fails over; a pool that stands here and not there has
-- lost its memory, and must not grant anything for a minute.
CREATE TABLE permit_pools (
    pool TEXT PRIMARY KEY
);

-- What was granted in the last minute: written many times a second and worth nothing after a minute, so it is not logged and no commit of
-- it waits for the disk.
CREATE UNLOGGED TABLE permit_pool_states (
    pool      TEXT        PRIMARY KEY,
    state     TEXT        NOT NULL, -- empty when new
    leased_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
) WITH (
    fillfactor = 20, -- room on the page keeps the updates away from the index
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_cost_delay = 0
);

-- Money is durable.
CREATE TABLE permit_accounts (
    sweep TEXT NOT NULL,
    model TEXT NOT NULL, -- empty for the account of the whole sweep
    state TEXT NOT NULL,
    PRIMARY KEY (sweep, model)
) WITH (fillfactor = 50);

-- Requests that failed. Each failure takes a new number, so that the newest hundred thousand are those above the newest number less that.
CREATE SEQUENCE permit_failure_numbers;
CREATE TABLE permit_failures (
    fingerprint BYTEA       NOT NULL CHECK (length(fingerprint) = 32),
    class       TEXT        NOT NULL,
    count       BIGINT      NOT NULL CHECK (count > 0),
    last_at     TIMESTAMPTZ NOT NULL,
    number      BIGINT      NOT NULL,
    PRIMARY KEY (fingerprint, class)
);
CREATE INDEX permit_failures_by_number ON permit_failures (number);
