-- Sweeps and schedules belong to whoever submitted them; those from before, and those of embedded runs, to nobody.
ALTER TABLE sweeps ADD COLUMN owner TEXT;
ALTER TABLE sweeps ADD COLUMN charged BIGINT NOT NULL DEFAULT 0 CHECK (charged >= 0); -- money counted against its owner's quota
ALTER TABLE schedules ADD COLUMN owner TEXT;

-- Quotas, and what was granted on them to sweeps, removed ones included. A row is locked while a sweep is admitted, so that two
-- submissions at once are counted one after the other.
CREATE TABLE owners (
    owner            TEXT   PRIMARY KEY,
    budget           BIGINT CHECK (budget >= 0),   -- NULL: without limit
    sessions         BIGINT CHECK (sessions >= 0), -- NULL: without limit
    granted          BIGINT NOT NULL DEFAULT 0 CHECK (granted >= 0),
    granted_sessions BIGINT NOT NULL DEFAULT 0 CHECK (granted_sessions >= 0)
);

-- Of a token only its digest: whoever reads this table can use none. They have 256 random bits, so that a plain SHA-256 is enough.
CREATE TABLE tokens (
    id            TEXT   PRIMARY KEY,
    digest        BYTEA  NOT NULL UNIQUE CHECK (length(digest) = 32),
    owner         TEXT   NOT NULL CHECK (owner NOT IN ('operator', 'nobody', 'others')),
    scopes        TEXT   NOT NULL,
    created_at_ns BIGINT NOT NULL,
    created_by    TEXT   NOT NULL,
    expires_at_ns BIGINT,
    revoked_at_ns BIGINT
);

-- Who is revoked stays so.
CREATE FUNCTION token_stays_revoked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a token that is revoked stays so: %', OLD.id;
END $$;
CREATE TRIGGER stays_revoked BEFORE UPDATE ON tokens FOR EACH ROW
    WHEN (OLD.revoked_at_ns IS NOT NULL AND NEW.revoked_at_ns IS DISTINCT FROM OLD.revoked_at_ns)
    EXECUTE FUNCTION token_stays_revoked();

-- Who asked for what, written before it is done; what came of it is a row of its own, because no row is ever changed.
CREATE TABLE audit (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ns      BIGINT NOT NULL,
    actor      TEXT   NOT NULL,
    credential TEXT   NOT NULL,
    action     TEXT   NOT NULL,
    subject    TEXT   NOT NULL
);
CREATE TABLE audit_results (
    number  BIGINT PRIMARY KEY REFERENCES audit (number),
    at_ns   BIGINT NOT NULL,
    result  TEXT   NOT NULL CHECK (result IN ('done', 'refused', 'failed')),
    subject TEXT   NOT NULL,
    detail  TEXT   NOT NULL
);
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only: % of % is refused', TG_OP, TG_TABLE_NAME;
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_results
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
